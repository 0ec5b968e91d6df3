#include <random>
#include <set>

#include "reconcile/sandbox/system_fixture_test.h"

// Users, agents and the API server at their worst, by seed, and what must hold all the same.
namespace berth::sandbox {
namespace {

using testing::IsEmpty;

class SandboxChaosTest : public SandboxTest, public testing::WithParamInterface<int> {
 protected:
  static constexpr int kNames = 8;
  static constexpr int kSteps = 120;

  int Below(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }
  std::string AName() { return Format("s{}", Below(kNames)); }
  std::string APod() {
    const auto pods = Pods();
    return pods.empty() ? "" : pods[static_cast<std::size_t>(Below(static_cast<int>(pods.size())))];
  }
  std::string Later(int seconds) {
    const auto when =
        std::chrono::duration_cast<std::chrono::seconds>(executor_.WallNow().time_since_epoch());
    return kube::Timestamp(when.count() + seconds);
  }

  void Faults(bool on) {
    if (!on) {
      transport_.fault = nullptr;
      agents_.create_fault = nullptr;
      for (auto& [pod, agent] : agents_.agents) agent.hung = false;
      return;
    }
    transport_.fault = [this](const kube::Request&) {
      switch (Below(12)) {
        case 0:
          return WatchedApi::Fault::kRefused;
        case 1:
          return WatchedApi::Fault::kAnswerLost;
        default:
          return WatchedApi::Fault::kNone;
      }
    };
    agents_.create_fault = [this](const auto&) -> std::optional<TestAgents::Fault> {
      switch (Below(8)) {
        case 0:
          return TestAgents::Fault{{ErrorClass::kAmbiguous, "CreateFailed", "create: 500"}};
        case 1:
          return TestAgents::Fault{{ErrorClass::kAmbiguous, "CreateFailed", "create: 500"}, true};
        case 2:
          return TestAgents::Fault{
              {ErrorClass::kConflict, "CapacityRejected", "create: full", 409}};
        default:
          return std::nullopt;
      }
    };
  }

  void UserActs() {
    const std::string name = AName();
    switch (Below(7)) {
      case 0:
      case 1: {
        if (Exists(SandboxPath(name))) return;
        std::string spec = Below(2) == 0 ? R"(,"failurePolicy":"AutoRecreate",)"
                                           R"("recoveryTimeoutSeconds":5)"
                                         : "";
        if (Below(3) == 0) spec += R"(,"exposedPorts":[80])";
        if (Below(5) == 0) spec += Format(R"(,"expireTime":"{}")", Later(Below(60)));
        if (Below(3) == 0) {
          CreateSandbox(name, "pool", spec);
        } else {
          CreateStamped(name, "pool", spec);
        }
        return;
      }
      case 2:
        return Delete(name);
      case 3:
        if (Exists(SandboxPath(name)))
          Merge(SandboxPath(name),
                Format(R"({{"spec":{{"resetRevision":"{}","expireTime":null}}}})", Later(0)));
        return;
      case 4:
        if (Exists(SandboxPath(name)))
          Merge(SandboxPath(name), Format(R"({{"spec":{{"expireTime":"{}"}}}})", Later(Below(30))));
        return;
      case 5:
        Merge(PathOf("sandboxpools", "pool"),
              Format(R"({{"spec":{{"capacity":{{"poolMin":{}}}}}}})", Below(4)));
        return;
      default:
        Stamp(Format("never-{}", Below(100)));
    }
  }

  void WorldActs() {
    const std::string pod = APod();
    if (pod.empty()) return;
    switch (Below(6)) {
      case 0:
        return DeletePod(pod);
      case 1:
        return RestartAgent(pod, std::to_string(++restarts_));
      case 2: {
        TestAgents::Agent& agent = agents_.agents[pod];
        agent.hung = !agent.hung;
        return;
      }
      case 3: {
        auto& list = agents_.agents[pod].list;
        if (!list.empty() && list.begin()->second.phase == cloud::AgentPhase::kRunning)
          list.begin()->second.phase = cloud::AgentPhase::kStopped;
        return;
      }
      case 4:
        if (Below(3) == 0) Boot();
        return;
      default:
        Faults(Below(3) > 0);
    }
  }

  // No container of an object that is gone, on a pod that exists; no agent beyond its capacity.
  void Check() {
    ASSERT_THAT(agents_.broken, IsEmpty());
    std::set<std::string> uids;
    const Json list = Get(SandboxPath());
    for (const Json& object : list["items"].array_range())
      uids.insert(object["metadata"]["uid"].as_string());
    for (const std::string& id : agents_.Running()) {
      const auto parsed = ParseAgentId(id);
      ASSERT_TRUE(parsed);
      ASSERT_TRUE(uids.contains(parsed->first)) << id << " runs, its object is gone";
    }
    if (!system_->leading()) return;
    system_->slots()->registry().ForEachAgent([](const AgentFacts& facts, const auto& slots) {
      std::set<int> ports;
      for (const auto& [holder, slot] : slots) {
        for (const int port : slot.ports) EXPECT_TRUE(ports.insert(port).second) << facts.pod;
      }
      EXPECT_LE(slots.size(), 2u) << facts.pod;
    });
  }

  // Its agent has restarted, and its pod stays: for a sandbox on it somebody has to reset or
  // delete.
  bool HasManualMate(const Sandbox& sandbox) {
    const Json list = Get(SandboxPath());
    return std::ranges::any_of(list["items"].array_range(), [&](const Json& object) {
      const Sandbox other = Read(object["metadata"]["name"].as_string());
      return other.id.uid != sandbox.id.uid && !other.spec.auto_recreate &&
             other.status.assigned_pod_uid == sandbox.status.assigned_pod_uid &&
             (other.status.phase == Phase::kLost || other.status.phase == Phase::kRunning);
    });
  }

  // Everything is as it should be without faults.
  void CheckEnd() {
    std::size_t held = 0;
    const Json list = Get(SandboxPath());
    for (const Json& object : list["items"].array_range()) {
      const std::string name = object["metadata"]["name"].as_string();
      const Sandbox sandbox = Read(name);
      const std::string& phase = sandbox.status.phase_text;
      held +=
          !sandbox.status.assigned_pod_uid.empty() && PodExists(sandbox.status.assigned_pod_uid);
      const bool waits =
          !sandbox.status.assigned_pod_uid.empty() && Condition(name) != "True Running";
      if (waits && HasManualMate(sandbox)) continue;
      EXPECT_EQ(sandbox.id.deleting, 0) << name;
      EXPECT_FALSE(sandbox.allocation) << name;
      if (phase == "Running") {
        EXPECT_TRUE(
            agents_.containers.contains({sandbox.status.assigned_pod_uid, sandbox.AgentId()}))
            << name;
      } else if (phase == "Pending") {
        EXPECT_THAT(Condition(name), testing::HasSubstr("PortConflict")) << name;
      } else if (phase == "Lost") {
        EXPECT_FALSE(sandbox.spec.auto_recreate) << name;
      } else {
        EXPECT_TRUE(phase == "Failed" || phase == "Expired") << name << " is " << phase;
        EXPECT_EQ(sandbox.status.assigned_pod_uid, "") << name;
      }
    }
    EXPECT_EQ(system_->slots()->registry().holders(), held);
    EXPECT_EQ(Counts().reserved, 0u);
  }

  std::mt19937_64 random_{static_cast<std::uint64_t>(GetParam())};
  int restarts_ = 0;
};

TEST_P(SandboxChaosTest, NoSandboxRunsTwiceAndAllIsWellInTheEnd) {
  CreatePool("pool", 2, 2);
  Merge(PathOf("sandboxpools", "pool"), R"({"spec":{"capacity":{"poolMax":0}}})");
  for (int step = 0; step < kSteps; ++step) {
    Below(3) > 0 ? UserActs() : WorldActs();
    Advance(std::chrono::milliseconds(100 * Below(Below(4) == 0 ? 80 : 10)));
    Check();
    if (HasFatalFailure() || HasNonfatalFailure()) FAIL() << "at step " << step;
  }
  Faults(false);
  Boot();
  Advance(10min);
  Check();
  CheckEnd();
}

INSTANTIATE_TEST_SUITE_P(Seeds, SandboxChaosTest, testing::Range(0, 12));

}  // namespace
}  // namespace berth::sandbox
