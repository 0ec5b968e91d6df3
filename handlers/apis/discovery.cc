#include "handlers/apis/discovery.h"

#include <openssl/evp.h>

#include <array>

#include "log/format.h"

namespace berth::apis {
namespace {

Json VersionEntry() {
  Json version = Json::Object();
  version["groupVersion"] = kGroupVersion;
  version["version"] = kVersion;
  return version;
}

Json GroupEntry() {
  Json group = Json::Object();
  group["name"] = kGroup;
  group["versions"] = Json::Array();
  group["versions"].push_back(VersionEntry());
  group["preferredVersion"] = VersionEntry();
  return group;
}

Json AggregatedResource(const ResourceType& type) {
  Json kind = Json::Object();
  kind["group"] = kGroup;
  kind["version"] = kVersion;
  kind["kind"] = type.kind;
  Json resource = Json::Object();
  resource["resource"] = type.plural;
  resource["responseKind"] = std::move(kind);
  resource["scope"] = type.namespaced ? "Namespaced" : "Cluster";
  resource["singularResource"] = type.singular;
  resource["verbs"] = Json(Verbs(type));
  if (!type.short_names.empty()) resource["shortNames"] = Json(type.short_names);
  if (!type.categories.empty()) resource["categories"] = Json(type.categories);
  return resource;
}

}  // namespace

Document MakeDocument(std::string body, std::string content_type) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_Digest(body.data(), body.size(), digest.data(), &size, EVP_sha256(), nullptr);
  std::string etag = "\"";
  for (unsigned i = 0; i < size; ++i) etag += Format("{:02X}", digest[i]);
  etag += "\"";
  return {std::move(body), std::move(etag), std::move(content_type)};
}

std::vector<std::string> Verbs(const ResourceType& type) {
  if (type.action) return {"create"};
  std::vector<std::string> verbs = {"get", "list", "watch"};
  if (type.deletable) verbs.insert(verbs.begin(), "delete");
  return verbs;
}

Document GroupList() {
  Json list = Json::Object();
  list["kind"] = "APIGroupList";
  list["apiVersion"] = "v1";
  list["groups"] = Json::Array();
  list["groups"].push_back(GroupEntry());
  return MakeDocument(list.to_string());
}

Document Group() {
  Json group = GroupEntry();
  group["kind"] = "APIGroup";
  group["apiVersion"] = "v1";
  return MakeDocument(group.to_string());
}

Document AggregatedGroupList(const std::vector<const ResourceType*>& types) {
  Json version = Json::Object();
  version["version"] = kVersion;
  version["resources"] = Json::Array();
  for (const auto* type : types) version["resources"].push_back(AggregatedResource(*type));
  version["freshness"] = "Current";
  Json group = Json::Object();
  group["metadata"] = Json::Object();
  group["metadata"]["name"] = kGroup;
  group["versions"] = Json::Array();
  group["versions"].push_back(std::move(version));
  Json list = Json::Object();
  list["kind"] = "APIGroupDiscoveryList";
  list["apiVersion"] = "apidiscovery.k8s.io/v2";
  list["metadata"] = Json::Object();
  list["items"] = Json::Array();
  list["items"].push_back(std::move(group));
  return MakeDocument(list.to_string(),
                      "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
}

Document ResourceList(const std::vector<const ResourceType*>& types) {
  Json list = Json::Object();
  list["kind"] = "APIResourceList";
  list["apiVersion"] = "v1";
  list["groupVersion"] = kGroupVersion;
  list["resources"] = Json::Array();
  for (const auto* type : types) {
    Json resource = Json::Object();
    resource["name"] = type->plural;
    resource["singularName"] = type->singular;
    resource["namespaced"] = type->namespaced;
    resource["kind"] = type->kind;
    resource["verbs"] = Json(Verbs(*type));
    if (!type->short_names.empty()) resource["shortNames"] = Json(type->short_names);
    if (!type->categories.empty()) resource["categories"] = Json(type->categories);
    list["resources"].push_back(std::move(resource));
  }
  return MakeDocument(list.to_string());
}

}  // namespace berth::apis
