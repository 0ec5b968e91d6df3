#include "handlers/apis/watch.h"

#include <gtest/gtest.h>
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <trantor/net/EventLoopThread.h>

#include <functional>
#include <future>
#include <memory>
#include <vector>

#include "handlers/apis/live_collection.h"
#include "handlers/apis/test_gadgets.h"
#include "handlers/test_connection.h"

namespace berth::apis {
namespace {

constexpr std::size_t kEvent = 10 * 1024;  // about the size of an event's line

// Watchers whose connections are not real, on an event loop of their own.
class WatchHubTest : public testing::Test {
 protected:
  void SetUp() override { thread_.run(); }

  std::shared_ptr<http::TestConnection> Watch(bool reads = true) {
    auto connection = std::make_shared<http::TestConnection>(*thread_.getLoop());
    if (!reads) connection->StopReading();
    Do([&] { hub_->Start(connection, {.selection = {}, .timeout = std::chrono::hours(1)}); });
    return connection;
  }
  void Publish() {
    LiveCollection::Draft draft = Gadget("default", "gadget", ++published_);
    draft.content["padding"] = std::string(kEvent, 'p');
    gadgets_.Put(std::move(draft));
    // The events are sent, and connections closed, before what is queued after them.
    for (int i = 0; i < 2; ++i) Do([] {});
  }
  void Forget(const std::shared_ptr<http::TestConnection>& connection) {
    Do([&] { hub_->Forget(connection.get()); });
  }
  void Allow(std::size_t bytes) {
    budget_ = std::make_unique<http::UnsentBudget>(bytes);
    hub_ = std::make_unique<WatchHub>(gadgets_, WatchMetrics{watchers_, cut_off_, unsent_bytes_},
                                      *budget_);
  }
  std::size_t unsent() const { return budget_->bytes(); }
  double cut_off() const { return cut_off_.Value(); }

  void Do(const std::function<void()>& work) {
    std::promise<void> done;
    thread_.getLoop()->queueInLoop([&] {
      work();
      done.set_value();
    });
    done.get_future().get();
  }

 private:
  prometheus::Gauge watchers_, unsent_bytes_;
  prometheus::Counter cut_off_;
  LiveCollection gadgets_{GadgetType(), 1'000'000, {.events = 1000, .bytes = 16 << 20}};
  std::unique_ptr<http::UnsentBudget> budget_;
  std::unique_ptr<WatchHub> hub_;
  trantor::EventLoopThread thread_;  // ends before what it works on
  int published_ = 0;
};

TEST_F(WatchHubTest, TheSlowestReaderIsCutOffWhenAllHaveTooMuchUnsent) {
  Allow(8 * kEvent);
  const auto reader = Watch(), slow = Watch(), slowest = Watch(false);
  for (int i = 0; i < 3; ++i) Publish();
  Do([&] { slow->StopReading(); });
  for (int i = 0; i < 2; ++i) Publish();
  EXPECT_EQ(cut_off(), 0);
  EXPECT_GT(unsent(), 7 * kEvent);
  Publish();
  EXPECT_EQ(cut_off(), 1);
  EXPECT_TRUE(slowest->closed());
  EXPECT_FALSE(slow->closed());
  EXPECT_FALSE(reader->closed());
  Forget(slowest);
  EXPECT_LT(unsent(), 4 * kEvent);
}

TEST_F(WatchHubTest, ManyReadersThatStopHaveNoMoreThanTheBudgetUnsent) {
  constexpr std::size_t kBudget = 100 * kEvent;
  Allow(kBudget);
  std::vector<std::shared_ptr<http::TestConnection>> stopped;
  for (int i = 0; i < 50; ++i) stopped.push_back(Watch(false));
  for (int i = 0; i < 20; ++i) {
    Publish();
    std::erase_if(stopped, [&](const auto& connection) {
      if (connection->closed()) Forget(connection);
      return connection->closed();
    });
    EXPECT_LE(unsent(), kBudget);
  }
}

TEST_F(WatchHubTest, ReadersThatKeepUpAreNotCutOffHoweverMuchTheyRead) {
  Allow(2 * kEvent);
  const auto reader = Watch(), other = Watch();
  for (int i = 0; i < 100; ++i) Publish();
  EXPECT_EQ(cut_off(), 0);
  EXPECT_EQ(unsent(), 0);
}

}  // namespace
}  // namespace berth::apis
