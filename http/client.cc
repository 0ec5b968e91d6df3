#include "http/client.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <cassert>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "http/call.h"
#include "http/curl.h"
#include "http/waiting_line.h"
#include "log/format.h"

namespace berth::http {
namespace {

using Clock = std::chrono::steady_clock;

// To a host. kube-apiserver takes 100 streams on a connection; a few connections carry bursts past
// that.
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

// Requests of other threads that the client's thread has not yet seen.
struct Inbox {
  std::vector<std::unique_ptr<Call>> calls;
  std::unordered_set<CallId> cancelled;
  std::unordered_map<CallId, std::size_t> acknowledged;  // bytes
  std::vector<Peer*> closing;
};

}  // namespace

class Client::Impl {
 public:
  Impl() {
    InitialiseCurl();
    multi_.reset(curl_multi_init());
    curl_multi_setopt(multi_.get(), CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
    LimitConnections();
    thread_ = std::jthread([this](std::stop_token stop) { Run(stop); });
  }

  ~Impl() {
    {
      const std::lock_guard lock(mutex_);
      shut_ = true;
    }
    thread_.request_stop();
    Wake();
    thread_.join();
  }

  CallId Begin(std::unique_ptr<Call> call) {
    if (auto why = call->WhyMalformed(); !why.empty()) {
      return Refuse(*call, call->Failure(ErrorClass::kTerminal, why));
    }
    auto& count = call->peer->calls_;
    if (count.fetch_add(1) >= kMaxCalls) {
      --count;
      auto error = call->Failure(ErrorClass::kThrottled, "too many calls are waiting");
      error.retry_after = std::chrono::seconds(1);
      return Refuse(*call, std::move(error));
    }
    const CallId id = Accept(call);
    if (id == CallId::kNone) {
      --count;
      return Refuse(*call, call->Failure(ErrorClass::kRetry, kShuttingDown));
    }
    Wake();
    return id;
  }

  void Cancel(CallId id) {
    {
      const std::lock_guard lock(mutex_);
      inbox_.cancelled.insert(id);
    }
    Wake();
  }

  void Acknowledge(CallId id, std::size_t bytes) {
    {
      const std::lock_guard lock(mutex_);
      inbox_.acknowledged[id] += bytes;
    }
    Wake();
  }

  void Wake() { curl_multi_wakeup(multi_.get()); }

  void Close(Peer& peer) {
    assert(std::this_thread::get_id() != thread_.get_id());
    std::unique_lock lock(mutex_);
    if (!std::exchange(peer.closing_, true)) inbox_.closing.push_back(&peer);
    Wake();
    peer_closed_.wait(lock, [&] { return peer.closed_; });
  }

 private:
  static CallId Refuse(Call& call, Error error) {
    call.done(std::unexpected(std::move(error)));
    return CallId::kNone;
  }

  // Takes the call, unless its peer is closed.
  CallId Accept(std::unique_ptr<Call>& call) {
    const std::lock_guard lock(mutex_);
    if (shut_ || call->peer->closing_) return CallId::kNone;
    call->id = CallId{++last_id_};
    inbox_.calls.push_back(std::move(call));
    return CallId{last_id_};
  }

  void Run(std::stop_token stop) {
    BlockSignals();
    while (!stop.stop_requested()) {
      TakeIn();
      ClosePeers();
      int running = 0;
      curl_multi_perform(multi_.get(), &running);
      DeliverLines();
      FinishEnded();
      Poll(StartWaiting(Clock::now()));
    }
    TakeIn();
    EndCalls([](const Call&) { return true; });
  }

  // Returns at once when a call was started, or somebody asked for something meanwhile.
  void Poll(Call::Time until) {
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
      lines_[call->peer.get()].Add(*call);
      calls_.emplace(call->id, std::move(call));
    }
    for (const CallId id : inbox.cancelled) {
      if (Call* call = Find(id)) Remove(*call);
    }
    for (const auto& [id, bytes] : inbox.acknowledged) {
      if (Call* call = Find(id)) call->Acknowledge(bytes);
    }
    closing_ = std::move(inbox.closing);
  }

  void ClosePeers() {
    for (Peer* peer : closing_) {
      EndCalls([&](const Call& call) { return call.peer.get() == peer; });
      const std::lock_guard lock(mutex_);
      peer->closed_ = true;
      peer_closed_.notify_all();
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

  // Starts what may start; returns when to look again.
  Call::Time StartWaiting(Call::Time now) {
    std::erase_if(lines_, [](const auto& entry) { return entry.second.empty(); });
    Call::Time next = Call::Time::max();
    for (auto& [peer, line] : lines_) {
      ExpireWaiting(line, now);
      next = std::min(next, StartFirst(line, now));
      if (!line.empty()) next = std::min(next, line.most_urgent().deadline);
    }
    return next;
  }

  void ExpireWaiting(WaitingLine& line, Call::Time now) {
    while (!line.empty() && line.most_urgent().deadline <= now) {
      Call& call = line.most_urgent();
      const auto why = Format("not sent within {} ms", call.request.timeout.count());
      Finish(call, std::unexpected(call.Failure(ErrorClass::kRetry, why)));
    }
  }

  // Starts the first calls of one peer; returns when the peer wants to be asked again.
  Call::Time StartFirst(WaitingLine& line, Call::Time now) {
    while (!line.empty()) {
      Call& call = line.first();
      auto admission = call.peer->Admit(call, now);
      if (const auto* until = std::get_if<Call::Time>(&admission)) return *until;
      if (auto* error = std::get_if<Error>(&admission)) {
        Finish(call, std::unexpected(std::move(*error)));
        continue;
      }
      line.Remove(call);
      StartTransfer(call, std::get<CredentialPtr>(std::move(admission)), now);
    }
    return Call::Time::max();
  }

  void StartTransfer(Call& call, CredentialPtr credential, Call::Time now) {
    // Wait for a connection being made only where HTTP/2 has been seen: with HTTP/1.1 the wait
    // would last until the first call's answer.
    if (!call.Prepare(std::move(credential), http2_hosts_.contains(call.Host()), now) ||
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
      TellPeer(*call);
      if (IsWanted(*call)) call->options.on_lines(std::move(lines));
    }
  }

  void TellPeer(Call& call) {
    if (!std::exchange(call.told, true)) call.peer->Answered(call);
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

  static bool IsWorthAnotherTry(const Call& call, const Result<Response>& result) {
    return result && result->code == 401 && !call.tried_again &&
           call.peer->Refused(call.credential);
  }

  void TryAgain(Call& call) {
    EndTransfer(call);
    call.Rewind();
    lines_[call.peer.get()].Add(call);
  }

  void NoteVersion(const Call& call) {
    if (call.HasHttp2()) {
      http2_hosts_.insert(call.Host());
    } else {
      http2_hosts_.erase(call.Host());
    }
  }

  void Finish(Call& call, Result<Response> result) {
    const auto owned = Remove(call);
    if (IsWanted(*owned)) owned->done(std::move(result));
  }

  void EndTransfer(Call& call) {
    if (!call.easy) return;
    TellPeer(call);
    curl_multi_remove_handle(multi_.get(), call.easy.get());
    if (streams_.erase(&call) > 0) LimitConnections();
  }

  std::unique_ptr<Call> Remove(Call& call) {
    if (const auto line = lines_.find(call.peer.get()); line != lines_.end()) {
      line->second.Remove(call);
    }
    EndTransfer(call);
    auto owned = std::move(calls_.extract(call.id).mapped());
    --owned->peer->calls_;
    return owned;
  }

  template <typename Condition>
  void EndCalls(Condition condition) {
    std::vector<Call*> ending;
    for (const auto& [id, call] : calls_) {
      if (condition(*call)) ending.push_back(call.get());
    }
    for (Call* call : ending) Finish(*call, std::unexpected(call->Abandoned(kShuttingDown)));
  }

  std::mutex mutex_;
  Inbox inbox_;                // under mutex_
  std::uint64_t last_id_ = 0;  // under mutex_
  bool shut_ = false;          // under mutex_; no call is taken any more
  std::condition_variable peer_closed_;

  // The rest belongs to the thread; curl_multi_wakeup alone may be called from others.
  MultiHandle multi_;
  std::unordered_map<CallId, std::unique_ptr<Call>> calls_;
  std::unordered_map<Peer*, WaitingLine> lines_;  // those of calls_ that have not started
  std::unordered_set<Call*> streams_;             // those of calls_ that libcurl has
  std::unordered_set<std::string> http2_hosts_;
  std::vector<Peer*> closing_;
  std::jthread thread_;
};

Client::Client() : impl_(std::make_unique<Impl>()) {}
Client::~Client() = default;

CallId Client::Send(PeerPtr peer, Request request, Done done, CallOptions options) {
  return impl_->Begin(std::make_unique<Call>(std::move(peer), std::move(request), std::move(done),
                                             std::move(options)));
}

void Client::Acknowledge(CallId stream, std::size_t bytes) { impl_->Acknowledge(stream, bytes); }
void Client::Cancel(CallId call) { impl_->Cancel(call); }
void Client::Wake() { impl_->Wake(); }
void Client::Close(Peer& peer) { impl_->Close(peer); }

}  // namespace berth::http
