#include "handlers/apis/authorizer.h"

#include <trantor/net/EventLoop.h>

#include <algorithm>

#include "handlers/apis/digest.h"
#include "json/json.h"
#include "kube/json_view.h"
#include "log/escape.h"
#include "log/log.h"

namespace berth::apis {
namespace {

constexpr std::size_t kVerdicts = 4096;
constexpr std::chrono::seconds kVerdictLifetime{10};
constexpr std::size_t kMaxReason = 1024;  // bytes

Json ReviewOf(const User& user, const Attributes& attributes) {
  const auto object = [] { return Json::Object(); };
  Json spec = object();
  spec["user"] = user.name;
  if (!user.uid.empty()) spec["uid"] = user.uid;
  spec["groups"] = Json(user.groups);
  if (!user.extra.empty()) {
    spec["extra"] = object();
    for (const auto& [key, values] : user.extra) spec["extra"][key] = Json(values);
  }
  Json asked = object();
  asked["verb"] = attributes.verb;
  if (attributes.resource.empty()) {
    asked["path"] = attributes.path;
    spec["nonResourceAttributes"] = std::move(asked);
  } else {
    asked["group"] = attributes.group;
    asked["version"] = attributes.version;
    asked["resource"] = attributes.resource;
    if (!attributes.ns.empty()) asked["namespace"] = attributes.ns;
    if (!attributes.name.empty()) asked["name"] = attributes.name;
    spec["resourceAttributes"] = std::move(asked);
  }
  Json review = object();
  review["apiVersion"] = "authorization.k8s.io/v1";
  review["kind"] = "SubjectAccessReview";
  review["spec"] = std::move(spec);
  return review;
}

}  // namespace

Authorizer::Authorizer(kube::Client* client)
    : client_(client), verdicts_(kVerdicts, kVerdictLifetime) {}

void Authorizer::Authorize(const User& user, const Attributes& attributes, Done done) {
  if (std::ranges::find(user.groups, "system:masters") != user.groups.end())
    return done(Verdict{true, {}});
  if (!client_) return done(Verdict{false, "no API server to ask"});
  // The review's digest is the cache's key: two callers are alike only if the whole question is.
  std::string body = ReviewOf(user, attributes).to_string();
  const std::string key = Digest(body);
  if (auto verdict = verdicts_.Get(key)) return done(std::move(*verdict));
  trantor::EventLoop* loop = trantor::EventLoop::getEventLoopOfCurrentThread();
  client_->Send(
      {.method = kube::Method::kPost,
       .path = "/apis/authorization.k8s.io/v1/subjectaccessreviews",
       .body = std::move(body),
       .ahead = true},
      [this, loop, key, done = std::move(done)](kube::Result<kube::Response> answer) {
        std::expected<Verdict, kube::Status> verdict = Verdict{};
        kube::JsonDocument document;
        if (!answer) {
          log::Warn("access review failed", {{"error", answer.error().message}});
          verdict = std::unexpected(kube::ServiceUnavailable("access cannot be reviewed now"));
        } else if (const auto review = document.Parse(answer->body)) {
          const kube::JsonView status = (*review)["status"];
          verdict = Verdict{
              status["allowed"].Bool().value_or(false) && !status["denied"].Bool().value_or(false),
              std::string(log::Prefix(status["reason"].StringOr(""), kMaxReason))};
          verdicts_.Put(key, *verdict);
        }
        loop->queueInLoop([done, verdict = std::move(verdict)] { done(verdict); });
      });
}

}  // namespace berth::apis
