#include "reconcile/runtime/identity.h"

#include <gtest/gtest.h>

#include <string>

namespace berth::runtime {
namespace {

Identity Read(const std::string& metadata) {
  kube::JsonDocument document;
  return Identity::From(*document.Parse(R"({"metadata":{)" + metadata + "}}"), "ours");
}

TEST(Identity, TimesAreReadAsSeconds) {
  const Identity id = Read(
      R"("creationTimestamp":"2026-01-02T03:04:05Z","deletionTimestamp":"1970-01-01T00:01:00Z")");
  EXPECT_EQ(id.created, 1'767'323'045);
  EXPECT_EQ(id.deleting, 60);
}

TEST(Identity, ATimeThatIsNoneCountsAsZero) {
  for (const char* time : {"", "2026-01-02", "2026-01-02 03:04:05Z", "2026-0x-02T03:04:05Z"}) {
    const Identity id = Read(R"("creationTimestamp":")" + std::string(time) + '"');
    EXPECT_EQ(id.created, 0) << time;
  }
  EXPECT_EQ(Read(R"("deletionTimestamp":"soon")").deleting, 1)
      << "it is being deleted all the same";
}

}  // namespace
}  // namespace berth::runtime
