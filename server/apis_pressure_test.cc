#include <gmock/gmock.h>

#include <atomic>
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include "server/apis_fixture_test.h"

// Watches under pressure: readers that stop, states that are large, many watchers with a busy
// writer.
namespace berth::server::test {
namespace {

using apis::Gadget;

constexpr std::size_t kBig = 64 * 1024;

class ApisPressure : public ApisTest {};

TEST_F(ApisPressure, AReaderThatStopsIsCutOffAndTheOthersMissNothing) {
  const double cut_off = live_.Metric("berth_api_watchers_cut_off_total", "bigs");
  const std::string here = "?resourceVersion=" + std::to_string(live_.bigs.version());
  WatchStream stopped(kBigs + here);
  std::vector<WatchStream> readers;
  for (int i = 0; i < 3; ++i) readers.emplace_back(kBigs + here);
  ASSERT_EQ(stopped.code(), 200);
  // As much as it takes: the kernel's buffers hold some megabytes before ours fill.
  int serial = 0;
  const auto is_cut = [&] {
    return live_.Metric("berth_api_watchers_cut_off_total", "bigs") > cut_off;
  };
  while (!is_cut() && serial < 2000) {
    live_.bigs.Put(Plain("big", ++serial, kBig));
    for (auto& reader : readers) {
      const auto event = reader.Next();
      ASSERT_TRUE(event) << reader.error();
      ASSERT_EQ((*event)["object"]["serial"], serial);
    }
  }
  ASSERT_TRUE(is_cut());
  EXPECT_TRUE(stopped.client().Closed());
  EXPECT_TRUE(WaitUntil([&] { return live_.Watchers("bigs") == 3; }));
  live_.bigs.Put(Plain("big", ++serial, 1));
  for (auto& reader : readers) {
    const auto event = reader.Next();
    ASSERT_TRUE(event) << reader.error();
    EXPECT_EQ((*event)["object"]["serial"], serial);
  }
}

TEST_F(ApisPressure, ABurstDoesNotCutOffWhoReads) {
  WatchStream watch(kBigs);
  ASSERT_EQ(watch.code(), 200);
  constexpr int kEvents = 120;  // 7.5 MiB, well above what may be unsent
  std::thread writer([&] {
    for (int i = 1; i <= kEvents; ++i) live_.bigs.Put(Plain("big", i, kBig));
  });
  for (int i = 1; i <= kEvents; ++i) {
    const auto event = watch.Next();
    EXPECT_TRUE(event) << i << ": " << watch.error();
    if (!event) break;
    EXPECT_EQ((*event)["object"]["serial"], i);
  }
  writer.join();
}

TEST_F(ApisPressure, ALargeStateReachesASlowReaderWhole) {
  constexpr int kObjects = 160;  // 10 MiB
  for (int i = 0; i < kObjects; ++i) live_.bigs.Put(Plain(std::to_string(1000 + i), i, kBig));
  WatchStream watch(kBigs +
                    "?sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
                    "&allowWatchBookmarks=true");
  ASSERT_EQ(watch.code(), 200);
  const std::string state_version = std::to_string(live_.bigs.version());
  // Changes that happen meanwhile come after the state.
  live_.bigs.Put(Plain("1000", -1));
  live_.bigs.Remove("", "1001");
  for (int i = 0; i < kObjects; ++i) {
    // Slow in the beginning: the server has been round its loop many times before the next read.
    for (int pause = 0; i < 5 && pause < 10; ++pause) ReadJson(kApi);
    const auto event = watch.Next();
    ASSERT_TRUE(event) << i << ": " << watch.error();
    ASSERT_EQ((*event)["type"], "ADDED");
    ASSERT_EQ(NameOf(*event), std::to_string(1000 + i));
    ASSERT_EQ((*event)["object"]["padding"].as_string().size(), kBig);
  }
  const auto bookmark = watch.Next();
  ASSERT_TRUE(bookmark);
  EXPECT_EQ((*bookmark)["object"]["metadata"]["resourceVersion"], state_version);
  EXPECT_EQ(watch.Brief(), "MODIFIED 1000");
  EXPECT_EQ(watch.Brief(), "DELETED 1001");
}

// With next to no history watchers are left behind all the time; each is told so or goes on.
TEST_F(ApisPressure, NobodyIsForgotten) {
  std::atomic<bool> over = false;
  std::thread writer([&] {
    for (int i = 0; !over; ++i) live_.fleetings.Put(Plain("f", i));
  });
  std::vector<WatchStream> watches;
  for (int i = 0; i < 60; ++i) watches.emplace_back(kFleetings);
  over = true;
  writer.join();
  live_.fleetings.Put(Plain("last", 1));
  for (auto& watch : watches) {
    std::string seen;
    do {
      seen = watch.Brief();
    } while (seen.ends_with(" f"));
    EXPECT_THAT(seen, testing::AnyOf("ADDED last", "ERROR 410"));
  }
  WatchStream fresh(kFleetings);
  EXPECT_EQ(fresh.Brief(), "ADDED f");
  EXPECT_EQ(fresh.Brief(), "ADDED last");
  live_.fleetings.Put(Plain("last", 2));
  EXPECT_EQ(fresh.Brief(), "MODIFIED last");
}

// Name and version of every object that a selection shows.
using State = std::map<std::string, std::uint64_t>;

constexpr const char* kLast = "last";

// The states that the collection has gone through, to begin a watch from any of them.
class Past {
 public:
  void Add(std::uint64_t version, State all, State chosen) {
    const std::lock_guard lock(mutex_);
    moments_.push_back({version, std::move(all), std::move(chosen)});
  }

  struct Moment {
    std::uint64_t version;
    State all;
    State chosen;  // by the label
  };
  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return moments_.size();
  }
  Moment at(std::size_t index) const {
    const std::lock_guard lock(mutex_);
    return moments_[index];
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Moment> moments_;
};

// Applies an event; what is wrong with it, or nothing.
std::string Apply(State& state, std::uint64_t& version, const Json& event) {
  const std::string type = event["type"].as_string();
  if (type == "ERROR") return event.to_string();
  const std::string name = NameOf(event);
  const auto at = VersionOf(event);
  if (at <= version) return "not in order: " + event.to_string();
  version = at;
  const bool known = state.contains(name);
  if (known == (type == "ADDED")) return "a duplicate or a gap: " + event.to_string();
  if (type == "DELETED") {
    state.erase(name);
  } else {
    state[name] = at;
  }
  return {};
}

// Follows from `moment` on until the last object shows; what went wrong, or nothing.
std::string Follow(const Past::Moment& moment, bool chosen, bool from_state, State& state) {
  const std::string selector = chosen ? "&labelSelector=app%3Dx" : "";
  const std::string from = from_state ? "0" : std::to_string(moment.version);
  WatchStream watch(kGadgets + "?resourceVersion=" + from + selector);
  if (watch.code() != 200) return "no watch: " + watch.error();
  if (!from_state) state = chosen ? moment.chosen : moment.all;
  std::uint64_t version = from_state ? 0 : moment.version;
  while (!state.contains(kLast)) {
    const auto event = watch.Next();
    if (!event) return watch.error();
    // The state comes by name; from then on by version.
    std::uint64_t unordered = 0;
    const bool initial = from_state && VersionOf(*event) <= version;
    if (auto wrong = Apply(state, initial ? unordered : version, *event); !wrong.empty()) {
      return wrong;
    }
  }
  return {};
}

struct Follower {
  std::size_t after;  // begins when the collection has gone through as many states
  bool chosen;
  bool from_state;
  double point;  // of the past it resumes from, 0…1
  State state;
  std::string wrong;
};

void Write(LiveApi& live, std::mt19937& random, int steps, Past& past) {
  const auto below = [&](unsigned bound) { return random() % bound; };
  State all, chosen;
  past.Add(live.gadgets.version(), all, chosen);
  for (int i = 0; i < steps; ++i) {
    const std::string name = "g" + std::to_string(below(12));
    if (below(4) == 0) {
      live.gadgets.Remove("a", name);
    } else {
      const bool labelled = below(2) == 0;
      live.gadgets.Put(Gadget("a", name, static_cast<int>(below(3)),
                              labelled ? apis::Labels{{"app", "x"}} : apis::Labels{}));
    }
    all.clear();
    chosen.clear();
    for (const auto& object :
         live.gadgets.List("", [](const auto&) { return true; }, {}, 0).objects) {
      all[object->name] = object->version;
      if (object->labels.contains("app")) chosen[object->name] = object->version;
    }
    past.Add(live.gadgets.version(), all, chosen);
    if (below(8) == 0) std::this_thread::yield();
  }
}

class ApisRandomized : public ApisTest, public testing::WithParamInterface<unsigned> {};

TEST_P(ApisRandomized, EveryWatcherEndsWithTheStoresState) {
  constexpr int kSteps = 400;
  std::mt19937 random(GetParam());
  std::vector<Follower> followers;
  for (int i = 0; i < 8; ++i) {
    followers.push_back({.after = random() % kSteps + 1,
                         .chosen = i % 2 == 0,
                         .from_state = i % 4 == 3,
                         .point = static_cast<double>(random() % 1000) / 1000});
  }
  Past past;
  std::vector<std::thread> threads;
  for (Follower& follower : followers) {
    threads.emplace_back([&past, &follower] {
      if (!WaitUntil([&] { return past.size() >= follower.after; })) {
        follower.wrong = "the writer does not get on";
        return;
      }
      const auto index =
          static_cast<std::size_t>(follower.point * static_cast<double>(past.size()));
      follower.wrong = Follow(past.at(index), follower.chosen, follower.from_state, follower.state);
    });
  }
  Write(live_, random, kSteps, past);
  live_.gadgets.Put(Gadget("a", kLast, 1, {{"app", "x"}}));
  for (auto& thread : threads) thread.join();
  const auto last = live_.gadgets.version();
  const auto end = past.at(past.size() - 1);
  for (const Follower& follower : followers) {
    EXPECT_EQ(follower.wrong, "");
    State expected = follower.chosen ? end.chosen : end.all;
    expected[kLast] = last;
    EXPECT_EQ(follower.state, expected) << "from step " << follower.after;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, ApisRandomized, testing::Range(1u, 6u));

}  // namespace
}  // namespace berth::server::test
