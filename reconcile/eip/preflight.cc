#include "reconcile/eip/preflight.h"

#include <map>
#include <string>

#include "log/format.h"
#include "reconcile/eip/precedence.h"

namespace berth::eip {

std::vector<runtime::Finding> Foresee(const std::vector<Proposal>& eips) {
  std::map<std::string, const Object*> owners;  // by allocationID
  for (const Proposal& eip : eips) {
    const Object*& owner = owners[eip.object.ClaimedId()];
    if (!owner || GoesBefore(eip.object, *owner)) owner = &eip.object;
  }
  std::vector<runtime::Finding> findings;
  for (const Proposal& eip : eips) {
    const Object& object = eip.object;
    if (object.id.deleting != 0) continue;
    const std::string name = Format("{} {}", kEips.kind, object.id.Key());
    const std::string& address = object.ClaimedId();
    if (const Object* owner = owners.at(address); !address.empty() && owner != &object) {
      findings.push_back(
          {name,
           Format("is not looked after (InvalidConfig): the EIP {} has {}, too", owner->id.Key(),
                  address),
           "delete one of the two, with releaseStrategy: Never so that the address stays"});
    }
    for (const auto& cause : JudgeEip(eip, nullptr, {}).causes) {
      findings.push_back({name,
                          Format("could not be created again: {}: {}", cause.field, cause.message),
                          "correct it before you restore or recreate it"});
    }
  }
  return findings;
}

}  // namespace berth::eip
