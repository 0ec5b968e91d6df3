#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
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

namespace berth::eip {

using namespace std::chrono_literals;

// The test decides the fate of each call to the cloud.
class Script : public cloud::simulator::Fates {
 public:
  explicit Script(async::Executor& executor) : latency_(executor, 1ms, 5ms) {}

  cloud::simulator::Fate Draw(const http::Request& request) override {
    auto fate = latency_.Draw(request);
    for (const http::Header& header : request.headers) {
      if (on_call && header.name == "x-acs-action") on_call(header.value, fate);
    }
    return fate;
  }

  std::function<void(const std::string& action, cloud::simulator::Fate& fate)> on_call;

 private:
  cloud::simulator::Latency latency_;
};

// An API server that refuses what it is told to.
class Unreliable : public kube::Transport {
 public:
  Unreliable(kube::Transport& inner, async::Executor& executor)
      : inner_(inner), executor_(executor) {}

  async::Handle Send(kube::Request request, Done done) override {
    if (request.method == kube::Method::kPatch && request.path.contains("/eips/")) {
      ++patches;
      if (async::Duration late{}; delays && (late = delays(request)) > 0s) {
        late_ = executor_.RunAfter(late,
                                   [this, request] { sent_ = inner_.Send(request, [](auto) {}); });
        return executor_.RunAfter(1ms, [done] {
          done(std::unexpected(kube::Error{ErrorClass::kAmbiguous, {}, "no answer in time"}));
        });
      }
      if (denies && denies(request)) {
        return executor_.RunAfter(1ms, [done] {
          done(std::unexpected(kube::Error{ErrorClass::kTerminal, "Forbidden",
                                           "admission webhook \"guard\" denied the request: no",
                                           403}));
        });
      }
      if (refuses && refuses(request)) {
        return executor_.RunAfter(1ms, [done] {
          done(std::unexpected(kube::Error{ErrorClass::kRetry, {}, "etcd is unwell", 500}));
        });
      }
    }
    return inner_.Send(std::move(request), std::move(done));
  }
  async::Handle Watch(kube::Request request, Stream stream) override {
    return inner_.Watch(std::move(request), std::move(stream));
  }

  std::function<bool(const kube::Request&)> refuses;
  std::function<bool(const kube::Request&)> denies;  // as a webhook of others
  // How much later it is carried out, with nobody waiting any more.
  std::function<async::Duration(const kube::Request&)> delays;
  int patches = 0;

 private:
  kube::Transport& inner_;
  async::Executor& executor_;
  async::Handle late_;
  async::Handle sent_;
};

// The operator with its real client, on an API server in memory and a simulated cloud.
class EipSystemTest : public testing::Test {
 protected:
  // A tenth of Alibaba Cloud's.
  static constexpr async::Duration kTokenMemory = 144min;

  explicit EipSystemTest(async::Duration until_visible = 5s)
      : account_(executor_, script_,
                 {.vpc = {.until_visible = until_visible, .releasing = 3s},
                  .client_tokens = {.memory = kTokenMemory}}) {
    InstallCrds(server_);
    leadership_.Start();
    for (int i = 0; i < 60 && !system_.leading(); ++i) executor_.Advance(1s);
  }

  kube::Response Send(kube::Method method, const std::string& path, const std::string& body = "",
                      const std::string& type = "application/json") {
    kube::Response answer;
    server_.Handle({.method = method, .path = path, .body = body, .content_type = type},
                   [&](kube::Response response) { answer = std::move(response); });
    executor_.Advance(0s);
    return answer;
  }

  static std::string Path(const std::string& name = "") {
    return "/apis/eip.alibabacloud.com/v1alpha1/eips" + (name.empty() ? "" : "/" + name);
  }
  void Create(const std::string& name, const std::string& spec) {
    const auto made = Send(kube::Method::kPost, Path(),
                           Format(R"({{"apiVersion":"eip.alibabacloud.com/v1alpha1",)"
                                  R"("kind":"EIP","metadata":{{"name":"{}"}},"spec":{{{}}}}})",
                                  name, spec));
    ASSERT_EQ(made.code, 201) << made.body;
  }
  void Merge(const std::string& name, const std::string& patch) {
    const auto patched =
        Send(kube::Method::kPatch, Path(name), patch, "application/merge-patch+json");
    ASSERT_EQ(patched.code, 200) << patched.body;
  }
  void Delete(const std::string& name) { Send(kube::Method::kDelete, Path(name)); }
  bool Exists(const std::string& name) { return Send(kube::Method::kGet, Path(name)).code == 200; }
  Json Get(const std::string& name) {
    return Json::parse(Send(kube::Method::kGet, Path(name)).body);
  }
  std::string Status(const std::string& name, const std::string& member) {
    const Json object = Get(name);
    return object.contains("status") ? object["status"].get_value_or<std::string>(member, "") : "";
  }
  // "True Created", with the message after it.
  std::string Ready(const std::string& name) {
    const Json object = Get(name);
    if (!object.contains("status")) return "";
    for (const Json& condition : object["status"]["conditions"].array_range()) {
      if (condition["type"] == "Ready") {
        return Format("{} {} {}", condition["status"].as<std::string>(),
                      condition["reason"].as<std::string>(),
                      condition["message"].as<std::string>());
      }
    }
    return "";
  }
  std::vector<std::string> EventReasons() {
    const Json list = Json::parse(Send(kube::Method::kGet, "/apis/events.k8s.io/v1/events").body);
    std::vector<std::string> reasons;
    for (const Json& event : list["items"].array_range()) {
      reasons.push_back(event["reason"].as<std::string>());
    }
    return reasons;
  }
  // All that people are told of anything.
  std::string Told() {
    return Send(kube::Method::kGet, Path()).body +
           Send(kube::Method::kGet, "/apis/events.k8s.io/v1/events").body;
  }
  std::string Version(const std::string& name) {
    return Get(name)["metadata"]["resourceVersion"].as<std::string>();
  }
  std::string Uid(const std::string& name) {
    return Get(name)["metadata"]["uid"].as<std::string>();
  }
  void Annotate(const std::string& name, std::string_view annotation, std::string_view value) {
    Merge(name, Format(R"({{"metadata":{{"annotations":{{"{}":"{}"}}}}}})", annotation, value));
  }
  // A part of a spec: they leave no room for the owner's.
  static std::string TwentyTags() {
    std::string tags;
    for (std::size_t i = 0; i < kMostTags; ++i) {
      tags += Format(R"({}"tag{}":"x")", i == 0 ? "" : ",", i);
    }
    return R"("tags":{)" + tags + "}";
  }
  void WipeStatus(const std::string& name) {
    const auto wiped = Send(kube::Method::kPatch, Path(name) + "/status", R"({"status":null})",
                            "application/merge-patch+json");
    ASSERT_EQ(wiped.code, 200) << wiped.body;
  }
  void WriteStatus(const std::string& name, const Json& status) {
    Json patch;
    patch["status"] = status;
    const auto written = Send(kube::Method::kPatch, Path(name) + "/status", patch.to_string(),
                              "application/merge-patch+json");
    ASSERT_EQ(written.code, 200) << written.body;
  }
  std::string OwnerTag(const std::string& id) {
    const cloud::Eip* eip = cloud_.vpc().Find(id);
    if (!eip || !eip->tags.contains(std::string(kOwnerTag))) return "";
    return eip->tags.at(std::string(kOwnerTag));
  }
  bool IsThere(const std::string& id) {
    cloud_.vpc().Settle(executor_.WallNow());
    return cloud_.vpc().Find(id) != nullptr;
  }
  // The next lists of the cloud have nothing in them.
  void EmptyLists(int how_many) {
    script_.on_call = [left = how_many](const std::string& action,
                                        cloud::simulator::Fate& fate) mutable {
      if (action == "DescribeEipAddresses" && left-- > 0) fate.empty_list = true;
    };
  }
  std::uint64_t Calls(const std::string& action) {
    const auto found = cloud_.calls().find(action);
    return found == cloud_.calls().end() ? 0 : found->second.carried_out;
  }
  const cloud::Eip* Address(const std::string& name) {
    cloud_.vpc().Settle(executor_.WallNow());
    return cloud_.vpc().Find(Status(name, "allocationID"));
  }

  async::TestExecutor executor_;
  kube::memory::Server server_{{.now = [this] { return executor_.WallNow(); },
                                .random = [this] { return executor_.Random(); }}};
  kube::memory::LocalTransport local_{executor_, server_};
  Unreliable transport_{local_, executor_};
  Script script_{executor_};
  cloud::TestAccount account_;
  cloud::simulator::Cloud& cloud_ = account_.cloud;
  runtime::Leadership leadership_{
      executor_, transport_, {.ns = "default", .name = "berth", .identity = "one"}};
  System system_{executor_, transport_, leadership_, account_.vpcs, {}};
};

}  // namespace berth::eip
