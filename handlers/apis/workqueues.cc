#include "handlers/apis/workqueues.h"

#include <chrono>

#include "kube/age.h"

namespace berth::apis {
ResourceType WorkQueueType() {
  ResourceType type("WorkQueue");
  type.short_names = {"wq"};
  type.categories = {"berth"};
  type.description = "A work queue of the server: the keys its controllers have yet to reconcile.";
  type.columns = {{"Depth", "integer", "Keys ready to be taken.", 0},
                  {"Adds", "integer", "Keys added since the start.", 0},
                  {"Retries", "integer", "Keys added again after a failure.", 0},
                  {"Oldest", "date", "How long the first key has waited.", 0},
                  {"Processing", "integer", "Keys being worked on.", 1},
                  {"Delayed", "integer", "Keys waiting for their time.", 1}};
  type.properties["status"] = ObjectSchema(
      "The queue's present figures.",
      {{"depth", "integer", "Keys that are ready and wait to be taken.", "int64"},
       {"processing", "integer", "Keys being worked on now.", "int64"},
       {"delayed", "integer",
        "Keys that wait for their time: after a failure, or for the next period.", "int64"},
       {"adds", "integer",
        "Keys added since the server started; a key that waits already is not counted again.",
        "int64"},
       {"retries", "integer", "Keys added again after a failure, since the server started.",
        "int64"},
       {"oldest", "string",
        "When the key that has waited longest became ready; absent when none waits.",
        "date-time"}});
  return type;
}

void PublishWorkQueue(LiveCollection& collection, const std::string& name,
                      const runtime::WorkQueueStats& stats,
                      std::chrono::system_clock::time_point origin) {
  std::optional<std::int64_t> oldest;
  if (stats.oldest) {
    const auto since = origin.time_since_epoch() + stats.oldest->time_since_epoch();
    oldest = std::chrono::duration_cast<std::chrono::seconds>(since).count();
  }
  Json status;
  status["depth"] = stats.depth;
  status["processing"] = stats.processing;
  status["delayed"] = stats.delayed;
  status["adds"] = stats.adds;
  status["retries"] = stats.retries;
  if (oldest) status["oldest"] = kube::Timestamp(*oldest);
  LiveCollection::Draft draft{.ns = {}, .name = name, .labels = {}, .fields = {}, .cells = {}};
  draft.content["status"] = std::move(status);
  draft.cells = {Cell::Number(stats.depth),      Cell::Number(stats.adds),
                 Cell::Number(stats.retries),    Cell::Age(oldest),
                 Cell::Number(stats.processing), Cell::Number(stats.delayed)};
  collection.Put(std::move(draft));
}

}  // namespace berth::apis
