// The informer: a line of a watch is parsed, projected, put into the cache and its index, and told
// to a handler.
#include "kube/informer.h"

#include <string>
#include <vector>

#include "async/test_executor.h"
#include "bench/hot/count.h"
#include "kube/scripted_transport.h"

namespace {

using namespace berth;

constexpr int kSubnets = 1'000;

// The parts of a Subnet that a controller keeps.
struct Subnet {
  std::string pool;
  std::string cidr;
  std::string claim;

  static kube::Result<Subnet> From(kube::JsonView object) {
    const kube::JsonView spec = object["spec"];
    return Subnet{std::string(spec["poolRef"].StringOr("")), std::string(spec["cidr"].StringOr("")),
                  std::string(spec["claimRef"]["uid"].StringOr(""))};
  }
};

// A Subnet as the API server sends it.
std::string Line(const char* type, int number, int version) {
  const std::string n = std::to_string(number);
  const std::string address =
      "10.0." + std::to_string(number / 256) + "." + std::to_string(number % 256);
  return R"({"type":")" + std::string(type) +
         R"(","object":{"apiVersion":"plexaubnet.io/v1alpha1","kind":"Subnet","metadata":{"name":"site-)" +
         n + R"(","namespace":"network","uid":"6f1f9a3e-52a4-4c51-9a0e-)" + n +
         R"(","resourceVersion":")" + std::to_string(version) +
         R"(","generation":1,"creationTimestamp":"2026-01-01T00:00:00Z","labels":{"example.com/managed":"true"},)"
         R"("ownerReferences":[{"apiVersion":"plexaubnet.io/v1alpha1","kind":"SubnetClaim","name":"claim-)" +
         n + R"(","uid":"0b5c1a2d-1111-4222-8333-)" + n +
         R"(","controller":true}],"managedFields":[{"manager":"berth","operation":"Update",)"
         R"("apiVersion":"plexaubnet.io/v1alpha1","time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1",)"
         R"("fieldsV1":{"f:metadata":{"f:labels":{".":{},"f:example.com/managed":{}},"f:ownerReferences":{".":{}}},)"
         R"("f:spec":{".":{},"f:cidr":{},"f:claimRef":{".":{},"f:name":{},"f:uid":{}},"f:clusterID":{},"f:poolRef":{}}}}]},)"
         R"("spec":{"poolRef":"site-)" +
         std::to_string(number % 10) + R"(","cidr":")" + address + R"(/32","clusterID":"cluster-)" +
         n + R"(","claimRef":{"name":"claim-)" + n + R"(","uid":"0b5c1a2d-1111-4222-8333-)" + n +
         R"("}},"status":{"phase":"Allocated","allocatedAt":"2026-01-01T00:00:00Z"}}})"
         "\n";
}

std::string Bookmark(int version) {
  return R"({"type":"BOOKMARK","object":{"kind":"Subnet","apiVersion":"plexaubnet.io/v1alpha1","metadata":{"resourceVersion":")" +
         std::to_string(version) +
         R"(","annotations":{"k8s.io/initial-events-end":"true"}}}})"
         "\n";
}

}  // namespace

int main() {
  async::TestExecutor executor;
  kube::ScriptedTransport transport;
  kube::Informer<Subnet> informer(executor, transport,
                                  {.path = "/apis/plexaubnet.io/v1alpha1/subnets"});
  informer.AddIndex([](const Subnet& subnet) { return std::vector{subnet.pool}; });
  int changes = 0;
  informer.AddHandler(
      {.on_add = [](const std::string&, const Subnet&) {},
       .on_update = [&](const std::string&, const Subnet&, const Subnet&) { ++changes; },
       .on_delete = [](const std::string&, const Subnet&) {}});
  informer.Start();
  executor.RunUntilIdle();
  int version = 0;
  for (int i = 0; i < kSubnets; ++i) transport.last().Lines(Line("ADDED", i, ++version));
  transport.last().Lines(Bookmark(++version));
  hot::Require(informer.HasSynced() && informer.size() == kSubnets, "the informer has not synced");

  // Made beforehand, for the round that warms up and the one that counts.
  std::vector<std::string> lines;
  for (int i = 0; i < 2 * kSubnets; ++i) lines.push_back(Line("MODIFIED", i % kSubnets, ++version));
  std::size_t next = 0;
  hot::Count("informer_event", kSubnets, [&] {
    changes = 0;
    for (int i = 0; i < kSubnets; ++i) transport.last().Lines(lines[next++]);
    hot::Require(changes == kSubnets, "not every change was told");
  });
}
