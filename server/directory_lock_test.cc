#include "server/directory_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/support_test.h"

namespace berth::server::test {
namespace {

TEST(DirectoryLock, IsOneProcessAtATime) {
  const TempDir dir;
  {
    const auto first = DirectoryLock::Take(dir.path());
    ASSERT_TRUE(first);
    const auto second = DirectoryLock::Take(dir.path());
    ASSERT_FALSE(second);
    EXPECT_THAT(second.error().message, testing::AllOf(testing::HasSubstr(dir.path().string()),
                                                       testing::HasSubstr("--state-dir")));
  }
  EXPECT_TRUE(DirectoryLock::Take(dir.path()));
}

TEST(DirectoryLock, ADirectoryThatIsNotThereIsNamed) {
  const auto lock = DirectoryLock::Take("/nonexistent/berth");
  ASSERT_FALSE(lock);
  EXPECT_THAT(lock.error().message, testing::HasSubstr("/nonexistent/berth/lock"));
}

}  // namespace
}  // namespace berth::server::test
