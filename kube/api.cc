#include "kube/api.h"

#include <utility>

#include "json/json.h"
#include "log/format.h"

namespace berth::kube {
namespace {

// How often a list that the server has forgotten is begun anew. Once is common on a busy cluster;
// a list that never gets through has pages too small for its server.
constexpr int kMaxRestarts = 3;

bool IsUnreserved(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

void AppendEscaped(std::string& out, std::string_view text) {
  for (const char c : text) {
    if (IsUnreserved(c)) {
      out += c;
    } else {
      out += Format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
}

void AppendSegment(std::string& path, std::string_view text) {
  path += '/';
  AppendEscaped(path, text);
}

// Appends "key=value" to the query; an empty value is left out.
void AppendQuery(std::string& path, std::string_view key, std::string_view value) {
  if (value.empty()) return;
  path += path.contains('?') ? '&' : '?';
  path += key;
  path += '=';
  AppendEscaped(path, value);
}

Request MakeRequest(Method method, std::string path, const CallOptions& options) {
  return {.method = method,
          .path = std::move(path),
          .timeout = options.timeout,
          .ahead = options.ahead};
}

Request ListRequest(std::string path, const ListOptions& options) {
  AppendQuery(path, "labelSelector", options.label_selector);
  AppendQuery(path, "fieldSelector", options.field_selector);
  AppendQuery(path, "resourceVersion", options.resource_version);
  if (options.limit > 0) AppendQuery(path, "limit", std::to_string(options.limit));
  AppendQuery(path, "continue", options.continue_token);
  return MakeRequest(Method::kGet, std::move(path), options.call);
}

const char* ContentType(PatchType type) {
  switch (type) {
    case PatchType::kMerge:
      return "application/merge-patch+json";
    case PatchType::kJson:
      return "application/json-patch+json";
    case PatchType::kApply:
      return "application/apply-patch+yaml";
    case PatchType::kStrategic:
      return "application/strategic-merge-patch+json";
  }
  return "";
}

const char* Name(Propagation propagation) {
  switch (propagation) {
    case Propagation::kDefault:
      return "";
    case Propagation::kBackground:
      return "Background";
    case Propagation::kForeground:
      return "Foreground";
    case Propagation::kOrphan:
      return "Orphan";
  }
  return "";
}

std::string DeleteBody(const DeleteOptions& options) {
  Json body;
  body["apiVersion"] = "v1";
  body["kind"] = "DeleteOptions";
  Json preconditions;
  if (!options.uid.empty()) preconditions["uid"] = options.uid;
  if (!options.resource_version.empty()) {
    preconditions["resourceVersion"] = options.resource_version;
  }
  if (!preconditions.empty()) body["preconditions"] = std::move(preconditions);
  if (options.propagation != Propagation::kDefault) {
    body["propagationPolicy"] = Name(options.propagation);
  }
  if (options.dry_run) body["dryRun"] = Json::Array({"All"});
  return body.to_string();
}

Api::Body Ask(Transport* transport, Request request) {
  auto response = co_await async::Callback<Result<Response>>(
      [&](auto done) { return transport->Send(std::move(request), std::move(done)); });
  co_return std::move(response).transform([](Response answer) { return std::move(answer.body); });
}

Api::Body AskForPages(Transport* transport, std::string path, ListOptions options,
                      Api::Visit visit) {
  const std::string version = options.resource_version;
  options.continue_token.clear();
  JsonDocument document;
  for (int restarts = 0;;) {
    const bool first = options.continue_token.empty();
    // A continued list has its version in the token.
    options.resource_version = first ? version : "";
    const auto body = co_await Ask(transport, ListRequest(path, options));
    if (!body && body.error().code == 410 && !first && restarts++ < kMaxRestarts) {
      options.continue_token.clear();
      continue;
    }
    if (!body) co_return body;
    const auto list = document.Parse(*body);
    if (!list) co_return std::unexpected(list.error());
    visit({*list, first});
    options.continue_token = (*list)["metadata"]["continue"].StringOr("");
    if (options.continue_token.empty()) {
      co_return std::string((*list)["metadata"]["resourceVersion"].StringOr(""));
    }
  }
}

}  // namespace

std::string PathOf(const Resource& resource, std::string_view ns, std::string_view name,
                   std::string_view subresource) {
  std::string path = resource.group.empty() ? "/api" : "/apis";
  if (!resource.group.empty()) AppendSegment(path, resource.group);
  AppendSegment(path, resource.version);
  if (resource.namespaced && !ns.empty()) {
    path += "/namespaces";
    AppendSegment(path, ns);
  }
  AppendSegment(path, resource.plural);
  if (!name.empty()) AppendSegment(path, name);
  if (!subresource.empty()) AppendSegment(path, subresource);
  return path;
}

Api::Body Api::Get(const Resource& resource, std::string_view ns, std::string_view name,
                   const CallOptions& options) const {
  return Ask(transport_, MakeRequest(Method::kGet, PathOf(resource, ns, name), options));
}

Api::Body Api::List(const Resource& resource, std::string_view ns,
                    const ListOptions& options) const {
  return Ask(transport_, ListRequest(PathOf(resource, ns), options));
}

Api::Body Api::ListAll(const Resource& resource, std::string_view ns, ListOptions options,
                       Visit visit) const {
  return AskForPages(transport_, PathOf(resource, ns), std::move(options), std::move(visit));
}

Api::Body Api::Create(const Resource& resource, std::string_view ns, std::string body,
                      const CreateOptions& options) const {
  std::string path = PathOf(resource, ns);
  AppendQuery(path, "fieldManager", options.field_manager);
  AppendQuery(path, "dryRun", options.dry_run ? "All" : "");
  Request request = MakeRequest(Method::kPost, std::move(path), options.call);
  request.body = std::move(body);
  return Ask(transport_, std::move(request));
}

Api::Body Api::Patch(const Resource& resource, std::string_view ns, std::string_view name,
                     PatchType type, std::string body, const PatchOptions& options) const {
  std::string path = PathOf(resource, ns, name, options.subresource);
  AppendQuery(path, "fieldManager", options.field_manager);
  AppendQuery(path, "force", options.force && type == PatchType::kApply ? "true" : "");
  AppendQuery(path, "dryRun", options.dry_run ? "All" : "");
  Request request = MakeRequest(Method::kPatch, std::move(path), options.call);
  request.body = std::move(body);
  request.content_type = ContentType(type);
  return Ask(transport_, std::move(request));
}

Api::Body Api::Delete(const Resource& resource, std::string_view ns, std::string_view name,
                      const DeleteOptions& options) const {
  Request request = MakeRequest(Method::kDelete, PathOf(resource, ns, name), options.call);
  request.body = DeleteBody(options);
  return Ask(transport_, std::move(request));
}

}  // namespace berth::kube
