#include "handlers/admission/ipam.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "handlers/admission/judgement.h"
#include "handlers/consult.h"
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

bool PassesUnasked(const Request& request) {
  if (request.operation != Operation::kUpdate) return false;
  return request.object["metadata"]["deletionTimestamp"].exists() || ChangesNothing(request);
}

void Ask(ipam::Desk& desk, async::Executor& home, const kube::Resource& resource,
         std::string_view name, std::function<ipam::Verdict(const ipam::Knowledge&)> judge,
         Webhooks::Reply reply) {
  Consult<Response>(
      desk, home,
      [&resource, name = std::string(name), judge = std::move(judge)](ipam::System* system) {
        const ipam::Knowledge known = KnownTo(system);
        Response response = ResponseOf(judge(known), resource, name);
        if (!known.space) response.Warn(kNotReady);
        return response;
      },
      std::move(reply));
}

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
    std::optional<T> before;
    if (request.operation == Operation::kUpdate) {
      // One that cannot be read has no mistakes to keep, and nothing that must stay as it was.
      if (auto read = Read<T>(request, request.old_object)) before = std::move(*read);
    }
    Ask(
        desk, home, resource, request.name,
        [judge, now = std::move(*now), before = std::move(before)](const ipam::Knowledge& known) {
          return judge(now, before ? &*before : nullptr, known);
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

void DefaultPool(const Request& request, async::Executor&, Webhooks::Reply reply) {
  Response response;
  if (const auto pool = ipam::Pool::From(request.object); pool && !pool->default_block) {
    if (const auto size = ipam::DefaultBlockSize(*pool))
      response.Add("/spec/defaultBlockSize", *size);
  }
  reply(std::move(response));
}

// The stamp annotation becomes this, whatever it was.
void PutStamp(Response& response, const std::optional<std::string>& stamp, bool has_annotations,
              bool has_stamp) {
  std::string path = "/metadata/annotations/";
  for (const char c : ipam::kStampAnnotation) path += c == '/' ? "~1" : std::string(1, c);
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

Webhooks::Handler PrepareClaim(ipam::Desk& desk) {
  return [&desk](const Request& request, async::Executor& home, Webhooks::Reply reply) {
    auto read = Read<ipam::Claim>(request, request.object);
    if (!read) return reply(Response::Allow());
    const kube::JsonView annotations = request.object["metadata"]["annotations"];
    const bool has_annotations = annotations.is_object();
    const bool has_stamp = annotations[ipam::kStampAnnotation].exists();
    read->stamp.clear();
    Consult<Response>(
        desk, home,
        [given = std::move(*read), has_annotations, has_stamp,
         dry_run = request.dry_run](ipam::System* system) {
          Response response;
          ipam::Claim claim = given;
          const ipam::Knowledge known = KnownTo(system);
          if (const auto size = ipam::DefaultBlockSize(claim, known)) {
            response.Add("/spec/blockSize", *size);
            claim.block_size = size;
          }
          std::optional<std::string> stamp;
          // What will not be stored needs no block.
          if (known.space && !dry_run && ipam::JudgeClaim(claim, nullptr, known).allowed())
            stamp = system->Stamp(claim);
          PutStamp(response, stamp, has_annotations, has_stamp);
          return response;
        },
        std::move(reply));
  };
}

}  // namespace

void RegisterIpam(Webhooks& webhooks, ipam::Desk& desk) {
  const auto on = [&](Phase phase, const kube::Resource& resource,
                      std::initializer_list<Operation> operations, Webhooks::Handler handler) {
    webhooks.On(phase, std::string(resource.group), std::string(resource.plural), operations,
                std::move(handler));
  };
  const auto writes = {Operation::kCreate, Operation::kUpdate};
  on(Phase::kMutate, ipam::kPools, {Operation::kCreate}, DefaultPool);
  on(Phase::kMutate, ipam::kClaims, {Operation::kCreate}, PrepareClaim(desk));
  on(Phase::kValidate, ipam::kPools, writes, Validate(desk, ipam::kPools, ipam::JudgePool));
  on(Phase::kValidate, ipam::kPools, {Operation::kDelete},
     ValidateDeletion(desk, ipam::kPools, ipam::JudgePoolDeletion));
  on(Phase::kValidate, ipam::kSubnets, writes, Validate(desk, ipam::kSubnets, ipam::JudgeSubnet));
  on(Phase::kValidate, ipam::kClaims, writes, Validate(desk, ipam::kClaims, ipam::JudgeClaim));
  on(Phase::kValidate, ipam::kPoolClaims, writes,
     Validate(desk, ipam::kPoolClaims, ipam::JudgePoolClaim));
  on(Phase::kValidate, ipam::kPoolClaims, {Operation::kDelete},
     ValidateDeletion(desk, ipam::kPoolClaims, ipam::JudgePoolClaimDeletion));
}

}  // namespace berth::admission
