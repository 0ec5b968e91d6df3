#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "async/executor.h"
#include "handlers/admission/webhooks.h"
#include "simulate/scheduler.h"

namespace berth::simulate {

class Process;
class World;

// The replicas' real webhooks in front of the API server, with failurePolicy Ignore. A review goes
// to any replica that runs, leader or not, however far it lags. Sometimes nobody can be reached,
// the review is posted twice, or another webhook refuses the object after ours has seen it. What
// replicas write themselves is not reviewed, as in the chart.
class WebhookFront {
 public:
  explicit WebhookFront(World& world);
  ~WebhookFront();
  WebhookFront(const WebhookFront&) = delete;
  WebhookFront& operator=(const WebhookFront&) = delete;

  // Where reviews are sent from and answered, at once.
  async::Executor& home();

  // Makes the API server call a webhook for each rule.
  void Install(const admission::Webhooks& webhooks);

  // A replica serves from here on, until Leave.
  void Join(const Process& process, const admission::Webhooks& webhooks);
  void Leave(const Process& process);

  // How long the answers to the reviews of the requests that come from here on are under way. Only
  // for requests whose sender does not wait: they are carried out later.
  void SetDelay(async::Duration delay) { delay_ = delay; }

  // Whether nobody is asked: the state is put back in etcd, and not written through the API.
  void SetBypassed(bool bypassed) { bypassed_ = bypassed; }

 private:
  using Answer = std::function<void(kube::Result<std::string>)>;
  void Call(const std::string& path, const std::string& review, const Answer& answer);

  class AtOnce;

  World& world_;
  bool bypassed_ = false;
  async::Duration delay_{};
  std::unique_ptr<AtOnce> home_;
  std::map<std::string, std::pair<const Process*, const admission::Webhooks*>> serving_;
};

}  // namespace berth::simulate
