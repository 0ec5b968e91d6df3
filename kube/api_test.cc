#include "kube/api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <latch>
#include <optional>

#include "async/event_loop.h"
#include "http/test_server.h"
#include "json/json.h"
#include "kube/client_fixture_test.h"
#include "kube/client_transport.h"
#include "kube/status.h"
#include "log/format.h"

namespace berth::kube {
namespace {

using test::Answer;
using test::ServedRequest;
using test::Server;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

constexpr Resource kConfigMaps{"", "v1", "configmaps", "ConfigMap"};
constexpr Resource kPools{"plexaubnet.io", "v1alpha1", "subnetpools", "SubnetPool"};
constexpr Resource kRoles{"rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", false};

TEST(PathOfTest, NamesGroupNamespaceAndSubresource) {
  EXPECT_EQ(PathOf(kConfigMaps, "x", "y"), "/api/v1/namespaces/x/configmaps/y");
  EXPECT_EQ(PathOf(kConfigMaps, "x"), "/api/v1/namespaces/x/configmaps");
  EXPECT_EQ(PathOf(kConfigMaps, ""), "/api/v1/configmaps");
  EXPECT_EQ(PathOf(kPools, "net", "office", "status"),
            "/apis/plexaubnet.io/v1alpha1/namespaces/net/subnetpools/office/status");
  EXPECT_EQ(PathOf(kRoles, "ignored", "admin"),
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/admin");
}

TEST(PathOfTest, NamesAreEscaped) {
  EXPECT_EQ(PathOf(kRoles, "", "system:a/b?c#d e%é"),
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Aa%2Fb%3Fc%23d%20e%25%C3%A9");
  EXPECT_EQ(PathOf(kConfigMaps, "../x", "A-z0.9_~"),
            "/api/v1/namespaces/..%2Fx/configmaps/A-z0.9_~");
}

class ApiTest : public testing::Test {
 protected:
  void Serve(Server::Handler handler) {
    server_.emplace(std::move(handler));
    client_.emplace(To(*server_), ClientOptions{.qps = 0});
    transport_.emplace(*client_, loop_);
    api_.emplace(*transport_);
  }
  void TearDown() override { loop_.Stop(); }

  Result<std::string> Wait(Api::Body task) {
    std::promise<Result<std::string>> promise;
    async::Running running;
    loop_.Run([&] { running = async::Start(Finish(std::move(task), &promise)); });
    auto result = promise.get_future().get();
    loop_.Run([&] { running = {}; });
    return result;
  }

  ServedRequest Last() const { return server_->requests().back(); }

  async::EventLoop loop_{"test"};
  std::optional<Server> server_;
  std::optional<Client> client_;
  std::optional<ClientTransport> transport_;
  std::optional<Api> api_;

 private:
  static async::Task<> Finish(Api::Body task, std::promise<Result<std::string>>* promise) {
    promise->set_value(co_await std::move(task));
  }
};

TEST_F(ApiTest, GetsAndItsArgumentsNeedNotLive) {
  Serve([](const ServedRequest&) { return Answer(200, R"({"kind":"ConfigMap"})"); });
  std::optional<Api::Body> task;
  {
    const std::string ns = "some-namespace-that-is-long", name = "some-name-that-is-long-too";
    task = api_->Get(kConfigMaps, ns, name);
  }
  EXPECT_EQ(Wait(std::move(*task)), R"({"kind":"ConfigMap"})");
  EXPECT_EQ(Last().Line(),
            "GET /api/v1/namespaces/some-namespace-that-is-long/configmaps/"
            "some-name-that-is-long-too HTTP/1.1");
}

TEST_F(ApiTest, ErrorsAreTypedAndSayWhenToComeBack) {
  Serve([](const ServedRequest& request) {
    if (request.Line().starts_with("GET")) return Answer(404, ToJson(NotFound("", "x", "y")));
    return Answer(429, ToJson(TooManyRequests(1)), "Retry-After: 7\r\n");
  });
  const auto missing = Wait(api_->Get(kConfigMaps, "x", "y"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().error_class, ErrorClass::kNotFound);
  const auto busy = Wait(api_->Create(kConfigMaps, "x", "{}"));
  ASSERT_FALSE(busy);
  EXPECT_EQ(busy.error().error_class, ErrorClass::kThrottled);
  EXPECT_EQ(busy.error().retry_after, 7s);
}

TEST_F(ApiTest, TheDeadlineIsTheCallers) {
  Serve([](const ServedRequest& request) {
    request.connection->WaitUntilClosed(20s);
    return std::string();
  });
  const auto late = Wait(api_->Get(kConfigMaps, "x", "y", {.timeout = 50ms}));
  ASSERT_FALSE(late);
  EXPECT_THAT(late.error().message, HasSubstr("no answer within 50 ms"));
  const auto write = Wait(api_->Delete(kConfigMaps, "x", "y", {.call = {.timeout = 60ms}}));
  ASSERT_FALSE(write);
  EXPECT_EQ(write.error().error_class, ErrorClass::kAmbiguous);
  EXPECT_THAT(write.error().message, HasSubstr("no answer within 60 ms"));
}

TEST_F(ApiTest, GoesAheadOfTheRateLimitWhenTold) {
  Serve([](const ServedRequest&) { return Answer(200, "{}"); });
  Client slow(To(*server_), {.qps = 1e-3, .burst = 1});
  ClientTransport transport(slow, loop_);
  const Api api(transport);
  ASSERT_TRUE(Wait(api.Get(kConfigMaps, "x", "y")));
  EXPECT_FALSE(Wait(api.Get(kConfigMaps, "x", "y", {.timeout = 20ms})));
  EXPECT_TRUE(Wait(api.Get(kConfigMaps, "x", "y", {.ahead = true})));
  EXPECT_TRUE(
      Wait(api.Patch(kConfigMaps, "x", "y", PatchType::kMerge, "{}", {.call = {.ahead = true}})));
}

TEST_F(ApiTest, ListsAPageWithItsSelectors) {
  Serve([](const ServedRequest&) { return Answer(200, "{}"); });
  ASSERT_TRUE(Wait(api_->List(kPools, "",
                              {.label_selector = "a in (b,c)",
                               .field_selector = "metadata.name=x",
                               .resource_version = "0",
                               .limit = 10,
                               .continue_token = "t/k="})));
  EXPECT_EQ(
      Last().Line(),
      "GET /apis/plexaubnet.io/v1alpha1/subnetpools?labelSelector=a%20in%20%28b%2Cc%29"
      "&fieldSelector=metadata.name%3Dx&resourceVersion=0&limit=10&continue=t%2Fk%3D HTTP/1.1");
  ASSERT_TRUE(Wait(api_->List(kPools, "net", {.limit = 0})));
  EXPECT_EQ(Last().Line(), "GET /apis/plexaubnet.io/v1alpha1/namespaces/net/subnetpools HTTP/1.1");
}

std::string PageOf(std::string_view item, std::string_view next, std::string_view version = "9") {
  return Answer(200, Format(R"({{"kind":"List","metadata":{{"resourceVersion":"{}",)"
                            R"("continue":"{}"}},"items":["{}"]}})",
                            version, next, item));
}

// The items that a list brought, as one who keeps them would have them in the end.
Api::Visit Into(std::vector<std::string>& items) {
  return [&items](const Api::Page& page) {
    if (page.first) items.clear();
    page.list["items"].ForEachItem([&](JsonView item) { items.emplace_back(item.StringOr("?")); });
  };
}

TEST_F(ApiTest, VisitsEveryPage) {
  Serve([](const ServedRequest& request) {
    if (request.Line().contains("continue=two")) return PageOf("b", "three");
    if (request.Line().contains("continue=three")) return PageOf("c", "");
    return PageOf("a", "two");
  });
  std::vector<std::string> items;
  EXPECT_EQ(
      Wait(api_->ListAll(kPools, "", {.label_selector = "x", .resource_version = "5", .limit = 1},
                         Into(items))),
      "9");
  EXPECT_THAT(items, ElementsAre("a", "b", "c"));
  const auto requests = server_->requests();
  ASSERT_THAT(requests, SizeIs(3));
  EXPECT_THAT(requests[0].Line(), HasSubstr("?labelSelector=x&resourceVersion=5&limit=1 "));
  EXPECT_THAT(requests[2].Line(), HasSubstr("?labelSelector=x&limit=1&continue=three "))
      << "a version beside a token is refused by the server";
}

TEST_F(ApiTest, AForgottenListIsBegunAnew) {
  std::atomic<int> firsts = 0;
  Serve([&](const ServedRequest& request) {
    if (!request.Line().contains("continue=")) return PageOf(++firsts == 1 ? "old" : "new", "two");
    if (firsts == 1)
      return Answer(410, ToJson(Expired("The provided continue parameter is too old")));
    return PageOf("b", "", "11");
  });
  std::vector<std::string> items;
  EXPECT_EQ(Wait(api_->ListAll(kPools, "", {}, Into(items))), "11");
  EXPECT_THAT(items, ElementsAre("new", "b"));
}

TEST_F(ApiTest, AListThatIsAlwaysForgottenIsGivenUp) {
  Serve([](const ServedRequest& request) {
    if (!request.Line().contains("continue=")) return PageOf("a", "two");
    return Answer(410, ToJson(Expired("too old")));
  });
  std::vector<std::string> items;
  const auto result = Wait(api_->ListAll(kPools, "", {}, Into(items)));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, 410);
  EXPECT_THAT(server_->requests(), SizeIs(8)) << "once and three times more";
}

TEST_F(ApiTest, OtherErrorsAndAVersionTooOldEndAList) {
  Serve([](const ServedRequest& request) {
    if (request.Line().contains("resourceVersion=1")) return Answer(410, ToJson(Expired("old")));
    if (request.Line().contains("fieldSelector")) return Answer(200, "{");
    if (!request.Line().contains("continue=")) return PageOf("a", "two");
    return Answer(500, ToJson(InternalError("oops")));
  });
  std::vector<std::string> items;
  EXPECT_EQ(Wait(api_->ListAll(kPools, "", {.resource_version = "1"}, Into(items))).error().code,
            410);
  EXPECT_THAT(server_->requests(), SizeIs(1)) << "nothing was forgotten half-way";
  EXPECT_EQ(Wait(api_->ListAll(kPools, "", {}, Into(items))).error().code, 500);
  EXPECT_FALSE(Wait(api_->ListAll(kPools, "", {.field_selector = "x"}, Into(items))));
}

TEST_F(ApiTest, Creates) {
  Serve([](const ServedRequest&) { return Answer(201, R"({"made":true})"); });
  EXPECT_EQ(Wait(api_->Create(kPools, "net", R"({"spec":1})")), R"({"made":true})");
  EXPECT_EQ(Last().Line(), "POST /apis/plexaubnet.io/v1alpha1/namespaces/net/subnetpools HTTP/1.1");
  EXPECT_EQ(Last().body, R"({"spec":1})");
  EXPECT_TRUE(Last().Has("Content-Type: application/json"));
  ASSERT_TRUE(Wait(api_->Create(kPools, "net", "{}", {.field_manager = "berth", .dry_run = true})));
  EXPECT_THAT(Last().Line(), HasSubstr("/subnetpools?fieldManager=berth&dryRun=All "));
}

TEST_F(ApiTest, Patches) {
  Serve([](const ServedRequest&) { return Answer(200, "{}"); });
  ASSERT_TRUE(Wait(api_->Patch(kPools, "net", "office", PatchType::kMerge, R"({"a":1})",
                               {.subresource = "status", .force = true})));
  EXPECT_EQ(Last().Line(),
            "PATCH /apis/plexaubnet.io/v1alpha1/namespaces/net/subnetpools/office/status HTTP/1.1");
  EXPECT_EQ(Last().body, R"({"a":1})");
  EXPECT_TRUE(Last().Has("Content-Type: application/merge-patch+json"));
  ASSERT_TRUE(
      Wait(api_->Patch(kPools, "net", "office", PatchType::kJson, "[]", {.dry_run = true})));
  EXPECT_TRUE(Last().Has("Content-Type: application/json-patch+json"));
  EXPECT_THAT(Last().Line(), HasSubstr("/office?dryRun=All "));
  ASSERT_TRUE(Wait(api_->Patch(kPools, "net", "office", PatchType::kApply, "{}",
                               {.field_manager = "berth", .force = true})));
  EXPECT_TRUE(Last().Has("Content-Type: application/apply-patch+yaml"));
  EXPECT_THAT(Last().Line(), HasSubstr("/office?fieldManager=berth&force=true "));
}

TEST_F(ApiTest, DeletesUnderConditions) {
  Serve([](const ServedRequest&) { return Answer(200, "{}"); });
  ASSERT_TRUE(Wait(api_->Delete(kPools, "net", "office")));
  EXPECT_EQ(Last().Line(),
            "DELETE /apis/plexaubnet.io/v1alpha1/namespaces/net/subnetpools/office HTTP/1.1");
  EXPECT_EQ(Last().body, R"({"apiVersion":"v1","kind":"DeleteOptions"})");
  ASSERT_TRUE(Wait(api_->Delete(kPools, "net", "office",
                                {.uid = "u-1",
                                 .resource_version = "42",
                                 .propagation = Propagation::kForeground,
                                 .dry_run = true})));
  EXPECT_EQ(Json::parse(Last().body), Json::parse(R"({"apiVersion":"v1","kind":"DeleteOptions",
                            "preconditions":{"uid":"u-1","resourceVersion":"42"},
                            "propagationPolicy":"Foreground","dryRun":["All"]})"));
}

TEST_F(ApiTest, ATaskThatIsDestroyedAsksNoMore) {
  std::latch asked(1);
  Serve([&](const ServedRequest& request) {
    if (!request.Line().contains("continue=")) return PageOf("a", "two");
    asked.count_down();
    request.connection->WaitUntilClosed(20s);
    return std::string();
  });
  std::vector<std::string> items;
  async::Running running;
  auto list = [](Api api, Api::Visit visit) -> async::Task<> {
    static_cast<void>(co_await api.ListAll(kPools, "", {}, std::move(visit)));
    ADD_FAILURE() << "it ended by itself";
  };
  loop_.Run([&] { running = async::Start(list(*api_, Into(items))); });
  asked.wait();
  loop_.Run([&] { running = {}; });
  server_.reset();  // its threads use `asked`
  EXPECT_THAT(items, ElementsAre("a"));
}

}  // namespace
}  // namespace berth::kube
