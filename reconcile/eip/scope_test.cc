#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "async/test_executor.h"
#include "cloud/test_account.h"
#include "json/json.h"
#include "kube/memory/local_transport.h"
#include "log/format.h"
#include "reconcile/eip/system.h"
#include "reconcile/test_crds.h"

// The operator with its CRD of either scope: the chart has a value for it.
namespace berth::eip {
namespace {

using namespace std::chrono_literals;
using testing::Each;
using testing::HasSubstr;

// Tells of changes late, so that what was written is known from its answer alone, and counts the
// writes that were refused for being about an object that is not the newest.
class LateTransport : public kube::memory::LocalTransport {
 public:
  LateTransport(async::TestExecutor& executor, kube::memory::Server& server)
      : LocalTransport(executor, server), executor_(executor) {}

  async::Handle Send(kube::Request request, Done done) override {
    return LocalTransport::Send(std::move(request),
                                [this, done = std::move(done)](Result<kube::Response> response) {
                                  if (!response && response.error().code == 409) ++conflicts;
                                  done(std::move(response));
                                });
  }

  async::Handle Watch(kube::Request request, Stream stream) override {
    auto reader = std::make_shared<Stream>(std::move(stream));
    auto on_lines = [this, weak = std::weak_ptr(reader)](std::string_view lines) {
      timers_.push_back(executor_.RunAfter(delay, [weak, text = std::string(lines)] {
        if (const auto late = weak.lock()) late->on_lines(text);
      }));
    };
    auto on_end = [weak = std::weak_ptr(reader)](Result<void> end) {
      if (const auto late = weak.lock()) late->on_end(std::move(end));
    };
    auto watch =
        LocalTransport::Watch(std::move(request), {std::move(on_lines), std::move(on_end)});
    return async::Handle([watch = std::make_shared<async::Handle>(std::move(watch)),
                          reader = std::move(reader)]() mutable {
      watch.reset();
      reader.reset();
    });
  }

  async::Duration delay{};
  int conflicts = 0;

 private:
  async::TestExecutor& executor_;
  std::vector<async::Handle> timers_;
};

class EipScope : public testing::TestWithParam<const char*> {
 protected:
  EipScope() {
    InstallCrds(server_, GetParam());
    for (const char* ns : {"shop", "desk"}) {
      Send(kube::Method::kPost, "/api/v1/namespaces",
           Format(R"({{"metadata":{{"name":"{}"}}}})", ns));
    }
    leadership_.Start();
    for (int i = 0; i < 60 && !system_.leading(); ++i) executor_.Advance(1s);
  }

  bool namespaced() const { return GetParam() == std::string("Namespaced"); }

  kube::Response Send(kube::Method method, const std::string& path, const std::string& body = "",
                      const std::string& type = "application/json") {
    kube::Response answer;
    server_.Handle({.method = method, .path = path, .body = body, .content_type = type},
                   [&](kube::Response response) { answer = std::move(response); });
    executor_.Advance(0s);
    return answer;
  }

  std::string Path(const std::string& name = "", const std::string& ns = "shop") const {
    return "/apis/eip.alibabacloud.com/v1alpha1/" + (namespaced() ? "namespaces/" + ns + "/" : "") +
           "eips" + (name.empty() ? "" : "/" + name);
  }
  void Create(const std::string& name, const std::string& spec, const std::string& ns = "shop") {
    const auto made = Send(kube::Method::kPost, Path("", ns),
                           Format(R"({{"apiVersion":"eip.alibabacloud.com/v1alpha1",)"
                                  R"("kind":"EIP","metadata":{{"name":"{}"}},"spec":{{{}}}}})",
                                  name, spec));
    ASSERT_EQ(made.code, 201) << made.body;
  }
  Json Get(const std::string& name, const std::string& ns = "shop") {
    return Json::parse(Send(kube::Method::kGet, Path(name, ns)).body);
  }
  std::string Ready(const std::string& name, const std::string& ns = "shop") {
    const Json object = Get(name, ns);
    if (!object.contains("status")) return "";
    for (const Json& condition : object["status"]["conditions"].array_range()) {
      if (condition["type"] == "Ready") {
        return Format("{} {}", condition["status"].as_string(), condition["message"].as_string());
      }
    }
    return "";
  }
  // How messages call an object.
  std::string Called(const std::string& name) const { return namespaced() ? "shop/" + name : name; }

  async::TestExecutor executor_;
  kube::memory::Server server_{{.now = [this] { return executor_.WallNow(); },
                                .random = [this] { return executor_.Random(); }}};
  LateTransport transport_{executor_, server_};
  cloud::simulator::Latency latency_{executor_, 1ms, 5ms};
  cloud::TestAccount account_{executor_, latency_, {.vpc = {.until_visible = 5s, .releasing = 3s}}};
  cloud::simulator::Cloud& cloud_ = account_.cloud;
  runtime::Leadership leadership_{
      executor_, transport_, {.ns = "default", .name = "berth", .identity = "one"}};
  System system_{executor_, transport_, leadership_, account_.vpcs, {}};
};

INSTANTIATE_TEST_SUITE_P(OfTheCrd, EipScope, testing::Values("Cluster", "Namespaced"));

TEST_P(EipScope, AnAddressComesAndGoes) {
  Create("web", R"("bandwidth":"20")");
  executor_.Advance(30s);
  const Json web = Get("web");
  EXPECT_THAT(Ready("web"), HasSubstr("True")) << web.to_string();
  EXPECT_EQ(web["spec"]["allocationID"], web["status"]["allocationID"]);
  ASSERT_EQ(cloud_.vpc().Eips().size(), 1u);
  Send(kube::Method::kDelete, Path("web"));
  executor_.Advance(30s);
  EXPECT_EQ(Send(kube::Method::kGet, Path("web")).code, 404);
  EXPECT_TRUE(cloud_.vpc().Eips().empty());
}

TEST_P(EipScope, EventsAreWhereTheObjectIs) {
  Create("web", "");
  executor_.Advance(30s);
  const std::string ns = namespaced() ? "shop" : "default";
  const Json events = Json::parse(
      Send(kube::Method::kGet, "/apis/events.k8s.io/v1/namespaces/" + ns + "/events").body);
  std::vector<std::string> about;
  for (const Json& event : events["items"].array_range()) {
    if (event["regarding"]["kind"] != "EIP") continue;
    EXPECT_EQ(event["regarding"]["uid"], Get("web")["metadata"]["uid"]);
    about.push_back(event["regarding"].get_value_or<std::string>("namespace", ""));
  }
  ASSERT_FALSE(about.empty());
  EXPECT_THAT(about, Each(namespaced() ? "shop" : ""));
}

TEST_P(EipScope, MessagesNameAnObjectWithItsNamespace) {
  const std::string id = cloud_.vpc().CreateEip({});
  Create("first", Format(R"("allocationID":"{}")", id));
  executor_.Advance(2s);
  Create("second", Format(R"("allocationID":"{}")", id), "desk");
  executor_.Advance(10s);
  EXPECT_THAT(Ready("second", "desk"),
              HasSubstr(Format("False the EIP {} has {} already", Called("first"), id)));
  const std::string uid = Get("first")["metadata"]["uid"].as_string();
  EXPECT_EQ(system_.HolderOf(id, Get("second", "desk")["metadata"]["uid"].as_string()),
            Called("first"));
  EXPECT_EQ(system_.HolderOf("eip-none", uid), "");
}

// Berth knows its own writes before the watch has told of them.
TEST_P(EipScope, NoWriteIsRefusedForOnesOwnBefore) {
  transport_.delay = 10s;
  Create("web", R"("bandwidth":"20","tags":{"team":"web"})");
  executor_.Advance(1min);
  EXPECT_THAT(Ready("web"), HasSubstr("True"));
  EXPECT_EQ(transport_.conflicts, 0);
}

class NamespacedEips : public EipScope {};

INSTANTIATE_TEST_SUITE_P(OfTheCrd, NamespacedEips, testing::Values("Namespaced"));

TEST_P(NamespacedEips, TwoOfOneNameAreTwo) {
  Create("web", "", "shop");
  Create("web", "", "desk");
  executor_.Advance(30s);
  EXPECT_THAT(Ready("web", "shop"), HasSubstr("True"));
  EXPECT_THAT(Ready("web", "desk"), HasSubstr("True"));
  ASSERT_EQ(cloud_.vpc().Eips().size(), 2u);
  const std::string kept = Get("web", "desk")["status"]["allocationID"].as_string();
  Send(kube::Method::kDelete, Path("web", "shop"));
  executor_.Advance(30s);
  EXPECT_EQ(cloud_.vpc().Eips().size(), 1u);
  EXPECT_TRUE(cloud_.vpc().Find(kept));
  EXPECT_THAT(Ready("web", "desk"), HasSubstr("True"));
}

}  // namespace
}  // namespace berth::eip
