#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "simulate/coverage.h"
#include "simulate/fields.h"
#include "simulate/refusals.h"
#include "simulate/write_watch.h"

namespace berth::simulate {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> NamesOf(const std::vector<Field>& fields) {
  std::vector<std::string> names;
  for (const Field& field : fields) names.push_back(field.Name());
  return names;
}

TEST(Fields, EveryPropertyOfTheStoredVersionIsAField) {
  const Json crd = Json::parse(R"({"spec":{"versions":[
    {"storage":false,"schema":{"openAPIV3Schema":{"properties":{"spec":{"properties":{"old":{}}}}}}},
    {"storage":true,"schema":{"openAPIV3Schema":{"properties":{"spec":{"properties":{
      "size":{"type":"integer"},"ref":{"type":"object","properties":{"uid":{"type":"string"}}}}}}}}}]}})");
  EXPECT_THAT(NamesOf(FieldsOf(crd, "spec")), ElementsAre("spec.size", "spec.ref", "spec.ref.uid"));
  EXPECT_THAT(FieldsOf(crd, "status"), IsEmpty());
}

TEST(Fields, BoundaryValuesAreThoseOfTheSchemaAndThoseBesideThem) {
  const Field field{{"spec", "size"}, Json::parse(R"({"type":"integer","minimum":3,"maximum":9})")};
  std::set<std::int64_t> drawn;
  Dice random(1);
  for (int i = 0; i < 200; ++i) drawn.insert(BoundaryValue(field, random).as<std::int64_t>());
  EXPECT_THAT(drawn, ElementsAre(2, 3, 4, 9, 10));
}

TEST(Coverage, AFieldThatNobodyWritesAndOneThatIsNeverAcceptedAreGaps) {
  Coverage coverage;
  coverage.Declare("Pool", "spec.cidr", "change");
  coverage.Declare("Pool", "spec.size", "change");
  coverage.Add("Pool", "spec.size", "change", false);
  EXPECT_THAT(coverage.Gaps(), Contains("Pool spec.cidr: change was never tried"));
  EXPECT_THAT(coverage.Gaps(), Contains("Pool spec.size: nothing was accepted"));

  Coverage other;
  other.Add("Pool", "spec.cidr", "change", true);
  other.Add("Pool", "spec.size", "change", true);
  coverage.Merge(other);
  EXPECT_THAT(coverage.Gaps(), IsEmpty());
}

class WriteWatchTest : public testing::Test {
 protected:
  // How many writes, one every `pause`, until somebody objects.
  int UntilSeen(const kube::Request& request, WriteWatch::Effect effect, async::Duration pause) {
    async::TimePoint now{};
    for (int count = 1; count <= 1000; ++count, now += pause) {
      if (watch_.Saw("a.1", request, effect, now)) return count;
    }
    return 0;
  }

  WriteWatch watch_;
};

TEST_F(WriteWatchTest, WhoCreatesTheSameObjectAgainAndAgainIsSeen) {
  const kube::Request create{.method = kube::Method::kPost,
                             .path = "/apis/g/v1/namespaces/n/subnets?timeout=8s",
                             .body = R"({"metadata":{"name":"s"}})"};
  EXPECT_EQ(UntilSeen(create, WriteWatch::Effect::kFailed, 5ms), WriteWatch::kMostWrites + 1);
}

TEST_F(WriteWatchTest, AStatusThatIsWrittenWithoutAChangeIsSeenSooner) {
  const kube::Request patch{.method = kube::Method::kPatch,
                            .path = "/apis/g/v1/namespaces/n/subnets/s/status"};
  EXPECT_EQ(UntilSeen(patch, WriteWatch::Effect::kNothing, 1s),
            WriteWatch::kMostIdleStatusWrites + 1);
}

TEST_F(WriteWatchTest, WhoBacksOffIsNotSeen) {
  const kube::Request create{.method = kube::Method::kPost,
                             .path = "/apis/g/v1/namespaces/n/subnets",
                             .body = R"({"metadata":{"name":"s"}})"};
  EXPECT_EQ(UntilSeen(create, WriteWatch::Effect::kFailed, 30s), 0);
}

TEST(Refusals, WritesAreRefusedForAWhileAndReadsNever) {
  Refusals refusals;
  Dice random(3);
  for (int i = 0; i < 20; ++i) refusals.Draw(random, {}, 60s, {"subnets.plexaubnet.io"});
  const kube::Request create{.method = kube::Method::kPost,
                             .path = "/apis/plexaubnet.io/v1alpha1/namespaces/n/subnets"};
  const kube::Request list{.path = create.path};
  int refused = 0;
  std::set<int> codes;
  for (async::TimePoint now{}; now < async::TimePoint(160s); now += 1s) {
    if (const auto answer = refusals.Refuse(create, false, now)) {
      codes.insert(answer->code);
      EXPECT_THAT(answer->body,
                  testing::AnyOf(HasSubstr("forbidden"), HasSubstr("denied the request")));
      ++refused;
    }
    EXPECT_FALSE(refusals.Refuse(list, false, now));
  }
  EXPECT_GT(refused, 10);
  EXPECT_GT(codes.size(), 1U) << "a policy chooses its code";
  EXPECT_FALSE(refusals.Refuse(create, false, async::TimePoint(151s)));
}

// Terway's nodes and those of Kubernetes have the same plural.
TEST(Refusals, ResourcesAreToldApartByTheirGroup) {
  const kube::Request own{.method = kube::Method::kPatch,
                          .path = "/apis/network.alibabacloud.com/v1beta1/nodes/worker-1"};
  const kube::Request core{.method = kube::Method::kPatch, .path = "/api/v1/nodes/worker-1"};
  const auto refused = [&](const char* resource, const kube::Request& request) {
    Refusals refusals;
    Dice random(3);
    for (int i = 0; i < 20; ++i) refusals.Draw(random, {}, 60s, {resource});
    int count = 0;
    for (async::TimePoint now{}; now < async::TimePoint(160s); now += 1s)
      count += refusals.Refuse(request, false, now).has_value() ? 1 : 0;
    return count;
  };
  EXPECT_GT(refused("nodes.network.alibabacloud.com", own), 0);
  EXPECT_EQ(refused("nodes.network.alibabacloud.com", core), 0);
  EXPECT_GT(refused("nodes", core), 0);
  EXPECT_EQ(refused("nodes", own), 0);
}

}  // namespace
}  // namespace berth::simulate
