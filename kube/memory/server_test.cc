#include "kube/memory/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "json/json.h"
#include "kube/memory/collection.h"

namespace berth::kube::memory {
namespace {

class MemoryServer : public testing::Test {
 protected:
  Response Send(Method method, std::string path, std::string body = "",
                std::string type = "application/json") {
    Response answer;
    server_.Handle({.method = method,
                    .path = std::move(path),
                    .body = std::move(body),
                    .content_type = std::move(type)},
                   [&](Response response) { answer = std::move(response); });
    return answer;
  }

  void InstallThings() {
    EXPECT_EQ(Send(Method::kPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", R"({
    "apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"things.x.dev"},
    "spec":{"group":"x.dev","scope":"Namespaced","names":{"kind":"Thing","plural":"things"},"versions":[
    {"name":"v1","served":true,"storage":true,"subresources":{"status":{}},"schema":{"openAPIV3Schema":{"type":"object",
    "properties":{"spec":{"type":"object","properties":{"size":{"type":"integer"},"color":{"type":"string","default":"red"}}},
    "status":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}}]}})")
                  .code,
              201);
  }

  std::mt19937_64 random_{1};
  Server server_{{.now = [] { return async::WallTime(std::chrono::seconds(1'800'000'000)); },
                  .random = [this] { return random_(); }}};
};

TEST_F(MemoryServer, KeepsAConfigMap) {
  const std::string path = "/api/v1/namespaces/default/configmaps";
  EXPECT_EQ(Send(Method::kPost, path, R"({"metadata":{"name":"a"},"data":{"x":"y"}})").code, 201);
  EXPECT_EQ(Send(Method::kGet, path + "/a").code, 200);
  EXPECT_EQ(
      Send(Method::kPatch, path + "/a", R"({"data":{"x":"z"}})", "application/merge-patch+json")
          .code,
      200);
  EXPECT_EQ(Send(Method::kDelete, path + "/a").code, 200);
  EXPECT_EQ(Send(Method::kGet, path + "/a").code, 404);
}

TEST_F(MemoryServer, LooksAtTheObjectsThatAListShows) {
  InstallThings();
  const std::string path = "/apis/x.dev/v1/namespaces/default/things";
  for (const char* name : {"b", "a"}) {
    Send(Method::kPost, path,
         R"({"apiVersion":"x.dev/v1","kind":"Thing","metadata":{"name":")" + std::string(name) +
             R"("}})");
  }
  const auto objects = server_.Look(path);
  ASSERT_TRUE(objects);
  const Json listed = Json::parse(Send(Method::kGet, path).body);
  ASSERT_EQ(objects->size(), 2);
  for (std::size_t i = 0; i < objects->size(); ++i)
    EXPECT_EQ((*objects)[i]->document(), listed["items"][i]);
  EXPECT_EQ(server_.Look(path + "/b").value().at(0), objects->at(1));
  EXPECT_EQ(server_.Look(path + "/c").value().size(), 0);
  EXPECT_EQ(server_.Look("/apis/x.dev/v1/namespaces/other/things").value().size(), 0);
  EXPECT_FALSE(server_.Look("/apis/x.dev/v1/nothings"));
}

TEST_F(MemoryServer, RefusesAConfigMapOf60000BadKeysInAShortAnswer) {
  std::string keys;
  for (int i = 0; i < 60'000; ++i)
    keys += (i == 0 ? "\"bad key " : ",\"bad key ") + std::to_string(i) + "\":\"x\"";
  const Response answer = Send(Method::kPost, "/api/v1/namespaces/default/configmaps",
                               R"({"metadata":{"name":"a"},"data":{)" + keys + "}}");
  EXPECT_EQ(answer.code, 422);
  EXPECT_THAT(answer.body, testing::HasSubstr("and 59936 more"));
  EXPECT_LT(answer.body.size(), 64 * 1024);
}

TEST_F(MemoryServer, RefusesManyControllersInAShortAnswer) {
  std::string owners;
  for (int i = 0; i < 10'000; ++i) {
    owners +=
        (i == 0 ? "" : ",") +
        std::string(R"({"apiVersion":"v1","kind":"ConfigMap","name":"o","controller":true,)") +
        R"("uid":"u)" + std::to_string(i) + "\"}";
  }
  const Response answer = Send(Method::kPost, "/api/v1/namespaces/default/configmaps",
                               R"({"metadata":{"name":"a","ownerReferences":[)" + owners + "]}}");
  EXPECT_EQ(answer.code, 422);
}

TEST_F(MemoryServer, TellsOfAWebhooksWarningsOnceEachAllowedOrNot) {
  const auto add = [&](bool mutating, bool allowed, std::string warnings) {
    server_.AddWebhook({.name = "test",
                        .group = "",
                        .resources = {"configmaps"},
                        .operations = {"CREATE"},
                        .mutating = mutating,
                        .call = [=](const std::string& review, const auto& answer) {
                          const std::string uid = Json::parse(review)["request"]["uid"].as_string();
                          answer(R"({"response":{"uid":")" + uid + R"(","allowed":)" +
                                 (allowed ? "true" : "false") + R"(,"warnings":[)" + warnings +
                                 "]}}");
                        }});
  };
  const auto create = [&](const std::string& name) {
    return Send(Method::kPost, "/api/v1/namespaces/default/configmaps",
                R"({"metadata":{"name":")" + name + R"("}})");
  };
  add(true, true, R"("say \"please\"","")");
  add(false, true, R"("say \"please\"","two\nlines","another")");
  Response made = create("a");
  EXPECT_EQ(made.code, 201);
  EXPECT_THAT(made.warnings,
              testing::ElementsAre(R"(299 - "say \"please\"")", R"(299 - "another")"));
  add(false, false, R"("too late")");
  made = create("b");
  EXPECT_EQ(made.code, 400);
  EXPECT_THAT(made.warnings, testing::Contains(R"(299 - "too late")"));
}

TEST_F(MemoryServer, CutsWarningsThatAreTooManyTogether) {
  std::string spec;
  for (int i = 0; i < 40; ++i)
    spec += (i > 0 ? ",\"" : "\"") + std::string(300, 'x') + std::to_string(i) + "\":1";
  const Response made = Send(Method::kPost, "/api/v1/namespaces/default/configmaps",
                             R"({"metadata":{"name":"a"},)" + spec + "}");
  EXPECT_EQ(made.code, 201);
  ASSERT_THAT(made.warnings, testing::SizeIs(4096 / 256));
  EXPECT_EQ(made.warnings[0].size(), std::string(R"(299 - "")").size() + 256 + 1) << "one escape";
}

TEST_F(MemoryServer, ProtobufOfACustomKindIsUnsupported) {
  const std::string type = "application/vnd.kubernetes.protobuf";
  EXPECT_EQ(Send(Method::kPost, "/api/v1/namespaces/default/pods", "k8s", type).code, 400);
  InstallThings();
  const Response refused =
      Send(Method::kPost, "/apis/x.dev/v1/namespaces/default/things", "", type);
  EXPECT_EQ(refused.code, 415);
  EXPECT_THAT(refused.body, testing::HasSubstr("application/json, application/yaml\""));
}

TEST_F(MemoryServer, ServesADefinedKindAndItsWatch) {
  InstallThings();
  const std::string path = "/apis/x.dev/v1/namespaces/default/things";
  std::string seen;
  auto watch =
      server_.Watch({.path = path + "?watch=true"},
                    {.on_line = [&](const auto& line) { seen += *line; }, .on_end = [] {}});
  ASSERT_TRUE(watch);
  const auto made = Send(
      Method::kPost, path,
      R"({"apiVersion":"x.dev/v1","kind":"Thing","metadata":{"name":"a"},"spec":{"size":1},"status":{"a":1}})");
  EXPECT_EQ(made.code, 201) << made.body;
  EXPECT_EQ(Send(Method::kPatch, path + "/a/status", R"({"status":{"phase":"Ok"}})",
                 "application/merge-patch+json")
                .code,
            200);
  EXPECT_EQ(Send(Method::kDelete, path + "/a").code, 200);
  EXPECT_THAT(seen, testing::HasSubstr(R"("color":"red")"));
  EXPECT_EQ(std::ranges::count(seen, '\n'), 3) << seen;
}

}  // namespace
}  // namespace berth::kube::memory
