#pragma once

#include <drogon/HttpRequest.h>

#include <expected>
#include <string>
#include <vector>

#include "handlers/apis/resource.h"
#include "kube/request_target.h"
#include "kube/status.h"

// An object that is sent to be created, as kube-apiserver reads one.
namespace berth::apis {

struct Creation {
  Action::Call call;                  // its views are into the document
  std::string name;                   // given or generated; "" where neither is asked for
  std::vector<std::string> warnings;  // of members that are unknown or given twice
};

// Fails with the Status to answer with: 415, 413, 400 for what cannot be decoded (with
// fieldValidation=Strict also what Warn, the default, warns of), 422 for a name that is none and
// for options that are unknown. O(size of the body).
std::expected<Creation, kube::Status> ReadCreation(const drogon::HttpRequestPtr& request,
                                                   const kube::RequestTarget& target,
                                                   const ResourceType& type, const std::string& ns,
                                                   kube::JsonDocument& document);

// Name and metadata of what an action answers with. It has neither uid nor version: it is not kept.
Object NewObject(const Creation& creation);

// The value of the Warning header that tells of the warnings; each is cut to 256 bytes.
std::string WarningHeader(const std::vector<std::string>& warnings);

}  // namespace berth::apis
