#pragma once

#include <atomic>
#include <string>

#include "handlers/apis/live_collection.h"

// The resource that tests of the aggregated API serve.
namespace berth::apis {

// Namespaced, deletable, with a selectable field and the columns of the captured stand-in server.
inline ResourceType GadgetType() {
  ResourceType type("Gadget");
  type.short_names = {"gd"};
  type.categories = {"all"};
  type.namespaced = true;
  type.deletable = true;
  type.description = "A gadget.";
  type.columns = {{"Size", "integer", "spec.size", 0},
                  {"Phase", "string", "status.phase", 0},
                  {"Age", "date", "age", 0},
                  {"Owner", "string", "wide column", 1}};
  type.selectable_fields = {"status.phase"};
  type.properties = Json::parse(R"({"spec":{"type":"object","description":"What is wanted.",
      "properties":{"size":{"type":"integer","description":"How large."}}}})");
  return type;
}

inline LiveCollection::Draft Gadget(std::string ns, std::string name, int size, Labels labels = {},
                                    std::string phase = "Ready") {
  LiveCollection::Draft draft{
      .ns = std::move(ns), .name = std::move(name), .labels = std::move(labels)};
  draft.fields["status.phase"] = phase;
  draft.cells = {Cell::Number(static_cast<std::uint64_t>(size)), Cell::Text(phase),
                 Cell::Age(std::nullopt), Cell::Text("me")};
  draft.content["spec"] = Json::Object();
  draft.content["spec"]["size"] = size;
  draft.content["status"] = Json::Object();
  draft.content["status"]["phase"] = phase;
  return draft;
}

inline ResourceType PingType() {
  ResourceType type("Ping");
  type.namespaced = true;
  type.action = true;
  type.description = "A ping.";
  type.columns = {{"Times", "integer", "spec.times", 0}};
  type.properties = Json::parse(R"({"spec":{"type":"object","description":"What is wanted.",
      "properties":{"times":{"type":"integer","description":"How often."}}}})");
  return type;
}

// An action that counts what was asked of it, and refuses none.
class Ping : public Action {
 public:
  const ResourceType& type() const override { return type_; }
  void Create(const Call& call, async::Executor& home, Answer answer) override {
    const auto times = call.object["spec"]["times"].Int().value_or(0);
    if (times == 0)
      return answer(std::unexpected(kube::Invalid(
          "Ping", kGroup, "", {{"FieldValueRequired", "Required value", "spec.times"}})));
    if (!call.dry_run) sum += times;
    Outcome outcome;
    outcome.content["spec"] = Json::Object();
    outcome.content["spec"]["times"] = times;
    outcome.cells = {Cell::Number(static_cast<std::uint64_t>(times))};
    home.Post([answer = std::move(answer), outcome = std::move(outcome)]() mutable {
      answer(std::move(outcome));
    });
  }

  std::atomic<std::int64_t> sum = 0;

 private:
  const ResourceType type_ = PingType();
};

}  // namespace berth::apis
