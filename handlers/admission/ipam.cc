#include "handlers/admission/ipam.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "handlers/admission/judgement.h"
#include "reconcile/ipam/admission.h"

namespace berth::admission {
namespace {

ipam::Knowledge KnownTo(const ipam::System* system) {
  if (!system || !system->synced()) return {};
  return {.space = &system->space(), .subnets_of = [system](const std::string& pool, auto most) {
            return system->SubnetsOf(pool, most);
          }};
}

ipam::Identity& IdentityOf(ipam::PoolProposal& proposal) { return proposal.pool.id; }
ipam::Identity& IdentityOf(ipam::SubnetProposal& proposal) { return proposal.subnet.id; }
ipam::Identity& IdentityOf(ipam::Pool& pool) { return pool.id; }
ipam::Identity& IdentityOf(ipam::Claim& claim) { return claim.id; }
ipam::Identity& IdentityOf(ipam::PoolClaim& claim) { return claim.id; }

// An object of a review as a value; the review says its namespace where the object does not.
template <typename T>
kube::Result<T> Read(const Request& request, kube::JsonView object) {
  auto read = T::From(object);
  if (read && IdentityOf(*read).ns.empty()) IdentityOf(*read).ns = request.ns;
  return read;
}

// Nothing that is judged is another than before.
bool ChangesNothing(const Request& request) {
  const kube::JsonView now = request.object;
  const kube::JsonView before = request.old_object;
  const auto same = [&](const char* where, std::string_view key) {
    return now["metadata"][where][key].String() == before["metadata"][where][key].String();
  };
  return same("labels", ipam::kParentLabel) && same("annotations", ipam::kStampAnnotation) &&
         now["spec"].ToJson() == before["spec"].ToJson();
}

// Among them updates that only remove a finalizer.
bool PassesUnasked(const Request& request) {
  return request.operation == Operation::kUpdate && ChangesNothing(request);
}

// Only the verdict is made on the control thread: memory that one thread allocates and another
// frees is slow, and the verdict of an allowed object allocates nothing.
template <typename Judge>
void Ask(ipam::Desk& desk, async::Executor& home, const kube::Resource& resource,
         std::string_view name, Judge judge, Webhooks::Reply reply) {
  struct Judged {
    ipam::Verdict verdict;
    bool alone;  // nothing was known of other objects
  };
  desk.AskWithDeadline(
      home,
      [judge = std::move(judge)](ipam::System* system) {
        const ipam::Knowledge known = KnownTo(system);
        return Judged{judge(known), !known.space};
      },
      [&resource, name = std::string(name), reply = std::move(reply)](Judged judged) mutable {
        Response response = ResponseOf(std::move(judged.verdict), resource, name);
        if (judged.alone) response.Warn(kNotReady);
        reply(std::move(response));
      });
}

template <typename T>
struct Change {
  T now;
  std::optional<T> before;  // none when it is created
};

// Handles creations and updates of a T.
template <typename T>
Webhooks::Handler Validate(ipam::Desk& desk, const kube::Resource& resource,
                           ipam::Verdict (*judge)(const T& now, const T* before,
                                                  const ipam::Knowledge& known)) {
  return [&desk, &resource, judge](const Request& request, async::Executor& home,
                                   Webhooks::Reply reply) {
    if (PassesUnasked(request)) return reply(Response::Allow());
    auto now = Read<T>(request, request.object);
    if (!now) return reply(Unreadable(now.error()));
    auto change = std::make_unique<Change<T>>(std::move(*now));
    if (request.operation == Operation::kUpdate) {
      // One that cannot be read has no mistakes to keep, and nothing that must stay as it was.
      if (auto read = Read<T>(request, request.old_object)) change->before = std::move(*read);
    }
    Ask(
        desk, home, resource, request.name,
        [judge, change = std::move(change)](const ipam::Knowledge& known) {
          return judge(change->now, change->before ? &*change->before : nullptr, known);
        },
        std::move(reply));
  };
}

template <typename T>
Webhooks::Handler ValidateDeletion(ipam::Desk& desk, const kube::Resource& resource,
                                   ipam::Verdict (*judge)(const T& object,
                                                          const ipam::Knowledge& known)) {
  return [&desk, &resource, judge](const Request& request, async::Executor& home,
                                   Webhooks::Reply reply) {
    auto object = Read<T>(request, request.old_object);
    // What nobody can read nobody can miss.
    if (!object) return reply(Response::Allow());
    Ask(
        desk, home, resource, request.name,
        [judge, object = std::move(*object)](const ipam::Knowledge& known) {
          return judge(object, known);
        },
        std::move(reply));
  };
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

void DefaultPool(const Request& request, async::Executor&, Webhooks::Reply reply) {
  Response response;
  const auto pool = ipam::Pool::From(request.object);
  if (pool && !pool->default_block && !IsGiven(request.object["spec"]["defaultBlockSize"])) {
    if (const auto size = ipam::DefaultBlockSize(*pool))
      response.Add("/spec/defaultBlockSize", *size);
  }
  reply(std::move(response));
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
    auto read = Read<ipam::Claim>(request, request.object);
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
          const ipam::Knowledge known = KnownTo(system);
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
  const auto writes = {Operation::kCreate, Operation::kUpdate};
  webhooks.On(Phase::kMutate, ipam::kPools, {Operation::kCreate}, DefaultPool);
  webhooks.On(Phase::kMutate, ipam::kClaims, {Operation::kCreate}, PrepareClaim(desk),
              SideEffects::kNoneOnDryRun);  // a block is reserved
  webhooks.On(Phase::kValidate, ipam::kPools, writes,
              Validate(desk, ipam::kPools, ipam::JudgePool));
  webhooks.On(Phase::kValidate, ipam::kPools, {Operation::kDelete},
              ValidateDeletion(desk, ipam::kPools, ipam::JudgePoolDeletion));
  webhooks.On(Phase::kValidate, ipam::kSubnets, writes,
              Validate(desk, ipam::kSubnets, ipam::JudgeSubnet));
  webhooks.On(Phase::kValidate, ipam::kClaims, writes,
              Validate(desk, ipam::kClaims, ipam::JudgeClaim));
  webhooks.On(Phase::kValidate, ipam::kPoolClaims, writes,
              Validate(desk, ipam::kPoolClaims, ipam::JudgePoolClaim));
  webhooks.On(Phase::kValidate, ipam::kPoolClaims, {Operation::kDelete},
              ValidateDeletion(desk, ipam::kPoolClaims, ipam::JudgePoolClaimDeletion));
}

}  // namespace berth::admission
