// Users write into the status, or set tags in the cloud's console, what is not so.
#include "reconcile/eip/system_fixture_test.h"

namespace berth::eip {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class EipHandEditTest : public EipSystemTest {
 protected:
  std::string Import(const std::string& name) {
    const std::string id = cloud_.vpc().CreateEip({});
    Create(name, Format(R"("allocationID":"{}")", id));
    executor_.Advance(10s);
    EXPECT_EQ(Status(name, "origin"), "Imported");
    return id;
  }
  std::string Allocate(const std::string& name) {
    Create(name, "");
    executor_.Advance(30s);
    EXPECT_EQ(Status(name, "origin"), "Created");
    return Status(name, "allocationID");
  }
  void SetStatus(const std::string& name, const std::string& member, const std::string& value) {
    Json status;
    status[member] = value;
    WriteStatus(name, status);
  }
  void DeleteAndWait(const std::string& name) {
    Delete(name);
    executor_.Advance(1min);
    EXPECT_FALSE(Exists(name)) << Ready(name);
  }
};

TEST_F(EipHandEditTest, AnImportDoesNotBecomeItsOwnByATagThatWasSetByHand) {
  const std::string id = Import("web");
  cloud_.vpc().SetTags(id, {{std::string(kOwnerTag), Uid("web")}});
  executor_.Advance(6min);
  EXPECT_EQ(Status("web", "origin"), "Imported");
  EXPECT_THAT(Ready("web"), StartsWith("True"));
  DeleteAndWait("web");
  EXPECT_TRUE(IsThere(id));
}

// Another object has a copy of its status, so its tag is looked for.
TEST_F(EipHandEditTest, AnImportIsKeptThoughItsTagWasSetByHandAndItsStatusCopied) {
  const std::string id = Import("web");
  cloud_.vpc().SetQuota(0);
  Create("mail", "");
  executor_.Advance(10s);
  cloud_.vpc().SetTags(id, {{std::string(kOwnerTag), Uid("web")}});
  WriteStatus("mail", Get("web")["status"]);
  DeleteAndWait("web");
  EXPECT_TRUE(IsThere(id));
}

// As from a backup of an object that had the address before.
TEST_F(EipHandEditTest, AnImportDoesNotBecomeItsOwnByTheAttemptOfAnotherObject) {
  const std::string id = Import("web");
  Json status;
  status["origin"] = "Created";
  status["attempts"] = 1;
  status["attempt"]["number"] = 1;
  status["attempt"]["clientToken"] = ClientToken("a-uid-of-before", 1);
  WriteStatus("web", status);
  DeleteAndWait("web");
  EXPECT_TRUE(IsThere(id));
}

TEST_F(EipHandEditTest, TagsThatAnImportHadBeforeAreNotTakenOff) {
  const std::string id = cloud_.vpc().CreateEip({.tags = {{"team", "shop"}}});
  Create("web", Format(R"("allocationID":"{}","tags":{{"team":"shop","stage":"x"}})", id));
  executor_.Advance(30s);
  ASSERT_THAT(Ready("web"), StartsWith("True"));
  EXPECT_FALSE(Get("web")["status"]["tags"].contains("team"));
  Merge("web", R"({"spec":{"tags":null}})");
  executor_.Advance(30s);
  EXPECT_EQ(cloud_.vpc().Find(id)->tags, (cloud::Tags{{"team", "shop"}}));
}

// The tags of an address that Berth has allocated are its own.
TEST_F(EipHandEditTest, TagsAreTakenOffAfterAStatusWasLost) {
  Create("web", R"("tags":{"team":"shop"})");
  executor_.Advance(30s);
  WipeStatus("web");
  executor_.Advance(1min);
  EXPECT_EQ(Address("web")->tags.at("team"), "shop");
  Merge("web", R"({"spec":{"tags":null}})");
  executor_.Advance(30s);
  EXPECT_FALSE(Address("web")->tags.contains("team"));
}

TEST_F(EipHandEditTest, AnImportDoesNotBecomeItsOwnByItsStatus) {
  const std::string id = Import("web");
  SetStatus("web", "origin", "Created");
  executor_.Advance(6min);
  EXPECT_EQ(OwnerTag(id), "");
  EXPECT_EQ(Status("web", "origin"), "Imported");
  EXPECT_THAT(Told(), HasSubstr("status.origin was changed by hand"));
  SetStatus("web", "origin", "Created");
  DeleteAndWait("web");
  EXPECT_TRUE(IsThere(id));
}

TEST_F(EipHandEditTest, AnAddressThatWasAllocatedIsReleasedWhateverTheOriginInTheStatus) {
  const std::string id = Allocate("web");
  SetStatus("web", "origin", "Imported");
  DeleteAndWait("web");
  EXPECT_FALSE(IsThere(id));
}

// Admission lets spec.allocationID become that of the status.
TEST_F(EipHandEditTest, AnAddressThatSpecAndStatusWereChangedToIsNotReleased) {
  const std::string other = cloud_.vpc().CreateEip({});
  const std::string own = Allocate("web");
  SetStatus("web", "allocationID", other);
  Merge("web", Format(R"({{"spec":{{"allocationID":"{}"}}}})", other));
  Delete("web");
  executor_.Advance(1min);
  EXPECT_FALSE(Exists("web"));
  EXPECT_FALSE(IsThere(own));
  EXPECT_TRUE(IsThere(other));
}

TEST_F(EipHandEditTest, AnAddressThatSpecAndStatusWereChangedToIsNotMarkedAsItsOwn) {
  const std::string other = cloud_.vpc().CreateEip({});
  const std::string own = Allocate("web");
  SetStatus("web", "allocationID", other);
  Merge("web", Format(R"({{"spec":{{"allocationID":"{}"}}}})", other));
  executor_.Advance(6min);
  EXPECT_EQ(OwnerTag(other), "");
  EXPECT_EQ(Status("web", "allocationID"), own);
  EXPECT_THAT(Ready("web"), HasSubstr("set it back to " + own));
}

TEST_F(EipHandEditTest, ATagThatOthersRemovedIsSetAgain) {
  const std::string id = Allocate("web");
  cloud_.vpc().Edit(id).tags.clear();
  executor_.Advance(6min);
  EXPECT_EQ(OwnerTag(id), Uid("web"));
  EXPECT_THAT(Ready("web"), StartsWith("True"));
  cloud_.vpc().Edit(id).tags.clear();
  DeleteAndWait("web");
  EXPECT_FALSE(IsThere(id));
}

// The copy is on an older object, which has no address with its own tag.
TEST_F(EipHandEditTest, ACopiedStatusDoesNotTakeAnAddressFromItsOwner) {
  const std::string imported = Import("mail");
  const std::string own = Allocate("web");
  WriteStatus("mail", Get("web")["status"]);
  executor_.Advance(11min);
  EXPECT_THAT(Ready("web"), StartsWith("True"));
  EXPECT_THAT(Ready("mail"), HasSubstr("spec.allocationID was changed"));
  EXPECT_EQ(OwnerTag(own), Uid("web"));
  EXPECT_TRUE(IsThere(imported));
}

TEST_F(EipHandEditTest, ACopiedStatusDoesNotKeepAnAddressInTheCloud) {
  const std::string other = Allocate("mail");
  const std::string own = Allocate("web");
  WriteStatus("mail", Get("web")["status"]);
  DeleteAndWait("web");
  EXPECT_FALSE(IsThere(own));
  executor_.Advance(6min);
  EXPECT_EQ(Status("mail", "allocationID"), other);
  EXPECT_THAT(Ready("mail"), StartsWith("True"));
}

// The copy is on an older object, which has no address at all.
TEST_F(EipHandEditTest, ACopiedStatusIsNotWrittenIntoTheSpec) {
  cloud_.vpc().SetQuota(0);
  Create("mail", "");
  executor_.Advance(10s);
  cloud_.vpc().SetQuota(1);
  const std::string own = Allocate("web");
  WriteStatus("mail", Get("web")["status"]);
  executor_.Advance(11min);
  EXPECT_FALSE(Get("mail")["spec"].contains("allocationID"));
  EXPECT_THAT(Ready("web"), StartsWith("True"));
  DeleteAndWait("web");
  EXPECT_FALSE(IsThere(own));
}

// Another cluster adopts the address, and the next list does not have it.
TEST_F(EipHandEditTest, AnAddressThatIsNotListedMayHaveBecomeAnotherClusters) {
  const std::string id = Allocate("web");
  cloud_.vpc().SetTags(id, {{std::string(kOwnerTag), "u-other-cluster"}});
  EmptyLists(1);
  DeleteAndWait("web");
  EXPECT_TRUE(IsThere(id));
}

// The request arrives after 17 minutes; a search of before that says nothing.
TEST_F(EipHandEditTest, AnOldSearchDoesNotCount) {
  int requests = 0;
  int empty_lists = 0;
  bool refuses = true;
  script_.on_call = [&](const std::string& action, cloud::simulator::Fate& fate) {
    if (action == "DescribeEipAddresses" && empty_lists-- > 0) fate.empty_list = true;
    if (action != "AllocateEipAddress") return;
    if (requests++ == 0) fate.arrives = false;
    if (!refuses) return;
    fate.refusal = {400, "InvalidParameter", "Not like this."};
    fate.carried_out = false;
  };
  Create("web", "");
  executor_.Advance(17min);
  cloud_.vpc().CreateEip({.tags = {{std::string(kOwnerTag), Uid("web")}}});
  empty_lists = 1;
  for (int i = 0; i < 600 && Get("web")["status"].contains("attempt"); ++i) executor_.Advance(1s);
  ASSERT_FALSE(Get("web")["status"].contains("attempt"));
  empty_lists = 2;
  refuses = false;
  executor_.Advance(10min);
  EXPECT_THAT(Ready("web"), StartsWith("True"));
  EXPECT_EQ(cloud_.vpc().Eips().size(), 1u);
}

// Its first request had no answer. The next one waits for its turn behind those of others.
TEST_F(EipHandEditTest, NothingIsBoughtForAnObjectThatIsAbandonedMeanwhile) {
  int requests = 0;
  script_.on_call = [&](const std::string& action, cloud::simulator::Fate& fate) {
    if (action != "AllocateEipAddress") return;
    if (++requests == 1) {
      fate.arrives = false;
    } else {
      fate.refusal = cloud::simulator::Throttled();
    }
    fate.carried_out = false;
  };
  Create("web", "");
  for (int i = 0; i < 3000 && requests < 1; ++i) executor_.Advance(100ms);
  Delete("web");
  for (const char* slow : {"one", "two", "three"}) Create(slow, R"("isp":"BGP_PRO")");
  for (int i = 0; i < 3000 && requests < 8; ++i) executor_.Advance(100ms);
  ASSERT_EQ(requests, 8);
  script_.on_call = nullptr;
  Annotate("web", kOnStuckAnnotation, "abandon");
  executor_.Advance(5min);
  EXPECT_FALSE(Exists("web"));
  EXPECT_EQ(cloud_.vpc().ledger().size(), 3u) << "those of the others";
}

TEST_F(EipHandEditTest, AnAllocationThatIsNotPermittedIsNotWrittenAgainAndAgain) {
  bool refuses = true;
  int requests = 0;
  script_.on_call = [&](const std::string& action, cloud::simulator::Fate& fate) {
    if (action != "AllocateEipAddress" || !refuses) return;
    ++requests;
    fate.refusal = {403, "Forbidden.RAM", "Not with this key."};
    fate.carried_out = false;
  };
  Create("web", "");
  executor_.Advance(30s);
  const std::string version = Version("web");
  EXPECT_THAT(Ready("web"), StartsWith("False SyncFailed AllocateEipAddress: Forbidden.RAM"));
  executor_.Advance(10min);
  EXPECT_EQ(Version("web"), version);
  EXPECT_GE(requests, 30) << "at least every 20 s";
  refuses = false;
  executor_.Advance(30s);
  EXPECT_THAT(Ready("web"), StartsWith("True"));
  EXPECT_EQ(cloud_.vpc().Eips().size(), 1u);
}

TEST_F(EipHandEditTest, TagsThatTheCloudAcceptsWithoutEffectAreAFailure) {
  const std::string id = Allocate("web");
  int calls = 0;
  script_.on_call = [&](const std::string& action, cloud::simulator::Fate&) {
    if (action == "TagResources") ++calls;
    cloud_.vpc().Edit(id).tags.erase("team");
  };
  Merge("web", R"({"spec":{"tags":{"team":"shop"}}})");
  executor_.Advance(5min);
  EXPECT_THAT(Ready("web"), StartsWith("False SyncFailed"));
  EXPECT_THAT(Ready("web"), HasSubstr("tags set: team"));
  EXPECT_LE(calls, 30);
  script_.on_call = nullptr;
  executor_.Advance(5min);
  EXPECT_THAT(Ready("web"), StartsWith("True"));
}

}  // namespace
}  // namespace berth::eip
