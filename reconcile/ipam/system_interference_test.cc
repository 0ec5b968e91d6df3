#include <gmock/gmock.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kube/status.h"
#include "reconcile/ipam/interceptor_fixture_test.h"
#include "reconcile/ipam/system_fixture_test.h"

// Webhooks, policies and controllers of others that change, refuse or overwrite what Berth writes:
// Berth says so in the status, and does not answer without end.
namespace berth::ipam {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class InterferenceTest : public SystemTest {
 protected:
  InterferenceTest() {
    BootThrough(interceptor_);
    Pool("p", "10.0.0.0/16");
  }
  ~InterferenceTest() override { replica_.reset(); }

  void PoolClaim() {
    Create("SubnetPoolClaim", "b", R"("parentPoolRef":"p","desiredBlockSize":20)");
    executor_.Advance(5s);
  }
  // A webhook refuses such requests, and numbers its refusals when `numbered`.
  void Refuse(kube::Method method, std::string path, bool numbered = false) {
    refused_ = 0;
    interceptor_.on_request = [=, this](kube::Request& request) -> std::optional<kube::Error> {
      if (request.method != method || !request.path.contains(path) ||
          request.path.contains("/status")) {
        return std::nullopt;
      }
      ++refused_;
      return kube::Error{kube::ErrorClass::kTerminal,
                         "Forbidden",
                         Format("admission webhook \"w\" denied the request: not today{}",
                                numbered ? Format(" (request {})", refused_) : ""),
                         403,
                         {}};
    };
  }
  // The API server cannot call a webhook for such creates.
  void LoseWebhook(const std::string& path) {
    refused_ = 0;
    interceptor_.on_request = [=, this](kube::Request& request) -> std::optional<kube::Error> {
      if (request.method != kube::Method::kPost || !request.path.contains(path)) {
        return std::nullopt;
      }
      ++refused_;
      return kube::ErrorFromStatus(
          500,
          R"({"kind":"Status","apiVersion":"v1","status":"Failure","reason":"InternalError",)"
          R"("message":"Internal error occurred: failed calling webhook \"w\": failed to call )"
          R"(webhook: Post \"https://w.w.svc:443/\": connect: connection refused","code":500})",
          {}, true);
    };
  }
  // A webhook replaces a part of the SubnetClaims that Berth creates.
  void Mutate(std::string from, std::string to) {
    interceptor_.on_request = [=, this](kube::Request& request) -> std::optional<kube::Error> {
      if (!request.path.contains("/subnetclaims")) return std::nullopt;
      if (request.method == kube::Method::kDelete) ++deletes_;
      if (request.method != kube::Method::kPost) return std::nullopt;
      ++creates_;
      const auto at = request.body.find(from);
      if (at != std::string::npos) request.body.replace(at, from.size(), to);
      return std::nullopt;
    };
  }
  int InAMinute() {
    refused_ = 0;
    executor_.Advance(1min);
    return refused_;
  }
  std::string Message(const std::string& plural, const std::string& name) {
    return Status(plural, name).get_value_or<std::string>("message", "");
  }
  std::string ReadyMessage(const std::string& plural, const std::string& name) {
    for (const Json& condition : Status(plural, name)["conditions"].array_range()) {
      if (condition["type"] == "Ready") return condition["message"].as<std::string>();
    }
    return "";
  }

  Interceptor interceptor_{executor_, transport_};
  int creates_ = 0;
  int deletes_ = 0;
  int refused_ = 0;
};

TEST_F(InterferenceTest, APoolClaimWhoseInternalClaimIsMutatedBacksOffAndSaysHow) {
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {R"("clusterID":")", R"("clusterID":"env-)"},
           {R"("blockSize":20)", R"("blockSize":24)"}}) {
    Mutate(from, to);
    PoolClaim();
    executor_.Advance(2min);
    creates_ = deletes_ = 0;
    executor_.Advance(1min);
    EXPECT_LE(creates_, 3) << from;
    EXPECT_LE(deletes_, 3) << from;
    EXPECT_EQ(Reason("subnetpoolclaims", "b"), "Refused");
    EXPECT_THAT(
        Message("subnetpoolclaims", "b"),
        AllOf(HasSubstr(from.contains("clusterID") ? "has clusterID env-b-" : "blockSize 24"),
              HasSubstr("a mutating webhook or policy changed it")));
    interceptor_.on_request = nullptr;
    executor_.Advance(31s);
    EXPECT_EQ(Status("subnetpoolclaims", "b")["phase"], "Bound");
    Delete("subnetpoolclaims", "b");
    executor_.Advance(1min);
  }
}

TEST_F(InterferenceTest, AnInternalClaimThatIsEditedAgainAndAgainIsMadeAgainLessAndLessOften) {
  Pool("full", "10.1.0.0/28");
  Claim("all", "full", 28);
  Create("SubnetPoolClaim", "b", R"("parentPoolRef":"full","desiredBlockSize":30)");
  executor_.Advance(5s);
  const std::string name = List("subnetclaims").back()["metadata"]["name"] == "all"
                               ? List("subnetclaims").front()["metadata"]["name"].as<std::string>()
                               : List("subnetclaims").back()["metadata"]["name"].as<std::string>();
  Mutate("", "");
  for (int i = 0; i < 3000; ++i) {
    if (i == 2400) creates_ = 0;
    server_.Handle({.method = kube::Method::kPatch,
                    .path = Path("subnetclaims", name),
                    .body = R"({"spec":{"blockSize":29}})",
                    .content_type = "application/merge-patch+json"},
                   [](const kube::Response&) {});
    executor_.Advance(100ms);
  }
  EXPECT_LE(creates_, 3);
  EXPECT_THAT(Message("subnetpoolclaims", "b"),
              AllOf(HasSubstr("has clusterID"), HasSubstr("blockSize 29"),
                    HasSubstr("a user, a controller or a webhook changed one of them")));
}

TEST_F(InterferenceTest, AStatusThatAnotherControllerKeepsWritingIsCorrectedAFewTimesAMinute) {
  Claim("c", "p", 24);
  PoolClaim();
  for (const std::string object :
       {"subnetclaims/c", "subnets/p-10-0-0-0-24", "subnetpoolclaims/b"}) {
    const std::string path = Path(object) + "/status";
    const auto overwrite = [&] {
      server_.Handle({.method = kube::Method::kPatch,
                      .path = path,
                      .body = R"({"status":{"message":"other"}})",
                      .content_type = "application/merge-patch+json"},
                     [](const kube::Response&) {});
    };
    int writes = 0;
    std::vector<async::Handle> answers;
    interceptor_.on_request = [&](kube::Request& request) -> std::optional<kube::Error> {
      if (request.method == kube::Method::kPatch && request.path.starts_with(path)) {
        ++writes;
        answers.push_back(executor_.RunAfter(20ms, overwrite));
      }
      return std::nullopt;
    };
    overwrite();
    executor_.Advance(500ms);
    EXPECT_GE(writes, 1) << object;  // the first correction does not wait
    executor_.Advance(1min);
    writes = 0;
    executor_.Advance(1min);
    EXPECT_GE(writes, 3) << object;
    EXPECT_LE(writes, 7) << object;
    interceptor_.on_request = nullptr;
    executor_.Advance(11s);
    EXPECT_EQ(Json::parse(Send(kube::Method::kGet, Path(object)).body)["status"]
                  .get_value_or<std::string>("message", ""),
              "");
  }
}

TEST_F(InterferenceTest, ADeletedPoolTriesAllItsSubnetsAndTellsOfTheRefusal) {
  for (int i = 0; i < 5; ++i) Claim(Format("c{}", i), "p", 24);
  Refuse(kube::Method::kDelete, "/subnets/p-10-0-0-0-24", true);
  Merge("subnetpools", "p",
        R"({"metadata":{"annotations":{"ipam.plexaubnet.io/allow-delete":"true"}}})");
  Delete("subnetpools", "p");
  executor_.Advance(2min);
  EXPECT_EQ(List("subnets").size(), 1U);
  EXPECT_LE(InAMinute(), 3);
  EXPECT_EQ(Reason("subnetpools", "p"), "Deleting");
  EXPECT_THAT(ReadyMessage("subnetpools", "p"),
              AllOf(HasSubstr("it waits for 1 Subnet of the pool"),
                    HasSubstr("Subnet p-10-0-0-0-24 cannot be deleted: admission webhook \"w\"")));
  interceptor_.on_request = nullptr;
  executor_.Advance(1min);
  EXPECT_TRUE(List("subnetpools").empty());
}

TEST_F(InterferenceTest, APoolWhoseSubnetsAreRefusedByTheHundredLetsTheOthersGo) {
  for (int i = 0; i < 150; ++i) {
    server_.Handle({.method = kube::Method::kPost,
                    .path = Path("subnets"),
                    .body = Format(R"({{"apiVersion":"plexaubnet.io/v1alpha1","kind":"Subnet",)"
                                   R"("metadata":{{"name":"{}{:03}"}},"spec":{{"poolRef":"p",)"
                                   R"("cidr":"10.0.{}.0/24","clusterID":"s{}"}}}})",
                                   i < 120 ? "a" : "z", i, i, i),
                    .content_type = "application/json"},
                   [](const kube::Response&) {});
  }
  executor_.Advance(10s);
  ASSERT_EQ(List("subnets").size(), 150U);
  Refuse(kube::Method::kDelete, "/subnets/a");
  Merge("subnetpools", "p",
        R"({"metadata":{"annotations":{"ipam.plexaubnet.io/allow-delete":"true"}}})");
  Delete("subnetpools", "p");
  executor_.Advance(5min);
  EXPECT_EQ(List("subnets").size(), 120U);
}

TEST_F(InterferenceTest, APoolSaysThatItsFinalizerIsRefused) {
  Refuse(kube::Method::kPatch, "/subnetpools/");
  Pool("q", "10.1.0.0/16");
  executor_.Advance(2min);
  EXPECT_LE(InAMinute(), 3);
  EXPECT_EQ(Reason("subnetpools", "q"), "Ready");
  EXPECT_THAT(ReadyMessage("subnetpools", "q"),
              HasSubstr("SubnetPool q cannot be given its finalizer: admission webhook \"w\""));
  interceptor_.on_request = nullptr;
  executor_.Advance(1min);
  EXPECT_EQ(ReadyMessage("subnetpools", "q"), "blocks can be allocated");
}

TEST_F(InterferenceTest, APoolClaimSaysThatItsFinalizerIsRefused) {
  Refuse(kube::Method::kPatch, "/subnetpoolclaims/");
  PoolClaim();
  executor_.Advance(2min);
  EXPECT_LE(InAMinute(), 3);
  EXPECT_EQ(Reason("subnetpoolclaims", "b"), "Refused");
  EXPECT_THAT(Message("subnetpoolclaims", "b"),
              HasSubstr("SubnetPoolClaim b cannot be given its finalizer: admission webhook"));
  interceptor_.on_request = nullptr;
  executor_.Advance(1min);
  EXPECT_EQ(Status("subnetpoolclaims", "b")["phase"], "Bound");
}

TEST_F(InterferenceTest, ADeletedPoolClaimNamesTheObjectWhoseWriteIsRefused) {
  PoolClaim();
  Merge("subnetpoolclaims", "b",
        R"({"metadata":{"annotations":{"ipam.plexaubnet.io/allow-delete":"true"}}})");
  Refuse(kube::Method::kPatch, "/subnetpools/b-", true);
  Delete("subnetpoolclaims", "b");
  executor_.Advance(2min);
  EXPECT_LE(InAMinute(), 3);
  EXPECT_THAT(Message("subnetpoolclaims", "b"),
              HasSubstr("cannot be annotated with ipam.plexaubnet.io/allow-delete: admission"));
  Refuse(kube::Method::kDelete, "/subnetclaims/b-", true);
  executor_.Advance(2min);
  EXPECT_LE(InAMinute(), 3);
  EXPECT_THAT(Message("subnetpoolclaims", "b"),
              AllOf(HasSubstr("SubnetClaim b-"), HasSubstr("cannot be deleted: admission webhook"),
                    Not(HasSubstr("SubnetPool "))));
  interceptor_.on_request = nullptr;
  executor_.Advance(1min);
  EXPECT_TRUE(List("subnetpoolclaims").empty());
}

TEST_F(InterferenceTest, ASubnetWithoutAClaimSaysThatItsDeletionIsRefused) {
  Claim("c", "p", 24);
  Refuse(kube::Method::kDelete, "/subnets/", true);
  Send(kube::Method::kDelete, Path("subnetclaims", "c"),
       R"({"apiVersion":"v1","kind":"DeleteOptions","propagationPolicy":"Orphan"})");
  while (server_.CollectGarbage()) executor_.Advance(1s);
  executor_.Advance(2min);
  EXPECT_LE(InAMinute(), 3);
  EXPECT_EQ(Status("subnets", "p-10-0-0-0-24")["phase"], "Allocated");
  EXPECT_THAT(Message("subnets", "p-10-0-0-0-24"),
              AllOf(HasSubstr("SubnetClaim c is gone"),
                    HasSubstr("cannot be deleted: admission webhook \"w\"")));
  interceptor_.on_request = nullptr;
  executor_.Advance(1min);
  EXPECT_TRUE(List("subnets").empty());
}

TEST_F(InterferenceTest, APoolClaimWhoseStatusNamesALongPoolIsBoundToIt) {
  Pool("full", "10.1.0.0/28");
  Claim("all", "full", 28);
  Create("SubnetPoolClaim", "b", R"("parentPoolRef":"full","desiredBlockSize":30)");
  const std::string name(80, 'n');
  Merge("subnetpoolclaims", "b/status", Format(R"({{"status":{{"boundPoolName":"{}"}}}})", name));
  executor_.Advance(5s);
  Delete("subnetclaims", "all");
  executor_.Advance(2min);
  EXPECT_EQ(Status("subnetpoolclaims", "b")["phase"], "Bound");
  EXPECT_EQ(Status("subnetpoolclaims", "b")["boundPoolName"], name);
}

TEST_F(InterferenceTest, AnInternalClaimUnderAPoolWithALongNameIsMadeAgain) {
  PoolClaim();
  const std::string internal = Status("subnetpoolclaims", "b")["boundPoolName"].as<std::string>();
  const std::string name(70, 'n');
  Create("SubnetPool", name, R"("cidr":"10.0.32.0/20","parentRef":"p")",
         OwnedBy("SubnetPoolClaim", "subnetpoolclaims", "b"));
  Merge("subnetpoolclaims", "b/status", Format(R"({{"status":{{"boundPoolName":"{}"}}}})", name));
  executor_.Advance(5s);
  Delete("subnetclaims", internal);
  executor_.Advance(1min);
  EXPECT_EQ(Status("subnetpoolclaims", "b")["boundPoolName"], name);
  EXPECT_EQ(Get("subnetclaims", internal)["spec"]["clusterID"], Uid("subnetpoolclaims", "b"));
  EXPECT_EQ(Get("subnetclaims", internal)["spec"]["requestedCIDR"], "10.0.32.0/20");
}

TEST_F(InterferenceTest, ADeletedPoolClaimBacksOffWhateverTheWordsOfTheRefusals) {
  PoolClaim();
  Refuse(kube::Method::kDelete, "/subnetpools/", true);
  Delete("subnetpoolclaims", "b");
  EXPECT_LE(InAMinute(), 18);
  executor_.Advance(1min);
  EXPECT_LE(InAMinute(), 3);
  EXPECT_EQ(Reason("subnetpoolclaims", "b"), "Deleting");
  EXPECT_THAT(Message("subnetpoolclaims", "b"), HasSubstr("not today (request "));
  interceptor_.on_request = nullptr;
  executor_.Advance(1min);
  EXPECT_TRUE(List("subnetpoolclaims").empty());
}

TEST_F(InterferenceTest, AClaimSaysThatAWebhookForItsSubnetCannotBeCalled) {
  Claim("bound", "p", 24);
  ASSERT_EQ(Allocated("bound"), "10.0.0.0/24");
  LoseWebhook("/subnets");
  Delete("subnets", "p-10-0-0-0-24");
  Claim("fresh", "p", 24);
  executor_.Advance(1min);
  for (const char* name : {"bound", "fresh"}) {
    EXPECT_EQ(Reason("subnetclaims", name), "SubnetRefused") << name;
    EXPECT_THAT(Status("subnetclaims", name).get_value_or<std::string>("message", ""),
                AllOf(HasSubstr("failed calling webhook \"w\""), HasSubstr("connection refused")));
  }
  EXPECT_LT(refused_, 40);
  interceptor_.on_request = nullptr;
  executor_.Advance(1min);
  EXPECT_EQ(Phase("bound"), "Bound");
  EXPECT_EQ(Allocated("bound"), "10.0.0.0/24");
  EXPECT_EQ(Allocated("fresh"), "10.0.1.0/24");
}

TEST_F(InterferenceTest, APoolClaimSaysThatAWebhookCannotBeCalled) {
  for (const char* path : {"/subnetclaims", "/subnetpools"}) {
    LoseWebhook(path);
    PoolClaim();
    executor_.Advance(1min);
    EXPECT_EQ(Reason("subnetpoolclaims", "b"), "Refused") << path;
    EXPECT_THAT(Status("subnetpoolclaims", "b").get_value_or<std::string>("message", ""),
                HasSubstr("failed calling webhook"));
    EXPECT_LT(refused_, 20);
    interceptor_.on_request = nullptr;
    executor_.Advance(1min);
    EXPECT_EQ(Reason("subnetpoolclaims", "b"), "Bound") << path;
    Delete("subnetpoolclaims", "b");
    executor_.Advance(1min);
  }
}

}  // namespace
}  // namespace berth::ipam
