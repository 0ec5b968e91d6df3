// An address belongs to the object that its tag names, whatever a status says.
#include "reconcile/eip/system_fixture_test.h"

namespace berth::eip {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class EipOwnershipTest : public EipSystemTest {
 protected:
  // All that Berth goes by is taken away before it looks again: the status, spec.allocationID, and
  // what else `patch` says.
  void Strip(const std::string& name, const std::string& patch) {
    using Write = std::pair<std::string, std::string>;
    for (const auto& [path, body] :
         {Write(Path(name), patch), Write(Path(name) + "/status", R"({"status":null})")}) {
      server_.Handle({.method = kube::Method::kPatch,
                      .path = path,
                      .body = body,
                      .content_type = "application/merge-patch+json"},
                     [](const kube::Response& response) { ASSERT_EQ(response.code, 200); });
    }
  }
  // An address that stays when its object goes, and the status of that object.
  Json KeptStatus(const std::string& name) {
    Create(name, R"("releaseStrategy":"Never")");
    executor_.Advance(30s);
    const Json status = Get(name)["status"];
    Delete(name);
    executor_.Advance(30s);
    EXPECT_FALSE(Exists(name));
    return status;
  }
};

TEST_F(EipOwnershipTest, ARestoredStatusDoesNotMakeAnAddressItsOwn) {
  const Json status = KeptStatus("web");
  const std::string id = status["allocationID"].as<std::string>();
  const std::string old_owner = OwnerTag(id);
  Create("web", Format(R"("allocationID":"{}")", id));
  executor_.Advance(10s);
  ASSERT_EQ(Status("web", "origin"), "Imported");
  WriteStatus("web", status);
  ASSERT_EQ(Status("web", "origin"), "Created");
  executor_.Advance(6min);
  EXPECT_EQ(OwnerTag(id), old_owner);
  EXPECT_EQ(Status("web", "origin"), "Imported");
  EXPECT_THAT(Ready("web"), StartsWith("True"));
  EXPECT_THAT(Told(), HasSubstr("names another object"));
  Delete("web");
  executor_.Advance(1min);
  EXPECT_FALSE(Exists("web"));
  EXPECT_TRUE(IsThere(id));
}

TEST_F(EipOwnershipTest, ARestoredStatusReleasesNothingWhenOneListIsEmpty) {
  const Json status = KeptStatus("web");
  const std::string id = status["allocationID"].as<std::string>();
  Create("web", Format(R"("allocationID":"{}")", id));
  executor_.Advance(10s);
  EmptyLists(3);
  WriteStatus("web", status);
  Delete("web");
  executor_.Advance(5min);
  EXPECT_FALSE(Exists("web"));
  EXPECT_TRUE(IsThere(id));
}

// Each has the address in its spec and asks to adopt it; the test plays the other cluster.
TEST_F(EipOwnershipTest, TwoClustersDoNotTakeAnAddressFromEachOtherAgainAndAgain) {
  const std::string id = cloud_.vpc().CreateEip({.tags = {{std::string(kOwnerTag), "u-old"}}});
  Create("web", Format(R"("allocationID":"{}")", id));
  Annotate("web", kOnForeignAnnotation, "adopt");
  executor_.Advance(30s);
  ASSERT_EQ(OwnerTag(id), Uid("web"));
  ASSERT_EQ(Status("web", "origin"), "Created");
  cloud_.vpc().SetTags(id, {{std::string(kOwnerTag), "u-other-cluster"}});
  executor_.Advance(11min);
  EXPECT_EQ(OwnerTag(id), "u-other-cluster");
  EXPECT_EQ(Status("web", "origin"), "Imported");
  // The annotation written anew is another request.
  Merge("web", Format(R"({{"metadata":{{"annotations":{{"{}":null}}}}}})", kOnForeignAnnotation));
  executor_.Advance(10s);
  Annotate("web", kOnForeignAnnotation, "adopt");
  executor_.Advance(30s);
  EXPECT_EQ(OwnerTag(id), Uid("web"));
  EXPECT_EQ(Status("web", "origin"), "Created");
}

TEST_F(EipOwnershipTest, AnAttemptOfAnotherObjectIsNeverSent) {
  const Json kept = KeptStatus("first");
  const std::string id = kept["allocationID"].as<std::string>();
  const std::string old_owner = OwnerTag(id);
  Json status;
  status["attempt"]["number"] = 1;
  status["attempt"]["clientToken"] = ClientToken(old_owner, 1);
  status["attempt"]["request"]["internetChargeType"] = "PayByTraffic";
  status["attempt"]["request"]["tag:" + std::string(kOwnerTag)] = old_owner;
  Create("web", "");
  WriteStatus("web", status);
  executor_.Advance(1min);
  EXPECT_THAT(Ready("web"), StartsWith("True"));
  EXPECT_NE(Status("web", "allocationID"), id);
  Delete("web");
  executor_.Advance(1min);
  EXPECT_FALSE(Exists("web"));
  EXPECT_TRUE(IsThere(id));
  EXPECT_EQ(cloud_.vpc().Eips().size(), 1u);
}

TEST_F(EipOwnershipTest, ACopiedStatusDoesNotReplaceTheObjectsOwnAddress) {
  Create("mail", "");
  Create("web", "");
  executor_.Advance(30s);
  const std::string own = Status("web", "allocationID");
  const std::string other = Status("mail", "allocationID");
  ASSERT_NE(own, other);
  for (const auto& [to, from] : {std::pair("web", "mail"), std::pair("mail", "web")}) {
    const std::string before = Status(to, "allocationID");
    WriteStatus(to, Get(from)["status"]);
    executor_.Advance(11min);
    EXPECT_EQ(Status(to, "allocationID"), before);
    EXPECT_THAT(Ready("web"), StartsWith("True"));
    EXPECT_THAT(Ready("mail"), StartsWith("True"));
  }
  EXPECT_EQ(OwnerTag(own), Uid("web"));
  EXPECT_EQ(OwnerTag(other), Uid("mail"));
  EXPECT_EQ(cloud_.vpc().Eips().size(), 2u);
}

// The status is that of an object with an address of its own, or of an import; that object stays or
// goes.
TEST_F(EipOwnershipTest, ADeletedObjectWithACopiedStatusLeavesNoAddressBehind) {
  const std::string imported = cloud_.vpc().CreateEip({});
  Create("mail", "");
  Create("import", Format(R"("allocationID":"{}")", imported));
  executor_.Advance(30s);
  const std::string other = Status("mail", "allocationID");
  for (const char* from : {"mail", "import"}) {
    Create("web", "");
    executor_.Advance(30s);
    const std::string own = Status("web", "allocationID");
    WriteStatus("web", Get(from)["status"]);
    Delete("web");
    executor_.Advance(1min);
    EXPECT_FALSE(Exists("web"));
    EXPECT_FALSE(IsThere(own)) << from;
  }
  EXPECT_TRUE(IsThere(other));
  EXPECT_TRUE(IsThere(imported));
}

TEST_F(EipOwnershipTest, ACopiedStatusOfAnObjectThatIsGoneDoesNotHideTheOwnAddress) {
  const Json status = KeptStatus("mail");
  const std::string kept = status["allocationID"].as<std::string>();
  Create("web", "");
  executor_.Advance(30s);
  const std::string own = Status("web", "allocationID");
  Strip("web", R"({"spec":{"allocationID":null}})");
  WriteStatus("web", status);
  Delete("web");
  executor_.Advance(1min);
  EXPECT_FALSE(Exists("web"));
  EXPECT_FALSE(IsThere(own));
  EXPECT_TRUE(IsThere(kept));
}

// Neither would release it: its owner because of the other one, that one because of the tag.
TEST_F(EipOwnershipTest, AnAddressGoesWithItsOwnerThoughAnotherDeletedObjectHasItInItsStatus) {
  const std::string imported = cloud_.vpc().CreateEip({.status = "InUse"});
  Create("mail", Format(R"("releaseStrategy":"OnDelete","allocationID":"{}")", imported));
  executor_.Advance(10s);
  Create("web", "");
  executor_.Advance(30s);
  const std::string own = Status("web", "allocationID");
  Delete("mail");
  executor_.Advance(10s);
  WriteStatus("mail", Get("web")["status"]);
  Delete("web");
  executor_.Advance(1min);
  EXPECT_FALSE(Exists("web"));
  EXPECT_FALSE(IsThere(own));
  EXPECT_TRUE(IsThere(imported));
}

TEST_F(EipOwnershipTest, AnObjectWithoutStatusAndFinalizerIsNotTakenForNew) {
  Create("web", R"("bandwidth":"20")");
  executor_.Advance(30s);
  const std::string id = Status("web", "allocationID");
  Strip("web", R"({"metadata":{"finalizers":null},)"
               R"("spec":{"allocationID":null,"bandwidth":"30"}})");
  executor_.Advance(1min);
  EXPECT_EQ(Status("web", "allocationID"), id);
  EXPECT_THAT(Ready("web"), StartsWith("True"));
  EXPECT_EQ(cloud_.vpc().Eips().size(), 1u);
  EXPECT_THAT(Told(), Not(HasSubstr("was used before")));
}

TEST_F(EipOwnershipTest, AnIncompleteListDoesNotBuyASecondAddress) {
  Create("web", "");
  executor_.Advance(30s);
  const std::string id = Status("web", "allocationID");
  executor_.Advance(kTokenMemory + 1min);
  EmptyLists(2);
  Strip("web", R"({"spec":{"allocationID":null}})");
  executor_.Advance(1min);
  EXPECT_EQ(Status("web", "allocationID"), id);
  EXPECT_EQ(cloud_.vpc().Eips().size(), 1u);
}

TEST_F(EipOwnershipTest, AnIncompleteListDoesNotLeaveAnAddressBehind) {
  Create("web", "");
  executor_.Advance(30s);
  const std::string id = Status("web", "allocationID");
  EmptyLists(1);
  Strip("web", R"({"spec":{"allocationID":null}})");
  Delete("web");
  executor_.Advance(1min);
  EXPECT_FALSE(Exists("web"));
  EXPECT_FALSE(IsThere(id));
}

TEST_F(EipOwnershipTest, IncompleteListsDoNotLeaveAnAddressBehindThatSpecNames) {
  Create("web", "");
  executor_.Advance(30s);
  const std::string id = Status("web", "allocationID");
  EmptyLists(4);
  Strip("web", R"({"spec":{"description":"wiped"}})");
  Delete("web");
  executor_.Advance(1min);
  EXPECT_FALSE(Exists("web"));
  EXPECT_FALSE(IsThere(id));
}

TEST_F(EipOwnershipTest, AnOrdinaryCreationIsNotSearchedFor) {
  const auto before = Calls("DescribeEipAddresses");
  Create("web", "");
  executor_.Advance(2s);
  EXPECT_EQ(Calls("AllocateEipAddress"), 1u);
  executor_.Advance(30s);
  EXPECT_THAT(Ready("web"), StartsWith("True"));
  EXPECT_LE(Calls("DescribeEipAddresses"), before + 4) << "looks at the new address alone";
}

// The cloud's word that the token was used before: the address is there, and has the tag.
TEST_F(EipOwnershipTest, AUsedTokenIsSearchedForBeforeAnybodyIsToldToAbandonIt) {
  Create("web", R"("bandwidth":"20")");
  executor_.Advance(30s);
  const std::string id = Status("web", "allocationID");
  EmptyLists(3);
  Strip("web", R"({"spec":{"allocationID":null,"bandwidth":"30"}})");
  executor_.Advance(10min);
  EXPECT_EQ(Status("web", "allocationID"), id);
  EXPECT_THAT(Ready("web"), StartsWith("True"));
}

// The answer was lost, there is no tag to look for, and the cloud refuses the repetition for longer
// than a request is in doubt.
TEST_F(EipOwnershipTest, AnAttemptWithoutATagIsNotFollowedByAnother) {
  int requests = 0;
  script_.on_call = [&](const std::string& action, cloud::simulator::Fate& fate) {
    if (action != "AllocateEipAddress") return;
    if (++requests == 1) {
      fate.answered = false;
    } else {
      fate.refusal = {400, "InvalidParameter", "Not like this."};
      fate.carried_out = false;
    }
  };
  Create("web", TwentyTags());
  executor_.Advance(30min);
  EXPECT_THAT(Ready("web"), HasSubstr("cannot be looked for"));
  script_.on_call = nullptr;
  executor_.Advance(10min);
  EXPECT_EQ(cloud_.vpc().Eips().size(), 1u);
  EXPECT_THAT(Ready("web"), HasSubstr("True"));
}

// An answer was lost, the repetition is refused, and the list is late.
class EipUnansweredRequest : public EipOwnershipTest,
                             public testing::WithParamInterface<const char*> {
 protected:
  // The first request is carried out and not answered; all later ones are refused.
  void LoseAnswerThenRefuse() {
    script_.on_call = [this](const std::string& action, cloud::simulator::Fate& fate) {
      if (action == "DescribeEipAddresses" && lists_++ == 0) fate.empty_list = true;
      if (action != "AllocateEipAddress") return;
      if (requests_++ == 0) {
        fate.answered = false;
        return;
      }
      if (!refuses_) return;
      fate.refusal = {400, GetParam(), "Not like this."};
      fate.carried_out = false;
    };
  }

  int lists_ = 0;
  int requests_ = 0;
  bool refuses_ = true;
};

TEST_P(EipUnansweredRequest, DoesNotLeadToASecondAddress) {
  LoseAnswerThenRefuse();
  Create("web", R"("bandwidth":"20")");
  executor_.Advance(30s);
  Merge("web", R"({"spec":{"bandwidth":"30"}})");
  refuses_ = false;
  executor_.Advance(10min);
  EXPECT_THAT(Ready("web"), StartsWith("True"));
  EXPECT_EQ(cloud_.vpc().Eips().size(), 1u);
  Delete("web");
  executor_.Advance(1min);
  EXPECT_TRUE(cloud_.vpc().Eips().empty());
}

TEST_P(EipUnansweredRequest, LeavesNoAddressBehindADeletion) {
  LoseAnswerThenRefuse();
  Create("web", R"("bandwidth":"20")");
  executor_.Advance(12s);
  Delete("web");
  executor_.Advance(30min);
  EXPECT_FALSE(Exists("web"));
  EXPECT_TRUE(cloud_.vpc().Eips().empty());
}

INSTANTIATE_TEST_SUITE_P(Codes, EipUnansweredRequest,
                         testing::Values("COMMODITY.INVALID_COMPONENT", "InvalidParameter",
                                         "MissingParameter", "IllegalParam.Isp", "Unheard.Of",
                                         "QuotaExceeded.Eip",
                                         "ResourceNotFound.PublicIpAddressPool"),
                         [](const auto& code) {
                           std::string name = code.param;
                           std::erase_if(name, [](char c) { return c == '.' || c == '_'; });
                           return name;
                         });

// The request was not carried out: in the end spec is followed.
TEST_F(EipOwnershipTest, AnUnansweredRequestThatWasRefusedEverSinceEndsAfterEighteenMinutes) {
  int requests = 0;
  bool refuses = true;
  script_.on_call = [&](const std::string& action, cloud::simulator::Fate& fate) {
    if (action != "AllocateEipAddress") return;
    if (requests++ == 0) fate.arrives = false;
    if (!refuses) return;
    fate.refusal = {400, "InvalidParameter", "Not like this."};
    fate.carried_out = false;
  };
  Create("web", R"("bandwidth":"20")");
  executor_.Advance(10min);
  EXPECT_THAT(Ready("web"), AllOf(StartsWith("False InvalidConfig"), HasSubstr("18 minutes")));
  executor_.Advance(15min);
  refuses = false;
  Merge("web", R"({"spec":{"bandwidth":"30"}})");
  executor_.Advance(1min);
  EXPECT_THAT(Ready("web"), StartsWith("True"));
  EXPECT_EQ(cloud_.vpc().Eips().size(), 1u);
}

}  // namespace
}  // namespace berth::eip
