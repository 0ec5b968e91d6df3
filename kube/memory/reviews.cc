#include "kube/memory/reviews.h"

#include <algorithm>
#include <array>

#include "kube/memory/body.h"
#include "kube/memory/call.h"
#include "log/format.h"

namespace berth::kube::memory {
namespace {

constexpr std::string_view kAuthentication = "authentication.k8s.io";
constexpr std::string_view kAuthorization = "authorization.k8s.io";

Value ListOf(std::initializer_list<std::string_view> texts) {
  Value list = Value::Array();
  for (const std::string_view text : texts) list.push_back(text);
  return list;
}

void Allow(const Value& /*review*/, Value& status) { status.insert_or_assign("allowed", true); }

void AllowEverything(const Value& /*review*/, Value& status) {
  const auto rules = [&](std::string_view list, std::initializer_list<std::string_view> members) {
    Value rule = Value::Object();
    for (const std::string_view member : members) rule.insert_or_assign(member, ListOf({"*"}));
    status.insert_or_assign(list, Value::Array({std::move(rule)}));
  };
  rules("resourceRules", {"verbs", "apiGroups", "resources"});
  rules("nonResourceRules", {"verbs", "nonResourceURLs"});
  status.insert_or_assign("incomplete", false);
}

void RejectToken(const Value& /*review*/, Value& status) {
  status.insert_or_assign("user", Value::Object());
  status.insert_or_assign("error", "the API server in memory knows no tokens");
}

void NameUser(const Value& /*review*/, Value& status) {
  Value& user = ObjectAt(status, "userInfo");
  user.insert_or_assign("username", "kubernetes-admin");
  user.insert_or_assign("groups", ListOf({"system:masters", "system:authenticated"}));
}

constexpr std::array kKinds = std::to_array<ReviewKind>({
    {kAuthentication, "selfsubjectreviews", "SelfSubjectReview", false, NameUser},
    {kAuthentication, "tokenreviews", "TokenReview", false, RejectToken},
    {kAuthorization, "localsubjectaccessreviews", "LocalSubjectAccessReview", true, Allow},
    {kAuthorization, "selfsubjectaccessreviews", "SelfSubjectAccessReview", false, Allow},
    {kAuthorization, "selfsubjectrulesreviews", "SelfSubjectRulesReview", false, AllowEverything},
    {kAuthorization, "subjectaccessreviews", "SubjectAccessReview", false, Allow},
});

const ReviewKind* FindKind(const RequestTarget& target) {
  // Every request comes by here.
  if (target.path.size() < 4 ||
      (target.path[1] != kAuthentication && target.path[1] != kAuthorization))
    return nullptr;
  const auto path = ReadPath(target);
  if (!path || path->version != "v1" || !path->name.empty()) return nullptr;
  const auto found = std::ranges::find_if(kKinds, [&](const ReviewKind& kind) {
    return kind.group == path->group && kind.plural == path->plural &&
           kind.namespaced == !path->ns.empty();
  });
  return found == kKinds.end() ? nullptr : &*found;
}

Status Unreadable(const ReviewKind& kind, const BodyProblem& problem, std::string_view body) {
  return BadRequest(Format("the object provided is unrecognized (must be of type {}): {} ({})",
                           kind.kind, problem.why, SummaryOf(body)));
}

}  // namespace

std::span<const ReviewKind> ReviewKinds() { return kKinds; }

std::optional<Response> AnswerReview(const Request& request, const RequestTarget& target,
                                     Decoder& decoder) {
  const ReviewKind* kind = FindKind(target);
  if (!kind) return std::nullopt;
  if (request.method != Method::kPost) return NoSuchMethod();
  const std::string_view type =
      std::string_view(request.content_type).substr(0, request.content_type.find(';'));
  if (!IsBodyType(type)) return Answer(UnsupportedMediaType(kBodyTypes));
  const std::string api_version = std::string(kind->group).append("/v1");
  auto review = ReadBody({type, request.body, api_version, kind->kind}, decoder);
  if (!review) return Answer(Unreadable(*kind, review.error(), request.body));
  review->insert_or_assign("kind", kind->kind);
  review->insert_or_assign("apiVersion", api_version);
  NormalizeMetadata(*review, nullptr);
  ObjectAt(*review, "metadata");
  Value status = Value::Object();
  kind->answer(*review, status);
  review->insert_or_assign("status", std::move(status));
  return Response{201, EncodeObject(*review)};
}

}  // namespace berth::kube::memory
