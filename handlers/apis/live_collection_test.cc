#include "handlers/apis/live_collection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <thread>

#include "async/test_executor.h"
#include "handlers/apis/test_gadgets.h"

namespace berth::apis {
namespace {

constexpr std::uint64_t kFirst = 1000;

LiveCollection Gadgets(LiveCollection::Limits limits = {}) {
  return {GadgetType(), kFirst, limits};
}

bool All(const Object&) { return true; }

std::vector<std::string> Names(const std::vector<ObjectPtr>& objects) {
  std::vector<std::string> names;
  for (const auto& object : objects) names.push_back(object->ns + "/" + object->name);
  return names;
}

TEST(LiveCollection, VersionsIncreaseWithEveryChange) {
  auto gadgets = Gadgets();
  EXPECT_EQ(gadgets.version(), kFirst);
  gadgets.Put(Gadget("a", "x", 1));
  EXPECT_EQ(gadgets.version(), kFirst + 1);
  EXPECT_EQ(gadgets.Get("a", "x")->version, kFirst + 1);
  gadgets.Put(Gadget("a", "x", 2));
  gadgets.Put(Gadget("b", "x", 2));
  EXPECT_TRUE(gadgets.Remove("a", "x"));
  EXPECT_EQ(gadgets.version(), kFirst + 4);
  const auto events = gadgets.Since(kFirst);
  ASSERT_TRUE(events);
  ASSERT_EQ(events->size(), 4u);
  for (std::size_t i = 0; i < events->size(); ++i) EXPECT_EQ((*events)[i].version, kFirst + 1 + i);
  EXPECT_EQ((*events)[0].type, EventType::kAdded);
  EXPECT_EQ((*events)[0].previous, nullptr);
  EXPECT_EQ((*events)[1].type, EventType::kModified);
  EXPECT_EQ((*events)[1].previous, (*events)[0].object);
  EXPECT_EQ((*events)[3].type, EventType::kDeleted);
}

TEST(LiveCollection, StartsAboveEveryEarlierProcess) {
  LiveCollection first{GadgetType()};
  EXPECT_GT(first.version(), 1'700'000'000'000'000u);
}

TEST(LiveCollection, NothingHappensWhenNothingChanged) {
  auto gadgets = Gadgets();
  int notified = 0;
  gadgets.Subscribe([&] { ++notified; });
  gadgets.Put(Gadget("a", "x", 1, {{"app", "y"}}));
  const auto before = gadgets.Get("a", "x");
  gadgets.Put(Gadget("a", "x", 1, {{"app", "y"}}));
  EXPECT_EQ(gadgets.version(), kFirst + 1);
  EXPECT_EQ(gadgets.Get("a", "x"), before);
  EXPECT_FALSE(gadgets.Remove("a", "y"));
  EXPECT_FALSE(gadgets.Remove("b", "x"));
  EXPECT_EQ(gadgets.version(), kFirst + 1);
  EXPECT_EQ(notified, 1);
}

TEST(LiveCollection, WhateverIsSeenIsAChange) {
  auto gadgets = Gadgets();
  const auto changes = [&](const std::function<void(LiveCollection::Draft&)>& change) {
    gadgets.Put(Gadget("a", "x", 1));
    const auto before = gadgets.version();
    auto draft = Gadget("a", "x", 1);
    change(draft);
    gadgets.Put(std::move(draft));
    return gadgets.version() - before;
  };
  EXPECT_EQ(changes([](auto&) {}), 0u);
  EXPECT_EQ(changes([](auto& draft) { draft.content["spec"]["size"] = 2; }), 1u);
  EXPECT_EQ(changes([](auto& draft) { draft.labels["app"] = "x"; }), 1u);
  EXPECT_EQ(changes([](auto& draft) { draft.cells[1] = Cell::Text("Busy"); }), 1u);
  EXPECT_EQ(changes([](auto& draft) { draft.cells[2] = Cell::Age(5); }), 1u);
  EXPECT_EQ(changes([](auto& draft) { draft.fields["status.phase"] = "Busy"; }), 1u);
}

TEST(LiveCollection, AnObjectKeepsItsIdentityUntilItGoes) {
  auto gadgets = Gadgets();
  gadgets.Put(Gadget("a", "x", 1));
  const auto first = gadgets.Get("a", "x");
  gadgets.Put(Gadget("a", "x", 2));
  const auto second = gadgets.Get("a", "x");
  EXPECT_EQ(first->uid, second->uid);
  EXPECT_EQ(Json::parse(first->metadata)["creationTimestamp"],
            Json::parse(second->metadata)["creationTimestamp"]);
  gadgets.Remove("a", "x");
  EXPECT_EQ(gadgets.Get("a", "x"), nullptr);
  gadgets.Put(Gadget("a", "x", 2));
  EXPECT_NE(gadgets.Get("a", "x")->uid, second->uid);
  EXPECT_EQ(gadgets.Since(kFirst)->back().type, EventType::kAdded);
}

TEST(LiveCollection, TheJsonIsTheWholeObject) {
  auto gadgets = Gadgets();
  gadgets.Put(Gadget("a", "x", 3, {{"app", "y"}}));
  const auto object = gadgets.Get("a", "x");
  const Json json = Json::parse(object->json);
  EXPECT_EQ(json["apiVersion"], kGroupVersion);
  EXPECT_EQ(json["kind"], "Gadget");
  EXPECT_EQ(json["spec"]["size"], 3);
  const Json& metadata = json["metadata"];
  EXPECT_EQ(metadata, Json::parse(object->metadata));
  EXPECT_EQ(metadata["name"], "x");
  EXPECT_EQ(metadata["namespace"], "a");
  EXPECT_EQ(metadata["uid"].as_string(), object->uid);
  EXPECT_EQ(metadata["resourceVersion"], std::to_string(kFirst + 1));
  EXPECT_EQ(metadata["labels"], Json::parse(R"({"app":"y"})"));
}

TEST(LiveCollection, ADeletionCarriesItsOwnVersion) {
  auto gadgets = Gadgets();
  auto draft = Gadget("a", "x", 1);
  draft.content["spec"]["note"] =
      "\"resourceVersion\":\"1001\"";  // not to be mistaken for the real one
  gadgets.Put(std::move(draft));
  gadgets.Put(Gadget("a", "other", 1));
  const Json before = Json::parse(gadgets.Get("a", "x")->json);
  gadgets.Remove("a", "x");
  const Event deletion = gadgets.Since(kFirst)->back();
  EXPECT_EQ(deletion.version, kFirst + 3);
  EXPECT_EQ(deletion.object->version, kFirst + 3);
  EXPECT_EQ(Json::parse(deletion.object->metadata)["resourceVersion"], "1003");
  Json expected = before;
  expected["metadata"]["resourceVersion"] = "1003";
  EXPECT_EQ(Json::parse(deletion.object->json), expected);
}

TEST(LiveCollection, HistoryIsBoundByCount) {
  auto gadgets = Gadgets({.events = 3, .bytes = 1 << 20});
  for (int i = 1; i <= 5; ++i) gadgets.Put(Gadget("a", "x", i));
  EXPECT_FALSE(gadgets.Since(kFirst));
  EXPECT_FALSE(gadgets.Since(kFirst + 1));
  ASSERT_TRUE(gadgets.Since(kFirst + 2));
  EXPECT_EQ(gadgets.Since(kFirst + 2)->size(), 3u);
  EXPECT_EQ(gadgets.Since(kFirst + 4)->size(), 1u);
  EXPECT_EQ(gadgets.Since(kFirst + 5)->size(), 0u);
}

TEST(LiveCollection, HistoryIsBoundByBytes) {
  const auto big = [](int size) {
    auto draft = Gadget("a", "x", size);
    draft.content["spec"]["padding"] = std::string(10'000, 'p');
    return draft;
  };
  auto gadgets = Gadgets({.events = 1000, .bytes = 45'000});
  for (int i = 1; i <= 10; ++i) gadgets.Put(big(i));
  EXPECT_FALSE(gadgets.Since(kFirst + 5));
  ASSERT_TRUE(gadgets.Since(kFirst + 6));
  EXPECT_EQ(gadgets.Since(kFirst + 6)->size(), 4u);
}

TEST(LiveCollection, AnEventLargerThanTheBoundIsStillHeard) {
  auto gadgets = Gadgets({.events = 1000, .bytes = 10});
  gadgets.Put(Gadget("a", "x", 1));
  gadgets.Put(Gadget("a", "x", 2));
  EXPECT_FALSE(gadgets.Since(kFirst));
  ASSERT_TRUE(gadgets.Since(kFirst + 1));
  EXPECT_EQ(gadgets.Since(kFirst + 1)->size(), 1u);
}

TEST(LiveCollection, ListsByNamespaceAndFilter) {
  auto gadgets = Gadgets();
  for (const char* ns : {"b", "a", "ab"}) {
    for (int i : {2, 1}) gadgets.Put(Gadget(ns, "x" + std::to_string(i), i));
  }
  const auto names = [&](const std::string& ns, const ResourceStore::Filter& filter) {
    return Names(gadgets.List(ns, filter, {}, 0).objects);
  };
  EXPECT_THAT(names("", All),
              testing::ElementsAre("a/x1", "a/x2", "ab/x1", "ab/x2", "b/x1", "b/x2"));
  EXPECT_THAT(names("a", All), testing::ElementsAre("a/x1", "a/x2"));
  EXPECT_THAT(names("ab", [](const Object& o) { return o.name == "x2"; }),
              testing::ElementsAre("ab/x2"));
  EXPECT_THAT(names("zz", All), testing::IsEmpty());
  EXPECT_EQ(gadgets.List("", All, {}, 0).version, gadgets.version());
}

TEST(LiveCollection, ALimitThatIsJustEnoughLeavesNothingToContinue) {
  auto gadgets = Gadgets();
  gadgets.Put(Gadget("a", "x", 1));
  gadgets.Put(Gadget("a", "y", 1));
  EXPECT_FALSE(gadgets.List("", All, {}, 2).next);
  EXPECT_EQ(gadgets.List("", All, {}, 1).next, (ListKey{"a", "y"}));
  EXPECT_FALSE(gadgets.List("", [](const Object& o) { return o.name == "x"; }, {}, 1).next);
}

TEST(LiveCollection, PagesTogetherAreTheWhole) {
  const auto ns = rc::gen::element<std::string>("a", "ab", "b");
  EXPECT_TRUE(rc::check([&] {
    auto gadgets = Gadgets();
    for (int i = *rc::gen::inRange(0, 30); i > 0; --i) {
      gadgets.Put(Gadget(*ns, "g" + std::to_string(*rc::gen::inRange(0, 20)), i));
    }
    const std::string wanted = *rc::gen::element<std::string>("", "a", "ab", "b", "zz");
    const int at_least = *rc::gen::inRange(0, 20);
    const auto filter = [&](const Object& object) {
      return std::stoi(object.name.substr(1)) >= at_least;
    };
    const auto limit = static_cast<std::size_t>(*rc::gen::inRange(1, 7));
    std::vector<std::string> pieced;
    std::optional<ListKey> start;
    do {
      const Page page = gadgets.List(wanted, filter, start, limit);
      RC_ASSERT(page.objects.size() <= limit);
      RC_ASSERT(!page.next || page.objects.size() == limit);
      for (auto& name : Names(page.objects)) pieced.push_back(std::move(name));
      start = page.next;
    } while (start);
    RC_ASSERT(pieced == Names(gadgets.List(wanted, filter, {}, 0).objects));
  }));
}

// A watcher that starts at any moment rebuilds the state of the collection.
TEST(LiveCollection, StateAndEventsSinceAgree) {
  EXPECT_TRUE(rc::check([] {
    auto gadgets = Gadgets();
    std::map<std::string, std::string> seen;
    std::uint64_t version = 0;
    const int steps = *rc::gen::inRange(1, 60);
    const int joined = *rc::gen::inRange(0, steps);
    for (int i = 0; i < steps; ++i) {
      if (i == joined) {
        const Page page = gadgets.List("", All, {}, 0);
        for (const auto& object : page.objects) seen[object->name] = object->json;
        version = page.version;
      }
      const std::string name(1, *rc::gen::inRange('a', 'f'));
      if (*rc::gen::inRange(0, 3) == 0) {
        gadgets.Remove("ns", name);
      } else {
        gadgets.Put(Gadget("ns", name, *rc::gen::inRange(0, 3)));
      }
    }
    for (const Event& event : *gadgets.Since(version)) {
      if (event.type == EventType::kDeleted) {
        RC_ASSERT(seen.erase(event.object->name) == 1u);
      } else {
        RC_ASSERT(seen.contains(event.object->name) == (event.type == EventType::kModified));
        seen[event.object->name] = event.object->json;
      }
    }
    std::map<std::string, std::string> held;
    for (const auto& object : gadgets.List("", All, {}, 0).objects)
      held[object->name] = object->json;
    RC_ASSERT(seen == held);
  }));
}

TEST(LiveCollection, DeletionIsTheOwnersBusiness) {
  async::TestExecutor home;
  auto gadgets = Gadgets();
  gadgets.Put(Gadget("a", "x", 1));
  const auto code_of = [&](const Deletion& deletion) {
    int code = 0;
    gadgets.Delete(deletion, home, [&](const std::expected<void, kube::Status>& deleted) {
      code = deleted ? 200 : deleted.error().code;
    });
    return code;
  };
  EXPECT_EQ(code_of({"a", "x"}), 405);
  gadgets.OnDelete([&](const Deletion& deletion, async::Executor&, auto answer) {
    if (deletion.name == "kept")
      return answer(std::unexpected(kube::Conflict(kGroup, "gadgets", deletion.name, "in use")));
    if (!deletion.dry_run) gadgets.Remove(deletion.ns, deletion.name);
    answer({});
  });
  EXPECT_EQ(code_of({"a", "x", true}), 200);
  EXPECT_NE(gadgets.Get("a", "x"), nullptr);
  EXPECT_EQ(code_of({"a", "x"}), 200);
  EXPECT_EQ(gadgets.Get("a", "x"), nullptr);
  EXPECT_EQ(code_of({"a", "kept"}), 409);
}

TEST(LiveCollection, AWatcherHearsOfEveryObjectWhenAllAreRemoved) {
  auto gadgets = Gadgets();
  for (const char* name : {"x", "y"}) gadgets.Put(Gadget("a", name, 1));
  const auto version = gadgets.version();
  gadgets.Clear();
  gadgets.Clear();
  const auto events = gadgets.Since(version).value();
  ASSERT_EQ(events.size(), 2);
  for (const Event& event : events) EXPECT_EQ(event.type, EventType::kDeleted);
  EXPECT_LT(events[0].object->version, events[1].object->version);
  EXPECT_TRUE(
      gadgets.List("", [](const Object&) { return true; }, std::nullopt, 0).objects.empty());
}

TEST(LiveCollection, WritersAndReadersMayBeOnManyThreads) {
  auto gadgets = Gadgets({.events = 64, .bytes = 1 << 20});
  std::vector<std::jthread> threads;
  for (const char* ns : {"a", "b", "c"}) {
    threads.emplace_back([&gadgets, ns] {
      for (int i = 0; i < 500; ++i) {
        gadgets.Put(Gadget(ns, "x" + std::to_string(i % 7), i));
        if (i % 5 == 0) gadgets.Remove(ns, "x" + std::to_string(i % 7));
      }
    });
  }
  std::uint64_t last = 0;
  while (last < kFirst + 1000) {
    const auto version = gadgets.version();
    EXPECT_GE(version, last);
    if (const auto events = gadgets.Since(version > 10 ? version - 10 : 0)) {
      for (std::size_t i = 1; i < events->size(); ++i)
        ASSERT_EQ((*events)[i].version, (*events)[i - 1].version + 1);
    }
    last = version;
  }
}

}  // namespace
}  // namespace berth::apis
