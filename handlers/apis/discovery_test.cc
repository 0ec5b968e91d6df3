#include "handlers/apis/discovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "handlers/apis/test_gadgets.h"
#include "handlers/apis/workqueues.h"

namespace berth::apis {
namespace {

class Discovery : public testing::Test {
 protected:
  const ResourceType gadgets_ = GadgetType();
  const ResourceType queues_ = WorkQueueType();
  const ResourceType pings_ = PingType();
  const std::vector<const ResourceType*> types_ = {&gadgets_, &pings_, &queues_};
};

TEST_F(Discovery, GroupListNamesTheGroupAndItsVersion) {
  const Json list = Json::parse(GroupList().body);
  EXPECT_EQ(list["kind"], "APIGroupList");
  ASSERT_EQ(list["groups"].size(), 1u);
  EXPECT_EQ(list["groups"][0]["name"], kGroup);
  EXPECT_EQ(list["groups"][0]["preferredVersion"]["groupVersion"], kGroupVersion);
  const Json group = Json::parse(Group().body);
  EXPECT_EQ(group["kind"], "APIGroup");
  EXPECT_EQ(group["apiVersion"], "v1");
  EXPECT_EQ(group["versions"], list["groups"][0]["versions"]);
}

TEST_F(Discovery, ResourceListLooksAsCaptured) {
  const Json list = Json::parse(ResourceList({&gadgets_}).body);
  EXPECT_EQ(
      list,
      Json::parse(
          R"({"kind":"APIResourceList","apiVersion":"v1","groupVersion":"live.berth.dev/v1alpha1",
      "resources":[{"name":"gadgets","singularName":"gadget","namespaced":true,"kind":"Gadget",
                    "verbs":["delete","get","list","watch"],"shortNames":["gd"],
                "categories":["all"]}]})"));
  EXPECT_EQ(Json::parse(ResourceList({}).body)["resources"], Json::parse("[]"));
}

TEST_F(Discovery, OnlyADeletableTypeHasTheVerb) {
  EXPECT_THAT(Verbs(gadgets_), testing::ElementsAre("delete", "get", "list", "watch"));
  EXPECT_THAT(Verbs(queues_), testing::ElementsAre("get", "list", "watch"));
}

TEST_F(Discovery, AnActionIsOnlyCreated) {
  EXPECT_THAT(Verbs(pings_), testing::ElementsAre("create"));
  const std::string path = "/apis/live.berth.dev/v1alpha1/namespaces/{namespace}/pings";
  const std::string schema = "dev.berth.live.v1alpha1.Ping";
  const Json v3 = Json::parse(OpenApiV3(types_).body);
  EXPECT_FALSE(v3["paths"][path].contains("get"));
  EXPECT_FALSE(v3["paths"].contains(path + "/{name}"));
  EXPECT_FALSE(v3["components"]["schemas"].contains(schema + "List"));
  const Json& post = v3["paths"][path]["post"];
  EXPECT_EQ(post["x-kubernetes-action"], "post");
  for (const Json& carrier : {post["requestBody"], post["responses"]["201"]}) {
    EXPECT_EQ(carrier["content"]["application/json"]["schema"]["$ref"],
              "#/components/schemas/" + schema);
  }
  const Json v2 = Json::parse(OpenApiV2(types_).body);
  const Json& body = v2["paths"][path]["post"]["parameters"][0];
  EXPECT_EQ(body["in"], "body");
  EXPECT_EQ(body["schema"]["$ref"], "#/definitions/" + schema);
}

TEST_F(Discovery, AggregatedListSaysTheSame) {
  const Document document = AggregatedGroupList(types_);
  EXPECT_EQ(document.content_type,
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
  const Json list = Json::parse(document.body);
  EXPECT_EQ(list["kind"], "APIGroupDiscoveryList");
  EXPECT_EQ(list["apiVersion"], "apidiscovery.k8s.io/v2");
  ASSERT_EQ(list["items"].size(), 1u);
  EXPECT_EQ(list["items"][0]["metadata"]["name"], kGroup);
  const Json& version = list["items"][0]["versions"][0];
  EXPECT_EQ(version["version"], kVersion);
  EXPECT_EQ(version["freshness"], "Current");
  const Json plain = Json::parse(ResourceList(types_).body);
  ASSERT_EQ(version["resources"].size(), plain["resources"].size());
  for (std::size_t i = 0; i < plain["resources"].size(); ++i) {
    const Json& one = version["resources"][i];
    const Json& other = plain["resources"][i];
    EXPECT_EQ(one["resource"], other["name"]);
    EXPECT_EQ(one["responseKind"]["kind"], other["kind"]);
    EXPECT_EQ(one["scope"], other["namespaced"].as<bool>() ? "Namespaced" : "Cluster");
    EXPECT_EQ(one["singularResource"], other["singularName"]);
    EXPECT_EQ(one["verbs"], other["verbs"]);
    EXPECT_EQ(one["shortNames"], other["shortNames"]);
  }
}

TEST_F(Discovery, TagsAreStableAndTellDocumentsApart) {
  const auto documents = [](const std::vector<const ResourceType*>& types) {
    const Document v3 = OpenApiV3(types);
    return std::vector{ResourceList(types), AggregatedGroupList(types), OpenApiV2(types), v3,
                       OpenApiV3Index(v3)};
  };
  const auto once = documents(types_);
  const auto again = documents(types_);
  const auto other = documents({&gadgets_});
  for (std::size_t i = 0; i < once.size(); ++i) {
    EXPECT_THAT(once[i].etag, testing::MatchesRegex("\"[0-9A-F]+\""));
    EXPECT_EQ(once[i].etag.size(), 66u);
    EXPECT_EQ(once[i].etag, again[i].etag);
    EXPECT_EQ(once[i].body, again[i].body);
    EXPECT_NE(once[i].etag, other[i].etag);
  }
}

TEST_F(Discovery, TheIndexPointsToTheDocumentByItsHash) {
  const Document v3 = OpenApiV3(types_);
  const Json index = Json::parse(OpenApiV3Index(v3).body);
  EXPECT_EQ(index["paths"]["apis/live.berth.dev/v1alpha1"]["serverRelativeURL"],
            "/openapi/v3/apis/live.berth.dev/v1alpha1?hash=" + v3.etag.substr(1, 64));
}

// All values of `$ref` anywhere in the document.
void CollectReferences(const Json& value, std::vector<std::string>& references) {
  if (value.is_array()) {
    for (const auto& item : value.array_range()) CollectReferences(item, references);
  } else if (value.is_object()) {
    for (const auto& member : value.object_range()) {
      if (member.key() == "$ref") references.push_back(member.value().as_string());
      CollectReferences(member.value(), references);
    }
  }
}

void ExpectReferencesResolve(const Json& document, const std::string& root, const Json& schemas) {
  std::vector<std::string> references;
  CollectReferences(document, references);
  EXPECT_GE(references.size(), 8u);
  for (const auto& reference : references) {
    ASSERT_TRUE(reference.starts_with(root)) << reference;
    EXPECT_TRUE(schemas.contains(reference.substr(root.size()))) << reference;
  }
}

void ExpectKinds(const Json& schemas) {
  for (const std::string kind : {"Gadget", "GadgetList", "WorkQueue", "WorkQueueList"}) {
    const std::string name = "dev.berth.live.v1alpha1." + kind;
    ASSERT_TRUE(schemas.contains(name)) << name;
    Json expected = Json::parse(R"([{"group":"live.berth.dev","version":"v1alpha1"}])");
    expected[0]["kind"] = kind;
    EXPECT_EQ(schemas[name]["x-kubernetes-group-version-kind"], expected);
    EXPECT_FALSE(schemas[name]["description"].as_string().empty());
  }
  EXPECT_TRUE(schemas["dev.berth.live.v1alpha1.Gadget"]["properties"].contains("spec"));
}

TEST_F(Discovery, OpenApiV2HasKindsAndNoDanglingReference) {
  const Json document = Json::parse(OpenApiV2(types_).body);
  EXPECT_EQ(document["swagger"], "2.0");
  ExpectKinds(document["definitions"]);
  ExpectReferencesResolve(document, "#/definitions/", document["definitions"]);
}

TEST_F(Discovery, OpenApiV3HasKindsAndNoDanglingReference) {
  const Json document = Json::parse(OpenApiV3(types_).body);
  EXPECT_EQ(document["openapi"], "3.0.0");
  const Json& schemas = document["components"]["schemas"];
  ExpectKinds(schemas);
  ExpectReferencesResolve(document, "#/components/schemas/", schemas);
}

TEST_F(Discovery, OpenApiPathsAreTheServersAndNameTheirKind) {
  for (const auto& body : {OpenApiV2(types_).body, OpenApiV3(types_).body}) {
    const Json paths = Json::parse(body)["paths"];
    const Json item = paths["/apis/live.berth.dev/v1alpha1/namespaces/{namespace}/gadgets/{name}"];
    EXPECT_EQ(item["get"]["x-kubernetes-group-version-kind"]["kind"], "Gadget");
    EXPECT_TRUE(item.contains("delete"));
    EXPECT_EQ(item["parameters"].size(), 2u);
    EXPECT_TRUE(paths.contains("/apis/live.berth.dev/v1alpha1/workqueues"));
    EXPECT_FALSE(paths["/apis/live.berth.dev/v1alpha1/workqueues/{name}"].contains("delete"));
    std::vector<std::string> ids;
    for (const auto& path : paths.object_range()) {
      for (const char* method : {"get", "delete"}) {
        if (path.value().contains(method))
          ids.push_back(path.value()[method]["operationId"].as_string());
      }
    }
    const std::size_t all = ids.size();
    std::ranges::sort(ids);
    ids.erase(std::ranges::unique(ids).begin(), ids.end());
    EXPECT_EQ(ids.size(), all);
  }
}

}  // namespace
}  // namespace berth::apis
