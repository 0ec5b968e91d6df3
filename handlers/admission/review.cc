#include "handlers/admission/review.h"

#include <algorithm>
#include <optional>

#include <drogon/utils/Utilities.h>

#include "json/quote.h"
#include "log/escape.h"

namespace berth::admission {
namespace {

// The bounds of kube-apiserver: warnings of more than 4,096 characters together are cut to 256
// characters each.
constexpr std::size_t kMaxWarning = 256;
constexpr std::size_t kMaxWarnings = 4096;
constexpr std::size_t kMaxUid = 128;

std::optional<Operation> ParseOperation(std::string_view text) {
  for (const Operation operation :
       {Operation::kCreate, Operation::kUpdate, Operation::kDelete, Operation::kConnect}) {
    if (Name(operation) == text) return operation;
  }
  return std::nullopt;
}

// The uid goes back verbatim into hand-written JSON.
bool IsUid(std::string_view text) {
  return !text.empty() && text.size() <= kMaxUid && std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_' || c == '.';
  });
}

kube::JsonView ObjectOrAbsent(kube::JsonView view) {
  return view.is_object() ? view : kube::JsonView();
}

void Shorten(std::string& text, std::size_t most) {
  if (text.size() > most) text = log::ToUtf8(text, most) + "...";
}

// However large the object, its refusal is not.
void Shorten(kube::Status& status) {
  constexpr std::size_t kMessage = 8192, kCause = 1024, kName = 256;
  Shorten(status.message, kMessage);
  Shorten(status.details.name, kName);
  for (kube::StatusCause& cause : status.details.causes) {
    Shorten(cause.message, kCause);
    Shorten(cause.field, kName);
  }
}

}  // namespace

std::string_view Name(Operation operation) {
  switch (operation) {
    case Operation::kCreate:
      return "CREATE";
    case Operation::kUpdate:
      return "UPDATE";
    case Operation::kDelete:
      return "DELETE";
    case Operation::kConnect:
      return "CONNECT";
  }
  std::unreachable();
}

kube::Result<Request> Decode(kube::JsonView review) {
  if (review["kind"].StringOr("") != "AdmissionReview" ||
      review["apiVersion"].StringOr("") != "admission.k8s.io/v1") {
    return kube::Terminal("not an AdmissionReview of admission.k8s.io/v1");
  }
  const kube::JsonView in = review["request"];
  if (!in.is_object()) return kube::Terminal("the AdmissionReview has no request");
  const auto [uid, resource, sub_resource, name, ns, operation, object, old_object, dry_run,
              user_info] = in.Members("uid", "resource", "subResource", "name", "namespace",
                                      "operation", "object", "oldObject", "dryRun", "userInfo");
  Request request;
  request.uid = uid.StringOr("");
  if (!IsUid(request.uid)) return kube::Terminal("request.uid is missing or malformed");
  const auto known = ParseOperation(operation.StringOr(""));
  if (!known)
    return kube::Terminal("request.operation is not one of CREATE, UPDATE, DELETE, CONNECT");
  request.operation = *known;
  if (!resource.is_object()) return kube::Terminal("request.resource is missing");
  request.group = resource["group"].StringOr("");
  request.resource = resource["resource"].StringOr("");
  request.sub_resource = sub_resource.StringOr("");
  request.ns = ns.StringOr("");
  request.name = name.StringOr("");
  request.dry_run = dry_run.Bool().value_or(false);
  request.user = user_info["username"].StringOr("");
  request.object = ObjectOrAbsent(object);
  request.old_object = ObjectOrAbsent(old_object);
  if (!request.object.exists() && request.operation != Operation::kDelete) {
    return kube::Terminal("request.object is missing");
  }
  return request;
}

Response Response::Deny(kube::Status status) {
  Shorten(status);
  Response response;
  response.allowed_ = false;
  response.status_ = std::move(status);
  return response;
}

Response& Response::Add(const std::string& path, Json value) {
  Patch("add", path, &value);
  return *this;
}

Response& Response::Replace(const std::string& path, Json value) {
  Patch("replace", path, &value);
  return *this;
}

Response& Response::Remove(const std::string& path) {
  Patch("remove", path, nullptr);
  return *this;
}

void Response::Patch(std::string_view operation, std::string_view path, const Json* value) {
  if (!patch_.empty()) patch_ += ',';
  patch_.append(R"({"op":")").append(operation).append(R"(","path":)");
  AppendQuoted(patch_, path);
  if (value) patch_.append(R"(,"value":)").append(value->to_string());
  patch_ += '}';
}

Response& Response::Warn(std::string_view text) {
  const std::size_t room = kMaxWarnings - warning_bytes_;
  if (text.size() > room) text = log::Prefix(text, kMaxWarning);
  if (text.size() > room) return *this;
  warning_bytes_ += text.size();
  warnings_.emplace_back(text);
  return *this;
}

Response& Response::Audit(std::string key, std::string value) {
  audit_.emplace_back(std::move(key), std::move(value));
  return *this;
}

std::string Response::ToJson(std::string_view uid) const {
  std::string out;
  out.reserve(256 + warning_bytes_ + 2 * patch_.size());
  out.append(R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":")");
  out.append(uid).append(R"(","allowed":)").append(allowed_ ? "true" : "false");
  if (!allowed_) out.append(R"(,"status":)").append(kube::ToJson(status_));
  if (allowed_ && !patch_.empty()) {
    out.append(R"(,"patchType":"JSONPatch","patch":")")
        .append(drogon::utils::base64Encode("[" + patch_ + "]"))
        .append("\"");
  }
  if (!warnings_.empty()) {
    out.append(R"(,"warnings":[)");
    for (const std::string& warning : warnings_) {
      if (&warning != &warnings_.front()) out += ',';
      AppendQuoted(out, warning);
    }
    out += ']';
  }
  if (!audit_.empty()) {
    out.append(R"(,"auditAnnotations":{)");
    for (const auto& annotation : audit_) {
      if (&annotation != &audit_.front()) out += ',';
      AppendQuoted(out, annotation.first);
      out += ':';
      AppendQuoted(out, annotation.second);
    }
    out += '}';
  }
  return out.append("}}");
}

}  // namespace berth::admission
