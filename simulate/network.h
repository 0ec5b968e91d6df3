#pragma once

#include <memory>

#include "kube/transport.h"
#include "simulate/process.h"

namespace berth::simulate {

class World;

// A replica's way to the API server. What has left the replica is the network's: it goes on when
// the replica has crashed.
class Network : public kube::Transport {
 public:
  Network(World& world, Process& process) : world_(world), process_(process) {}

  async::Handle Send(kube::Request request, Done done) override;
  async::Handle Watch(kube::Request request, Stream stream) override;

 private:
  struct Call;
  struct Feed;

  void Arrive(const std::shared_ptr<Call>& call);
  void Answer(const std::shared_ptr<Call>& call, kube::Response response);
  void Finish(const std::shared_ptr<Call>& call, kube::Result<kube::Response> outcome);
  async::Duration Delay();

  void Open(const std::shared_ptr<Feed>& feed);
  void Pump(const std::shared_ptr<Feed>& feed);
  void Deliver(const std::shared_ptr<Feed>& feed);
  void End(const std::shared_ptr<Feed>& feed, kube::Result<void> end);

  World& world_;
  Process& process_;
};

}  // namespace berth::simulate
