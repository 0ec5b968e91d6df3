#include "handlers/admission/webhooks.h"

#include <array>
#include <chrono>

#include "kube/json_view.h"
#include "log/log.h"

namespace berth::admission {
namespace {

using Clock = std::chrono::steady_clock;

const prometheus::Histogram::BucketBoundaries kLatencyBuckets = {
    0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
    0.05,    0.1,    0.25,    0.5,    1,     2.5,    5,     10};

}  // namespace

struct Webhooks::Webhook {
  std::string name;
  std::string group;
  std::string resource;
  std::array<Handler, 4> by_operation;
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

void Webhooks::On(Phase phase, const std::string& group, const std::string& resource,
                  std::initializer_list<Operation> operations, Handler handler) {
  const std::string path =
      std::string(phase == Phase::kMutate ? "/mutate/" : "/validate/") + group + "/" + resource;
  auto& webhook = by_path_[path];
  if (!webhook) {
    webhook = std::make_unique<Webhook>(Webhook{
        .name = path,
        .group = group,
        .resource = resource,
        .by_operation = {},
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
  if (!request->getHeader("content-type").starts_with(http::kJson)) {
    return callback(http::Respond(kube::UnsupportedMediaType(http::kJson)));
  }
  Review(*found->second, request, std::move(callback));
}

void Webhooks::Review(const Webhook& webhook, const drogon::HttpRequestPtr& request,
                      http::Callback callback) const {
  const auto began = Clock::now();
  const auto refuse = [&](const std::string& why) {
    webhook.malformed->Increment();
    log::Warn("malformed review",
              {{"webhook", webhook.name}, {"error", why}, {"requestId", http::RequestId(request)}});
    callback(http::Respond(kube::BadRequest(why)));
  };
  // One parser a thread: the views it gives are used up before the next request is read.
  static thread_local kube::JsonDocument document;
  const auto parsed = document.Parse(request->body());
  if (!parsed) return refuse(parsed.error().message);
  const auto review = Decode(*parsed);
  if (!review) return refuse(review.error().message);
  if (review->group != webhook.group || review->resource != webhook.resource) {
    return refuse("the review is for " + std::string(review->resource) + "." +
                  std::string(review->group) + ", which is not this webhook's resource");
  }
  Reply reply = [&webhook, began, uid = std::string(review->uid),
                 callback = std::move(callback)](Response response) {
    (response.allowed() ? webhook.allowed : webhook.denied)->Increment();
    callback(http::Respond(200, response.ToJson(uid)));
    webhook.latency->Observe(std::chrono::duration<double>(Clock::now() - began).count());
  };
  const Handler& handler = webhook.by_operation[static_cast<std::size_t>(review->operation)];
  if (!handler || !review->sub_resource.empty()) return reply(Response::Allow());
  handler(*review, std::move(reply));
}

}  // namespace berth::admission
