#pragma once

#include <functional>

#include "async/executor.h"
#include "handlers/apis/authenticator.h"
#include "kube/informer.h"
#include "kube/transport.h"

namespace berth::server {

// Follows the ConfigMap in which the API server publishes its front proxy's CA. On the executor's
// thread.
class FrontProxy {
 public:
  using Taken = std::function<void(const apis::RequestHeaderConfig&)>;

  // `taken` is called with every version of it. The CA stays in force if the ConfigMap is deleted.
  FrontProxy(async::Executor& executor, kube::Transport& transport, Taken taken);

 private:
  struct Published {
    apis::RequestHeaderConfig config;
    static kube::Result<Published> From(kube::JsonView config_map);
  };

  kube::Informer<Published> informer_;
  bool known_ = false;
};

}  // namespace berth::server
