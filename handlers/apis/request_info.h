#pragma once

#include <drogon/HttpRequest.h>

#include <expected>
#include <optional>
#include <string>

#include "handlers/apis/authorizer.h"
#include "handlers/apis/resource.h"
#include "handlers/apis/watch.h"
#include "kube/request_target.h"
#include "kube/status.h"

// The object of a request, read from its path and its query.
namespace berth::apis {

// The request's target, taken apart. Fails with 400 for one that is broken or not UTF-8, and for a
// parameter that is given twice and decides what is authorised or served: kube-apiserver authorises
// the first of them.
std::expected<kube::RequestTarget, kube::Status> ReadTarget(const drogon::HttpRequestPtr& request);

// The attributes of a request to the group's resources or to any other path. An empty resource
// means a path.
Attributes ReadAttributes(const drogon::HttpRequestPtr& request, const kube::RequestTarget& target);

// The one name that the field selector leaves, for RBAC by resourceNames; "" where there is none.
// As kube-apiserver reads it from a list or a watch.
std::string SelectedName(const kube::RequestTarget& target, const ResourceType& type);

struct ListOptions {
  std::size_t limit = 0;
  std::optional<ListKey> start;
  std::optional<std::uint64_t> start_version;  // the version of the list that is being continued
  std::optional<std::uint64_t> version;        // none: not given; "0" is 0
  bool exact = false;                          // the list at `version`, no other
};

// Each fails with the Status to answer with.
std::expected<ListOptions, kube::Status> ReadListOptions(const kube::RequestTarget& target);
std::expected<Selection, kube::Status> ReadSelection(const kube::RequestTarget& target,
                                                     const ResourceType& type,
                                                     const std::string& ns, Form form);
std::expected<WatchRequest, kube::Status> ReadWatchRequest(const kube::RequestTarget& target,
                                                           Selection selection);
std::expected<Form, kube::Status> ReadForm(const drogon::HttpRequestPtr& request,
                                           const kube::RequestTarget& target);

// Opaque to clients: where a list goes on and which version it began with.
std::string ContinueToken(const ListKey& next, std::uint64_t version);

}  // namespace berth::apis
