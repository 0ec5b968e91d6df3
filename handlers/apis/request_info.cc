#include "handlers/apis/request_info.h"

#include <drogon/utils/Utilities.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <random>
#include <vector>

#include "handlers/http.h"
#include "kube/list_options.h"
#include "log/escape.h"
#include "log/format.h"

namespace berth::apis {
namespace {

constexpr std::string_view kAcceptable =
    "application/json, application/json;as=Table;v=v1;g=meta.k8s.io, "
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io, "
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
constexpr int kLeastWatchSeconds = 1800;  // as kube-apiserver's --min-request-timeout

// The parameters that decide what is authorised, served or done.
constexpr std::array<std::string_view, 14> kOnce = {"allowWatchBookmarks",
                                                    "continue",
                                                    "dryRun",
                                                    "fieldManager",
                                                    "fieldSelector",
                                                    "fieldValidation",
                                                    "includeObject",
                                                    "labelSelector",
                                                    "limit",
                                                    "resourceVersion",
                                                    "resourceVersionMatch",
                                                    "sendInitialEvents",
                                                    "timeoutSeconds",
                                                    "watch"};

bool IsUtf8(const std::string& text) { return log::ToUtf8(text, text.size()) == text; }

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

std::string ResourceVerb(const drogon::HttpRequestPtr& request, const kube::RequestTarget& target,
                         bool named) {
  switch (request->method()) {
    case drogon::Get:
      return named ? "get" : target.Flag("watch") ? "watch" : "list";
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

std::expected<void, kube::Status> ReadContinue(std::string_view token, ListOptions& options) {
  const std::string text = drogon::utils::base64Decode(token);
  // version \0 namespace \0 name
  const auto first = text.find('\0');
  const auto second = first == std::string::npos ? first : text.find('\0', first + 1);
  const auto version = ParseNumber(std::string_view(text).substr(0, first));
  if (second == std::string::npos || !version) {
    return std::unexpected(kube::BadRequest(
        "invalid continue token: continue key is not valid: it was not given by this server"));
  }
  options.start = ListKey{text.substr(first + 1, second - first - 1), text.substr(second + 1)};
  options.start_version = version;
  return {};
}

}  // namespace

std::expected<kube::RequestTarget, kube::Status> ReadTarget(const drogon::HttpRequestPtr& request) {
  auto target =
      kube::RequestTarget::Parse(std::string(http::RawPath(request)) + "?" + request->query());
  if (!target) return std::unexpected(kube::BadRequest("the request's target is malformed"));
  const bool utf8 =
      std::ranges::all_of(target->path, IsUtf8) &&
      std::ranges::all_of(target->query, [](const auto& p) { return IsUtf8(p.second); });
  if (!utf8) return std::unexpected(kube::BadRequest("the request's target is not UTF-8"));
  for (const std::string_view name : kOnce) {
    if (target->Count(name) > 1)
      return std::unexpected(kube::BadRequest(Format("the parameter {} is given twice", name)));
  }
  return *std::move(target);
}

Attributes ReadAttributes(const drogon::HttpRequestPtr& request,
                          const kube::RequestTarget& target) {
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
  attributes.verb = ResourceVerb(request, target, !attributes.name.empty());
  return attributes;
}

std::string SelectedName(const kube::RequestTarget& target, const ResourceType& type) {
  const auto fields =
      kube::Selector::ParseFields(target.Parameter("fieldSelector"), type.selectable_fields);
  const std::string* name = fields ? fields->ExactValue("metadata.name") : nullptr;
  // No object can have such a name, and RBAC is not asked about one.
  if (name == nullptr || *name == "." || *name == ".." || name->find_first_of("/%") != name->npos)
    return {};
  return *name;
}

std::expected<ListOptions, kube::Status> ReadListOptions(const kube::RequestTarget& target) {
  ListOptions options;
  const auto limit = kube::ReadLimit(target);
  if (!limit) return std::unexpected(limit.error());
  options.limit = *limit;
  if (const auto fine = kube::CheckListMatch(target); !fine) return std::unexpected(fine.error());
  if (const auto token = target.Parameter("continue"); !token.empty()) {
    if (const auto read = ReadContinue(token, options); !read) return std::unexpected(read.error());
    if (const auto fine = kube::CheckContinue(target); !fine) return std::unexpected(fine.error());
    return options;
  }
  const auto version = kube::ReadVersion(target);
  if (!version) return std::unexpected(kube::NotAListVersion(version.error()));
  options.version = *version;
  options.exact = target.Parameter("resourceVersionMatch") == "Exact";
  return options;
}

std::string ContinueToken(const ListKey& next, std::uint64_t version) {
  std::string text = std::to_string(version);
  text.append(1, '\0').append(next.ns).append(1, '\0').append(next.name);
  return drogon::utils::base64Encode(text, true);
}

std::expected<Form, kube::Status> ReadForm(const drogon::HttpRequestPtr& request,
                                           const kube::RequestTarget& target) {
  const auto kind = kube::NegotiateForm(request->getHeader("accept"));
  if (!kind) return std::unexpected(kube::NotAcceptable(kAcceptable));
  Form form{*kind, IncludeObject::kMetadata};
  const std::string_view include = target.Parameter("includeObject");
  if (include == "None") {
    form.include = IncludeObject::kNone;
  } else if (include == "Object") {
    form.include = IncludeObject::kObject;
  } else if (!include.empty() && include != "Metadata") {
    return std::unexpected(kube::BadRequest("includeObject must be None, Metadata or Object"));
  }
  return form;
}

std::expected<Selection, kube::Status> ReadSelection(const kube::RequestTarget& target,
                                                     const ResourceType& type,
                                                     const std::string& ns, Form form) {
  const std::string_view labels_text = target.Parameter("labelSelector");
  const std::string_view fields_text = target.Parameter("fieldSelector");
  auto labels = kube::Selector::ParseLabels(labels_text);
  if (!labels) return std::unexpected(kube::BadRequest(labels.error()));
  auto fields = kube::Selector::ParseFields(fields_text, type.selectable_fields);
  if (!fields) return std::unexpected(kube::BadRequest(fields.error()));
  std::string key = Format("{}\n{}\n{}\n{}{}", ns, labels_text, fields_text,
                           static_cast<int>(form.kind), static_cast<int>(form.include));
  return Selection{ns, std::move(*labels), std::move(*fields), form, std::move(key)};
}

std::expected<WatchRequest, kube::Status> ReadWatchRequest(const kube::RequestTarget& target,
                                                           Selection selection) {
  if (const auto fine = kube::CheckWatchMatch(target); !fine) return std::unexpected(fine.error());
  const auto version = kube::ReadVersion(target);
  if (!version) return std::unexpected(kube::NotAVersion(version.error()));
  WatchRequest watch{.selection = std::move(selection)};
  watch.bookmarks = target.Flag("allowWatchBookmarks");
  if (target.Flag("sendInitialEvents")) {
    watch.initial_events_end = watch.bookmarks;
  } else if (version->value_or(0) != 0) {
    watch.after = *version;
  } else if (target.Count("sendInitialEvents") > 0) {
    watch.after = std::numeric_limits<std::uint64_t>::max();  // from now on: the caller knows the
                                                              // present version
  }
  static thread_local std::minstd_rand random(std::random_device{}());
  watch.timeout = std::chrono::seconds(
      std::uniform_int_distribution<int>(kLeastWatchSeconds, 2 * kLeastWatchSeconds)(random));
  if (const auto timeout = target.Parameter("timeoutSeconds"); !timeout.empty()) {
    const auto seconds = ParseNumber(timeout);
    if (!seconds) return std::unexpected(kube::BadRequest("timeoutSeconds is not a number"));
    if (*seconds > 0) watch.timeout = std::min(watch.timeout, std::chrono::seconds(*seconds));
  }
  return watch;
}

}  // namespace berth::apis
