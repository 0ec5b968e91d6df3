#include "handlers/admission/webhooks.h"

#include <array>
#include <chrono>
#include <optional>

#include "handlers/loop_executor.h"
#include "kube/json_view.h"
#include "log/escape.h"
#include "log/format.h"
#include "log/log.h"

namespace berth::admission {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kLargeReview = 256 * 1024;
constexpr std::size_t kMostOfAMessage = 1024;

const prometheus::Histogram::BucketBoundaries kLatencyBuckets = {
    0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
    0.05,    0.1,    0.25,    0.5,    1,     2.5,    5,     10};

}  // namespace

struct Webhooks::Webhook {
  std::string name;
  Phase phase;
  std::string group;
  std::string resource;
  std::array<Handler, 4> by_operation;
  SideEffects side_effects;
  prometheus::Counter* allowed;
  prometheus::Counter* denied;
  prometheus::Counter* malformed;
  prometheus::Histogram* latency;
};

Webhooks::Webhooks(prometheus::Registry& registry)
    : reviews_(
          prometheus::BuildCounter()
              .Name("berth_admission_reviews_total")
              .Help(
                  "Admission reviews answered, by webhook and result (allowed, denied, malformed).")
              .Register(registry)),
      latency_(prometheus::BuildHistogram()
                   .Name("controller_runtime_webhook_latency_seconds")
                   .Help("Time from a whole review received to its answer.")
                   .Register(registry)) {}

Webhooks::~Webhooks() = default;

std::string_view Name(Phase phase) { return phase == Phase::kMutate ? "mutate" : "validate"; }

void Webhooks::On(Phase phase, const kube::Resource& resource,
                  std::initializer_list<Operation> operations, Handler handler,
                  SideEffects side_effects) {
  const std::string_view group = resource.group.empty() ? "core" : resource.group;
  const std::string path = Format("/{}/{}/{}", Name(phase), group, resource.plural);
  auto& webhook = by_path_[path];
  if (!webhook) {
    webhook = std::make_unique<Webhook>(Webhook{
        .name = path,
        .phase = phase,
        .group = std::string(resource.group),
        .resource = std::string(resource.plural),
        .by_operation = {},
        .side_effects = side_effects,
        .allowed = &reviews_.Add({{"webhook", path}, {"result", "allowed"}}),
        .denied = &reviews_.Add({{"webhook", path}, {"result", "denied"}}),
        .malformed = &reviews_.Add({{"webhook", path}, {"result", "malformed"}}),
        .latency = &latency_.Add({{"webhook", path}}, kLatencyBuckets),
    });
  }
  for (const Operation operation : operations) {
    webhook->by_operation[static_cast<std::size_t>(operation)] = handler;
  }
}

void Webhooks::Serve(const drogon::HttpRequestPtr& request, http::Callback callback) const {
  const auto found = by_path_.find(http::RawPath(request));
  if (found == by_path_.end()) {
    return callback(http::Respond(http::NoSuchPath()));
  }
  if (request->method() != drogon::Post) {
    return callback(http::Respond(kube::MethodNotAllowed("", "webhooks", request->methodString())));
  }
  if (!http::IsMediaType(request->getHeader("content-type"), http::kJson)) {
    return callback(http::Respond(kube::UnsupportedMediaType(http::kJson)));
  }
  Serve(found->first, request->body(), request->getHeader("audit-id"),
        [request, callback = std::move(callback)](std::expected<std::string, kube::Status> answer) {
          if (answer) return callback(http::Respond(200, std::move(*answer)));
          callback(http::Respond(answer.error()));
        });
}

void Webhooks::Serve(std::string_view path, std::string_view body, std::string_view audit_id,
                     Answer answer) const {
  const auto found = by_path_.find(path);
  if (found == by_path_.end()) return answer(std::unexpected(http::NoSuchPath()));
  const Webhook& webhook = *found->second;
  Judge(webhook, body, LoopExecutor::OfThisThread(),
        [&webhook, audit_id = std::string(audit_id),
         answer = std::move(answer)](std::expected<std::string, kube::Status> judged) mutable {
          if (!judged) {
            log::Warn("malformed review", {{"webhook", webhook.name},
                                           {"error", judged.error().message},
                                           {"requestId", http::RequestId(audit_id)}});
          }
          answer(std::move(judged));
        });
}

std::vector<Webhooks::Rule> Webhooks::Rules() const {
  std::vector<Rule> rules;
  for (const auto& [path, webhook] : by_path_) {
    Rule& rule = rules.emplace_back(Rule{.path = path,
                                         .phase = webhook->phase,
                                         .group = webhook->group,
                                         .resource = webhook->resource,
                                         .operations = {},
                                         .side_effects = webhook->side_effects});
    for (std::size_t i = 0; i < webhook->by_operation.size(); ++i) {
      if (webhook->by_operation[i]) rule.operations.push_back(static_cast<Operation>(i));
    }
  }
  return rules;
}

void Webhooks::Review(std::string_view path, std::string_view review, async::Executor& home,
                      Answer answer) const {
  const auto found = by_path_.find(path);
  if (found == by_path_.end()) return answer(std::unexpected(http::NoSuchPath()));
  Judge(*found->second, review, home, std::move(answer));
}

// A template, so that what answers over HTTP need not be wrapped once more.
template <typename Callable>
void Webhooks::Judge(const Webhook& webhook, std::string_view text, async::Executor& home,
                     Callable answer) {
  const auto began = Clock::now();
  const auto refuse = [&](const std::string& why) {
    webhook.malformed->Increment();
    answer(std::unexpected(kube::BadRequest(log::ToUtf8(why, kMostOfAMessage))));
  };
  // One parser a thread: the views it gives are used up before the next request is read. A large
  // review has one of its own, whose memory goes with it.
  static thread_local kube::JsonDocument document;
  std::optional<kube::JsonDocument> large;
  const auto parsed = (text.size() > kLargeReview ? large.emplace() : document).Parse(text);
  if (!parsed) return refuse(parsed.error().message);
  const auto review = Decode(*parsed);
  if (!review) return refuse(review.error().message);
  if (review->group != webhook.group || review->resource != webhook.resource) {
    return refuse("the review is for " + std::string(review->resource) + "." +
                  std::string(review->group) + ", which is not this webhook's resource");
  }
  Reply reply = [&webhook, began, uid = std::string(review->uid),
                 answer = std::move(answer)](Response response) mutable {
    (response.allowed() ? webhook.allowed : webhook.denied)->Increment();
    answer(response.ToJson(uid));
    webhook.latency->Observe(std::chrono::duration<double>(Clock::now() - began).count());
  };
  const Handler& handler = webhook.by_operation[static_cast<std::size_t>(review->operation)];
  if (!handler || !review->sub_resource.empty()) return reply(Response::Allow());
  handler(*review, home, std::move(reply));
}

}  // namespace berth::admission
