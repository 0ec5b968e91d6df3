#pragma once

#include <prometheus/registry.h>

#include "systems/system.h"

namespace berth::systems {

// The webhooks and live resources of a system, where nobody is served over HTTP.
struct Registration {
  explicit Registration(System& system) { system.Register(webhooks, api); }

  prometheus::Registry registry;
  admission::Webhooks webhooks{registry};
  apis::Authenticator authenticator{nullptr, nullptr};
  apis::Authorizer authorizer{nullptr};
  apis::ApiServer api{authenticator, authorizer, registry};
};

}  // namespace berth::systems
