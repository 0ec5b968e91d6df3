#include "http/waiting_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <list>

namespace berth::http {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

class WaitingLineTest : public testing::Test {
 protected:
  Call& Add(bool ahead, std::chrono::milliseconds timeout) {
    Call& call = calls_.emplace_back(PeerPtr(), Request{.timeout = timeout}, nullptr,
                                     CallOptions{.ahead = ahead});
    call.id = CallId{calls_.size()};
    line_.Add(call);
    return call;
  }

  std::vector<int> Order() {
    std::vector<int> ids;
    for (; !line_.empty(); line_.Remove(line_.first())) {
      ids.push_back(static_cast<int>(line_.first().id));
    }
    return ids;
  }

  std::list<Call> calls_;
  WaitingLine line_;
};

TEST_F(WaitingLineTest, ThoseAheadGoFirstTheOthersAsTheyCame) {
  for (const bool ahead : {false, false, true, false, true}) Add(ahead, 1s);
  EXPECT_THAT(Order(), ElementsAre(3, 5, 1, 2, 4));
}

TEST_F(WaitingLineTest, TheMostUrgentIsKnown) {
  Add(false, 3s);
  Call& urgent = Add(false, 1s);
  Add(true, 2s);
  EXPECT_EQ(&line_.most_urgent(), &urgent);
  line_.Remove(urgent);
  line_.Remove(urgent);
  EXPECT_EQ(line_.most_urgent().id, CallId{3});
  EXPECT_THAT(Order(), ElementsAre(3, 1));
}

}  // namespace
}  // namespace berth::http
