#include "reconcile/eni/metrics.h"

#include <gmock/gmock.h>
#include <prometheus/text_serializer.h>

namespace berth::eni {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class EniMetrics : public testing::Test {
 protected:
  std::string Text() { return prometheus::TextSerializer().Serialize(registry_.Collect()); }
  TaskId Submit(const std::string& eni) {
    return {eni, queue_.Submit({.eni = eni, .node = "n1", .instance = "i-1"}, now_)};
  }
  void Complete(const TaskId& id) {
    const cloud::Eni eni{.id = id.eni, .status = "InUse", .instance_id = "i-1"};
    queue_.TakeLooks(now_, 10);
    queue_.Seen(id, &eni, now_);
  }

  prometheus::Registry registry_;
  Metrics metrics_{registry_};
  async::TimePoint now_{1000s};
  TaskQueue queue_{{.random = [] { return 0.0; },
                    .on_ended = [this](const Task& task) { metrics_.Ended(task); }}};
};

TEST_F(EniMetrics, FlawTheGaugesReturnToZero) {
  const TaskId id = Submit("eni-1");
  Submit("eni-2");
  metrics_.Show(&queue_, now_ + 7s);
  EXPECT_THAT(Text(), HasSubstr("terway_eni_task_queue_size{status=\"Pending\"} 2\n"));
  EXPECT_THAT(Text(), HasSubstr("berth_eni_oldest_task_seconds 7\n"));
  Complete(id);
  metrics_.Show(&queue_, now_);
  EXPECT_THAT(Text(), HasSubstr("terway_eni_task_queue_size{status=\"Pending\"} 1\n"));
  EXPECT_THAT(Text(), HasSubstr("terway_eni_task_queue_size{status=\"Completed\"} 1\n"));
  queue_.Noted(id, now_);
  queue_.Cancel("eni-2", now_);
  metrics_.Show(&queue_, now_ + 9s);
  for (const char* status : {"Pending", "Running", "Completed", "Failed", "Timeout"})
    EXPECT_THAT(Text(), HasSubstr(std::string("{status=\"") + status + "\"} 0\n"));
  EXPECT_THAT(Text(), HasSubstr("berth_eni_oldest_task_seconds 0\n"));
}

TEST_F(EniMetrics, AReplicaThatDoesNotLeadHasNoTasks) {
  Submit("eni-1");
  metrics_.Show(&queue_, now_);
  metrics_.Show(nullptr, now_);
  EXPECT_THAT(Text(), HasSubstr("terway_eni_task_queue_size{status=\"Pending\"} 0\n"));
}

TEST_F(EniMetrics, AttachesAreTimedByResultAndType) {
  const TaskId id = Submit("eni-1");
  now_ += 4s;
  Complete(id);
  Task task{{.eni = "leni-1"}};
  task.state = State::kTimeout;
  task.completed_at = task.created_at + 5min;
  metrics_.Ended(task);
  task.eni = "hdeni-1";
  task.state = State::kFailed;
  metrics_.Ended(task);
  task.operation = Operation::kDetach;
  metrics_.Ended(task);
  const std::string text = Text();
  const std::string count = "terway_eni_attach_duration_seconds_count";
  EXPECT_THAT(text, HasSubstr("_seconds_sum{eni_type=\"ecs\",result=\"success\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("_seconds_sum{eni_type=\"eflo\",result=\"timeout\"} 300\n"));
  EXPECT_THAT(text, HasSubstr(count + "{eni_type=\"hdeni\",result=\"failed\"} 1\n"));
}

TEST_F(EniMetrics, NodesThatAreNotReadyAreCounted) {
  metrics_.PutNode("a", false);
  metrics_.PutNode("a", false);
  metrics_.PutNode("b", true);
  metrics_.PutNode("c", false);
  EXPECT_THAT(Text(), HasSubstr("berth_eni_nodes_not_ready 2\n"));
  metrics_.PutNode("a", true);
  metrics_.RemoveNode("b");
  metrics_.RemoveNode("c");
  metrics_.RemoveNode("c");
  EXPECT_THAT(Text(), HasSubstr("berth_eni_nodes_not_ready 0\n"));
}

TEST_F(EniMetrics, LeaksAreCounted) {
  EXPECT_THAT(Text(), HasSubstr("berth_eni_leaked_total 0\n"));
  metrics_.Leaked(3);
  EXPECT_THAT(Text(), HasSubstr("berth_eni_leaked_total 3\n"));
}

}  // namespace
}  // namespace berth::eni
