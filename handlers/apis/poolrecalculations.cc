#include "handlers/apis/poolrecalculations.h"

#include "reconcile/ipam/objects.h"

namespace berth::apis {
namespace {

ResourceType PoolRecalculationType() {
  ResourceType type("PoolRecalculation");
  type.namespaced = true;
  type.action = true;
  type.description =
      "Has the status of a SubnetPool counted anew. It is a request and not an object: nothing is "
      "kept of it.";
  type.columns = {{"Pool", "string", "The pool.", 0},
                  {"Queued", "boolean", "Whether it is up for recounting.", 0}};
  type.properties["spec"] = ObjectSchema(
      "What is asked for.", {{"pool", "string", "Name of the SubnetPool, in the same namespace."}});
  type.properties["spec"]["required"] = std::vector<std::string>{"pool"};
  type.properties["status"] = ObjectSchema(
      "What came of it.",
      {{"queued", "boolean", "The pool is up for recounting. Its status follows within moments."}});
  return type;
}

kube::Status NotNow() {
  kube::Status status =
      kube::ServiceUnavailable("this replica cannot have pools recounted now; try again");
  status.details.retry_after_seconds = 1;
  return status;
}

Action::Outcome Queued(const std::string& pool) {
  Action::Outcome outcome;
  outcome.content["spec"] = Json::Object();
  outcome.content["spec"]["pool"] = pool;
  outcome.content["status"] = Json::Object();
  outcome.content["status"]["queued"] = true;
  outcome.cells = {Cell::Text(pool), Cell{"true", std::nullopt}};
  return outcome;
}

}  // namespace

PoolRecalculation::PoolRecalculation(ipam::Desk& desk)
    : desk_(desk), type_(PoolRecalculationType()) {}

void PoolRecalculation::Create(const Call& call, async::Executor& home, Answer answer) {
  using Answered = std::expected<Outcome, kube::Status>;
  std::string pool(call.object["spec"]["pool"].StringOr(""));
  if (pool.empty())
    return answer(std::unexpected(kube::Invalid(
        type_.kind, kGroup, call.object["metadata"]["name"].StringOr(""),
        {{"FieldValueRequired", "Required value: the name of a SubnetPool of the namespace",
          "spec.pool"}})));
  constexpr std::size_t kLongestName = 253;
  if (pool.size() > kLongestName)
    return answer(std::unexpected(
        kube::NotFound(ipam::kGroup, ipam::kPools.plural, pool.substr(0, kLongestName) + "...")));
  desk_.AskWithDeadline(
      home,
      [ns = call.ns, pool = std::move(pool),
       dry_run = call.dry_run](ipam::System* system) -> Answered {
        if (!system || !system->synced() || !system->leading()) return std::unexpected(NotNow());
        const bool found = dry_run ? system->space().Find(ns + "/" + pool) != nullptr
                                   : system->Recalculate(ns, pool);
        if (!found) return std::unexpected(kube::NotFound(ipam::kGroup, ipam::kPools.plural, pool));
        return Queued(pool);
      },
      std::move(answer));
}

}  // namespace berth::apis
