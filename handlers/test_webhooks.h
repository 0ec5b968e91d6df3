#pragma once

#include <expected>
#include <string>
#include <utility>

#include "async/executor.h"
#include "handlers/admission/webhooks.h"
#include "kube/memory/server.h"

namespace berth {

// For tests only: makes an API server in memory call all webhooks that are registered, on the
// executor that all of them are on.
inline void CallInProcess(kube::memory::Server& server, const admission::Webhooks& webhooks,
                          async::Executor& executor) {
  for (const auto& rule : webhooks.Rules()) {
    kube::memory::Server::Webhook webhook{.name = rule.path.substr(1),
                                          .group = rule.group,
                                          .resources = {rule.resource},
                                          .operations = {},
                                          .mutating = rule.phase == admission::Phase::kMutate,
                                          .call = {}};
    for (const auto operation : rule.operations)
      webhook.operations.emplace_back(admission::Name(operation));
    webhook.call = [&webhooks, &executor, path = rule.path](const std::string& review,
                                                            auto answer) {
      webhooks.Review(path, review, executor,
                      [answer](std::expected<std::string, kube::Status> reviewed) {
                        if (reviewed) return answer(std::move(*reviewed));
                        answer(kube::Terminal(reviewed.error().message));
                      });
    };
    server.AddWebhook(std::move(webhook));
  }
}

}  // namespace berth
