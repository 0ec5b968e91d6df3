#include "kube/client.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <format>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "async/token_bucket.h"
#include "kube/call.h"
#include "kube/client_metrics.h"
#include "kube/credentials.h"
#include "kube/curl.h"
#include "kube/endpoint.h"
#include "kube/waiting_line.h"

namespace berth::kube {
namespace {

using Clock = std::chrono::steady_clock;

// kube-apiserver takes 100 streams on a connection; a few connections carry bursts past that.
constexpr long kMaxConnections = 8;
constexpr std::chrono::minutes kMaxPoll{1};
constexpr const char* kShuttingDown = "the client is shutting down";

// Signals belong to the main thread; and a TLS write to a closed connection raises SIGPIPE in the
// writing thread, which libcurl leaves alone when it is told not to touch signals.
void BlockSignals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

void InitialiseCurl() {
  static const CURLcode once = curl_global_init(CURL_GLOBAL_DEFAULT);
  static_cast<void>(once);
}

// What other threads have asked for and the client's thread has not yet seen.
struct Inbox {
  std::vector<std::unique_ptr<Call>> calls;
  std::unordered_set<CallId> cancelled;
  std::unordered_map<CallId, std::size_t> acknowledged;  // bytes
};

}  // namespace

class Client::Impl {
 public:
  Impl(const Config& config, const ClientOptions& options)
      : endpoint_(config),
        limit_(async::TokenBucket::PerSecond(options.qps), options.burst),
        metrics_(options.metrics, endpoint_.authority()),
        credentials_(config, [this] { curl_multi_wakeup(multi_.get()); }) {
    InitialiseCurl();
    multi_.reset(curl_multi_init());
    curl_multi_setopt(multi_.get(), CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
    LimitConnections();
    thread_ = std::jthread([this](std::stop_token stop) { Run(stop); });
  }

  ~Impl() { Shutdown(); }

  void Shutdown() {
    assert(std::this_thread::get_id() != thread_.get_id());
    {
      const std::lock_guard lock(mutex_);
      shut_ = true;
    }
    thread_.request_stop();
    curl_multi_wakeup(multi_.get());
    if (thread_.joinable()) thread_.join();
  }

  CallId Begin(std::unique_ptr<Call> call) {
    if (auto why = call->WhyMalformed(); !why.empty()) {
      return Refuse(*call, call->Failure(ErrorClass::kTerminal, why));
    }
    if (count_.fetch_add(1) >= kMaxCalls) {
      --count_;
      auto error = call->Failure(ErrorClass::kThrottled, "too many calls are waiting");
      error.retry_after = std::chrono::seconds(1);
      return Refuse(*call, std::move(error));
    }
    const CallId id = Accept(call);
    if (id == CallId::kNone) {
      --count_;
      return Refuse(*call, call->Failure(ErrorClass::kRetry, kShuttingDown));
    }
    curl_multi_wakeup(multi_.get());
    return id;
  }

  void Cancel(CallId id) {
    {
      const std::lock_guard lock(mutex_);
      if (!over_) inbox_.cancelled.insert(id);
    }
    curl_multi_wakeup(multi_.get());
  }

  void Acknowledge(CallId id, std::size_t bytes) {
    {
      const std::lock_guard lock(mutex_);
      if (!over_) inbox_.acknowledged[id] += bytes;
    }
    curl_multi_wakeup(multi_.get());
  }

 private:
  static CallId Refuse(Call& call, Error error) {
    call.done(std::unexpected(std::move(error)));
    return CallId::kNone;
  }

  // Takes the call, unless the client is shut.
  CallId Accept(std::unique_ptr<Call>& call) {
    const std::lock_guard lock(mutex_);
    if (shut_) return CallId::kNone;
    call->id = CallId{++last_id_};
    inbox_.calls.push_back(std::move(call));
    return CallId{last_id_};
  }

  void Run(std::stop_token stop) {
    BlockSignals();
    while (!stop.stop_requested()) {
      TakeIn();
      int running = 0;
      curl_multi_perform(multi_.get(), &running);
      DeliverLines();
      FinishEnded();
      const auto now = Clock::now();
      ExpireWaiting(now);
      Poll(StartWaiting(now));
    }
    EndAll();
  }

  // Returns at once when a call was started, or somebody asked for something meanwhile.
  void Poll(Call::Time until) {
    if (!line_.empty()) until = std::min(until, line_.most_urgent().deadline);
    const auto left = std::clamp<Clock::duration>(until - Clock::now(), {}, kMaxPoll);
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    curl_multi_poll(multi_.get(), nullptr, 0, static_cast<int>(ms), nullptr);
  }

  // Calls nobody back, so that a cancelled call is gone before anything could come of it.
  void TakeIn() {
    Inbox inbox;
    {
      const std::lock_guard lock(mutex_);
      inbox = std::exchange(inbox_, {});
    }
    for (auto& call : inbox.calls) {
      line_.Add(*call);
      calls_.emplace(call->id, std::move(call));
    }
    for (const CallId id : inbox.cancelled) {
      if (Call* call = Find(id)) Remove(*call);
    }
    for (const auto& [id, bytes] : inbox.acknowledged) {
      if (Call* call = Find(id)) call->Acknowledge(bytes);
    }
  }

  Call* Find(CallId id) const {
    const auto found = calls_.find(id);
    return found == calls_.end() ? nullptr : found->second.get();
  }

  bool IsWanted(const Call& call) {
    const std::lock_guard lock(mutex_);
    return !inbox_.cancelled.contains(call.id);
  }

  void ExpireWaiting(Call::Time now) {
    while (!line_.empty() && line_.most_urgent().deadline <= now) {
      Call& call = line_.most_urgent();
      const auto why = std::format("not sent within {} ms", call.request.timeout.count());
      Finish(call, std::unexpected(call.Failure(ErrorClass::kRetry, why)));
    }
  }

  // Starts what may start; returns when the rate limit lets the next one go.
  Call::Time StartWaiting(Call::Time now) {
    while (!line_.empty()) {
      Call& call = line_.first();
      const auto credential = credentials_.Get();
      if (!credential) {
        held_up_until_ = now;
        return Call::Time::max();  // woken when there is one
      }
      if (!*credential) {
        Finish(call, std::unexpected(credential->error()));
        continue;
      }
      if (!call.request.ahead) {
        if (!limit_.Take(now)) return limit_.Next();
        metrics_.Waited(Name(call.request.method), now - std::max(call.created, held_up_until_));
      }
      line_.Remove(call);
      StartTransfer(call, **credential, now);
    }
    return Call::Time::max();
  }

  void StartTransfer(Call& call, CredentialPtr credential, Call::Time now) {
    // Wait for a connection being made only where HTTP/2 has been seen: with HTTP/1.1 the wait
    // would last until the first call's answer.
    if (!call.Prepare(endpoint_, std::move(credential), has_http2_, now) ||
        curl_multi_add_handle(multi_.get(), call.easy.get()) != CURLM_OK) {
      return Finish(call, std::unexpected(call.Failure(ErrorClass::kRetry, "out of memory")));
    }
    if (call.IsStream()) {
      streams_.insert(&call);
      LimitConnections();
    }
  }

  // With HTTP/1.1 a stream has a connection for itself, which calls must not lack.
  void LimitConnections() {
    curl_multi_setopt(multi_.get(), CURLMOPT_MAX_HOST_CONNECTIONS,
                      kMaxConnections + static_cast<long>(streams_.size()));
  }

  // Not from inside libcurl, which could not be used from the callbacks then.
  void DeliverLines() {
    for (Call* call : streams_) {
      std::string lines = call->TakeLines();
      if (lines.empty()) continue;
      Count(*call);
      if (IsWanted(*call)) call->on_lines(std::move(lines));
    }
  }

  // Once for each request: a stream's when it begins to bring something, for it may last an hour.
  void Count(Call& call) {
    if (std::exchange(call.counted, true)) return;
    metrics_.Answered(Name(call.request.method), call.HttpCode());
    if (!call.IsStream()) metrics_.Took(Name(call.request.method), Clock::now() - call.started);
  }

  void FinishEnded() {
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      Call* call = nullptr;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &call);
      const CURLcode code = message->data.result;
      if (code == CURLE_OK) NoteVersion(*call);
      auto result = call->Outcome(code);
      if (IsWorthAnotherTry(*call, result)) {
        TryAgain(*call);
      } else {
        Finish(*call, std::move(result));
      }
    }
  }

  // A 401 says that nothing was done, so even a write may be sent again.
  bool IsWorthAnotherTry(const Call& call, const Result<Response>& result) {
    return !result && result.error().code == 401 && !call.tried_again &&
           credentials_.Refused(call.credential);
  }

  void TryAgain(Call& call) {
    EndTransfer(call);
    call.Rewind();
    line_.Add(call);
  }

  void NoteVersion(const Call& call) {
    long version = 0;
    curl_easy_getinfo(call.easy.get(), CURLINFO_HTTP_VERSION, &version);
    has_http2_ = version == CURL_HTTP_VERSION_2_0;
  }

  void Finish(Call& call, Result<Response> result) {
    const auto owned = Remove(call);
    if (IsWanted(*owned)) owned->done(std::move(result));
  }

  void EndTransfer(Call& call) {
    if (!call.easy) return;
    Count(call);
    curl_multi_remove_handle(multi_.get(), call.easy.get());
    if (streams_.erase(&call) > 0) LimitConnections();
  }

  std::unique_ptr<Call> Remove(Call& call) {
    line_.Remove(call);
    EndTransfer(call);
    auto owned = std::move(calls_.extract(call.id).mapped());
    --count_;
    return owned;
  }

  void EndAll() {
    // `done` may have cancelled or sent more, until it is told of the shutdown.
    for (TakeIn(); !calls_.empty(); TakeIn()) {
      Call& call = *calls_.begin()->second;
      Finish(call, std::unexpected(call.Abandoned(kShuttingDown)));
    }
    const std::lock_guard lock(mutex_);
    over_ = true;
  }

  const Endpoint endpoint_;
  std::atomic<std::size_t> count_{0};  // of calls waiting or under way
  std::mutex mutex_;
  Inbox inbox_;                // under mutex_
  std::uint64_t last_id_ = 0;  // under mutex_
  bool shut_ = false;          // under mutex_; no call is taken any more
  bool over_ = false;          // under mutex_; the thread has ended all calls

  // The rest belongs to the thread; curl_multi_wakeup alone may be called from others.
  async::TokenBucket limit_;
  ClientMetrics metrics_;
  MultiHandle multi_;
  Credentials credentials_;
  Call::Time held_up_until_;  // by a credential that was not there
  std::unordered_map<CallId, std::unique_ptr<Call>> calls_;
  WaitingLine line_;                   // those of calls_ that have not started
  std::unordered_set<Call*> streams_;  // those of calls_ that libcurl has
  bool has_http2_ = false;
  std::jthread thread_;
};

Client::Client(Config config, ClientOptions options)
    : impl_(std::make_unique<Impl>(config, options)) {}
Client::~Client() = default;

void Client::Shutdown() { impl_->Shutdown(); }

CallId Client::Send(Request request, Done done) {
  return impl_->Begin(std::make_unique<Call>(std::move(request), std::move(done)));
}

CallId Client::Stream(Request request, StreamCallbacks callbacks) {
  auto done = [on_end = std::move(callbacks.on_end)](Result<Response> result) {
    on_end(result.transform([](const Response&) {}));
  };
  return impl_->Begin(
      std::make_unique<Call>(std::move(request), std::move(done), std::move(callbacks.on_lines)));
}

void Client::Acknowledge(CallId stream, std::size_t bytes) { impl_->Acknowledge(stream, bytes); }
void Client::Cancel(CallId call) { impl_->Cancel(call); }

}  // namespace berth::kube
