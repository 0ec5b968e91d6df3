#include "systems/manifest.h"

#include <fstream>
#include <iostream>
#include <vector>

#include "async/event_loop.h"
#include "handlers/apis/discovery.h"
#include "json/json.h"
#include "kube/yaml.h"
#include "log/format.h"
#include "reconcile/crds.h"
#include "systems/registration.h"
#include "systems/systems.h"

namespace berth::systems {
namespace {

// The scope that the kind's CustomResourceDefinition gives it, or "" if the chart has none.
std::string DefinedScope(const kube::Resource& resource) {
  for (const std::string_view yaml : CustomResourceDefinitions()) {
    const Json spec = kube::YamlToJson(yaml).value()["spec"];
    if (spec["group"] == resource.group && spec["names"]["plural"] == resource.plural)
      return spec["scope"].as_string();
  }
  return "";
}

std::string LineOf(const Json& entry) { return Format("  - {}\n", entry.to_string()); }

std::string LineOf(const Kind& kind, const std::vector<admission::Webhooks::Rule>& rules) {
  const kube::Resource& resource = kind.resource;
  const std::string scope = DefinedScope(resource);
  Json entry;
  entry["group"] = resource.group;
  entry["version"] = resource.version;
  entry["resource"] = resource.plural;
  entry["crd"] = !scope.empty();
  entry["scope"] = !scope.empty() ? scope : resource.namespaced ? "Namespaced" : "Cluster";
  if (!kind.only.empty()) entry["only"] = kind.only;
  std::vector<std::string> verbs = {"get"};
  if (kind.only.empty()) verbs.insert(verbs.end(), {"list", "watch"});
  if (kind.rights == Rights::kPatch || kind.rights == Rights::kPatchStatus)
    verbs.emplace_back("patch");
  if (kind.rights >= Rights::kUpdate) verbs.insert(verbs.end(), {"update", "patch"});
  if (kind.rights == Rights::kCreate || kind.rights == Rights::kReplace)
    verbs.insert(verbs.end(), {"create", "delete"});
  entry["verbs"] = verbs;
  if (kind.rights == Rights::kReadStatus || kind.rights == Rights::kPatchStatus)
    entry["statusVerbs"] = std::vector<std::string>{"patch"};
  if (kind.rights >= Rights::kUpdate)
    entry["statusVerbs"] = std::vector<std::string>{"get", "update", "patch"};
  for (const auto& rule : rules) {
    if (rule.group != resource.group || rule.resource != resource.plural) continue;
    std::vector<std::string> operations;
    operations.reserve(rule.operations.size());
    for (const auto operation : rule.operations) operations.emplace_back(Name(operation));
    Json& webhook = entry[Name(rule.phase)];
    webhook["operations"] = operations;
    const bool none = rule.side_effects == admission::SideEffects::kNone;
    webhook["sideEffects"] = none ? "None" : "NoneOnDryRun";
  }
  return LineOf(entry);
}

std::string LineOf(const apis::ResourceType& type) {
  Json entry;
  entry["resource"] = type.plural;
  entry["verbs"] = apis::Verbs(type);
  return LineOf(entry);
}

}  // namespace

std::string ManifestOf(System& system) {
  const Registration registered(system);
  std::string yaml = Format("# Written by `berth manifest`.\nname: {}\n", system.name());
  if (!system.cloud().empty()) yaml += Format("cloud: {}\n", system.cloud());
  yaml += "kinds:\n";
  for (const Kind& kind : system.kinds()) yaml += LineOf(kind, registered.webhooks.Rules());
  const auto live = registered.api.types();
  yaml += live.empty() ? "live: []\n" : "live:\n";
  for (const apis::ResourceType* type : live) yaml += LineOf(*type);
  return yaml;
}

int PrintManifests(const std::filesystem::path& into) {
  async::EventLoop control("control");
  for (const auto& system : MakeSystems(control, {})) {
    const std::string manifest = ManifestOf(*system);
    if (into.empty()) {
      std::cout << "---\n" << manifest;
      continue;
    }
    const auto file = into / Format("{}.yaml", system->name());
    if (std::ofstream out(file); !(out << manifest << std::flush)) {
      std::cerr << "cannot write " << file << "; give --into an existing directory\n";
      return 1;
    }
  }
  return 0;
}

}  // namespace berth::systems
