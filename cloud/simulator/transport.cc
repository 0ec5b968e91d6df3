#include "cloud/simulator/transport.h"

#include <algorithm>
#include <utility>

namespace berth::cloud::simulator {
struct Network::Call {
  http::Request request;
  http::Transport::Done done;
  Fate fate;
  async::Executor& executor;  // the caller's
  async::TimePoint deadline;
  async::Handle timer;  // of the caller: the deadline, then the answer
  enum class Caller { kWaits, kWasTold, kLetGo } state = Caller::kWaits;

  void Finish(Result<http::Response> outcome) {
    state = Caller::kWasTold;
    auto to = std::move(done);
    to(std::move(outcome));
  }
  void Fail(ErrorClass error_class, std::string message) {
    Finish(std::unexpected(Error{error_class, {}, std::move(message)}));
  }
};

Refusal Unavailable() {
  return {503, "ServiceUnavailable",
          "The request has failed due to a temporary failure of the server."};
}

Refusal InternalError() {
  return {500, "InternalError", "The request processing has failed due to some unknown error."};
}

async::Duration Latency::OneWay() {
  const auto range = static_cast<double>((most_ - least_).count());
  return least_ +
         async::Duration(static_cast<async::Duration::rep>(executor_.RandomFraction() * range));
}

Fate Latency::Draw(const http::Request&) {
  Fate fate;
  fate.there = OneWay();
  fate.back = OneWay();
  return fate;
}

async::Handle Transport::Send(http::Request request, Done done) {
  Fate fate = network_.Draw(request);
  const auto deadline = executor_.Now() + request.timeout;
  auto call = std::make_shared<Network::Call>(std::move(request), std::move(done), std::move(fate),
                                              executor_, deadline);
  if (!call->fate.sent || !call->fate.trusted) {
    call->timer = executor_.RunAt(std::min(executor_.Now() + call->fate.there, deadline), [call] {
      if (call->fate.trusted) return call->Fail(ErrorClass::kRetry, "cannot connect");
      call->Fail(ErrorClass::kTerminal, "SSL certificate problem: certificate has expired");
    });
  } else {
    call->timer = executor_.RunAt(
        deadline, [call] { call->Fail(ErrorClass::kAmbiguous, "no answer in time"); });
    if (call->fate.arrives) network_.Carry(call);
  }
  return async::Handle([call] {
    if (call->state == Network::Call::Caller::kWaits) call->state = Network::Call::Caller::kLetGo;
    call->timer = {};
  });
}

Fate Network::Draw(const http::Request& request) {
  Fate fate = fates_.Draw(request);
  if (cloud_.faults().all().empty()) return fate;
  const auto fault = cloud_.faults().Take(cloud_.ActionOf(request),
                                          {Fault::Kind::kRefused, Fault::Kind::kCarriedOut,
                                           Fault::Kind::kLostAnswer, Fault::Kind::kDelayed});
  if (!fault) return fate;
  fate.back += fault->delay;
  if (fault->kind == Fault::Kind::kLostAnswer) fate.answered = false;
  if (fault->kind == Fault::Kind::kRefused || fault->kind == Fault::Kind::kCarriedOut) {
    fate.refusal = cloud_.RefusalWith(fault->code);
    fate.carried_out = fault->kind == Fault::Kind::kCarriedOut;
  }
  return fate;
}

void Network::Carry(const std::shared_ptr<Call>& call) {
  const std::uint64_t id = ++last_;
  under_way_[id] = executor_.RunAfter(call->fate.there, [this, id, call] {
    const auto ended = under_way_.extract(id);
    Arrive(call);
  });
}

void Network::Arrive(const std::shared_ptr<Call>& call) {
  const Fate& fate = call->fate;
  if (call->state == Call::Caller::kLetGo && !fate.outlives_caller) return;
  http::Response response;
  if (fate.carried_out) response = cloud_.Answer(call->request, executor_.WallNow());
  if (fate.empty_list) cloud_.EmptyLists(response);
  if (fate.refusal) response = cloud_.Decline(call->request, *fate.refusal);
  const auto back = executor_.Now() + fate.back;
  if (call->state != Call::Caller::kWaits || !fate.answered) return;
  if (back >= call->deadline) return;  // the time-out comes first
  call->timer = call->executor.RunAt(back, [call, response = std::move(response)]() mutable {
    call->Finish(std::move(response));
  });
}

}  // namespace berth::cloud::simulator
