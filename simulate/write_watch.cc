#include "simulate/write_watch.h"

#include "json/json.h"
#include "log/format.h"

namespace berth::simulate {
namespace {

// The path of the object that a request is about; events count by the object that they tell of.
std::string ObjectOf(const kube::Request& request) {
  std::string path = request.path.substr(0, request.path.find('?'));
  if (request.method != kube::Method::kPost) return path;
  const auto body = Json::Parse(request.body);
  if (!body) return path;
  const Json& metadata = (*body)["metadata"];
  if (const Json* regarding = body->find("regarding"))
    return path + "/of/" + regarding->get_value_or<std::string>("name", "");
  return path + "/" + metadata.get_value_or<std::string>("name", "");
}

}  // namespace

std::optional<std::string> WriteWatch::Saw(const std::string& writer, const kube::Request& request,
                                           Effect effect, async::TimePoint now) {
  if (request.method == kube::Method::kGet) return std::nullopt;
  const std::string object = ObjectOf(request);
  const auto minute = std::chrono::floor<std::chrono::minutes>(now.time_since_epoch()).count();
  Count& count = counts_[writer + " " + object];
  if (count.minute != minute) count = {.minute = minute};
  if (++count.writes > kMostWrites)
    return Format("{} wrote {} {} times in a minute", writer, object, count.writes);
  if (effect != Effect::kNothing || !object.ends_with("/status")) return std::nullopt;
  if (++count.idle > kMostIdleStatusWrites)
    return Format("{} wrote {} {} times in a minute without a change", writer, object, count.idle);
  return std::nullopt;
}

}  // namespace berth::simulate
