#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/accept.h"
#include "kube/memory/resource.h"
#include "kube/memory/response.h"
#include "kube/memory/warnings.h"
#include "kube/request_target.h"
#include "kube/status.h"
#include "kube/transport.h"

namespace berth::kube::memory {

// A value, or the Status to answer with instead.
template <typename T>
using Outcome = std::expected<T, Status>;

Response Answer(const Status& status);
// An answer in plain text.
Response Plain(std::string text, int code = 200);

// The parts of a path: /api/v1/…, /apis/group/version/….
struct ResourcePath {
  std::string group;
  std::string version;
  std::string plural;
  std::string ns;
  std::string name;
  std::string subresource;
  bool deeper = false;  // than a subresource
};
std::optional<ResourcePath> ReadPath(const RequestTarget& target);

// A request to a resource, read as far as all verbs need it.
struct Call {
  Method method = Method::kGet;
  View view;
  std::string ns;
  std::string name;
  std::string subresource;
  RequestTarget target;
  std::string body;
  std::string content_type;
  Form form;
  bool dry_run = false;
  // The answer's warnings, which outlive the call's copies; null for a call that changes nothing.
  Warnings* warnings = nullptr;

  const Resource& resource() const { return *view.resource; }
  std::string key() const { return KeyOf(ns, name); }
  bool strict() const { return target.Parameter("fieldValidation") == "Strict"; }
  // True if fields that are left out get a warning; that is the default.
  bool warns() const {
    const std::string_view validation = target.Parameter("fieldValidation");
    return warnings && (validation.empty() || validation == "Warn");
  }
};

// The call of a request whose path names a resource. What all verbs share is checked: where the
// resource is, its methods, the form, dryRun, fieldValidation and the type of the body.
std::expected<Call, Response> ReadCall(const Request& request, RequestTarget target, View view,
                                       ResourcePath path);

// Answers that name what was asked for.
Status NotFoundHere(const Call& call);
Status ConflictHere(const Call& call, std::string_view why);
Status InvalidHere(const Call& call, const Value& object, Causes causes);
// Without a reason, as kube-apiserver's unexpected errors are.
Status Unexpected(std::string message);
// The answer for paths and methods that nobody serves.
Response NoSuchPage();
Response NoSuchResource();
Response NoSuchMethod();

}  // namespace berth::kube::memory
