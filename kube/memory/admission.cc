#include "kube/memory/admission.h"

#include <algorithm>

#include "http/base64.h"
#include "kube/memory/patch.h"
#include "log/format.h"

namespace berth::kube::memory {
namespace {

bool Matches(const Server::Webhook& webhook, const Call& call, std::string_view operation,
             bool mutating) {
  const Resource& resource = call.resource();
  if (webhook.mutating != mutating || webhook.group != resource.group) return false;
  const std::string name =
      call.subresource.empty() ? resource.plural : resource.plural + "/" + call.subresource;
  const auto has = [](const std::vector<std::string>& list, std::string_view wanted) {
    return std::ranges::find(list, wanted) != list.end();
  };
  return has(webhook.resources, name) && has(webhook.operations, operation);
}

Value GroupVersion(const Call& call, std::string_view key, std::string_view name) {
  Value value = Value::Object();
  value.insert_or_assign("group", call.view.version->group);
  value.insert_or_assign("version", call.view.version->name);
  value.insert_or_assign(key, name);
  return value;
}

Value Options(const Call& call, const Review& review) {
  Value options = review.operation == "DELETE" ? review.delete_options : Value::Object();
  if (!options.is_object()) options = Value::Object();
  options.insert_or_assign("kind", review.operation == "CREATE"   ? "CreateOptions"
                                   : review.operation == "UPDATE" ? "UpdateOptions"
                                                                  : "DeleteOptions");
  options.insert_or_assign("apiVersion", "meta.k8s.io/v1");
  if (call.dry_run) {
    Value all = Value::Array();
    all.push_back("All");
    options.insert_or_assign("dryRun", std::move(all));
  }
  for (const std::string_view key : {"fieldManager", "fieldValidation"}) {
    if (const auto value = call.target.Parameter(key); !value.empty())
      options.insert_or_assign(key, value);
  }
  return options;
}

Value User() {
  Value groups = Value::Array();
  groups.push_back("system:masters");
  groups.push_back("system:authenticated");
  Value user = Value::Object();
  user.insert_or_assign("username", "kubernetes-admin");
  user.insert_or_assign("groups", std::move(groups));
  return user;
}

// A named object, so that its name is there; with generateName it comes only later.
std::string_view NameOf(const Call& call, const Review& review) {
  if (!call.name.empty()) return call.name;
  return TextAt(review.object, "metadata", "name");
}

std::string Written(const Call& call, const Review& review, const std::string& uid) {
  Value request = Value::Object();
  request.insert_or_assign("uid", uid);
  for (const std::string_view key : {"kind", "requestKind"})
    request.insert_or_assign(key, GroupVersion(call, "kind", call.resource().kind));
  for (const std::string_view key : {"resource", "requestResource"})
    request.insert_or_assign(key, GroupVersion(call, "resource", call.resource().plural));
  if (!call.subresource.empty()) {
    request.insert_or_assign("subResource", call.subresource);
    request.insert_or_assign("requestSubResource", call.subresource);
  }
  if (const auto name = NameOf(call, review); !name.empty()) request.insert_or_assign("name", name);
  if (!call.ns.empty()) request.insert_or_assign("namespace", call.ns);
  request.insert_or_assign("operation", review.operation);
  request.insert_or_assign("userInfo", User());
  request.insert_or_assign("object", review.object);
  request.insert_or_assign("oldObject", review.old);
  request.insert_or_assign("dryRun", call.dry_run);
  request.insert_or_assign("options", Options(call, review));
  Value document = Value::Object();
  document.insert_or_assign("kind", "AdmissionReview");
  document.insert_or_assign("apiVersion", "admission.k8s.io/v1");
  document.insert_or_assign("request", std::move(request));
  return document.to_string();
}

std::unexpected<Status> Failed(const std::string& webhook, std::string_view why) {
  return std::unexpected(InternalError(Format("failed calling webhook \"{}\": {}", webhook, why)));
}

Causes ReadCauses(const Value* list) {
  Causes causes;
  if (!list || !list->is_array()) return causes;
  for (const Value& cause : list->array_range()) {
    causes.push_back({std::string(TextAt(cause, "reason")), std::string(TextAt(cause, "message")),
                      std::string(TextAt(cause, "field"))});
  }
  return causes;
}

// A refusal is the webhook's own Status, which says whose it is.
Status Denied(const std::string& webhook, const Value* result) {
  const Value given = result ? *result : Value::Object();
  Status status;
  status.code = static_cast<int>(std::max<std::int64_t>(IntAt(given, "code"), 400));
  status.reason = TextAt(given, "reason");
  const std::string_view message = TextAt(given, "message");
  const std::string_view why = message.empty() ? std::string_view(status.reason) : message;
  status.message = Format("admission webhook \"{}\" denied the request{}{}", webhook,
                          why.empty() ? " " : ": ", why.empty() ? "without explanation" : why);
  status.details.name = TextAt(given, "details", "name");
  status.details.group = TextAt(given, "details", "group");
  status.details.kind = TextAt(given, "details", "kind");
  status.details.uid = TextAt(given, "details", "uid");
  status.details.causes = ReadCauses(Find(given, "details", "causes"));
  status.details.retry_after_seconds =
      static_cast<std::int32_t>(IntAt(given, "details", "retryAfterSeconds"));
  return status;
}

void AddWarnings(const Value* list, Warnings* warnings) {
  if (!warnings || !list || !list->is_array()) return;
  for (const Value& text : list->array_range()) {
    if (text.is_string()) warnings->Add(text.as_string_view());
  }
}

// The verdict of an answer: the object, patched where the webhook asks for it.
Outcome<Value> ReadAnswer(Decoder& decoder, const Server::Webhook& webhook, const std::string& uid,
                          std::string_view text, Value object, Warnings* warnings) {
  const auto answer = decoder.Decode(text);
  if (!answer) return Failed(webhook.name, answer.error());
  const Value* response = Find(*answer, "response");
  if (!response) return Failed(webhook.name, "webhook response did not contain a response");
  if (const auto got = TextAt(*response, "uid"); got != uid)
    return Failed(webhook.name, Format("expected response.uid=\"{}\", got \"{}\"", uid, got));
  AddWarnings(Find(*response, "warnings"), warnings);
  const Value* allowed = Find(*response, "allowed");
  if (!allowed || !allowed->is_bool() || !allowed->as<bool>())
    return std::unexpected(Denied(webhook.name, Find(*response, "status")));
  const std::string_view encoded = TextAt(*response, "patch");
  if (!webhook.mutating || encoded.empty()) return object;
  if (TextAt(*response, "patchType") != "JSONPatch")
    return Failed(webhook.name, "webhook returned response.patch but not response.patchType");
  const auto bytes = DecodeBase64(encoded);
  const auto patch = bytes ? decoder.Decode(*bytes)
                           : std::expected<Value, std::string>(std::unexpected("illegal base64"));
  if (!patch || !patch->is_array() || !JsonPatch(object, *patch))
    return std::unexpected(InternalError("the patch of the webhook cannot be applied"));
  return object;
}

}  // namespace

bool Admission::Wants(const Call& call, std::string_view operation, bool mutating) const {
  return std::ranges::any_of(webhooks_, [&](const Server::Webhook& webhook) {
    return Matches(webhook, call, operation, mutating);
  });
}

async::Task<Outcome<Value>> Admission::Ask(std::size_t webhook, Call call, Review review) {
  const std::string uid = cluster_.NewUid();
  std::string text = Written(call, review, uid);
  auto answer = co_await async::Callback<Result<std::string>>([this, webhook,
                                                               &text](auto done) -> async::Handle {
    // It may answer twice, or after the end: only the first one counts, and only while we wait.
    auto waiting = std::make_shared<bool>(true);
    webhooks_[webhook].call(
        std::move(text), [waiting, done, alive = std::weak_ptr(alive_)](Result<std::string> given) {
          if (alive.expired() || !std::exchange(*waiting, false)) return;
          done(std::move(given));
        });
    return async::Handle([waiting] { *waiting = false; });
  });
  const Server::Webhook& asked = webhooks_[webhook];
  if (!answer) {
    co_return Outcome<Value>(
        Failed(asked.name, Format("failed to call webhook: {}", answer.error().message)));
  }
  co_return ReadAnswer(decoder_, asked, uid, *answer, std::move(review.object), call.warnings);
}

async::Task<Outcome<Value>> Admission::Mutate(Call call, Review review) {
  for (std::size_t i = 0; i < webhooks_.size(); ++i) {
    if (!Matches(webhooks_[i], call, review.operation, true)) continue;
    auto object = co_await Ask(i, call, review);
    if (!object) co_return object;
    review.object = std::move(*object);
  }
  co_return std::move(review.object);
}

async::Task<Outcome<void>> Admission::Validate(Call call, Review review) {
  for (std::size_t i = 0; i < webhooks_.size(); ++i) {
    if (!Matches(webhooks_[i], call, review.operation, false)) continue;
    const auto allowed = co_await Ask(i, call, review);
    if (!allowed) co_return Outcome<void>(std::unexpected(allowed.error()));
  }
  co_return Outcome<void>();
}

}  // namespace berth::kube::memory
