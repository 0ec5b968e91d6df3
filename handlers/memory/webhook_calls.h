#pragma once

#include <functional>
#include <string>

#include "async/executor.h"
#include "handlers/admission/webhooks.h"
#include "kube/memory/server.h"

namespace berth::memory {

// Sends a review to the webhook with this path, and calls back with the answer.
using CallWebhook = std::function<void(const std::string& path, const std::string& review,
                                       const kube::memory::Server::Webhook::Answer& answer)>;

// Makes an API server in memory call a webhook for each of the rules, as if a webhook configuration
// had them.
void InstallWebhooks(kube::memory::Server& server, const admission::Webhooks& webhooks,
                     const CallWebhook& call);

// The same with calls inside the process. `home` is the server's thread; it and the webhooks
// outlive the server.
void InstallWebhooks(kube::memory::Server& server, const admission::Webhooks& webhooks,
                     async::Executor& home);

}  // namespace berth::memory
