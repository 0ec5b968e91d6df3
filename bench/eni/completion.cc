// From the end of attaches to the status of their Nodes: the whole system with its real client on
// an API server in memory, in virtual time. The cloud's end is a stand-in that shows every ENI as
// Attaching, and one after the other as InUse. Prints one JSON object.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "async/test_executor.h"
#include "cloud/aliyun/ecs_client.h"
#include "cloud/aliyun/test_cloud.h"
#include "kube/memory/local_transport.h"
#include "log/format.h"
#include "reconcile/eni/system.h"
#include "reconcile/test_crds.h"

namespace {

using namespace berth;
using namespace std::chrono_literals;

constexpr int kEnisOfNode = 5;
constexpr int kPerSecond = 500;  // attaches that end
constexpr auto kStart = 60s;     // of the first of them, after the start of the leader
constexpr auto kApiTime = 10ms;  // of a write
constexpr auto kCloudTime = 20ms;

[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "error: %s\n", what.c_str());
  std::exit(1);
}

std::string EniId(int number) { return Format("eni-bp1{:017x}", number); }
std::string NodeName(int number) { return Format("worker-{}", number); }

// Every ENI is Attaching to its instance until its time has come.
class Cloud : public http::Transport {
 public:
  explicit Cloud(async::Executor& executor) : executor_(executor) {}

  async::Handle Send(http::Request request, Done done) override {
    http::Response response{.code = 200, .headers = {}, .body = AnswerTo(request)};
    return executor_.RunAfter(
        kCloudTime, [done = std::move(done), response = std::move(response)] { done(response); });
  }
  void Begin(async::TimePoint at) { begins_ = at; }

 private:
  std::string AnswerTo(const http::Request& request) const {
    std::string enis;
    const auto query = std::string_view(request.url).substr(request.url.find('?') + 1);
    for (const auto& [name, id] : cloud::aliyun::ParseQuery(query)) {
      if (!name.starts_with("NetworkInterfaceId")) continue;
      const int number = std::stoi(id.substr(sizeof("eni-bp1") - 1), nullptr, 16);
      const bool attached = executor_.Now() >= begins_ + number * (1s / kPerSecond);
      enis += Format(
          R"({}{{"NetworkInterfaceId":"{}","Status":"{}","Type":"Secondary","InstanceId":"i-{}",)"
          R"("PrivateIpAddress":"10.0.{}.{}"}})",
          enis.empty() ? "" : ",", id, attached ? "InUse" : "Attaching", number / kEnisOfNode,
          number / 250, number % 250 + 1);
    }
    return Format(R"({{"RequestId":"r","NetworkInterfaceSets":{{"NetworkInterfaceSet":[{}]}}}})",
                  enis);
  }

  async::Executor& executor_;
  async::TimePoint begins_ = async::TimePoint::max();
};

// An API server that takes its time, and tells of the writes that it has answered.
class SlowApi : public kube::Transport {
 public:
  SlowApi(kube::Transport& inner, async::Executor& executor) : inner_(inner), executor_(executor) {}

  async::Handle Send(kube::Request request, Done done) override {
    auto call = std::make_shared<async::Handle>();
    auto answer = [this, call, request, done = std::move(done)](auto response) {
      *call = executor_.RunAfter(kApiTime / 2, [this, request, done, response] {
        if (request.method == kube::Method::kPatch && on_written) on_written(request);
        done(response);
      });
    };
    *call = executor_.RunAfter(kApiTime / 2, [this, call, request, answer = std::move(answer)] {
      *call = inner_.Send(request, answer);
    });
    return async::Handle([call] { *call = {}; });
  }
  async::Handle Watch(kube::Request request, Stream stream) override {
    return inner_.Watch(std::move(request), std::move(stream));
  }

  std::function<void(const kube::Request&)> on_written;

 private:
  kube::Transport& inner_;
  async::Executor& executor_;
};

// Nodes whose ENIs are all Attaching, and a leader.
class Cluster {
 public:
  explicit Cluster(int nodes) : nodes_(nodes) {
    credentials_.now = cloud::aliyun::Credential{"LTAI-of-the-bench", "very-secret", ""};
    InstallCrds(server_);
    for (int i = 0; i < nodes; ++i) CreateNode(i);
    api_.on_written = [this](const kube::Request& request) { Written(request); };
    leadership_.Start();
  }

  std::map<std::string, double> Run() {
    for (int i = 0; i < 120 && !system_.leading(); ++i) executor_.Advance(1s);
    cloud_.Begin(executor_.Now() + kStart);
    const auto all = static_cast<std::size_t>(nodes_ * kEnisOfNode);
    for (int i = 0; i < 300 && delays_.size() < all; ++i) executor_.Advance(1s);
    if (delays_.size() != all) Fail(Format("{} of {} attaches ended", delays_.size(), all));
    std::ranges::sort(delays_);
    const auto at = [&](std::size_t percent) { return delays_[delays_.size() * percent / 100]; };
    double most = 0;
    for (const auto& [second, count] : of_second_) most = std::max(most, count);
    return {{"completions", static_cast<double>(all)},
            {"completions_per_s_most", most},
            {"completion_to_status_p50_s", at(50)},
            {"completion_to_status_p99_s", at(99)},
            {"completion_to_status_max_s", delays_.back()}};
  }

 private:
  static constexpr const char* kNodes = "/apis/network.alibabacloud.com/v1beta1/nodes";

  void Must(kube::Method method, const std::string& path, const std::string& body,
            const std::string& type = "application/json") {
    server_.Handle({.method = method, .path = path, .body = body, .content_type = type},
                   [&](const kube::Response& answer) {
                     if (answer.code >= 300) Fail(answer.body);
                   });
  }

  void CreateNode(int number) {
    Must(kube::Method::kPost, kNodes,
         Format(
             R"({{"apiVersion":"network.alibabacloud.com/v1beta1","kind":"Node",)"
             R"("metadata":{{"name":"{}","finalizers":["{}"]}},"spec":{{"nodeMetadata":)"
             R"({{"regionID":"cn-hangzhou","zoneID":"cn-hangzhou-h","instanceType":"ecs.g7",)"
             R"("instanceID":"i-{}"}},"nodeCap":{{"adapters":6,"ipv4PerAdapter":10}},)"
             R"("eni":{{"vSwitchOptions":["vsw-1"],"securityGroupIDs":["sg-1"],)"
             R"("vSwitchSelectPolicy":"most","enableIPv4":true}},"pool":{{"maxPoolSize":100}}}}}})",
             NodeName(number), eni::kFinalizer, number));
    std::string nics;
    for (int i = 0; i < kEnisOfNode; ++i) {
      nics += Format(R"({0}"{1}":{{"id":"{1}","status":"Attaching"}})", i == 0 ? "" : ",",
                     EniId(number * kEnisOfNode + i));
    }
    Must(kube::Method::kPatch, Format("{}/{}/status", kNodes, NodeName(number)),
         Format(R"({{"status":{{"account":"1234567890123456","lastSyncOpenAPITime":)"
                R"("2026-01-01T00:00:00Z","nextSyncOpenAPITime":"2046-01-01T00:00:00Z",)"
                R"("networkInterfaces":{{{}}}}}}})",
                nics),
         "application/merge-patch+json");
  }

  // The queue has a task until the write that has its end was answered.
  void Written(const kube::Request& request) {
    const auto patch = Json::Parse(request.body);
    if (!patch || !request.path.contains("/status") || !patch->contains("status")) return;
    const Json nics = (*patch)["status"].get_value_or<Json>("networkInterfaces", Json::Object());
    for (const auto& entry : nics.object_range()) {
      const eni::Task* task = system_.tasks()->queue().Find(entry.key());
      if (!task || !task->completed_at) continue;
      const auto now = executor_.Now();
      delays_.push_back(std::chrono::duration<double>(now - *task->completed_at).count());
      ++of_second_[std::chrono::floor<std::chrono::seconds>(task->completed_at->time_since_epoch())
                       .count()];
    }
  }

  struct Accounts : cloud::EniAccounts {
    explicit Accounts(cloud::Enis& to_use) : enis(to_use) {}
    async::Task<Result<cloud::Place>> Here() override {
      co_return cloud::Place{.region = "cn-hangzhou", .account = "1234567890123456"};
    }
    cloud::Enis& In(const std::string&) override { return enis; }
    cloud::Enis& enis;
  };

  const int nodes_;
  async::TestExecutor executor_;
  kube::memory::Server server_{{.now = [this] { return executor_.WallNow(); },
                                .random = [this] { return executor_.Random(); }}};
  kube::memory::LocalTransport local_{executor_, server_};
  SlowApi api_{local_, executor_};
  Cloud cloud_{executor_};
  cloud::aliyun::TestCredentials credentials_;
  cloud::aliyun::ApiClient ecs_{executor_,
                                cloud_,
                                credentials_,
                                nullptr,
                                {.endpoint = cloud::aliyun::EcsEndpoint("cn-hangzhou", false),
                                 .version = std::string(cloud::aliyun::kEcsVersion),
                                 .region = "cn-hangzhou",
                                 .limits = cloud::aliyun::EniLimits()}};
  const cloud::aliyun::EniApis apis_{ecs_, ecs_};
  cloud::aliyun::EcsClient enis_{apis_};
  Accounts accounts_{enis_};
  runtime::Leadership leadership_{
      executor_, api_, {.ns = "default", .name = "berth", .identity = "berth-1"}};
  eni::System system_{executor_, api_, leadership_, eni::Backends{.ecs = accounts_},
                      eni::System::Options{}};
  std::vector<double> delays_;                // in seconds
  std::map<std::int64_t, double> of_second_;  // completions
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) Fail("usage: bench_eni_completion NODES");
  std::string text;
  for (const auto& [name, value] : Cluster(std::atoi(argv[1])).Run())
    text += Format("{}\"{}\":{}", text.empty() ? "" : ",", name, value);
  std::printf("{%s}\n", text.c_str());
}
