#pragma once

#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include "async/test_executor.h"
#include "kube/memory/local_transport.h"
#include "log/format.h"
#include "reconcile/test_crds.h"
#include "systems/systems.h"

namespace berth::systems {

// A cluster as the controllers that Berth replaces leave it, without Berth and its webhooks.
class PreflightTest : public testing::Test {
 protected:
  PreflightTest() { InstallCrds(server_); }

  Json Send(kube::Method method, const std::string& path, const std::string& body = "") {
    kube::Response answer;
    server_.Handle({.method = method,
                    .path = path,
                    .body = body,
                    .content_type = method == kube::Method::kPatch ? "application/merge-patch+json"
                                                                   : "application/json"},
                   [&](kube::Response response) { answer = std::move(response); });
    EXPECT_LT(answer.code, 300) << path << ": " << answer.body;
    executor_.Advance(std::chrono::seconds(2));  // no two objects are of the same second
    return Json::parse(answer.body);
  }
  // Returns the uid.
  std::string Create(const std::string& collection, const std::string& type,
                     const std::string& name, const std::string& spec,
                     const std::string& metadata = "") {
    return Send(kube::Method::kPost, collection,
                Format(R"({{{},"metadata":{{"name":"{}"{}}},"spec":{{{}}}}})", type, name, metadata,
                       spec))["metadata"]["uid"]
        .as_string();
  }

  async::Task<void> LookInto(PreflightReport* report, Json values) {
    *report =
        co_await Preflight(&systems_, &executor_, &transport_, std::move(values), "berth-system");
  }
  PreflightReport Look(Json values = {}) {
    PreflightReport report;
    const auto running = async::Start(LookInto(&report, std::move(values)));
    executor_.RunUntilIdle();
    EXPECT_FALSE(running);
    return report;
  }
  std::vector<std::string> Lines(Json values = {}) {
    const auto report = Look(std::move(values));
    EXPECT_THAT(report.errors, testing::IsEmpty());
    std::vector<std::string> lines;
    for (const auto& [object, what, advice] : report.findings) {
      EXPECT_FALSE(advice.empty()) << object;
      lines.push_back(object + ": " + what);
    }
    return lines;
  }

  void ExpectNoWrites() {
    const auto before = server_.version();  // every write has a version of its own
    EXPECT_THAT(Lines(), testing::Not(testing::IsEmpty()));
    executor_.Advance(std::chrono::minutes(10));
    EXPECT_EQ(server_.version(), before);
  }

  async::TestExecutor executor_;
  const Systems systems_ = MakeSystems(executor_, {});
  kube::memory::Server server_{{.now = [this] { return executor_.WallNow(); },
                                .random = [this] { return executor_.Random(); }}};
  kube::memory::LocalTransport transport_{executor_, server_};
};

}  // namespace berth::systems
