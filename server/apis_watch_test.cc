#include <gmock/gmock.h>

#include "server/apis_fixture_test.h"

// Watches on the wire: where they begin, what they show, how they end.
namespace berth::server::test {
namespace {

using apis::Gadget;
using testing::HasSubstr;

class ApisWatch : public ApisTest {
 protected:
  std::string FromHere() const { return "?resourceVersion=" + Version(); }
};

TEST_F(ApisWatch, IsAChunkedStreamOfJsonLines) {
  live_.gadgets.Put(Gadget("a", "g1", 1));
  WatchStream watch(kGadgets);
  ASSERT_EQ(watch.code(), 200);
  EXPECT_EQ(watch.head()->Header("content-type"), "application/json");
  EXPECT_EQ(watch.head()->Header("transfer-encoding"), "chunked");
  const auto event = watch.Next();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->size(), 2u);
  EXPECT_EQ((*event)["type"], "ADDED");
  EXPECT_EQ((*event)["object"], Json::parse(live_.gadgets.Get("a", "g1")->json));
}

TEST_F(ApisWatch, FromAVersionShowsOnlyWhatIsLater) {
  live_.gadgets.Put(Gadget("a", "g1", 1));
  const std::string here = FromHere();
  live_.gadgets.Put(Gadget("a", "g2", 1));
  WatchStream watch(kGadgets + here);
  ASSERT_EQ(watch.code(), 200);
  EXPECT_EQ(watch.Brief(), "ADDED g2");
  live_.gadgets.Put(Gadget("a", "g1", 2));
  EXPECT_EQ(watch.Brief(), "MODIFIED g1");
  live_.gadgets.Remove("a", "g2");
  const auto deletion = watch.Next();
  ASSERT_TRUE(deletion);
  EXPECT_EQ((*deletion)["type"], "DELETED");
  EXPECT_EQ(NameOf(*deletion), "g2");
  EXPECT_EQ(VersionOf(*deletion), live_.gadgets.version());
}

TEST_F(ApisWatch, FromZeroOrUnsetBeginsWithTheState) {
  live_.gadgets.Put(Gadget("a", "g2", 1));
  live_.gadgets.Put(Gadget("a", "g1", 1));
  live_.gadgets.Put(Gadget("a", "gone", 1));
  live_.gadgets.Remove("a", "gone");
  for (const std::string query : {"", "?resourceVersion=0", "?resourceVersion="}) {
    WatchStream watch(kGadgets + query);
    EXPECT_EQ(watch.Brief(), "ADDED g1");
    EXPECT_EQ(watch.Brief(), "ADDED g2");
    live_.gadgets.Put(Gadget("a", "g3", 1));
    EXPECT_EQ(watch.Brief(), "ADDED g3");
    live_.gadgets.Remove("a", "g3");
    EXPECT_EQ(watch.Brief(), "DELETED g3");
  }
}

constexpr const char* kInitialEvents =
    "?sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";

TEST_F(ApisWatch, InitialEventsEndWithABookmark) {
  live_.gadgets.Put(Gadget("a", "g1", 1));
  for (const std::string& version :
       {std::string(), std::string("&resourceVersion=0"), "&resourceVersion=" + Version()}) {
    WatchStream watch(kGadgets + kInitialEvents + version);
    EXPECT_EQ(watch.Brief(), "ADDED g1") << version;
    const auto bookmark = watch.Next();
    ASSERT_TRUE(bookmark);
    EXPECT_EQ((*bookmark)["type"], "BOOKMARK");
    const Json& metadata = (*bookmark)["object"]["metadata"];
    EXPECT_EQ((*bookmark)["object"]["kind"], "Gadget");
    EXPECT_EQ(metadata["resourceVersion"], Version());
    EXPECT_EQ(metadata["annotations"]["k8s.io/initial-events-end"], "true");
    live_.gadgets.Put(Gadget("a", "g2", 1));
    EXPECT_EQ(watch.Brief(), "ADDED g2");
    live_.gadgets.Remove("a", "g2");
  }
}

TEST_F(ApisWatch, InitialEventsOfNothingAreABookmark) {
  WatchStream watch(kGadgets + kInitialEvents);
  EXPECT_EQ(watch.Brief(), "BOOKMARK");
}

TEST_F(ApisWatch, InitialEventsInATable) {
  live_.gadgets.Put(Gadget("a", "g1", 1));
  WatchStream watch(kGadgets + kInitialEvents, {kAsTable});
  EXPECT_EQ(watch.Brief(), "ADDED g1");
  const auto bookmark = watch.Next();
  ASSERT_TRUE(bookmark);
  EXPECT_EQ((*bookmark)["type"], "BOOKMARK");
  const Json& metadata = (*bookmark)["object"]["rows"][0]["object"]["metadata"];
  EXPECT_EQ(metadata["annotations"]["k8s.io/initial-events-end"], "true");
  EXPECT_EQ(metadata["resourceVersion"], Version());
}

TEST_F(ApisWatch, WithoutInitialEventsItBeginsNow) {
  live_.gadgets.Put(Gadget("a", "g1", 1));
  WatchStream watch(kGadgets + "?sendInitialEvents=false&resourceVersionMatch=NotOlderThan");
  ASSERT_EQ(watch.code(), 200);
  live_.gadgets.Put(Gadget("a", "g2", 1));
  EXPECT_EQ(watch.Brief(), "ADDED g2");
}

TEST_F(ApisWatch, RefusesWhatItCannotMean) {
  const std::string watch = kGadgets + "?watch=true";
  ExpectFailure(Read(watch + "&sendInitialEvents=true"), 422, "Invalid");
  ExpectFailure(Read(watch + "&sendInitialEvents=true&resourceVersionMatch=Exact"), 422, "Invalid");
  ExpectFailure(Read(watch + "&resourceVersionMatch=NotOlderThan"), 422, "Invalid");
  EXPECT_EQ(Code(Read(watch + "&resourceVersion=x")), 500);
  ExpectFailure(Read(watch + "&timeoutSeconds=soon"), 400, "BadRequest");
  ExpectFailure(Read(watch + "&labelSelector=a%20b"), 400, "BadRequest");
  ExpectFailure(Read(watch + "&fieldSelector=spec.size%3D1"), 400, "BadRequest");
  EXPECT_EQ(live_.Watchers("gadgets"), 0);
}

TEST_F(ApisWatch, ResumedInTheMiddleItShowsExactlyTheRest) {
  const auto first = live_.gadgets.version() + 1;
  for (int i = 0; i < 40; ++i) live_.gadgets.Put(Gadget("a", "g" + std::to_string(i % 7), i));
  for (const std::uint64_t seen : {first, first + 17, first + 38, first + 39}) {
    WatchStream watch(kGadgets + "?resourceVersion=" + std::to_string(seen));
    for (std::uint64_t version = seen + 1; version < first + 40; ++version) {
      const auto event = watch.Next();
      ASSERT_TRUE(event) << watch.error();
      ASSERT_EQ(VersionOf(*event), version);
    }
    live_.gadgets.Put(Gadget("a", "last", static_cast<int>(seen - first)));
    EXPECT_THAT(watch.Brief(), HasSubstr("last"));
    live_.gadgets.Remove("a", "last");
  }
}

TEST_F(ApisWatch, FromTooOldAVersionItSaysSoAndEnds) {
  live_.gadgets.Put(Gadget("a", "g1", 1));
  WatchStream watch(kGadgets + "?resourceVersion=1");
  ASSERT_EQ(watch.code(), 200);
  const auto error = watch.Next();
  ASSERT_TRUE(error);
  EXPECT_EQ((*error)["type"], "ERROR");
  EXPECT_EQ((*error)["object"]["kind"], "Status");
  EXPECT_EQ((*error)["object"]["code"], 410);
  EXPECT_EQ((*error)["object"]["reason"], "Expired");
  EXPECT_THAT((*error)["object"]["message"].as_string(), HasSubstr("too old resource version: 1"));
  EXPECT_EQ(watch.Brief(), "(end)");
  EXPECT_TRUE(watch.client().Closed());
}

TEST_F(ApisWatch, WhomTheHistoryLeavesBehindIsToldSo) {
  WatchStream watch(kFleetings);
  ASSERT_EQ(watch.code(), 200);
  // Two events are all the history there is: the loop cannot keep up with this for long.
  std::atomic<bool> over = false;
  std::thread writer([&] {
    for (int i = 0; !over; ++i) live_.fleetings.Put(Plain("f", i));
  });
  std::string last;
  do {
    last = watch.Brief();
  } while (last.ends_with(" f"));
  over = true;
  writer.join();
  EXPECT_EQ(last, "ERROR 410");
  EXPECT_EQ(watch.Brief(), "(end)");
}

TEST_F(ApisWatch, EndsInTimeWithALastChunk) {
  live_.gadgets.Put(Gadget("a", "g1", 1));
  WatchStream quiet(kGadgets + FromHere() + "&timeoutSeconds=1");
  WatchStream marked(kGadgets + FromHere() + "&timeoutSeconds=1&allowWatchBookmarks=true");
  live_.gadgets.Put(Gadget("a", "g1", 2));
  EXPECT_EQ(quiet.Brief(), "MODIFIED g1");
  EXPECT_EQ(quiet.Brief(), "(end)");
  EXPECT_TRUE(quiet.client().Closed());
  EXPECT_EQ(marked.Brief(), "MODIFIED g1");
  const auto bookmark = marked.Next();
  ASSERT_TRUE(bookmark);
  EXPECT_EQ((*bookmark)["type"], "BOOKMARK");
  EXPECT_EQ(VersionOf(*bookmark), live_.gadgets.version());
  EXPECT_FALSE((*bookmark)["object"]["metadata"].contains("annotations"));
  EXPECT_EQ(marked.Brief(), "(end)");
  EXPECT_TRUE(WaitUntil([&] { return live_.Watchers("gadgets") == 0; }));
}

TEST_F(ApisWatch, ObjectsEnterAndLeaveASelection) {
  live_.gadgets.Put(Gadget("a", "in", 1, {{"app", "x"}}));
  live_.gadgets.Put(Gadget("a", "out", 1));
  WatchStream watch(kGadgets + "?labelSelector=app%3Dx");
  EXPECT_EQ(watch.Brief(), "ADDED in");
  live_.gadgets.Put(Gadget("a", "out", 2));  // unseen
  live_.gadgets.Put(Gadget("a", "out", 3, {{"app", "x"}}));
  EXPECT_EQ(watch.Brief(), "ADDED out");
  live_.gadgets.Put(Gadget("a", "out", 4, {{"app", "x"}}));
  EXPECT_EQ(watch.Brief(), "MODIFIED out");
  live_.gadgets.Put(Gadget("a", "in", 2, {{"app", "y"}}));
  const auto left = watch.Next();
  ASSERT_TRUE(left);
  EXPECT_EQ((*left)["type"], "DELETED");
  EXPECT_EQ(NameOf(*left), "in");
  EXPECT_EQ(VersionOf(*left), live_.gadgets.version());
  EXPECT_EQ((*left)["object"]["spec"]["size"], 1);  // as it was when it was last in view
  live_.gadgets.Remove("a", "in");                  // unseen: it had left
  live_.gadgets.Remove("a", "out");
  EXPECT_EQ(watch.Brief(), "DELETED out");
}

TEST_F(ApisWatch, ASelectionHoldsForWhatIsResumedToo) {
  const std::string here = FromHere();
  live_.gadgets.Put(Gadget("a", "g1", 1, {}, "Ready"));
  live_.gadgets.Put(Gadget("a", "g1", 1, {}, "Failed"));
  live_.gadgets.Put(Gadget("a", "g2", 1, {}, "Failed"));
  live_.gadgets.Put(Gadget("a", "g1", 1, {}, "Ready"));
  WatchStream watch(kGadgets + here + "&fieldSelector=status.phase%3DReady");
  EXPECT_EQ(watch.Brief(), "ADDED g1");
  EXPECT_EQ(watch.Brief(), "DELETED g1");
  EXPECT_EQ(watch.Brief(), "ADDED g1");
}

TEST_F(ApisWatch, ATableNamesItsColumnsOnce) {
  for (const bool resumed : {false, true}) {
    const std::string query = resumed ? FromHere() : "";
    live_.gadgets.Put(Gadget("a", "g1", 1));
    WatchStream watch(kGadgets + query, {kAsTable});
    for (int i = 0; i < 3; ++i) {
      const auto event = watch.Next();
      ASSERT_TRUE(event);
      const Json& table = (*event)["object"];
      EXPECT_EQ(table["kind"], "Table");
      EXPECT_EQ(table["columnDefinitions"].size(), i == 0 ? 5u : 0u) << i;
      EXPECT_EQ(table["rows"].size(), 1u);
      EXPECT_EQ(table["rows"][0]["object"]["kind"], "PartialObjectMetadata");
      EXPECT_EQ(VersionOf(*event), live_.gadgets.version());
      live_.gadgets.Put(Gadget("a", "g1", i + 2));
    }
    live_.gadgets.Remove("a", "g1");
  }
}

TEST_F(ApisWatch, ATableThatBeginsLateNamesItsColumnsThen) {
  WatchStream early(kGadgets + FromHere(), {kAsTable});
  live_.gadgets.Put(Gadget("a", "g1", 1));
  ASSERT_TRUE(early.Next());
  WatchStream late(kGadgets + FromHere(), {kAsTable});
  live_.gadgets.Put(Gadget("a", "g1", 2));
  const auto known = early.Next();
  const auto fresh = late.Next();
  ASSERT_TRUE(known && fresh);
  EXPECT_EQ((*known)["object"]["columnDefinitions"].size(), 0u);
  EXPECT_EQ((*fresh)["object"]["columnDefinitions"].size(), 5u);
}

TEST_F(ApisWatch, PartialObjects) {
  live_.gadgets.Put(Gadget("a", "g1", 1, {{"app", "x"}}));
  WatchStream watch(kGadgets, {kAsPartial});
  live_.gadgets.Put(Gadget("a", "g1", 2, {{"app", "x"}}));
  for (const std::string type : {"ADDED", "MODIFIED"}) {
    const auto event = watch.Next();
    ASSERT_TRUE(event);
    EXPECT_EQ((*event)["type"], type);
    EXPECT_EQ((*event)["object"]["kind"], "PartialObjectMetadata");
    EXPECT_EQ((*event)["object"]["metadata"]["labels"]["app"], "x");
    EXPECT_FALSE((*event)["object"].contains("spec"));
  }
}

TEST_F(ApisWatch, OfANamespaceOrOfOneObject) {
  WatchStream in_a(GadgetsIn("a") + FromHere());
  WatchStream one(GadgetsIn("a") + FromHere() + "&fieldSelector=metadata.name%3Dg2");
  WatchStream all(kGadgets + FromHere());
  live_.gadgets.Put(Gadget("b", "g2", 1));
  live_.gadgets.Put(Gadget("a", "g1", 1));
  live_.gadgets.Put(Gadget("a", "g2", 2));
  for (const std::string expected : {"ADDED g2", "ADDED g1", "ADDED g2"}) {
    EXPECT_EQ(all.Brief(), expected);
  }
  EXPECT_EQ(in_a.Brief(), "ADDED g1");
  EXPECT_EQ(in_a.Brief(), "ADDED g2");
  const auto event = one.Next();
  ASSERT_TRUE(event);
  EXPECT_EQ((*event)["object"]["spec"]["size"], 2);
}

TEST_F(ApisWatch, WatchersWithDifferentSelectionsSeeTheirOwn) {
  std::vector<WatchStream> x, y;
  for (int i = 0; i < 4; ++i) {
    x.emplace_back(kGadgets + "?labelSelector=app%3Dx");
    y.emplace_back(kGadgets + "?labelSelector=app%3Dy", HeaderLines{kAsPartial});
  }
  EXPECT_EQ(live_.Watchers("gadgets"), 8);
  live_.gadgets.Put(Gadget("a", "g1", 1, {{"app", "x"}}));
  live_.gadgets.Put(Gadget("a", "g1", 2, {{"app", "y"}}));
  live_.gadgets.Put(Gadget("a", "g2", 1, {{"app", "x"}}));
  live_.gadgets.Put(Gadget("a", "g3", 1, {{"app", "y"}}));
  for (auto& watch : x) {
    for (const std::string seen : {"ADDED g1", "DELETED g1", "ADDED g2"}) {
      EXPECT_EQ(watch.Brief(), seen);
    }
  }
  for (auto& watch : y) {
    for (const std::string seen : {"ADDED g1", "ADDED g3"}) EXPECT_EQ(watch.Brief(), seen);
  }
}

TEST_F(ApisWatch, WhatIsSentAfterTheRequestChangesNothing) {
  live_.gadgets.Put(Gadget("a", "g1", 1));
  auto client = live_.Connect();
  // A further request in the same segment, then garbage.
  client.Send(Get(kGadgets + "?watch=true", kAdmin) + Get("/apis", kAdmin));
  ASSERT_EQ(Code(client.ReadHead()), 200);
  EXPECT_TRUE(client.ReadLine());
  client.Send(std::string("\x16\x03\x01\0 garbage \r\n\r\n", 17) + std::string(100'000, 'x'));
  for (int i = 2; i < 5; ++i) {
    live_.gadgets.Put(Gadget("a", "g1", i));
    const auto line = client.ReadLine();
    ASSERT_TRUE(line) << client.error();
    EXPECT_EQ(Json::parse(*line)["object"]["spec"]["size"], i);
  }
}

TEST_F(ApisWatch, GarbageInTheSameSegmentChangesNothing) {
  live_.gadgets.Put(Gadget("a", "g1", 1));
  auto client = live_.Connect();
  client.Send(Get(kGadgets + "?watch=true", kAdmin) + "garbage\r\n\r\n");
  ASSERT_EQ(Code(client.ReadHead()), 200);
  EXPECT_TRUE(client.ReadLine());
  for (int i = 2; i < 5; ++i) {
    live_.gadgets.Put(Gadget("a", "g1", i));
    const auto line = client.ReadLine();
    ASSERT_TRUE(line) << client.error();
    EXPECT_EQ(Json::parse(*line)["object"]["spec"]["size"], i);
  }
}

TEST_F(ApisWatch, TheGaugeFollowsThoseWhoComeAndGo) {
  ASSERT_TRUE(WaitUntil([&] { return live_.Watchers("gadgets") == 0; }));
  {
    std::vector<WatchStream> watches;
    for (int i = 1; i <= 6; ++i) {
      watches.emplace_back(kGadgets + FromHere());
      EXPECT_EQ(watches.back().code(), 200);
      EXPECT_EQ(live_.Watchers("gadgets"), i);
    }
    watches.pop_back();
    EXPECT_TRUE(WaitUntil([&] { return live_.Watchers("gadgets") == 5; }));
  }
  EXPECT_TRUE(WaitUntil([&] { return live_.Watchers("gadgets") == 0; }));
}

TEST_F(ApisWatch, NeedsHttp11) {
  auto client = live_.Connect();
  std::string request = Get(kGadgets + "?watch=true", kAdmin);
  request.replace(request.find("HTTP/1.1"), 8, "HTTP/1.0");
  const auto answer = client.Exchange(request);
  // Drogon answers in the version it was asked in, which the strict client does not take.
  EXPECT_THAT(answer ? std::to_string(answer->code) : client.error(), HasSubstr("400"));
  EXPECT_EQ(live_.Watchers("gadgets"), 0);
}

}  // namespace
}  // namespace berth::server::test
