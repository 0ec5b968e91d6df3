// ENI tasks by the thousand that wait for their attach: the task runner with its real client and
// the live resource, in virtual time. The cloud's end is a stand-in that keeps nothing, so that the
// process's memory is that of the tasks; the CPU time it takes to make answers is not counted.
// Prints one JSON object.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <map>
#include <memory>
#include <string>

#include "async/test_executor.h"
#include "cloud/aliyun/ecs_client.h"
#include "cloud/aliyun/test_cloud.h"
#include "cloud/aliyun/vpc_client.h"
#include "handlers/apis/enitasks.h"
#include "log/format.h"
#include "reconcile/eni/task_runner.h"

namespace {

using namespace berth;
using namespace std::chrono_literals;

// All tasks wait in this time: an attach times out after 2 minutes.
constexpr auto kWindow = 90s;
constexpr auto kPublish = 500ms;
constexpr int kAddresses = 10;  // of an ENI
constexpr int kEnisOfNode = 5;

[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "error: %s\n", what.c_str());
  std::exit(1);
}

double CpuSeconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

double Rss() {
  std::ifstream file("/proc/self/statm");
  double size = 0;
  double resident = 0;
  file >> size >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

double Threads() {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("Threads:")) return std::stod(line.substr(sizeof("Threads:")));
  }
  Fail("/proc/self/status has no Threads");
}

// Shows every ENI as Attaching to its instance.
class AttachingCloud : public http::Transport {
 public:
  explicit AttachingCloud(async::Executor& executor) : executor_(executor) {}

  async::Handle Send(http::Request request, Done done) override {
    const double began = CpuSeconds();
    ++describes_;
    ++of_tick_[executor_.Now().time_since_epoch() / eni::TaskRunner::kTick];
    http::Response response{.code = 200, .headers = {}, .body = AnswerTo(request)};
    cpu_ += CpuSeconds() - began;
    return executor_.RunAfter(
        20ms, [done = std::move(done), response = std::move(response)] { done(response); });
  }

  double describes() const { return describes_; }
  double cpu() const { return cpu_; }
  // The calls of the tick that has most of them.
  double most_of_tick() const {
    double most = 0;
    for (const auto& [tick, calls] : of_tick_) most = std::max(most, calls);
    return most;
  }

 private:
  static std::string AnswerTo(const http::Request& request) {
    const auto mark = request.url.find('?');
    std::string enis;
    for (const auto& [name, value] :
         cloud::aliyun::ParseQuery(std::string_view(request.url).substr(mark + 1))) {
      if (!name.starts_with("NetworkInterfaceId")) continue;
      if (!enis.empty()) enis += ',';
      AppendEni(enis, value);
    }
    return Format(
        R"({{"RequestId":"4C467B38-3910-447D-87BC-AC049166F216","NetworkInterfaceSets":{{"NetworkInterfaceSet":[{}]}}}})",
        enis);
  }
  static void AppendEni(std::string& text, const std::string& id) {
    text += Format(
        R"({{"NetworkInterfaceId":"{0}","Status":"Attaching","Type":"Secondary","InstanceId":"i-{0}",)"
        R"("MacAddress":"00:16:3e:12:34:56","VSwitchId":"vsw-bp16usj2p27htro3nlxya",)"
        R"("VpcId":"vpc-bp1j7w3gc1cexjqd5k6uo","ZoneId":"cn-hangzhou-h",)"
        R"("NetworkInterfaceTrafficMode":"Standard","CreationTime":"2026-01-02T03:04:05Z",)"
        R"("SecurityGroupIds":{{"SecurityGroupId":["sg-bp144yr32sx6ndwqk7ha"]}},)"
        R"("Tags":{{"Tag":[{{"TagKey":"creator","TagValue":"terway"}}]}},"PrivateIpSets":{{"PrivateIpSet":[)",
        id);
    for (int i = 0; i < kAddresses; ++i) {
      text += Format(R"({}{{"PrivateIpAddress":"172.17.0.{}","Primary":{}}})", i == 0 ? "" : ",",
                     i + 10, i == 0);
    }
    text += "]}}";
  }

  async::Executor& executor_;
  double describes_ = 0;
  double cpu_ = 0;
  std::map<std::int64_t, double> of_tick_;
};

// A runner with tasks that wait.
class Waiting {
 public:
  explicit Waiting(int tasks) : tasks_(tasks) {
    credentials_.now = cloud::aliyun::Credential{"LTAI-of-the-bench", "very-secret", ""};
  }

  void Submit() {
    for (int i = 0; i < tasks_; ++i) {
      const std::string eni = Format("eni-bp1{:017x}", i);
      runner_.Submit({.eni = eni,
                      .node = Format("cn-hangzhou.i-bp1{:017x}", i / kEnisOfNode),
                      .instance = "i-" + eni,
                      .account = "1234567890123456",
                      .ipv4_addresses = kAddresses});
    }
  }
  void Run(async::Duration time, apis::EniTasks* live = nullptr) {
    const auto end = executor_.Now() + time;
    while (executor_.Now() < end) {
      executor_.Advance(kPublish);
      if (live) live->Publish(&runner_);
    }
    const auto running = runner_.queue().counts()[static_cast<std::size_t>(eni::State::kRunning)];
    if (running != static_cast<std::size_t>(tasks_))
      Fail(Format("{} of {} tasks wait", running, tasks_));
  }

  async::TestExecutor& executor() { return executor_; }
  const AttachingCloud& cloud() const { return cloud_; }
  double DescribesPer100() const {
    return cloud_.most_of_tick() / std::max(1.0, static_cast<double>((tasks_ + 99) / 100));
  }

 private:
  static cloud::aliyun::ApiOptions ApiOptions() {
    return {.endpoint = cloud::aliyun::EcsEndpoint("cn-hangzhou", false),
            .version = std::string(cloud::aliyun::kEcsVersion),
            .region = "cn-hangzhou",
            .limits = cloud::aliyun::EniLimits()};
  }

  const int tasks_;
  async::TestExecutor executor_;
  AttachingCloud cloud_{executor_};
  cloud::aliyun::TestCredentials credentials_;
  cloud::aliyun::ApiClient api_{executor_, cloud_, credentials_, nullptr, ApiOptions()};
  const cloud::aliyun::EniApis apis_{api_, api_};
  cloud::aliyun::EcsClient enis_{apis_};
  eni::TaskRunner runner_{
      executor_,
      {.enis = [this](auto&, auto) { return &enis_; }, .on_ended = [](const std::string&) {}}};
};

void Print(const std::map<std::string, double>& figures) {
  std::string text;
  for (const auto& [name, value] : figures)
    text += Format("{}\"{}\":{}", text.empty() ? "" : ",", name, value);
  std::printf("{%s}\n", text.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) Fail("usage: bench_eni TASKS");
  const int tasks = std::atoi(argv[1]);
  std::map<std::string, double> figures;
  for (const int few : {1, 100, 1'000}) {
    Waiting waiting(few);
    waiting.Submit();
    waiting.Run(kWindow);
    figures["describe_per_100"] = std::max(figures["describe_per_100"], waiting.DescribesPer100());
    if (few == 1'000) figures["describes_of_1000"] = waiting.cloud().describes();
  }

  const auto waiting = std::make_unique<Waiting>(tasks);
  const double empty = Rss();
  waiting->Submit();
  waiting->Run(kWindow / 3);
  figures["bytes_per_task"] = (Rss() - empty) / tasks;
  apis::EniTasks live(waiting->executor());
  live.Publish(nullptr);
  const double cpu = CpuSeconds() - waiting->cloud().cpu();
  waiting->Run(kWindow * 2 / 3, &live);
  const double used = CpuSeconds() - waiting->cloud().cpu() - cpu;
  figures["waiting_cpu"] = used / std::chrono::duration<double>(kWindow * 2 / 3).count();
  figures["tasks_rss"] = Rss();
  figures["threads"] = Threads();
  figures["describe_per_100"] = std::max(figures["describe_per_100"], waiting->DescribesPer100());
  Print(figures);
}
