#pragma once

#include <string>

#include "handlers/apis/live_collection.h"

// The resource that tests of the aggregated API serve.
namespace berth::apis {

// Namespaced, deletable, with a selectable field and the columns of the captured stand-in server.
inline ResourceType GadgetType() {
  ResourceType type;
  type.plural = "gadgets";
  type.singular = "gadget";
  type.kind = "Gadget";
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
  draft.content["spec"] = Json(jsoncons::json_object_arg);
  draft.content["spec"]["size"] = size;
  draft.content["status"] = Json(jsoncons::json_object_arg);
  draft.content["status"]["phase"] = std::move(phase);
  return draft;
}

}  // namespace berth::apis
