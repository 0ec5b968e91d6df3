#include "handlers/admission/review.h"

#include <algorithm>
#include <optional>

#include <drogon/utils/Utilities.h>

namespace berth::admission {
namespace {

constexpr std::size_t kMaxWarning = 120;
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
  Request request;
  request.uid = in["uid"].StringOr("");
  if (!IsUid(request.uid)) return kube::Terminal("request.uid is missing or malformed");
  const auto operation = ParseOperation(in["operation"].StringOr(""));
  if (!operation)
    return kube::Terminal("request.operation is not one of CREATE, UPDATE, DELETE, CONNECT");
  request.operation = *operation;
  const kube::JsonView resource = in["resource"];
  if (!resource.is_object()) return kube::Terminal("request.resource is missing");
  request.group = resource["group"].StringOr("");
  request.version = resource["version"].StringOr("");
  request.resource = resource["resource"].StringOr("");
  request.kind = in["kind"]["kind"].StringOr("");
  request.sub_resource = in["subResource"].StringOr("");
  request.ns = in["namespace"].StringOr("");
  request.name = in["name"].StringOr("");
  request.user = in["userInfo"]["username"].StringOr("");
  request.dry_run = in["dryRun"].Bool().value_or(false);
  request.object = ObjectOrAbsent(in["object"]);
  request.old_object = ObjectOrAbsent(in["oldObject"]);
  if (!request.object.exists() && request.operation != Operation::kDelete) {
    return kube::Terminal("request.object is missing");
  }
  return request;
}

Response Response::Deny(kube::Status status) {
  Response response;
  response.allowed_ = false;
  response.status_ = std::move(status);
  return response;
}

Response& Response::Add(const std::string& path, Json value) {
  Json operation;
  operation["op"] = "add";
  operation["path"] = path;
  operation["value"] = std::move(value);
  patch_.push_back(std::move(operation));
  return *this;
}

Response& Response::Replace(const std::string& path, Json value) {
  Add(path, std::move(value));
  patch_[patch_.size() - 1]["op"] = "replace";
  return *this;
}

Response& Response::Remove(const std::string& path) {
  Json operation;
  operation["op"] = "remove";
  operation["path"] = path;
  patch_.push_back(std::move(operation));
  return *this;
}

Response& Response::Warn(std::string_view text) {
  std::string_view cut = text.substr(0, kMaxWarning);
  // Never end inside a UTF-8 sequence.
  if (cut.size() < text.size()) {
    while (!cut.empty() && (static_cast<unsigned char>(text[cut.size()]) & 0xc0) == 0x80)
      cut.remove_suffix(1);
  }
  if (warning_bytes_ + cut.size() > kMaxWarnings) return *this;
  warning_bytes_ += cut.size();
  warnings_.emplace_back(cut);
  return *this;
}

Response& Response::Audit(std::string key, std::string value) {
  audit_.emplace_back(std::move(key), std::move(value));
  return *this;
}

std::string Response::ToJson(std::string_view uid) const {
  std::string out;
  out.reserve(256);
  out.append(R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":")");
  out.append(uid).append(R"(","allowed":)").append(allowed_ ? "true" : "false");
  if (!allowed_) out.append(R"(,"status":)").append(kube::ToJson(status_));
  if (allowed_ && !patch_.empty()) {
    out.append(R"(,"patchType":"JSONPatch","patch":")")
        .append(drogon::utils::base64Encode(patch_.to_string()))
        .append("\"");
  }
  if (!warnings_.empty()) out.append(R"(,"warnings":)").append(Json(warnings_).to_string());
  if (!audit_.empty()) {
    Json annotations;
    for (const auto& [key, value] : audit_) annotations[key] = value;
    out.append(R"(,"auditAnnotations":)").append(annotations.to_string());
  }
  return out.append("}}");
}

}  // namespace berth::admission
