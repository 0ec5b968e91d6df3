#include "kube/leader_election.h"

#include <algorithm>
#include <utility>

#include "json/json.h"
#include "log/format.h"
#include "log/log.h"
#include "log/timestamp.h"

namespace berth::kube {
namespace {

using namespace std::chrono_literals;
using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::seconds;

// How much faster another replica's clock may have run over a lease.
constexpr auto kDrift = 1s;
constexpr milliseconds kCallTimeout = 5s;

bool IsSettled(const Result<Response>& outcome) {
  return outcome || outcome.error().error_class != ErrorClass::kAmbiguous;
}

}  // namespace

LeaderElector::LeaderElector(async::Executor& executor, Transport& transport, Options options)
    : executor_(executor),
      transport_(transport),
      options_(std::move(options)),
      path_(Format("/apis/coordination.k8s.io/v1/namespaces/{}/leases", options_.ns)) {}

void LeaderElector::Start(Callbacks callbacks) {
  callbacks_ = std::move(callbacks);
  running_ = async::Start(Run());
}

async::TimePoint LeaderElector::fence() const { return renewed_at_ + options_.lease - kDrift; }

async::Task<void> LeaderElector::Run() {
  while (true) {
    // A leader claims what it has seen last; when that is out of date it is told so, and reads.
    Result<void> fine = leading_ ? Result<void>() : co_await Read();
    if (fine && MayClaim()) {
      fine = co_await Claim();
      if (!fine && leading_) fine = co_await Read();
    }
    trouble_ = fine ? "" : fine.error().message;
    if (!fine) log::Debug("lease", {{"name", options_.name}, {"error", trouble_}});
    if (leading_ && seen_.known && seen_.holder != options_.identity) {
      Depose(Format("the lease is held by \"{}\"", seen_.holder));
    }
    co_await async::Sleep(
        executor_, options_.retry + duration_cast<async::Duration>(options_.retry * 0.2 *
                                                                   executor_.RandomFraction()));
  }
}

bool LeaderElector::led() const {
  if (leading_) return true;
  return seen_.exists && !seen_.holder.empty() && executor_.Now() - seen_at_ <= seen_.duration;
}

bool LeaderElector::MayClaim() const {
  if (!seen_.exists || seen_.holder.empty() || seen_.holder == options_.identity) return true;
  return executor_.Now() - seen_at_ > seen_.duration;
}

async::Task<Result<Response>> LeaderElector::Call(Request request) {
  request.timeout = kCallTimeout;
  request.ahead = true;
  co_return co_await async::Callback<Result<Response>>(
      [&](auto done) { return transport_.Send(std::move(request), std::move(done)); });
}

async::Task<Result<void>> LeaderElector::Read() {
  auto lease = co_await Call({.path = path_ + "/" + options_.name});
  if (lease) {
    See(lease->body);
  } else if (lease.error().error_class == ErrorClass::kNotFound) {
    seen_ = {.known = true};
  } else {
    co_return std::unexpected(lease.error());
  }
  co_return Result<void>();
}

// Takes the lease or renews it, provided that it is still the one seen last.
async::Task<Result<void>> LeaderElector::Claim() {
  const auto sent = executor_.Now();
  Request request{.method = Method::kPost, .path = path_, .body = ClaimBody()};
  if (seen_.exists) {
    request.method = Method::kPatch;
    request.path += "/" + options_.name;
    request.content_type = "application/merge-patch+json";
  }
  auto claimed = co_await Call(std::move(request));
  if (!claimed) co_return std::unexpected(claimed.error());
  See(claimed->body);
  Elect(sent);
  co_return Result<void>();
}

std::string LeaderElector::ClaimBody() const {
  const std::string now = FormatMicroTime(executor_.WallNow());
  Json spec;
  spec["holderIdentity"] = options_.identity;
  spec["leaseDurationSeconds"] = duration_cast<seconds>(options_.lease).count();
  if (seen_.holder != options_.identity) {
    spec["acquireTime"] = now;
    spec["leaseTransitions"] = seen_.exists ? seen_.transitions + 1 : 0;
  }
  spec["renewTime"] = now;
  Json lease;
  lease["apiVersion"] = "coordination.k8s.io/v1";
  lease["kind"] = "Lease";
  Json metadata;
  metadata["name"] = options_.name;
  if (seen_.exists) metadata["resourceVersion"] = seen_.version;
  lease["metadata"] = std::move(metadata);
  lease["spec"] = std::move(spec);
  return lease.to_string();
}

void LeaderElector::See(std::string_view lease) {
  JsonDocument document;
  const auto parsed = document.Parse(lease);
  if (!parsed) return;
  const JsonView spec = (*parsed)["spec"];
  Record record{.version = std::string((*parsed)["metadata"]["resourceVersion"].StringOr("")),
                .holder = std::string(spec["holderIdentity"].StringOr("")),
                .duration = seconds(spec["leaseDurationSeconds"].Int().value_or(0)),
                .transitions = spec["leaseTransitions"].Int().value_or(0),
                .exists = true,
                .known = true};
  if (!seen_.exists || record.version != seen_.version) seen_at_ = executor_.Now();
  seen_ = std::move(record);
}

void LeaderElector::Elect(async::TimePoint sent) {
  renewed_at_ = sent;
  deadline_ = executor_.RunAt(sent + options_.renew_deadline,
                              [this] { Depose("the lease could not be renewed in time"); });
  if (std::exchange(leading_, true)) return;
  log::Info("leading", {{"lease", options_.ns + "/" + options_.name}});
  callbacks_.on_elected();
}

void LeaderElector::Depose(const std::string& why) {
  deadline_ = {};
  if (!std::exchange(leading_, false)) return;
  log::Warn("no longer leading", {{"lease", options_.ns + "/" + options_.name}, {"why", why}});
  callbacks_.on_deposed();
}

async::Task<void> LeaderElector::Release(async::TimePoint quiet) {
  running_ = {};
  const bool led = leading_;
  Depose("shutting down");
  if (!led || quiet >= fence()) co_return;
  co_await async::Sleep(executor_, std::max(quiet - executor_.Now(), async::Duration{}));
  Json body;
  body["metadata"] = Json::Object();
  body["metadata"]["resourceVersion"] = seen_.version;
  body["spec"] = Json::Object();
  body["spec"]["holderIdentity"] = "";
  co_await Call({.method = Method::kPatch,
                 .path = path_ + "/" + options_.name,
                 .body = body.to_string(),
                 .content_type = "application/merge-patch+json"});
}

async::Handle FencedTransport::Send(Request request, Done done) {
  if (request.method == Method::kGet) return inner_.Send(std::move(request), std::move(done));
  request.timeout = std::min<milliseconds>(request.timeout, kLongestWrite);
  const auto settled = executor_.Now() + request.timeout * 2 + kDelivery;
  if (!elector_.Covers(settled)) {
    return executor_.RunAfter({}, [done = std::move(done)] {
      done(std::unexpected(Error{ErrorClass::kRetry, {}, "not sent: the leadership is ending"}));
    });
  }
  request.path +=
      Format("{}timeout={}ms", request.path.contains('?') ? "&" : "?", request.timeout.count());
  while (!unsettled_->empty() && unsettled_->begin()->second <= executor_.Now()) {
    unsettled_->erase(unsettled_->begin());
  }
  const auto id = ++last_;
  unsettled_->emplace(id, settled);
  return inner_.Send(std::move(request), [unsettled = unsettled_, id,
                                          done = std::move(done)](Result<Response> outcome) {
    if (IsSettled(outcome)) unsettled->erase(id);
    done(std::move(outcome));
  });
}

async::TimePoint FencedTransport::QuietAt() const {
  auto quiet = executor_.Now();
  for (const auto& [id, settled] : *unsettled_) quiet = std::max(quiet, settled);
  return quiet;
}

}  // namespace berth::kube
