#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <set>
#include <sstream>

#include "async/sanitized.h"
#include "log/format.h"
#include "log/log.h"
#include "simulate/process.h"
#include "simulate/run.h"
#include "simulate/world.h"

namespace berth::simulate {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

const Simulation& Find(std::string_view name) {
  for (const Simulation& simulation : Simulations()) {
    if (simulation.name == name) return simulation;
  }
  throw std::invalid_argument(std::string(name));
}

// A sanitizer looks at what is done at all: one seed in ten does it.
constexpr std::uint64_t kShare = kSanitized ? 10 : 1;

Report Simulate(const std::string& name, std::uint64_t seeds) {
  log::SetLevel("error");
  return RunSeeds(Find(name), {.seeds = seeds, .jobs = 2}, [](const auto&) {});
}

std::string First(const Report& report) {
  if (report.violations.empty()) return "none";
  return std::to_string(report.violations[0].seed) + ": " + report.violations[0].what;
}

TEST(Simulation, FindsEachBugWithinAThousandSeeds) {
  std::set<std::string> found;
  const Simulation& simulation = Find("toy-buggy");
  for (std::uint64_t seed = 1; seed <= 1000 && found.size() < simulation.variants.size();
       seed += 50) {
    for (const auto& violation :
         RunSeeds(simulation, {.first = seed, .seeds = 50, .jobs = 2}, [](const auto&) {
         }).violations) {
      found.insert(violation.variant);
    }
  }
  EXPECT_THAT(found, testing::ElementsAre("acts on a stale cache", "forgets in a crash",
                                          "misses a delete"));
}

// A scenario whose pods are run.
class Pods : public Scenario {
 public:
  std::optional<kube::memory::Server::MachineryOptions> machinery() const override {
    return kube::memory::Server::MachineryOptions();
  }
  void SetUp(World& world) override {
    const auto create = [&](std::string path, std::string body) {
      world.Must({.method = kube::Method::kPost, .path = std::move(path), .body = std::move(body)});
    };
    create("/api/v1/nodes", R"({"metadata":{"name":"worker"}})");
    create(
        "/api/v1/namespaces/default/services",
        R"({"metadata":{"name":"web"},"spec":{"selector":{"app":"web"},"ports":[{"port":80}]}})");
    for (const char* name : {"a", "b"}) {
      create("/api/v1/namespaces/default/pods",
             Format(R"({{"metadata":{{"name":"{}","labels":{{"app":"web"}}}},)"
                    R"("spec":{{"containers":[{{"name":"c","image":"i"}}]}}}})",
                    name));
    }
    world.scheduler().After(60s, [&world] {
      world.Must({.method = kube::Method::kDelete, .path = "/api/v1/namespaces/default/pods/a"});
    });
  }
  std::unique_ptr<Program> Boot(World&, Process&, kube::Transport&) override {
    return std::make_unique<Program>();
  }
  std::optional<std::string> Check(World& world, const std::string& writer,
                                   const kube::Request&) override {
    if (writer != "machinery") return std::nullopt;
    for (const Json& pod : world.List("/api/v1/pods")) seen += pod.to_string() + "\n";
    return std::nullopt;
  }
  std::optional<std::string> Unsettled(World& world) override {
    const auto pods = world.List("/api/v1/pods");
    const auto slices = world.List("/apis/discovery.k8s.io/v1/endpointslices");
    if (pods.size() != 1 || slices.size() != 1) return "a pod too many, or no slice";
    const bool shown = slices[0]["endpoints"].to_string().contains(R"("name":"b")");
    return shown ? std::nullopt : std::optional<std::string>("b has no endpoint");
  }

  std::string seen;
};

TEST(Simulation, PodsRunAndEndWhereAScenarioAsksForIt) {
  log::SetLevel("error");
  const auto run = [] {
    Pods scenario;
    World world({.seed = 1}, scenario);
    EXPECT_EQ(world.Run(), std::nullopt);
    return scenario.seen;
  };
  const std::string first = run();
  EXPECT_THAT(first, HasSubstr("Running"));
  EXPECT_EQ(run(), first) << "the same seed, the same run";
}

TEST(Simulation, FindsNothingInTheControllerThatIsRight) {
  const Report report = Simulate("toy", 300 / kShare);
  EXPECT_TRUE(report.violations.empty()) << First(report);
  EXPECT_GT(report.disruptions, 100 / kShare);
}

TEST(Simulation, ACacheIsRightInTheEndHoweverItsWatchWasServed) {
  const Report report = Simulate("cache", 200 / kShare);
  EXPECT_TRUE(report.violations.empty()) << First(report);
}

TEST(Simulation, OnlyTheLeaderWrites) {
  const Report report = Simulate("leadership", 300 / kShare);
  EXPECT_TRUE(report.violations.empty()) << First(report);
  EXPECT_GT(report.disruptions, 1000 / kShare);
}

TEST(Simulation, WithoutTheFenceTwoWriteAtATime) {
  EXPECT_FALSE(Simulate("leadership-unfenced", 100).violations.empty());
}

TEST(Simulation, ASeedIsOneExactRun) {
  auto trace = [] {
    std::vector<std::string> lines;
    RunSeeds(
        Find("toy"),
        {.first = 6, .seeds = 1, .trace = [&](const std::string& line) { lines.push_back(line); }},
        [](const auto&) {});
    return lines;
  };
  const auto first = trace();
  EXPECT_GT(first.size(), 100u);
  EXPECT_EQ(first, trace());
}

// The program as people use it.
struct Ran {
  int status = 0;
  std::vector<std::string> lines;
};

Ran Program(const std::string& arguments) {
  Ran ran;
  FILE* pipe = popen((std::string(BERTH_PROGRAM) + " " + arguments + " 2>&1").c_str(), "r");
  std::string output;
  char buffer[4096];
  while (const auto got = fread(buffer, 1, sizeof buffer, pipe)) output.append(buffer, got);
  ran.status = WEXITSTATUS(pclose(pipe));
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) ran.lines.push_back(line);
  return ran;
}

TEST(Simulation, AViolationPrintsTheLineThatReplaysIt) {
  const Ran ran = Program("toy-buggy --seeds 20");
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(ran.lines.back(), testing::MatchesRegex("20 seeds, [1-9][0-9]* violations"));
  const std::string& line = ran.lines.front();
  const std::string marker = "; replay: ./scripts/simulate ";
  ASSERT_THAT(line, HasSubstr(marker));
  const Ran replayed = Program(line.substr(line.find(marker) + marker.size()));
  EXPECT_EQ(replayed.status, 1);
  EXPECT_THAT(replayed.lines, testing::Contains(line));
}

TEST(Simulation, ARunWithoutViolationsSaysSo) {
  const Ran ran = Program("toy --seeds 5");
  EXPECT_EQ(ran.status, 0);
  EXPECT_EQ(ran.lines.back(), "5 seeds, 0 violations");
  EXPECT_EQ(Program("no-such-thing").status, 2);
}

class ProcessTest : public testing::Test {
 protected:
  void RunFor(async::Duration time) {
    while (scheduler_.Step(scheduler_.Now() + time)) {
    }
  }
  Scheduler scheduler_;
  Dice random_{1};
  Process process_{scheduler_, random_, "a", [](Process&) {}};
};

TEST_F(ProcessTest, ACrashEndsAllThatWasScheduled) {
  int ran = 0;
  process_.Post([&] { ++ran; });
  auto timer = process_.RunAfter(1s, [&] { ++ran; });
  process_.Crash();
  RunFor(2s);
  EXPECT_EQ(ran, 0);
  EXPECT_EQ(process_.life(), 2);
}

TEST_F(ProcessTest, APauseDelaysTurnsAndKeepsTheirOrder) {
  std::string order;
  auto first = process_.RunAfter(1s, [&] { order += "1"; });
  auto second = process_.RunAfter(2s, [&] { order += "2"; });
  process_.PauseUntil(scheduler_.Now() + 10s);
  while (scheduler_.Step(scheduler_.Now() + 9s) && scheduler_.Now().time_since_epoch() < 9s) {
  }
  RunFor(20s);
  EXPECT_EQ(order, "12");
  EXPECT_GE(scheduler_.Now().time_since_epoch(), 10s);
}

class SystemSimulation : public testing::TestWithParam<Simulation> {};

TEST_P(SystemSimulation, IsRight) {
  const Report report = Simulate(GetParam().name, 100 / kShare);
  EXPECT_TRUE(report.violations.empty()) << First(report);
  EXPECT_GT(report.disruptions, 100 / kShare);
}

// Where objects are in memory depends on the runs before, and must not matter.
TEST_P(SystemSimulation, ASeedIsTheSameRunBesideOthers) {
  const auto disruptions = [](unsigned jobs) {
    return RunSeeds(GetParam(), {.first = 60, .seeds = 60 / kShare, .jobs = jobs},
                    [](const auto&) {})
        .disruptions;
  };
  EXPECT_EQ(disruptions(1), disruptions(2));
}

std::vector<Simulation> Systems() {
  auto systems = Simulations();
  std::erase_if(systems, [](const Simulation& simulation) { return !simulation.system; });
  return systems;
}
INSTANTIATE_TEST_SUITE_P(Simulation, SystemSimulation, testing::ValuesIn(Systems()),
                         [](const auto& simulation) { return simulation.param.name; });

}  // namespace
}  // namespace berth::simulate
