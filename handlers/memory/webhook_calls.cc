#include "handlers/memory/webhook_calls.h"

#include <expected>
#include <utility>

namespace berth::memory {

void InstallWebhooks(kube::memory::Server& server, const admission::Webhooks& webhooks,
                     const CallWebhook& call) {
  for (const auto& rule : webhooks.Rules()) {
    kube::memory::Server::Webhook webhook{
        .name = rule.path.substr(1),
        .group = rule.group,
        .resources = {rule.resource},
        .operations = {},
        .mutating = rule.phase == admission::Phase::kMutate,
        .call = [call, path = rule.path](const std::string& review, const auto& answer) {
          call(path, review, answer);
        }};
    for (const auto operation : rule.operations)
      webhook.operations.emplace_back(admission::Name(operation));
    server.AddWebhook(std::move(webhook));
  }
}

void InstallWebhooks(kube::memory::Server& server, const admission::Webhooks& webhooks,
                     async::Executor& home) {
  InstallWebhooks(
      server, webhooks,
      [&webhooks, &home](const std::string& path, const std::string& review, const auto& answer) {
        webhooks.Review(path, review, home,
                        [answer](std::expected<std::string, kube::Status> reviewed) {
                          if (reviewed) return answer(std::move(*reviewed));
                          answer(kube::Terminal(reviewed.error().message));
                        });
      });
}

}  // namespace berth::memory
