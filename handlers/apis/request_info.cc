#include "handlers/apis/request_info.h"

#include <drogon/utils/Utilities.h>

#include <charconv>
#include <random>
#include <vector>

#include "handlers/http.h"

namespace berth::apis {
namespace {

constexpr std::string_view kAcceptable =
    "application/json, application/json;as=Table;v=v1;g=meta.k8s.io, "
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io, "
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
constexpr std::size_t kMostOfABody = 3 * 1024 * 1024;  // as kube-apiserver's
constexpr int kLeastWatchSeconds = 1800;               // as kube-apiserver's --min-request-timeout

bool IsTrue(const std::string& text) {
  return text == "true" || text == "1" || text == "True" || text == "TRUE" || text == "t" ||
         text == "T";
}

std::optional<std::uint64_t> ParseNumber(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::vector<std::string> SplitPath(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    path.remove_prefix(path.front() == '/' ? 1 : 0);
    const auto slash = path.find('/');
    parts.push_back(drogon::utils::urlDecode(std::string(path.substr(0, slash))));
    path.remove_prefix(slash == std::string_view::npos ? path.size() : slash);
  }
  if (!parts.empty() && parts.back().empty()) parts.pop_back();
  return parts;
}

std::string LowerMethod(const drogon::HttpRequestPtr& request) {
  std::string method = request->methodString();
  for (char& c : method) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return method;
}

std::string ResourceVerb(const drogon::HttpRequestPtr& request, bool named) {
  switch (request->method()) {
    case drogon::Get:
      return IsTrue(request->getParameter("watch")) ? "watch" : named ? "get" : "list";
    case drogon::Post:
      return "create";
    case drogon::Put:
      return "update";
    case drogon::Patch:
      return "patch";
    case drogon::Delete:
      return named ? "delete" : "deletecollection";
    default:
      return LowerMethod(request);
  }
}

kube::Status InvalidListOptions(const char* field, std::string message) {
  return kube::Invalid("ListOptions", "meta.k8s.io", "",
                       {{"FieldValueInvalid", std::move(message), field}});
}

std::expected<void, kube::Status> ReadContinue(const std::string& token, ListOptions& options) {
  const std::string text = drogon::utils::base64Decode(token);
  // version \0 namespace \0 name
  const auto first = text.find('\0');
  const auto second = first == std::string::npos ? first : text.find('\0', first + 1);
  const auto version = ParseNumber(std::string_view(text).substr(0, first));
  if (second == std::string::npos || !version) {
    return std::unexpected(
        kube::BadRequest("continue key is not valid: it was not given by this server"));
  }
  options.start = ListKey{text.substr(first + 1, second - first - 1), text.substr(second + 1)};
  options.start_version = version;
  return {};
}

}  // namespace

Attributes ReadAttributes(const drogon::HttpRequestPtr& request) {
  Attributes attributes;
  attributes.path = http::RawPath(request);
  attributes.verb = LowerMethod(request);
  const auto parts = SplitPath(attributes.path);
  if (parts.size() < 4 || parts[0] != "apis" || parts[1] != kGroup || parts[2] != kVersion)
    return attributes;
  const bool in_namespace = parts[3] == "namespaces" && parts.size() > 5;
  const std::size_t at = in_namespace ? 5 : 3;
  // Deeper paths would be subresources, of which there are none.
  if (parts.size() > at + 2) return attributes;
  attributes.group = kGroup;
  attributes.version = kVersion;
  if (in_namespace) attributes.ns = parts[4];
  attributes.resource = parts[at];
  if (parts.size() > at + 1) attributes.name = parts[at + 1];
  attributes.verb = ResourceVerb(request, !attributes.name.empty());
  return attributes;
}

std::expected<ListOptions, kube::Status> ReadListOptions(const drogon::HttpRequestPtr& request) {
  ListOptions options;
  if (const auto& limit = request->getParameter("limit"); !limit.empty()) {
    const auto number = ParseNumber(limit);
    if (!number) return std::unexpected(kube::BadRequest("limit is not a number"));
    options.limit = *number;
  }
  if (const auto& version = request->getParameter("resourceVersion"); !version.empty()) {
    options.version = ParseNumber(version);
    if (!options.version)
      return std::unexpected(InvalidListOptions("resourceVersion", "Invalid value: not a number"));
  }
  const auto& match = request->getParameter("resourceVersionMatch");
  if (match == "NotOlderThan") {
    options.match = ListOptions::Match::kNotOlderThan;
  } else if (match == "Exact") {
    options.match = ListOptions::Match::kExact;
  } else if (!match.empty()) {
    return std::unexpected(InvalidListOptions("resourceVersionMatch",
                                              "Unsupported value: expected Exact or NotOlderThan"));
  }
  if (options.match == ListOptions::Match::kExact && options.version.value_or(0) == 0) {
    return std::unexpected(InvalidListOptions("resourceVersionMatch",
                                              "Forbidden: Exact needs a resourceVersion above 0"));
  }
  if (const auto& token = request->getParameter("continue"); !token.empty()) {
    if (const auto read = ReadContinue(token, options); !read) return std::unexpected(read.error());
  }
  return options;
}

std::string ContinueToken(const ListKey& next, std::uint64_t version) {
  std::string text = std::to_string(version);
  text.append(1, '\0').append(next.ns).append(1, '\0').append(next.name);
  return drogon::utils::base64Encode(text, true);
}

std::expected<Action::Call, kube::Status> ReadCreation(const drogon::HttpRequestPtr& request,
                                                       const ResourceType& type,
                                                       const std::string& ns,
                                                       kube::JsonDocument& document) {
  const std::string& content_type = request->getHeader("content-type");
  if (!content_type.empty() && !content_type.starts_with(http::kJson))
    return std::unexpected(kube::UnsupportedMediaType(http::kJson));
  if (request->body().size() > kMostOfABody)
    return std::unexpected(kube::RequestEntityTooLarge(kMostOfABody));
  const auto object = document.Parse(request->body());
  if (!object) return std::unexpected(kube::BadRequest(object.error().message));
  if (!object->is_object()) return std::unexpected(kube::BadRequest("the body is not an object"));
  if ((*object)["apiVersion"].StringOr(kGroupVersion) != kGroupVersion ||
      (*object)["kind"].StringOr(type.kind) != type.kind)
    return std::unexpected(
        kube::BadRequest(std::string("the object is no ") + type.kind + " of " + kGroupVersion));
  if ((*object)["metadata"]["namespace"].StringOr(ns) != ns)
    return std::unexpected(kube::BadRequest(
        "the namespace of the provided object does not match the namespace sent on the request"));
  const std::string& dry_run = request->getParameter("dryRun");
  if (!dry_run.empty() && dry_run != "All")
    return std::unexpected(kube::Invalid(
        "CreateOptions", "meta.k8s.io", "",
        {{"FieldValueNotSupported",
          "Unsupported value: \"" + dry_run + "\": supported values: \"All\"", "dryRun"}}));
  return Action::Call{.ns = ns, .object = *object, .dry_run = !dry_run.empty()};
}

std::expected<Form, kube::Status> ReadForm(const drogon::HttpRequestPtr& request) {
  const auto kind = kube::NegotiateForm(request->getHeader("accept"));
  if (!kind) return std::unexpected(kube::NotAcceptable(kAcceptable));
  Form form{*kind, IncludeObject::kMetadata};
  const auto& include = request->getParameter("includeObject");
  if (include == "None") {
    form.include = IncludeObject::kNone;
  } else if (include == "Object") {
    form.include = IncludeObject::kObject;
  } else if (!include.empty() && include != "Metadata") {
    return std::unexpected(kube::BadRequest("includeObject must be None, Metadata or Object"));
  }
  return form;
}

std::expected<Selection, kube::Status> ReadSelection(const drogon::HttpRequestPtr& request,
                                                     const ResourceType& type,
                                                     const Attributes& attributes, Form form) {
  const std::string& labels_text = request->getParameter("labelSelector");
  std::string fields_text = request->getParameter("fieldSelector");
  if (!attributes.name.empty())
    fields_text += (fields_text.empty() ? "" : ",") + ("metadata.name=" + attributes.name);
  auto labels = kube::Selector::ParseLabels(labels_text);
  if (!labels) return std::unexpected(kube::BadRequest(labels.error()));
  auto fields = kube::Selector::ParseFields(fields_text, type.selectable_fields);
  if (!fields) return std::unexpected(kube::BadRequest(fields.error()));
  std::string key = attributes.ns + '\n' + labels_text + '\n' + fields_text + '\n' +
                    std::to_string(static_cast<int>(form.kind)) +
                    std::to_string(static_cast<int>(form.include));
  return Selection{attributes.ns, std::move(*labels), std::move(*fields), form, std::move(key)};
}

std::expected<WatchRequest, kube::Status> ReadWatchRequest(const drogon::HttpRequestPtr& request,
                                                           Selection selection) {
  const auto options = ReadListOptions(request);
  if (!options) return std::unexpected(options.error());
  WatchRequest watch{.selection = std::move(selection)};
  watch.bookmarks = IsTrue(request->getParameter("allowWatchBookmarks"));
  const auto& initial = request->getParameter("sendInitialEvents");
  if (IsTrue(initial)) {
    if (options->match != ListOptions::Match::kNotOlderThan) {
      return std::unexpected(InvalidListOptions(
          "resourceVersionMatch", "Forbidden: sendInitialEvents requires NotOlderThan"));
    }
    watch.initial_events_end = watch.bookmarks;
  } else if (options->match != ListOptions::Match::kNone && initial.empty()) {
    return std::unexpected(InvalidListOptions(
        "resourceVersionMatch", "Forbidden: not for a watch without sendInitialEvents"));
  } else if (options->version.value_or(0) != 0) {
    watch.after = options->version;
  } else if (!initial.empty()) {
    watch.after = std::numeric_limits<std::uint64_t>::max();  // from now on: the caller knows the
                                                              // present version
  }
  static thread_local std::minstd_rand random(std::random_device{}());
  watch.timeout = std::chrono::seconds(
      std::uniform_int_distribution<int>(kLeastWatchSeconds, 2 * kLeastWatchSeconds)(random));
  if (const auto& timeout = request->getParameter("timeoutSeconds"); !timeout.empty()) {
    const auto seconds = ParseNumber(timeout);
    if (!seconds) return std::unexpected(kube::BadRequest("timeoutSeconds is not a number"));
    if (*seconds > 0) watch.timeout = std::min(watch.timeout, std::chrono::seconds(*seconds));
  }
  return watch;
}

}  // namespace berth::apis
