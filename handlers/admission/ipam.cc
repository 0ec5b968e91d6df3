#include "handlers/admission/ipam.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "handlers/admission/rules.h"
#include "reconcile/ipam/admission.h"

namespace berth::admission {
namespace {

using IpamRules = Rules<ipam::System, ipam::Knowledge>;

ipam::Knowledge KnownTo(const ipam::System& system) {
  return {.space = &system.space(), .subnets_of = [&system](const std::string& pool, auto most) {
            return system.SubnetsOf(pool, most);
          }};
}

// Updates that change nothing of what is judged, such as those that only remove a finalizer.
std::optional<Response> Pass(const Request& update) {
  const kube::JsonView now = update.object;
  const kube::JsonView before = update.old_object;
  const auto same = [&](const char* where, std::string_view key) {
    return now["metadata"][where][key].String() == before["metadata"][where][key].String();
  };
  const bool unchanged = same("labels", ipam::kParentLabel) &&
                         same("annotations", ipam::kStampAnnotation) &&
                         now["spec"].ToJson() == before["spec"].ToJson();
  if (!unchanged) return std::nullopt;
  return Response::Allow();
}

bool IsGiven(kube::JsonView member) { return member.exists() && !member.is_null(); }

// Whether the members that decide about a claim's block were understood. A default in place of one
// that was not would hide it from the schema, which refuses it.
bool IsUnderstood(const ipam::Claim& claim, kube::JsonView spec) {
  const auto is_text = [&](const std::string& read, std::string_view key) {
    if (!read.empty()) return true;
    const kube::JsonView member = spec[key];
    return !IsGiven(member) || member.is_string();
  };
  return (claim.block_size || !IsGiven(spec["blockSize"])) && is_text(claim.pool, "poolRef") &&
         is_text(claim.cluster, "clusterID") && is_text(claim.requested, "requestedCIDR");
}

void FillInPool(const ipam::Pool& pool, const ipam::Pool*, kube::JsonView spec,
                Response& response) {
  if (pool.default_block || IsGiven(spec["defaultBlockSize"])) return;
  if (const auto size = ipam::DefaultBlockSize(pool)) response.Add("/spec/defaultBlockSize", *size);
}

// The stamp annotation becomes this, whatever it was.
void PutStamp(Response& response, const std::optional<std::string>& stamp, bool has_annotations,
              bool has_stamp) {
  static const std::string path = [] {
    std::string pointer = "/metadata/annotations/";
    for (const char c : ipam::kStampAnnotation) {
      if (c == '/') {
        pointer += "~1";
      } else {
        pointer += c;
      }
    }
    return pointer;
  }();
  if (!stamp) {
    if (has_stamp) response.Remove(path);
  } else if (has_annotations) {
    response.Add(path, *stamp);
  } else {
    Json annotations;
    annotations[ipam::kStampAnnotation] = *stamp;
    response.Add("/metadata/annotations", std::move(annotations));
  }
}

// Defaults and stamp of a new claim.
struct Prepared {
  std::optional<int> size;
  std::optional<std::string> stamp;
};

Webhooks::Handler PrepareClaim(ipam::Desk& desk) {
  return [&desk](const Request& request, async::Executor& home, Webhooks::Reply reply) {
    auto read = IpamRules::Read<ipam::Claim>(request, request.object);
    if (!read) return reply(Response::Allow());
    const kube::JsonView annotations = request.object["metadata"]["annotations"];
    const bool has_annotations = annotations.is_object();
    const bool has_stamp = annotations[ipam::kStampAnnotation].exists();
    if (!IsUnderstood(*read, request.object["spec"])) {
      Response response;
      PutStamp(response, std::nullopt, has_annotations, has_stamp);
      return reply(std::move(response));
    }
    read->stamp.clear();
    desk.AskWithDeadline(
        home,
        [given = std::make_unique<const ipam::Claim>(std::move(*read)),
         dry_run = request.dry_run](ipam::System* system) {
          Prepared prepared;
          const ipam::Knowledge known =
              system && system->synced() ? KnownTo(*system) : ipam::Knowledge();
          prepared.size = ipam::DefaultBlockSize(*given, known);
          // A dry run or a refused claim reserves no block.
          if (!known.space || dry_run) return prepared;
          ipam::Claim claim = *given;
          if (prepared.size) claim.block_size = prepared.size;
          if (ipam::JudgeClaim(claim, nullptr, known).allowed())
            prepared.stamp = system->Stamp(claim);
          return prepared;
        },
        [has_annotations, has_stamp, reply = std::move(reply)](const Prepared& prepared) mutable {
          Response response;
          if (prepared.size) response.Add("/spec/blockSize", *prepared.size);
          PutStamp(response, prepared.stamp, has_annotations, has_stamp);
          reply(std::move(response));
        });
  };
}

}  // namespace

void RegisterIpam(Webhooks& webhooks, ipam::Desk& desk) {
  IpamRules rules(webhooks, desk, KnownTo, Pass);
  rules.FillIn(ipam::kPools, {Operation::kCreate}, FillInPool);
  webhooks.On(Phase::kMutate, ipam::kClaims, {Operation::kCreate}, PrepareClaim(desk),
              SideEffects::kNoneOnDryRun);  // a block is reserved
  rules.Judge(ipam::kPools, ipam::JudgePool);
  rules.Judge(ipam::kSubnets, ipam::JudgeSubnet);
  rules.Judge(ipam::kClaims, ipam::JudgeClaim);
  rules.Judge(ipam::kPoolClaims, ipam::JudgePoolClaim);
  rules.JudgeDeletion(ipam::kPools, ipam::JudgePoolDeletion);
  rules.JudgeDeletion(ipam::kPoolClaims, ipam::JudgePoolClaimDeletion);
}

}  // namespace berth::admission
