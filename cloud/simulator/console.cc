#include "cloud/simulator/console.h"

#include <chrono>
#include <list>
#include <optional>
#include <utility>

namespace berth::cloud::simulator {
namespace {

std::optional<Fault> ReadFault(const Json& body, std::span<const FaultName> names) {
  Fault fault{.action = body.get_value_or<std::string>("action", ""),
              .count = body.get_value_or<std::uint64_t>("count", 1)};
  int kinds = 0;
  if (body.contains("code")) {
    fault.code = body["code"].as<std::string>();
    ++kinds;
  }
  if (body.contains("delay")) {
    fault.kind = Fault::Kind::kDelayed;
    fault.delay = std::chrono::duration_cast<async::Duration>(
        std::chrono::duration<double>(body["delay"].as<double>()));
    ++kinds;
  }
  for (const auto& [member, kind] : names) {
    const Json* value = body.find(member);
    if (!value || (!value->is_string() && !value->as<bool>())) continue;
    if (value->is_string()) fault.code = value->as<std::string>();
    fault.kind = kind;
    ++kinds;
  }
  if (fault.kind == Fault::Kind::kCarriedOut && fault.code.empty()) return std::nullopt;
  if (kinds != 1 || fault.action.empty() || fault.count == 0) return std::nullopt;
  return fault;
}

Json Show(const Fault& fault, std::span<const FaultName> names) {
  Json json;
  json["action"] = fault.action;
  json["count"] = fault.count;
  if (fault.kind == Fault::Kind::kRefused) json["code"] = fault.code;
  if (fault.kind == Fault::Kind::kDelayed) {
    json["delay"] = std::chrono::duration<double>(fault.delay).count();
  }
  for (const auto& [member, kind] : names) {
    if (kind == fault.kind) json[member] = fault.code.empty() ? Json(true) : Json(fault.code);
  }
  return json;
}

std::string Explain(std::span<const FaultName> names) {
  std::string text = "a fault has an action, a count above 0, and one of code, delay (seconds)";
  for (const auto& [member, kind] : names) text += std::string(", ") + member;
  return text;
}

}  // namespace

http::Response ConsoleFaults(Faults& faults, const http::Request& request,
                             std::span<const FaultName> names) {
  if (request.method == "PUT") {
    const Json body = Json::parse(request.body);
    if (!body.is_array()) return ConsoleError(400, "the body is not a list");
    std::list<Fault> wanted;
    for (const Json& item : body.array_range()) {
      auto fault = ReadFault(item, names);
      if (!fault) return ConsoleError(400, Explain(names));
      wanted.push_back(*std::move(fault));
    }
    faults.Set(std::move(wanted));
  }
  Json list = Json::Array();
  for (const Fault& fault : faults.all()) list.push_back(Show(fault, names));
  return ConsoleAnswer(200, list);
}

}  // namespace berth::cloud::simulator
