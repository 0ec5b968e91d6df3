#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "async/executor.h"
#include "cloud/simulator/server.h"
#include "http/transport.h"

namespace berth::cloud::simulator {

// The fate of one request. The default is that all goes well, at once.
struct Fate {
  bool sent = true;                // else there is no connection, and the caller knows that
  bool trusted = true;             // else the TLS handshake fails, and nothing is sent
  bool arrives = true;             // at the cloud
  bool carried_out = true;         // else there must be a refusal
  std::optional<Refusal> refusal;  // told in place of the cloud's own answer
  bool empty_list = false;         // an answer that lists EIPs or ENIs lists none
  bool answered = true;            // the answer gets back
  // Either may be longer than the caller waits: the request may be carried out after that.
  async::Duration there{};
  async::Duration back{};
  // Whether it goes on when the caller has let go of it before it arrives.
  bool outlives_caller = true;
};

// Refusals of a cloud in trouble; see also Throttled.
Refusal Unavailable();
Refusal InternalError();

// Decides the fate of each request; asked once for each.
class Fates {
 public:
  virtual ~Fates() = default;
  virtual Fate Draw(const http::Request& request) = 0;
};

// Nothing goes wrong; each way takes from `least` to `most`.
class Latency : public Fates {
 public:
  Latency(async::Executor& executor, async::Duration least, async::Duration most)
      : executor_(executor), least_(least), most_(most) {}
  Fate Draw(const http::Request& request) override;

 private:
  async::Duration OneWay();

  async::Executor& executor_;
  async::Duration least_;
  async::Duration most_;
};

// The cloud's end of the way: what has left a caller is here, and goes on when the caller has
// crashed. The executor is the cloud's and so is its date.
class Network {
 public:
  Network(Server& cloud, async::Executor& executor, Fates& fates)
      : cloud_(cloud), executor_(executor), fates_(fates) {}
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

 private:
  friend class Transport;
  struct Call;

  // The fate of a request, with the fault that the cloud has for it.
  Fate Draw(const http::Request& request);
  void Carry(const std::shared_ptr<Call>& call);
  void Arrive(const std::shared_ptr<Call>& call);

  Server& cloud_;
  async::Executor& executor_;
  Fates& fates_;
  std::map<std::uint64_t, async::Handle> under_way_;
  std::uint64_t last_ = 0;
};

// A caller's end. Its executor may be another than the cloud's, if both run on one thread and have
// the same time; network and executor outlive it.
class Transport : public http::Transport {
 public:
  Transport(Network& network, async::Executor& executor) : network_(network), executor_(executor) {}

  async::Handle Send(http::Request request, Done done) override;

 private:
  Network& network_;
  async::Executor& executor_;
};

}  // namespace berth::cloud::simulator
