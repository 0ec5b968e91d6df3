#pragma once

#include <string>
#include <vector>

#include "handlers/apis/resource.h"

namespace berth::apis {

// A document that doesn't change while the server runs, and the tag that tells so.
struct Document {
  std::string body;
  std::string etag;
  std::string content_type;
};

Document MakeDocument(std::string body, std::string content_type = "application/json");

std::vector<std::string> Verbs(const ResourceType& type);

// The documents of discovery: /apis plain and aggregated (v2), /apis/<group>,
// /apis/<group>/<version>.
Document GroupList();
Document AggregatedGroupList(const std::vector<const ResourceType*>& types);
Document Group();
Document ResourceList(const std::vector<const ResourceType*>& types);

// OpenAPI of the group: the v2 document, the v3 index and the v3 document. kubectl explain reads
// v3.
Document OpenApiV2(const std::vector<const ResourceType*>& types);
Document OpenApiV3(const std::vector<const ResourceType*>& types);
Document OpenApiV3Index(const Document& group_document);

}  // namespace berth::apis
