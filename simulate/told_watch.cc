#include "simulate/told_watch.h"

#include <utility>

#include "log/format.h"
#include "simulate/objects.h"

namespace berth::simulate {

std::optional<std::string> ToldWatch::Saw(const Json& object, async::TimePoint now) {
  const Json& ready = ConditionOf(object, "Ready");
  const std::string told = Text(ready, "status") + " " + Text(ready, "reason");
  Count& count = counts_[UidOf(object)];
  const std::string before = std::exchange(count.told, told);
  if (now < since_ || before.empty() || before == told) return std::nullopt;
  if (++count.transitions <= kMostTransitions) return std::nullopt;
  return Format("{} changed its Ready condition {} times, at last from {} to {}", NameOf(object),
                count.transitions, before, told);
}

std::optional<std::string> ToldWatch::SawEvent(const kube::Request& request, async::TimePoint now) {
  if (request.method != kube::Method::kPost || now < since_) return std::nullopt;
  const auto event = Json::Parse(request.body);
  if (!event || !event->contains("regarding")) return std::nullopt;
  const Json& regarding = Part(*event, "regarding");
  Count& count = counts_[Text(regarding, "uid")];
  if (++count.events <= kMostEvents) return std::nullopt;
  return Format("{} has {} new events, at last {}", Text(regarding, "name"), count.events,
                Text(*event, "note"));
}

}  // namespace berth::simulate
