#include "simulate/network.h"

#include <deque>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/status.h"
#include "log/format.h"
#include "simulate/world.h"

namespace berth::simulate {
namespace {

using namespace std::chrono_literals;

// kube-apiserver gives a request up after this long, when it was told no other limit.
constexpr auto kServerLimit = 34s;

async::Duration ServerLimit(const kube::Request& request) {
  const auto at = request.path.find("timeout=");
  if (at == std::string::npos || request.path.contains("watch=")) return kServerLimit;
  return std::chrono::milliseconds(std::stoll(request.path.substr(at + 8)));
}

bool IsWrite(const kube::Request& request) { return request.method != kube::Method::kGet; }

kube::Response Refusal(Dice& random) {
  switch (random.Below(3)) {
    case 0:
      return {429, kube::ToJson(kube::TooManyRequests(1))};
    case 1:
      return {500, kube::ToJson(kube::InternalError("simulated"))};
    default:
      return {503, kube::ToJson(kube::ServiceUnavailable("simulated"))};
  }
}

}  // namespace

struct Network::Call {
  kube::Request request;
  Done done;
  async::TimePoint deadline;
  std::string writer;
  async::Handle timer;     // of the caller: the deadline, then the delivery of the outcome
  bool abandoned = false;  // nobody waits any more
};

// A watch: lines wait here for their delivery, in order.
struct Network::Feed {
  kube::Request request;
  Stream stream;
  async::Handle watch;  // the server's
  async::Handle timer;  // the replica's next delivery
  std::deque<std::shared_ptr<const std::string>> lines;
  std::vector<std::shared_ptr<const std::string>> sent;  // all of them, to be repeated
  std::optional<kube::Result<void>> end;                 // after the lines
  bool abandoned = false;
};

async::Duration Network::Delay() { return world_.random().Between(200us, 20ms); }

async::Handle Network::Send(kube::Request request, Done done) {
  auto call = std::make_shared<Call>(Call{.request = std::move(request), .done = std::move(done)});
  call->deadline = process_.Now() + call->request.timeout;
  call->writer = Format("{}.{}", process_.name(), process_.life());
  const bool write = IsWrite(call->request);
  call->timer = process_.RunAt(call->deadline, [this, call, write] {
    Finish(call, std::unexpected(
                     kube::Error{write ? kube::ErrorClass::kAmbiguous : kube::ErrorClass::kRetry,
                                 {},
                                 "no answer in time"}));
  });

  const Faults& faults = world_.faults();
  async::Duration delay = Delay();
  if (world_.random().Chance(faults.slow)) {
    delay += world_.random().Between(0s, call->request.timeout + kube::kDelivery);
  }
  const bool lost = world_.Partitioned(process_) || world_.random().Chance(faults.lost_request);
  if (!lost) world_.scheduler().After(delay, [this, call] { Arrive(call); });
  return async::Handle([call] {
    call->abandoned = true;
    call->timer = {};
  });
}

void Network::Arrive(const std::shared_ptr<Call>& call) {
  const Faults& faults = world_.faults();
  Dice& random = world_.random();
  if (random.Chance(faults.refused)) return Answer(call, Refusal(random));
  async::Duration taking{};
  if (random.Chance(faults.slow)) taking = random.Between(0s, ServerLimit(call->request));
  auto carry_out = [this, call] {
    if (IsWrite(call->request) && world_.random().Chance(world_.faults().interference)) {
      world_.Interfere(call->request);
    }
    world_.Handle(call->request, call->writer,
                  [this, call](kube::Response response) { Answer(call, std::move(response)); });
  };
  if (taking == async::Duration{}) return carry_out();
  world_.scheduler().After(taking, carry_out);
}

void Network::Answer(const std::shared_ptr<Call>& call, kube::Response response) {
  if (call->abandoned) return;
  if (world_.Partitioned(process_) || world_.random().Chance(world_.faults().lost_answer)) return;
  const auto arrives = world_.scheduler().Now() + Delay();
  if (arrives >= call->deadline) return;  // the time-out comes first
  call->timer = process_.RunAt(arrives, [this, call, response = std::move(response)]() mutable {
    if (response.code >= 200 && response.code < 300) return Finish(call, std::move(response));
    Finish(call, std::unexpected(kube::ErrorFromStatus(response.code, response.body, {},
                                                       IsWrite(call->request))));
  });
}

void Network::Finish(const std::shared_ptr<Call>& call, kube::Result<kube::Response> outcome) {
  call->abandoned = true;
  if (world_.tracing()) {
    world_.Trace("{} {} {}: {}", call->writer, Name(call->request.method), call->request.path,
                 outcome ? std::to_string(outcome->code) : outcome.error().message);
  }
  auto done = std::move(call->done);
  done(std::move(outcome));
}

async::Handle Network::Watch(kube::Request request, Stream stream) {
  auto feed =
      std::make_shared<Feed>(Feed{.request = std::move(request), .stream = std::move(stream)});
  world_.scheduler().After(Delay(), [this, feed] { Open(feed); });
  return async::Handle([feed] {
    feed->abandoned = true;
    feed->watch = {};
    feed->timer = {};
  });
}

void Network::Open(const std::shared_ptr<Feed>& feed) {
  if (feed->abandoned) return;
  if (world_.Partitioned(process_) || world_.random().Chance(world_.faults().lost_request)) {
    return End(feed, std::unexpected(kube::Error{kube::ErrorClass::kRetry, {}, "cannot connect"}));
  }
  auto opened = world_.server().Watch(
      feed->request,
      {.on_line =
           [this, weak = std::weak_ptr(feed)](const std::shared_ptr<const std::string>& line) {
             const auto open = weak.lock();
             if (!open || open->end) return;
             open->lines.push_back(line);
             open->sent.push_back(line);
             if (world_.random().Chance(world_.faults().repeated)) {
               open->lines.push_back(open->sent[world_.random().Below(open->sent.size())]);
             }
             Pump(open);
           },
       .on_end =
           [this, weak = std::weak_ptr(feed)] {
             const auto open = weak.lock();
             if (!open || open->end) return;
             open->end.emplace();
             Pump(open);
           }});
  if (!opened) {
    return End(feed, std::unexpected(kube::ErrorFromStatus(opened.error().code, opened.error().body,
                                                           {}, false)));
  }
  feed->watch = std::move(*opened);
}

// Sees to it that the next line will be delivered.
void Network::Pump(const std::shared_ptr<Feed>& feed) {
  if (feed->timer || feed->abandoned) return;
  async::Duration delay = Delay();
  if (world_.random().Chance(world_.faults().stale)) {
    delay += world_.random().Between(1s, 60s);
    world_.Trace("{} watch stands still: {}", process_.name(), feed->request.path);
  }
  feed->timer = process_.RunAfter(delay, [this, feed] {
    feed->timer = {};
    Deliver(feed);
  });
}

void Network::Deliver(const std::shared_ptr<Feed>& feed) {
  if (world_.Partitioned(process_)) {
    feed->lines.clear();
    return End(feed, std::unexpected(kube::Error{kube::ErrorClass::kRetry, {}, "cut off"}));
  }
  if (world_.random().Chance(world_.faults().cut)) {
    feed->lines.clear();
    world_.Trace("{} watch cut: {}", process_.name(), feed->request.path);
    return End(feed, std::unexpected(kube::Error{kube::ErrorClass::kRetry, {}, "cut"}));
  }
  if (feed->lines.empty()) {
    if (feed->end) End(feed, std::move(*feed->end));
    return;
  }
  const auto line = std::move(feed->lines.front());
  feed->lines.pop_front();
  if (!feed->lines.empty() || feed->end) Pump(feed);
  world_.Trace("{} sees {}", process_.name(), std::string_view(*line).substr(0, line->size() - 1));
  feed->stream.on_lines(*line);
}

// The last of a stream, from the replica's side.
void Network::End(const std::shared_ptr<Feed>& feed, kube::Result<void> end) {
  feed->watch = {};
  feed->end.emplace();
  feed->timer = process_.RunAfter({}, [feed, end = std::move(end)] {
    feed->abandoned = true;
    auto on_end = std::move(feed->stream.on_end);
    on_end(end);
  });
}

}  // namespace berth::simulate
