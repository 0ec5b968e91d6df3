#include "reconcile/difftracker/work.h"

#include <algorithm>
#include <utility>

#include "log/format.h"
#include "log/log.h"
#include "reconcile/difftracker/admission.h"

namespace berth::difftracker {
namespace {

constexpr std::size_t kAtOnce = 20;  // a reconcile waits for the API server alone
constexpr auto kLongestBackOff = std::chrono::seconds(30);

Expected ExpectedBy(const Caches& caches, const Engine& engine) {
  return {.inbound = [caches](const std::string& key) -> std::optional<InboundSpec> {
            const Service* service = caches.ServiceOf(key);
            if (!service || !service->IsOurs() || service->id.deleting != 0 ||
                !RefusalsOf(*service).empty()) {
              return std::nullopt;
            }
            return SpecOf(*service);
          },
          .outbound = [&engine](const std::string& key) -> std::optional<OutboundSpec> {
            const auto [ipv4, ipv6] = engine.FamiliesOf(key);
            if (!ipv4 && !ipv6) return std::nullopt;
            return OutboundSpec{.key = key, .ipv4 = ipv4, .ipv6 = ipv6};
          }};
}

std::string_view ReasonOf(Notice::Kind kind) {
  switch (kind) {
    case Notice::Kind::kParked:
      return "ServiceGatewayParked";
    case Notice::Kind::kRecovered:
      return "ServiceGatewayRecovered";
    case Notice::Kind::kStuck:
      return "ServiceGatewayDeletionStuck";
  }
  std::unreachable();
}

}  // namespace

Work::Work(Parts parts)
    : parts_(std::move(parts)),
      expected_(ExpectedBy(parts_.caches, engine_)),
      events_(parts_.executor, parts_.leadership.fenced(),
              {.controller = "berth.dev/difftracker",
               .instance = parts_.leadership.identity(),
               .registry = parts_.registry}),
      engine_({.random = [this] { return parts_.executor.RandomFraction(); },
               .drift_interval = parts_.drift}),
      driver_(DriverParts()),
      feed_(parts_.executor, parts_.caches, engine_),
      service_reconciler_(
          {.executor = parts_.executor,
           .api = kube::Api(parts_.leadership.fenced()),
           .events = events_,
           .services = parts_.latest,
           .engine = engine_,
           .addresses_of = [this](const std::string& uid) -> const std::vector<std::string>& {
             return driver_.AddressesOf(uid);
           },
           .unreadable = [this]() -> const std::string& { return unreadable_; },
           .metrics = parts_.metrics}),
      pod_reconciler_({.api = kube::Api(parts_.leadership.fenced()),
                       .events = events_,
                       .pods = parts_.caches.pods,
                       .engine = engine_,
                       .metrics = parts_.metrics}),
      services_(parts_.executor,
                {.name = "TrackedService",
                 .concurrency = kAtOnce,
                 .back_off = {.max = kLongestBackOff},
                 .registry = parts_.registry},
                [this](std::string key) { return service_reconciler_.Reconcile(std::move(key)); }),
      pods_(parts_.executor,
            {.name = "EgressPod",
             .concurrency = kAtOnce,
             .back_off = {.max = kLongestBackOff},
             .registry = parts_.registry},
            [this](std::string key) { return pod_reconciler_.Reconcile(std::move(key)); }) {
  feed_.TakeAll();
  looking_ = async::Start(LookAtTheCloud());
}

Driver::Parts Work::DriverParts() {
  return {.executor = parts_.executor,
          .engine = engine_,
          .gateway = parts_.gateway,
          .cluster = parts_.cluster,
          .spec_of = [this](const std::string& uid) { return SpecOfService(uid); },
          .ensure_finalizer = [this](const std::string& uid) { return EnsureFinalizer(uid); },
          .on_service = [this](const std::string& service) { QueueService(service); },
          .on_drained_pod = [this](const std::string& uid) { QueuePod(uid); },
          .on_notice = [this](const Notice& notice) { Tell(notice); },
          .metrics = parts_.metrics};
}

void Work::Resync() {
  parts_.caches.services.ForEach([this](const std::string& key, const Service& service) {
    if (service.IsOurs() || service.id.finalizer) services_.AddResync(key);
  });
  parts_.caches.pods.ForEach([this](const std::string& key, const Pod& pod) {
    if (pod.egress) pods_.AddResync(key);
  });
}

void Work::ServiceChanged(const std::string& key, const Service* before, const Service* now) {
  feed_.ServiceChanged(key, before, now);
  services_.Add(key);
  driver_.Wake();
}

void Work::SliceChanged(const std::string& key, const Slice* now) {
  feed_.SliceChanged(key, now);
  driver_.Wake();
}

void Work::PodChanged(const std::string& key, const EgressPod* before, const EgressPod* now) {
  if (!before && !now) return;
  feed_.PodChanged(before, now);
  pods_.Add(key);
  driver_.Wake();
}

void Work::NodeChanged(const std::string& name, const Node* before, const Node* now) {
  if (before && now && *before == *now) return;  // a heartbeat
  feed_.NodeChanged(name);
  driver_.Wake();
}

std::string Work::NodeOf(const std::string& ip) const {
  std::string found;
  parts_.caches.nodes.ForEachIn(parts_.nodes_by_ip, ip,
                                [&](const std::string& name, const Node&) { found = name; });
  return found;
}

std::size_t Work::Remembered() const {
  std::size_t services = 0;
  for (const std::size_t count : engine_.totals().services) services += count;
  return services + engine_.totals().draining_pods + driver_.size();
}

Result<InboundSpec> Work::SpecOfService(const std::string& uid) const {
  const Service* service = parts_.caches.ServiceOf(uid);
  if (!service) return Terminal("the Service is gone");
  if (const auto refusals = RefusalsOf(*service); !refusals.empty()) {
    return std::unexpected(Error{.error_class = ErrorClass::kTerminal,
                                 .reason = std::string(refusals.front().reason),
                                 .message = refusals.front().why});
  }
  return SpecOf(*service);
}

async::Task<Result<void>> Work::EnsureFinalizer(std::string uid) {
  const Service* service = parts_.caches.ServiceOf(uid);
  if (!service) co_return Terminal("the Service is gone");
  co_return co_await service_reconciler_.EnsureFinalizer(service->id.Key(), service->id.uid);
}

void Work::QueueService(const std::string& uid) {
  parts_.caches.services.ForEachIn(
      parts_.caches.services_by_uid, uid,
      [this](const std::string& key, const Service&) { services_.Add(key); });
}

void Work::QueuePod(const std::string& uid) {
  parts_.caches.pods.ForEachIn(parts_.caches.pods_by_uid, uid,
                               [this](const std::string& key, const Pod&) { pods_.Add(key); });
}

std::optional<kube::ObjectReference> Work::Subject(const std::string& service, Direction direction,
                                                   const std::string& owner) const {
  if (direction == Direction::kInbound) {
    const Service* found = parts_.caches.services.Get(owner);
    if (!found || found->GatewayKey() != service) return std::nullopt;
    return found->id.Reference(kServices);
  }
  std::optional<kube::ObjectReference> subject;
  bool is_live = false;
  parts_.caches.pods.ForEachIn(parts_.caches.pods_by_egress, service,
                               [&](const std::string&, const Pod& pod) {
                                 if (is_live || (!pod.egress->live && !pod.egress->id.finalizer))
                                   return;
                                 if (subject && !pod.egress->live) return;
                                 is_live = pod.egress->live;
                                 subject = pod.egress->id.Reference(kPods);
                               });
  return subject;
}

void Work::Tell(const Notice& notice) {
  if (notice.kind == Notice::Kind::kParked && parts_.metrics) {
    const auto view = engine_.Find(notice.service);
    parts_.metrics->Parked(view && view->quota                     ? "QuotaExceeded"
                           : view && view->hold == Hold::kRejected ? "Rejected"
                                                                   : "Retries");
  }
  const Service* service = parts_.caches.ServiceOf(notice.service);
  if (service && !RefusalsOf(*service).empty()) return;  // told as ConfigurationRejected
  const auto subject = Subject(notice.service, notice.direction, notice.owner);
  if (!subject) return;
  const bool is_good = notice.kind == Notice::Kind::kRecovered;
  events_.Record(*subject, is_good ? kube::EventType::kNormal : kube::EventType::kWarning,
                 ReasonOf(notice.kind), "Provision", notice.message);
}

Forced Work::ForceDelete(const std::string& service) {
  const auto view = engine_.Find(service);
  const Forced forced = engine_.ForceDelete(service, parts_.executor.Now());
  if (forced != Forced::kForgotten || !view) return forced;
  const bool is_inbound = view->direction == Direction::kInbound;
  const std::string note = Format(
      "deletion forced: the {} {}, its public IPs and its registration in the gateway may stay "
      "until they are found as orphans",
      is_inbound ? "load balancer" : "NAT gateway", service);
  log::Warn("deletion of a service forced", {{"service", service}, {"note", note}});
  if (const auto subject = Subject(service, view->direction, view->owner)) {
    events_.Record(*subject, kube::EventType::kWarning, "ServiceGatewayDeletionForced", "Delete",
                   note);
  }
  driver_.Wake();
  return forced;
}

async::Task<void> Work::LookAtTheCloud() {
  while (!engine_.started()) {
    const async::Duration pause = co_await TryToStart();
    if (!engine_.started()) co_await async::Sleep(parts_.executor, pause);
  }
  Resync();
  driver_.Wake();
  while (true) {
    const auto pause = std::exchange(look_again_, false) ? kSecondLook : parts_.drift;
    co_await async::Sleep(parts_.executor, std::min<async::Duration>(pause, parts_.drift));
    co_await LookForDrift();
  }
}

async::Task<async::Duration> Work::TryToStart() {
  const auto stamp = driver_.registrar().stamp();
  auto picture = co_await LookAtCloud(&parts_.gateway, parts_.cluster, &expected_);
  const auto locations =
      picture ? co_await parts_.gateway.Locations()
              : Result<std::vector<cloud::Location>>(std::unexpected(picture.error()));
  if (!picture || !locations) {
    const Error& error = picture ? locations.error() : picture.error();
    log::Warn("the service gateway cannot be read", {{"error", error.message}});
    // The message has the ID of the request, which is another one each time.
    if (unreadable_.empty()) {
      unreadable_ = Format("the service gateway cannot be read: {}", error.message);
      Resync();
    }
    co_return std::max<async::Duration>(kRetryLook, error.retry_after);
  }
  const auto unknown =
      std::ranges::find(picture->services, cloud::ServiceType::kUnknown, &CloudService::type);
  if (unknown != picture->services.end()) {
    log::Warn("a service of the gateway has a type that Berth does not know: nothing is changed",
              {{"service", unknown->name}});
    co_return kRetryUnknown;
  }
  driver_.registrar().Take(stamp, picture->registered);
  look_again_ = engine_.Start(picture->services, *locations, parts_.executor.Now());
  driver_.SetAddresses(engine_.ObservationStamp(), std::move(picture->addresses));
  log::Info("service gateway read",
            {{"services", picture->services.size()}, {"locations", locations->size()}});
  co_return async::Duration{};
}

async::Task<void> Work::LookForDrift() {
  const auto stamp = engine_.ObservationStamp();
  const auto registrar_stamp = driver_.registrar().stamp();
  auto picture = co_await LookAtCloud(&parts_.gateway, parts_.cluster, &expected_);
  if (!picture) {
    log::Warn("drift of the service gateway cannot be looked for",
              {{"error", picture.error().message}});
    co_return;
  }
  driver_.registrar().Take(registrar_stamp, picture->registered);
  // Before the orphans are tracked: they get no addresses.
  driver_.SetAddresses(stamp, std::move(picture->addresses));
  look_again_ = engine_.Observe(stamp, picture->services, parts_.executor.Now());
  for (const CloudService& service : picture->services) {
    if (service.registered && !service.in_sync && !service.is_default &&
        engine_.IsUnchangedSince(stamp, service.name)) {
      engine_.Repair(service.name, parts_.executor.Now());
    }
  }
  driver_.Wake();
}

}  // namespace berth::difftracker
