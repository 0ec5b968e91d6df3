#include "systems/manifest.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "async/test_executor.h"
#include "http/file.h"
#include "kube/yaml.h"
#include "reconcile/crds.h"
#include "reconcile/eni/objects.h"
#include "systems/registration.h"
#include "systems/systems.h"

namespace berth::systems {
namespace {

using testing::Contains;

class ManifestTest : public testing::Test {
 protected:
  async::TestExecutor executor_;
  const Systems systems_ = MakeSystems(executor_, {});
};

TEST_F(ManifestTest, TheChartHasTheManifestOfEverySystem) {
  const std::filesystem::path folder = BERTH_SOURCE_DIR "/charts/berth/files/systems";
  for (const auto& system : systems_) {
    const auto file = folder / (std::string(system->name()) + ".yaml");
    EXPECT_EQ(ReadFile(file).value_or("nothing"), ManifestOf(*system))
        << "run: berth manifest --into charts/berth/files/systems";
  }
  const std::filesystem::directory_iterator files(folder);
  EXPECT_EQ(std::ranges::distance(files), systems_.size()) << "a file of a system that is gone";
}

TEST_F(ManifestTest, EveryWebhookIsOfAKindOfItsSystem) {
  for (const auto& system : systems_) {
    const Json manifest = kube::YamlToJson(ManifestOf(*system)).value();
    std::size_t listed = 0;
    for (const Json& kind : manifest["kinds"].array_range())
      listed += (kind.find("mutate") ? 1 : 0) + (kind.find("validate") ? 1 : 0);
    EXPECT_EQ(Registration(*system).webhooks.Rules().size(), listed) << system->name();
  }
}

TEST_F(ManifestTest, EveryDefinitionIsOfAKindThatASystemUsesInAServedVersion) {
  std::set<std::string> used;
  for (const auto& system : systems_) {
    for (const auto& [resource, rights, only] : system->kinds())
      used.insert(std::string(resource.plural) + "." + std::string(resource.group) + "/" +
                  std::string(resource.version));
  }
  for (const std::string_view yaml : CustomResourceDefinitions()) {
    const Json crd = kube::YamlToJson(yaml).value();
    const Json& version = crd["spec"]["versions"][0];
    EXPECT_TRUE(version["served"].as<bool>());
    EXPECT_THAT(used,
                Contains(crd["metadata"]["name"].as_string() + "/" + version["name"].as_string()));
  }
}

// A system of two kinds with the same plural: Terway's nodes, which have a webhook, and those of
// Kubernetes.
class TwoKindsOfNodes : public System {
 public:
  std::string_view name() const override { return "nodes"; }
  std::vector<Kind> kinds() const override { return {{eni::kNodes}, {eni::kCoreNodes}}; }
  void Register(admission::Webhooks& webhooks, apis::ApiServer&) override {
    webhooks.On(admission::Phase::kValidate, eni::kNodes, {admission::Operation::kCreate},
                [](const admission::Request&, async::Executor&, auto reply) {
                  reply(admission::Response::Allow());
                });
  }
  void Start(const Host&) override {}
  std::vector<const runtime::Controller*> controllers() const override { return {}; }
  void Stop() override {}
};

TEST(Manifest, TellsKindsOfOnePluralApartByTheirGroup) {
  TwoKindsOfNodes system;
  const Json manifest = kube::YamlToJson(ManifestOf(system)).value();
  const Json& own = manifest["kinds"][0];
  const Json& core = manifest["kinds"][1];
  EXPECT_EQ(own["group"], "network.alibabacloud.com");
  EXPECT_TRUE(own["crd"].as<bool>());
  EXPECT_TRUE(own.contains("validate"));
  EXPECT_EQ(core["group"], "");
  EXPECT_FALSE(core["crd"].as<bool>()) << "the chart would install a definition of it";
  EXPECT_EQ(core["scope"], "Cluster");
  EXPECT_FALSE(core.contains("validate"));
}

}  // namespace
}  // namespace berth::systems
