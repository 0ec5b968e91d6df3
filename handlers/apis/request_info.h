#pragma once

#include <drogon/HttpRequest.h>

#include <expected>
#include <optional>
#include <string>

#include "handlers/apis/authorizer.h"
#include "handlers/apis/resource.h"
#include "handlers/apis/watch.h"
#include "kube/status.h"

// What a request asks for, read from its path and its query.
namespace berth::apis {

// The attributes of a request to the group's resources or to any other path. An empty resource
// means a path.
Attributes ReadAttributes(const drogon::HttpRequestPtr& request);

struct ListOptions {
  std::size_t limit = 0;
  std::optional<ListKey> start;
  std::optional<std::uint64_t> start_version;  // the version of the list that is being continued
  std::optional<std::uint64_t> version;        // none: not given; "0" is 0
  enum class Match { kNone, kNotOlderThan, kExact } match = Match::kNone;
};

// Each fails with the Status to answer with.
std::expected<ListOptions, kube::Status> ReadListOptions(const drogon::HttpRequestPtr& request);
std::expected<Selection, kube::Status> ReadSelection(const drogon::HttpRequestPtr& request,
                                                     const ResourceType& type,
                                                     const Attributes& attributes, Form form);
std::expected<WatchRequest, kube::Status> ReadWatchRequest(const drogon::HttpRequestPtr& request,
                                                           Selection selection);
std::expected<Form, kube::Status> ReadForm(const drogon::HttpRequestPtr& request);

// The object that is sent to be created. The views are into `document`.
std::expected<Action::Call, kube::Status> ReadCreation(const drogon::HttpRequestPtr& request,
                                                       const ResourceType& type,
                                                       const std::string& ns,
                                                       kube::JsonDocument& document);

// Opaque to clients: where a list goes on and which version it began with.
std::string ContinueToken(const ListKey& next, std::uint64_t version);

}  // namespace berth::apis
