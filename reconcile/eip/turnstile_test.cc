#include "reconcile/eip/turnstile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace berth::eip {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class TurnstileTest : public testing::Test {
 protected:
  std::vector<std::string> called_;
  Turnstile turnstile_{2, [this](const std::string& key) { called_.push_back(key); }};
};

TEST_F(TurnstileTest, WhoFindsItFullIsCalledInTurn) {
  EXPECT_TRUE(turnstile_.Enter("a"));
  EXPECT_TRUE(turnstile_.Enter("b"));
  for (const char* key : {"c", "d", "e"}) EXPECT_FALSE(turnstile_.Enter(key));
  EXPECT_FALSE(turnstile_.Enter("c")) << "and does not wait twice";
  EXPECT_EQ(turnstile_.waiting(), 3u);
  turnstile_.Leave("c");  // as every turn ends
  EXPECT_THAT(called_, IsEmpty());
  turnstile_.Leave("b");
  EXPECT_THAT(called_, ElementsAre("c"));
  turnstile_.Leave("a");
  EXPECT_THAT(called_, ElementsAre("c", "d"));
}

TEST_F(TurnstileTest, WhoWasCalledHasItsPlace) {
  turnstile_.Enter("a");
  turnstile_.Enter("b");
  turnstile_.Enter("c");
  turnstile_.Leave("a");
  EXPECT_FALSE(turnstile_.Enter("d")) << "c is on its way";
  EXPECT_TRUE(turnstile_.Enter("c"));
  EXPECT_TRUE(turnstile_.Enter("c")) << "and stays in";
}

TEST_F(TurnstileTest, WhoWasCalledAndWantsItNoLongerMakesPlace) {
  turnstile_.Enter("a");
  turnstile_.Enter("b");
  turnstile_.Enter("c");
  turnstile_.Enter("d");
  turnstile_.Leave("a");
  turnstile_.Leave("c");
  EXPECT_THAT(called_, ElementsAre("c", "d"));
}

}  // namespace
}  // namespace berth::eip
