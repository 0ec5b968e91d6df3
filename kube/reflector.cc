#include "kube/reflector.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <utility>

#include "kube/status.h"
#include "log/format.h"
#include "log/log.h"

namespace berth::kube {
namespace {

using namespace std::chrono_literals;

constexpr auto kCallTimeout = 60s;
// A server ends a watch by itself after some minutes; so that not all end together, each asks for
// its own.
constexpr int kLeastWatchSeconds = 300;
constexpr auto kWatchGrace = 30s;
// A watch that ends sooner counts as a failure: no hot loop against a server that refuses to keep
// one.
constexpr auto kShortWatch = 1s;
constexpr int kMostDoublings = 10;
constexpr const char* kInitialEventsEnd = "k8s.io/initial-events-end";

std::optional<std::uint64_t> Number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Versions of one resource are comparable numbers; where they aren't, nothing is taken for old.
bool IsAfter(std::string_view version, std::string_view seen) {
  const auto left = Number(version);
  const auto right = Number(seen);
  return !left || !right || *left > *right;
}

std::string_view VersionOf(JsonView object) {
  return object["metadata"]["resourceVersion"].StringOr("");
}

bool IsExpired(const Error& error) { return error.code == 410; }

// The answer of a server that does not know sendInitialEvents, or does not allow it.
bool IsRefused(const Error& error) { return error.code == 400 || error.code == 422; }

// A continue token is base64, whose "=", "+" and "/" mean something else in a query.
std::string Escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.') {
      out += c;
    } else {
      out += Format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

}  // namespace

Reflector::Reflector(async::Executor& executor, Transport& transport, Options options, Sink& sink)
    : executor_(executor), transport_(transport), options_(std::move(options)), sink_(sink) {}

async::Task<void> Reflector::Run() {
  while (true) {
    while (!co_await Relist()) {
    }
    const auto began = executor_.Now();
    co_await Follow();
    if (renewal_ != Renewal::kWanted && executor_.Now() - began < kShortWatch) {
      co_await WaitAfter(Error{ErrorClass::kRetry, {}, "the listed version is gone already"});
    }
  }
}

// True when the sink has the whole state. What a stream brought after it is in the sink, too.
async::Task<bool> Reflector::Relist() {
  ++status_.relists;
  if (renewal_ == Renewal::kWanted) renewal_ = Renewal::kUnderWay;
  sink_.BeginReplace();
  if (options_.stream_list && !stream_refused_) {
    const bool done = co_await StreamList();
    if (done || !stream_refused_) co_return done;
    sink_.BeginReplace();
  }
  co_return co_await ListPages();
}

async::Task<bool> Reflector::StreamList() {
  phase_ = Phase::kInitial;
  const auto began = executor_.Now();
  const auto ended = co_await OpenWatch(
      "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=");
  if (renewal_ == Renewal::kWanted) co_return false;
  if (phase_ == Phase::kFollowing) {
    co_await Rest(began, ended);
    co_return true;
  }
  if (!ended && IsRefused(ended.error())) {
    stream_refused_ = true;
    co_return false;
  }
  co_await WaitAfter(ended ? Error{ErrorClass::kRetry, {}, "the watch ended before its state"}
                           : ended.error());
  co_return false;
}

async::Task<bool> Reflector::ListPages() {
  std::string continue_token;
  do {
    std::string more = Format("limit={}", options_.page);
    if (!continue_token.empty()) more += "&continue=" + Escape(continue_token);
    Request request{.path = options_.path + Query(more), .timeout = kCallTimeout};
    auto page = co_await async::Callback<Result<Response>>(
        [&](auto done) { return transport_.Send(std::move(request), std::move(done)); });
    auto taken = page ? TakePage(page->body, continue_token) : std::unexpected(page.error());
    if (!taken) {
      co_await WaitAfter(taken.error());
      co_return false;
    }
  } while (!continue_token.empty());
  phase_ = Phase::kFollowing;
  TakeWhole();
  co_return true;
}

void Reflector::TakeWhole() {
  status_.failures = 0;
  // Before the sink's listeners ask.
  status_.synced = true;
  if (renewal_ == Renewal::kUnderWay) renewal_ = Renewal::kNone;
  sink_.EndReplace();
}

void Reflector::Refresh() {
  renewal_ = Renewal::kWanted;
  if (status_.watching && !ending_) Fail({ErrorClass::kRetry, {}, "a fresh state is wanted"});
}

Result<void> Reflector::TakePage(std::string_view body, std::string& continue_token) {
  const auto list = document_.Parse(body);
  if (!list) {
    return std::unexpected(Error{ErrorClass::kRetry, {}, "list: " + list.error().message});
  }
  (*list)["items"].ForEachItem([&](JsonView item) { sink_.Put(item); });
  status_.version = VersionOf(*list);
  continue_token = (*list)["metadata"]["continue"].StringOr("");
  return {};
}

// Watches from the present version on, again and again, until that version is gone.
async::Task<void> Reflector::Follow() {
  while (phase_ != Phase::kExpired && renewal_ != Renewal::kWanted) {
    phase_ = Phase::kFollowing;
    const auto began = executor_.Now();
    const auto ended = co_await OpenWatch("resourceVersion=" + status_.version);
    if (phase_ == Phase::kExpired || (!ended && IsExpired(ended.error()))) break;
    if (renewal_ == Renewal::kWanted) break;
    co_await Rest(began, ended);
  }
}

// Between a watch and the one that takes it up: no time, when it ended in good order.
async::Task<void> Reflector::Rest(async::TimePoint began, Result<void> ended) {
  if (!ended) {
    co_await WaitAfter(ended.error());
  } else if (executor_.Now() - began < kShortWatch) {
    co_await WaitAfter(Error{ErrorClass::kRetry, {}, "the watch ended at once"});
  } else {
    status_.failures = 0;
  }
}

async::Task<Result<void>> Reflector::OpenWatch(std::string query) {
  const auto seconds =
      kLeastWatchSeconds + static_cast<int>(executor_.RandomFraction() * kLeastWatchSeconds);
  Request request{
      .path = options_.path + Query(Format("watch=true&allowWatchBookmarks=true&timeoutSeconds={}"
                                           "&{}",
                                           seconds, query)),
      .timeout = std::chrono::seconds(seconds) + kWatchGrace};
  ++status_.watches;
  status_.watching = true;
  auto ended = co_await async::Callback<Result<void>>([&](auto done) {
    end_ = std::move(done);
    return transport_.Watch(std::move(request),
                            {.on_lines = [this](std::string_view lines) { TakeLines(lines); },
                             .on_end = [this](Result<void> end) { end_(std::move(end)); }});
  });
  ending_ = {};
  status_.watching = false;
  co_return ended;
}

void Reflector::TakeLines(std::string_view lines) {
  while (!lines.empty() && !ending_) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 1, lines.size()));
    if (line.empty()) continue;
    const auto event = document_.Parse(line);
    if (!event) return Fail({ErrorClass::kRetry, {}, "watch: " + event.error().message});
    TakeEvent(*event);
  }
}

void Reflector::TakeEvent(JsonView event) {
  ++status_.events;
  const std::string_view type = event["type"].StringOr("");
  const JsonView object = event["object"];
  if (type == "BOOKMARK") return TakeBookmark(object);
  if (type == "ERROR") return TakeError(object);
  TakeChange(type, object);
}

void Reflector::TakeChange(std::string_view type, JsonView object) {
  const std::string_view version = VersionOf(object);
  // The state that a stream begins with comes in the order of names, not of versions.
  if (phase_ != Phase::kInitial) {
    if (!IsAfter(version, status_.version)) return;
    status_.version = version;
    status_.failures = 0;
  }
  if (type == "DELETED") {
    sink_.Remove(object);
  } else {
    sink_.Put(object);
  }
}

void Reflector::TakeBookmark(JsonView object) {
  const std::string_view version = VersionOf(object);
  if (phase_ == Phase::kInitial) {
    if (!object["metadata"]["annotations"][kInitialEventsEnd].exists()) return;
    phase_ = Phase::kFollowing;
    status_.version = version;
    TakeWhole();
  } else if (IsAfter(version, status_.version)) {
    status_.version = version;
  }
}

void Reflector::TakeError(JsonView status) {
  Error error = ErrorFromStatus(static_cast<int>(status["code"].Int().value_or(500)),
                                status.ToJson(), {}, false);
  if (IsExpired(error) && phase_ != Phase::kInitial) phase_ = Phase::kExpired;
  Fail(std::move(error));
}

// Ends the watch from inside one of its callbacks: a moment later, so that the callback is over
// when its stream goes.
void Reflector::Fail(Error error) {
  ending_ = executor_.RunAfter({}, [this, error = std::move(error)] {
    std::exchange(end_, nullptr)(std::unexpected(error));
  });
}

async::Task<void> Reflector::WaitAfter(Error error) {
  const int doublings = std::min(status_.failures++, kMostDoublings);
  auto wait = std::min(options_.first_wait * (1 << doublings), options_.longest_wait);
  wait += std::chrono::duration_cast<async::Duration>(wait * executor_.RandomFraction());
  if (wait < error.retry_after) wait = error.retry_after;
  status_.last_error = std::move(error.message);
  log::Write(status_.failures > 1 ? log::Level::kWarn : log::Level::kDebug, "watch interrupted",
             {{"path", options_.path},
              {"failures", status_.failures},
              {"retryInMs", std::chrono::duration_cast<std::chrono::milliseconds>(wait).count()},
              {"error", status_.last_error}});
  co_await async::Sleep(executor_, wait);
}

std::string Reflector::Query(std::string more) const {
  return "?" + more + (options_.query.empty() ? "" : "&" + options_.query);
}

}  // namespace berth::kube
