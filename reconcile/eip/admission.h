#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/json_view.h"
#include "reconcile/eip/objects.h"
#include "reconcile/runtime/verdict.h"

// Whether an EIP may be stored as somebody proposes it: the rules of admission, and nothing of
// webhooks. What the cloud would refuse is refused here, with its field; what it would take is
// taken. Of an imported address the cloud knows the truth, not spec: rules about an allocation are
// not for it. In an update the object as it was goes along: what was wrong with it then and still
// is becomes a warning. What is being deleted, and an update that leaves spec as it is, is for the
// caller to let pass unasked.
namespace berth::eip {

using runtime::Verdict;

// An object as it is proposed, with what the reconciler does not go by.
struct Proposal {
  Object object;
  std::optional<std::int64_t> period;
  std::optional<bool> auto_pay;
  std::string release;  // releaseStrategy, as it is written
  // As the cloud has told of the address, in status; empty before that.
  std::string isp;
  std::string pool;
  std::string internet_charge_type;
  std::string instance_charge_type;
  std::string package;

  static kube::Result<Proposal> From(kube::JsonView object);
};

inline Identity& IdentityOf(Proposal& proposal) { return proposal.object.id; }

// Facts that are known when an object is judged.
struct Knowledge {
  // As System::HolderOf. None when the other objects are not known: then the object alone is
  // judged.
  std::function<std::string(const std::string& allocation_id, const std::string& except_uid)>
      holder_of = nullptr;
};

// With the object as it was, none when it is created. O(size of the object).
Verdict JudgeEip(const Proposal& now, const Proposal* before, const Knowledge& known);

// Annotations that nobody will heed, as warnings: they are never a reason to refuse.
std::vector<std::string> UnknownAnnotations(const Object& object);

// Members of spec that are filled in, each with its value. At first how the address is paid for,
// but nothing of an import. Once there is an address, what an update leaves out though it cannot
// change and may not have come from the one who writes: so a manifest can be replaced by itself.
std::vector<std::pair<std::string, std::string>> Defaults(const Object& now, const Object* before);

}  // namespace berth::eip
