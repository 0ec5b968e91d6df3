#include "cloud/simulator/agent/transport.h"

#include <algorithm>
#include <string>
#include <utility>

namespace berth::cloud::simulator::agent {

struct Network::Call {
  http::Request request;
  http::Transport::Done done;
  Fate fate;
  async::Executor& executor;  // the caller's
  async::TimePoint deadline;
  async::Handle timer;  // of the caller: the deadline, then the answer
  CallId id = CallId::kNone;
  bool waits = true;   // the caller
  bool began = false;  // the agent has it, or had

  void Tell(Result<http::Response> outcome) {
    waits = false;
    auto to = std::move(done);
    to(std::move(outcome));
  }
  void Fail(ErrorClass error_class, std::string message) {
    Tell(std::unexpected(Error{error_class, {}, std::move(message)}));
  }
  bool Writes() const { return request.method != "GET"; }
};

async::Handle Transport::Send(http::Request request, Done done) {
  Fate fate = network_.fates_.Draw(request);
  const auto deadline = executor_.Now() + request.timeout;
  auto call = std::make_shared<Network::Call>(std::move(request), std::move(done), std::move(fate),
                                              executor_, deadline);
  if (!call->fate.sent || !call->fate.trusted) {
    call->timer = executor_.RunAt(std::min(executor_.Now() + call->fate.there, deadline), [call] {
      if (call->fate.trusted) return call->Fail(ErrorClass::kRetry, "cannot connect");
      call->Fail(ErrorClass::kTerminal, "SSL certificate problem: certificate has expired");
    });
    return async::Handle([call] { call->timer = {}; });
  }
  call->timer = executor_.RunAt(deadline, [&network = network_, call] {
    network.HangUp(*call);
    call->Fail(call->Writes() ? ErrorClass::kAmbiguous : ErrorClass::kRetry, "no answer in time");
  });
  if (call->fate.arrives) network_.Carry(call);
  return async::Handle([&network = network_, call] {
    call->timer = {};
    if (!call->waits) return;
    call->waits = false;
    network.HangUp(*call);
  });
}

void Network::Carry(const std::shared_ptr<Call>& call) {
  const std::uint64_t id = ++last_;
  on_their_way_[id] = executor_.RunAfter(call->fate.there, [this, id, call] {
    const auto ended = on_their_way_.extract(id);
    Arrive(call);
  });
}

void Network::Arrive(const std::shared_ptr<Call>& call) {
  if (!call->waits && !call->fate.outlives_caller) return;
  if (!call->fate.carried_out) {
    const auto refusal = call->fate.refusal.value_or(Unavailable());
    return Finish(call, Failure(refusal.http_code, refusal.message, refusal.code));
  }
  auto [response, id] = agents_.Take(call->request, executor_.WallNow());
  call->began = !response || response->code != 0;
  if (response) {
    Finish(call, *std::move(response));
  } else if (call->waits) {
    call->id = id;
    under_way_[id] = call;
  } else {
    agents_.HangUp(id, executor_.WallNow());  // it came after its client had gone
  }
  Settle();
}

void Network::Settle() {
  agents_.Settle(executor_.WallNow());
  for (auto& [id, response] : agents_.TakeEnded()) {
    if (auto found = under_way_.extract(id)) Finish(found.mapped(), std::move(response));
  }
  timer_ = {};
  const auto next = agents_.NextEvent();
  if (!next) return;
  const auto wait = std::max(async::Duration{}, async::Duration(*next - executor_.WallNow()));
  timer_ = executor_.RunAfter(wait, [this] { Settle(); });
}

void Network::Finish(const std::shared_ptr<Call>& call, http::Response response) {
  call->id = CallId::kNone;
  if (!call->waits || !call->fate.answered) return;
  const auto back = executor_.Now() + call->fate.back;
  if (back >= call->deadline) return;  // the time-out comes first
  call->timer = call->executor.RunAt(back, [call, response = std::move(response)]() mutable {
    if (response.code != 0) return call->Tell(std::move(response));
    // Nobody listens there, or the agent has ended with the call open.
    const bool is_ambiguous = call->Writes() && call->began;
    call->Fail(is_ambiguous ? ErrorClass::kAmbiguous : ErrorClass::kRetry, "connection reset");
  });
}

void Network::HangUp(Call& call) {
  if (call.id == CallId::kNone) return;
  under_way_.erase(call.id);
  agents_.HangUp(std::exchange(call.id, CallId::kNone), executor_.WallNow());
  Settle();
}

}  // namespace berth::cloud::simulator::agent
