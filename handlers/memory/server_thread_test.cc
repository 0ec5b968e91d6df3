#include "handlers/memory/server_thread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "json/json.h"

namespace berth::memory {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kMaps = "/api/v1/namespaces/default/configmaps";

// Everything a watch is told, in its order.
struct Seen {
  std::vector<std::string> told;

  ServerThread::Watcher Watcher() {
    return {.on_start =
                [this](std::expected<std::vector<ServerThread::Line>, kube::Response> begun) {
                  if (!begun)
                    return told.push_back("refused " + std::to_string(begun.error().code));
                  told.push_back("start");
                  for (const auto& line : *begun) told.push_back(*line);
                },
            .on_line = [this](const ServerThread::Line& line) { told.push_back(*line); },
            .on_end = [this] { told.emplace_back("end"); }};
  }
};

class ServerThreadTest : public testing::Test {
 protected:
  int Create(const std::string& name) {
    return thread_
        .Ask({.method = kube::Method::kPost,
              .path = kMaps,
              .body = R"({"metadata":{"name":")" + name + R"("}})"})
        .code;
  }
  // Waits for all work that was posted before.
  void Settle() {
    thread_.Run([](auto&) {});
  }

  ServerThread thread_;
};

TEST_F(ServerThreadTest, AWatchBeginsWithWhatIsThere) {
  Seen seen;
  ASSERT_EQ(Create("first"), 201);
  thread_.Watch({.path = kMaps + "?watch=true"}, seen.Watcher());
  ASSERT_EQ(Create("second"), 201);
  EXPECT_THAT(seen.told, ElementsAre("start", HasSubstr(R"("first")"), HasSubstr(R"("second")")));
}

TEST_F(ServerThreadTest, AWatchThatIsEndedIsToldNothingMore) {
  Seen seen;
  const auto watch = thread_.Watch({.path = kMaps + "?watch=true"}, seen.Watcher());
  thread_.End(watch);
  ASSERT_EQ(Create("late"), 201);
  EXPECT_THAT(seen.told, ElementsAre("start"));
}

TEST_F(ServerThreadTest, AWatchThatEndsAsItBeginsStartsFirst) {
  Seen seen;
  ASSERT_EQ(Create("old"), 201);
  ASSERT_EQ(Create("new"), 201);
  thread_.Run([](auto& server) { server.Compact(); });
  thread_.Watch({.path = kMaps + "?watch=true&resourceVersion=1"}, seen.Watcher());
  Settle();
  EXPECT_THAT(seen.told, ElementsAre("start", HasSubstr("ERROR"), "end"));
}

TEST_F(ServerThreadTest, AWatchOfNothingIsRefused) {
  Seen seen;
  thread_.Watch({.path = "/api/v1/nothings?watch=true"}, seen.Watcher());
  Settle();
  EXPECT_THAT(seen.told, ElementsAre("refused 404"));
}

TEST_F(ServerThreadTest, AfterItsEndNothingIsAnswered) {
  Seen seen;
  thread_.Watch({.path = kMaps + "?watch=true"}, seen.Watcher());
  thread_.Stop();
  bool answered = false;
  thread_.Send({.path = kMaps}, [&](kube::Response) { answered = true; });
  thread_.Watch({.path = kMaps + "?watch=true"}, seen.Watcher());
  thread_.Stop();
  EXPECT_FALSE(answered);
  EXPECT_THAT(seen.told, ElementsAre("start"));
}

// Sends the request and waits until a watch is told of what follows from it.
void AwaitLine(ServerThread& thread, const std::string& path, const std::string& text,
               kube::Request request) {
  std::promise<void> found;
  bool told = false;
  const auto look = [&](const ServerThread::Line& line) {
    if (line->contains(text) && !std::exchange(told, true)) found.set_value();
  };
  const auto watch =
      thread.Watch({.path = path + "?watch=true"},
                   {.on_start = [](const auto&) {}, .on_line = look, .on_end = [] {}});
  EXPECT_LT(thread.Ask(std::move(request)).code, 300);
  EXPECT_EQ(found.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
  thread.End(watch);
  thread.Run([](auto&) {});
}

TEST(ServerThread, RunsPodsWhereItIsGivenMachinery) {
  ServerThread thread(ServerThread::Server::MachineryOptions{});
  const std::string pods = "/api/v1/namespaces/default/pods";
  thread.Ask({.method = kube::Method::kPost,
              .path = "/api/v1/nodes",
              .body = R"({"metadata":{"name":"worker"}})"});
  AwaitLine(
      thread, pods, R"("phase":"Running")",
      {.method = kube::Method::kPost,
       .path = pods,
       .body = R"({"metadata":{"name":"web"},"spec":{"containers":[{"name":"c","image":"i"}]}})"});
  AwaitLine(thread, pods, R"("type":"DELETED")",
            {.method = kube::Method::kDelete, .path = pods + "/web?gracePeriodSeconds=1"});
}

TEST_F(ServerThreadTest, GarbageThatWasRefusedIsCollectedWithoutAnotherWrite) {
  bool refused = false;
  thread_.Run([&](auto& server) {
    server.AddWebhook({.name = "once",
                       .group = "",
                       .resources = {"configmaps"},
                       .operations = {"DELETE"},
                       .call = [&](const std::string& review, const auto& answer) {
                         const auto uid = Json::parse(review)["request"]["uid"].as_string();
                         const bool allowed = std::exchange(refused, true);
                         answer(R"({"response":{"uid":")" + uid + R"(","allowed":)" +
                                (allowed ? "true}}" : "false}}"));
                       }});
  });
  AwaitLine(thread_, kMaps, R"("type":"DELETED")",
            {.method = kube::Method::kPost, .path = kMaps, .body = R"({"metadata":{"name":"owned",
    "ownerReferences":[{"apiVersion":"v1","kind":"Secret","name":"gone","uid":"1"}]}})"});
  EXPECT_TRUE(refused);
}

}  // namespace
}  // namespace berth::memory
