#include "kube/events.h"

#include <prometheus/counter.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <functional>

#include "log/escape.h"
#include "log/format.h"
#include "log/log.h"
#include "log/timestamp.h"

namespace berth::kube {
namespace {

constexpr std::size_t kMaxInstance = 128;    // bytes; the API's bound
constexpr std::size_t kMaxObjectName = 236;  // what a name's 253 bytes leave beside ".", 16 digits
constexpr async::Duration kFirstDelay = std::chrono::seconds(1);
constexpr async::Duration kLongestDelay = std::chrono::minutes(1);

std::string Joined(const ObjectReference& object) {
  return Format("{}\n{}\n{}\n{}\n{}", object.api_version, object.kind, object.ns, object.name,
                object.uid);
}

// Eight bytes for a text. Two texts of the thousands that are remembered share one in less than one
// of 10^15 cases; an event would count up another one's series then.
std::string Digest(std::string_view text) {
  const auto hash =
      std::bit_cast<std::array<char, sizeof(std::size_t)>>(std::hash<std::string_view>()(text));
  return {hash.data(), hash.size()};
}

bool IsAlphanumeric(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

// Whether `name` may stand before a "." in an event's name, which is a DNS subdomain; some objects'
// names are not.
bool IsSubdomain(std::string_view name) {
  char before = '.';
  for (const char c : name) {
    const bool good =
        IsAlphanumeric(c) || (c == '-' && before != '.') || (c == '.' && IsAlphanumeric(before));
    if (!good) return false;
    before = c;
  }
  return IsAlphanumeric(before);
}

// After its object, for who reads a list of events.
std::string EventName(const std::string& object, std::uint64_t random) {
  const bool allowed = object.size() <= kMaxObjectName && IsSubdomain(object);
  return Format("{}.{:016x}", allowed ? object : "event", random);
}

Json Regarding(const ObjectReference& object) {
  Json regarding;
  regarding["apiVersion"] = object.api_version;
  regarding["kind"] = object.kind;
  if (!object.ns.empty()) regarding["namespace"] = object.ns;
  regarding["name"] = object.name;
  if (!object.uid.empty()) regarding["uid"] = object.uid;
  return regarding;
}

async::Duration DelayAfter(int tries, const Error& error) {
  const async::Duration delay =
      std::max<async::Duration>(kFirstDelay * (1 << tries), error.retry_after);
  return std::min(delay, kLongestDelay);
}

}  // namespace

// Thousands of them are remembered: what they weigh counts.
struct EventRecorder::Event {
  std::string key;
  std::string ns;
  std::string name;
  std::string body;  // JSON, as created, but for the series
  int count = 1;
  async::WallTime last_observed;
  async::TimePoint seen;  // the same on the clock that windows are measured with
  int written = 0;        // the count that the API server knows, 0 when it does not know the event
  async::TimePoint written_at;
  bool waiting = false;  // to be written, or being written
  int tries = 0;

  std::string Path() const { return Format("/apis/events.k8s.io/v1/namespaces/{}/events", ns); }

  // A member of the body, and what is around it.
  std::string Series(std::string_view before) const {
    return Format(R"({}"series":{{"count":{},"lastObservedTime":"{}"}}}})", before, count,
                  FormatMicroTime(last_observed));
  }

  Request Creation() const {
    const auto open = std::string_view(body).substr(0, body.size() - 1);
    return {.method = Method::kPost,
            .path = Path(),
            .body = count > 1 ? Series(std::string(open) + ",") : body};
  }

  Request Update() const {
    return {.method = Method::kPatch,
            .path = Path() + "/" + name,
            .body = Series("{"),
            .content_type = "application/merge-patch+json"};
  }
};

EventRecorder::EventRecorder(async::Executor& executor, Transport& transport, Options options)
    : executor_(executor), transport_(transport), options_(std::move(options)), signal_(executor) {
  running_ = async::Start(Run());
}

void EventRecorder::Record(const ObjectReference& regarding, EventType type,
                           std::string_view reason, std::string_view action,
                           std::string_view note) {
  assert(!reason.empty() && !action.empty());  // the API wants both
  const std::string text = log::ToUtf8(note, kMaxNote);
  std::string key = Digest(Format("{}\n{}\n{}\n{}\n{}", Joined(regarding), static_cast<int>(type),
                                  reason, action, text));
  const async::TimePoint now = executor_.Now();
  if (const EventPtr* known = known_.Find(key); known && now - (*known)->seen <= kWindow) {
    return Repeat(*known);
  }
  if (waiting_.size() >= kMaxWaiting || !MayCreate(regarding)) {
    return Count(stats_.dropped, "dropped");
  }
  Json what;
  what["type"] = type == EventType::kNormal ? "Normal" : "Warning";
  what["reason"] = reason;
  what["action"] = action;
  what["note"] = text;
  const EventPtr event = Make(regarding, std::move(what));
  event->key = key;
  known_.Put(std::move(key), event);
  Schedule(event, now);
}

EventRecorder::EventPtr EventRecorder::Make(const ObjectReference& regarding, Json what) const {
  auto event = std::make_shared<Event>();
  event->ns = regarding.ns.empty() ? "default" : regarding.ns;
  event->name = EventName(regarding.name, executor_.Random());
  event->last_observed = executor_.WallNow();
  event->seen = executor_.Now();
  Json object;
  object["apiVersion"] = "events.k8s.io/v1";
  object["kind"] = "Event";
  object["metadata"]["name"] = event->name;
  object["metadata"]["namespace"] = event->ns;
  object["eventTime"] = FormatMicroTime(event->last_observed);
  object["regarding"] = Regarding(regarding);
  object["reportingController"] = options_.controller;
  object["reportingInstance"] = log::ToUtf8(options_.instance, kMaxInstance);
  for (auto& member : what.object_range()) {
    object.try_emplace(member.key(), std::move(member.value()));
  }
  event->body = object.to_string();
  event->body.shrink_to_fit();
  return event;
}

// Only for new events: those that repeat cost a number.
bool EventRecorder::MayCreate(const ObjectReference& regarding) {
  std::string object = Digest(Joined(regarding));
  async::TokenBucket* bucket = buckets_.Find(object);
  if (!bucket) bucket = &buckets_.Put(std::move(object), {kInterval, kBurst});
  return bucket->Take(executor_.Now());
}

void EventRecorder::Repeat(const EventPtr& event) {
  ++event->count;
  event->last_observed = executor_.WallNow();
  event->seen = executor_.Now();
  // With no room for it now, the next time writes this one's count too.
  if (event->waiting || waiting_.size() >= kMaxWaiting) return;
  Schedule(event, std::max(executor_.Now(), event->written_at + kUpdateInterval));
}

void EventRecorder::Schedule(const EventPtr& event, async::TimePoint when) {
  event->waiting = true;
  waiting_.emplace(std::pair(when, ++last_order_), event);
  signal_.Notify();
}

async::Task<void> EventRecorder::Run() {
  while (true) {
    if (EventPtr event = TakeDue()) {
      co_await Write(std::move(event));
    } else {
      if (!waiting_.empty()) {
        timer_ = executor_.RunAt(waiting_.begin()->first.first, [this] { signal_.Notify(); });
      }
      co_await signal_.Wait();
    }
  }
}

EventRecorder::EventPtr EventRecorder::TakeDue() {
  if (waiting_.empty() || waiting_.begin()->first.first > executor_.Now()) return nullptr;
  EventPtr event = std::move(waiting_.begin()->second);
  waiting_.erase(waiting_.begin());
  return event;
}

async::Task<void> EventRecorder::Write(EventPtr event) {
  const int count = event->count;
  const auto answer = co_await async::Callback<Result<Response>>([&](auto done) {
    return transport_.Send(event->written == 0 ? event->Creation() : event->Update(), done);
  });
  event->waiting = false;
  // The name is made for this event alone: who has it already is this event, after an answer that
  // got lost.
  if (answer || answer.error().reason == "AlreadyExists") {
    Written(event, count);
  } else {
    Failed(event, answer.error());
  }
}

void EventRecorder::Written(const EventPtr& event, int count) {
  event->written == 0 ? Count(stats_.created, "created") : Count(stats_.updated, "updated");
  event->written = count;
  event->written_at = executor_.Now();
  event->tries = 0;
  if (event->count > count) Schedule(event, event->written_at + kUpdateInterval);
}

void EventRecorder::Failed(const EventPtr& event, const Error& error) {
  const bool gone = error.error_class == ErrorClass::kNotFound;
  if (gone && event->written > 0) {  // deleted, or expired as events do: made anew
    event->written = 0;
    return Schedule(event, executor_.Now());
  }
  if (gone || error.error_class == ErrorClass::kTerminal || event->tries + 1 >= kMaxTries) {
    return GiveUp(*event, error);
  }
  Schedule(event, executor_.Now() + DelayAfter(event->tries++, error));
}

void EventRecorder::GiveUp(const Event& event, const Error& error) {
  Count(stats_.dropped, "dropped");
  log::Warn("event not written", {{"event", event.name}, {"error", error.message}});
  if (const EventPtr* known = known_.Find(event.key); known && known->get() == &event) {
    known_.Erase(event.key);
  }
}

void EventRecorder::Count(std::uint64_t& count, const char* result) {
  ++count;
  if (!options_.registry) return;
  prometheus::BuildCounter()
      .Name("berth_events_total")
      .Help("Kubernetes events by what became of them")
      .Register(*options_.registry)
      .Add({{"controller", options_.controller}, {"result", result}})
      .Increment();
}

}  // namespace berth::kube
