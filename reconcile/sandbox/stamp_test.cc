#include "reconcile/sandbox/stamp.h"

#include <gtest/gtest.h>

#include "json/json.h"

namespace berth::sandbox {
namespace {

using namespace std::chrono_literals;

constexpr async::WallTime kNow{std::chrono::seconds(1'767'323'045)};

Stamp MakeStamp() {
  return {.reservation = "r-1",
          .pod = "pool-agent-x",
          .pod_uid = "uid",
          .node = "worker-1",
          .spec_hash = "hash",
          .allocated_at = kNow,
          .expires = kNow + 15s};
}

std::optional<StampFault> FaultOf(const std::string& text, std::string_view ns = "ns",
                                  std::string_view pool = "pool", std::string_view hash = "hash",
                                  async::WallTime now = kNow) {
  const auto read = ReadStamp(text, "key", ns, pool, hash, now);
  return read ? std::nullopt : std::optional(read.error());
}

TEST(StampTest, IsReadAsItWasWritten) {
  const auto read =
      ReadStamp(WriteStamp(MakeStamp(), "key", "ns", "pool"), "key", "ns", "pool", "hash", kNow);
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, MakeStamp());
}

TEST(StampTest, HasTheMembersThatReadersOfFastSandboxKnow) {
  const Json json = Json::parse(WriteStamp(MakeStamp(), "key", "ns", "pool"));
  EXPECT_EQ(json["assignedPod"], "pool-agent-x");
  EXPECT_EQ(json["assignedNode"], "worker-1");
  EXPECT_EQ(json["allocatedAt"], "2026-01-02T03:04:05.000000000Z");
}

TEST(StampTest, IsOfOneNamespaceAndPool) {
  const std::string text = WriteStamp(MakeStamp(), "key", "ns", "pool");
  EXPECT_EQ(FaultOf(text), std::nullopt);
  EXPECT_EQ(FaultOf(text, "other"), StampFault::kForged);
  EXPECT_EQ(FaultOf(text, "ns", "other"), StampFault::kForged);
  EXPECT_EQ(FaultOf(text, "ns", "pool", "other"), StampFault::kOtherSpec);
  EXPECT_EQ(FaultOf(text, "ns", "pool", "hash", kNow + 15s), StampFault::kExpired);
}

TEST(StampTest, NoMemberCanBeChanged) {
  const Json json = Json::parse(WriteStamp(MakeStamp(), "key", "ns", "pool"));
  for (const char* member :
       {"assignedPod", "assignedNode", "allocationID", "assignedPodUID", "specHash", "signature"}) {
    Json changed = json;
    changed[member] = changed[member].as_string() + "0";
    EXPECT_EQ(FaultOf(changed.to_string()), StampFault::kForged) << member;
  }
  for (const char* member : {"allocatedAt", "expiresAt"}) {
    Json changed = json;
    changed[member] = "2027-01-02T03:04:05.000Z";
    EXPECT_EQ(FaultOf(changed.to_string()), StampFault::kForged) << member;
  }
}

TEST(StampTest, IsReadStrictly) {
  EXPECT_EQ(FaultOf(""), StampFault::kCorrupt);
  EXPECT_EQ(FaultOf("{"), StampFault::kCorrupt);
  EXPECT_EQ(FaultOf("[]"), StampFault::kCorrupt);
  EXPECT_EQ(
      FaultOf(R"({"assignedPod":"a","assignedNode":"b","allocatedAt":"2024-01-30T10:00:00Z"})"),
      StampFault::kCorrupt);
  Json json = Json::parse(WriteStamp(MakeStamp(), "key", "ns", "pool"));
  json["expiresAt"] = 5;
  EXPECT_EQ(FaultOf(json.to_string()), StampFault::kCorrupt);
  EXPECT_EQ(FaultOf(WriteStamp(MakeStamp(), "key", "ns", "pool") + std::string(kMaxStamp, ' ')),
            StampFault::kCorrupt);
}

TEST(StampTest, WithoutAKeyNothingIsBelieved) {
  const std::string text = WriteStamp(MakeStamp(), "", "ns", "pool");
  EXPECT_FALSE(ReadStamp(text, "", "ns", "pool", "hash", kNow));
}

}  // namespace
}  // namespace berth::sandbox
