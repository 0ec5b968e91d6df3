#include "kube/memory/endpoint_slices.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>

#include "kube/memory/machinery_fixture_test.h"

namespace berth::kube::memory {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

// The addresses of each slice.
std::vector<std::string> Addresses(Simulated& cluster) {
  std::vector<std::string> all;
  for (const Json& slice : cluster.List(kSlices)) {
    std::string line;
    for (const Json& endpoint : slice["endpoints"].array_range())
      line += (line.empty() ? "" : " ") + endpoint["addresses"][0].as_string();
    all.push_back(line);
  }
  std::ranges::sort(all);
  return all;
}

TEST(EndpointSlices, ASliceShowsAServicesPods) {
  Simulated cluster;
  cluster.AddNodes(1);
  cluster.AddPod("a");
  cluster.AddPod("b", "", R"(,"annotations":{"berth.dev/ready":"false"})");
  cluster.AddService("web");
  cluster.Settle();
  const std::vector<Json> slices = cluster.List(kSlices);
  ASSERT_THAT(slices, SizeIs(1));
  const Json& metadata = slices[0]["metadata"];
  const Json service = cluster.Get(Format("{}/web", kServices));
  EXPECT_THAT(metadata["name"].as_string(), testing::StartsWith("web-"));
  EXPECT_EQ(metadata["labels"]["kubernetes.io/service-name"].as_string(), "web");
  EXPECT_EQ(metadata["ownerReferences"][0]["kind"].as_string(), "Service");
  EXPECT_EQ(metadata["ownerReferences"][0]["uid"], service["metadata"]["uid"]);
  EXPECT_EQ(slices[0]["addressType"].as_string(), "IPv4");
  EXPECT_EQ(slices[0]["ports"].to_string(), R"([{"name":"","port":80,"protocol":"TCP"}])");
  const Json& endpoint = slices[0]["endpoints"][0];
  EXPECT_EQ(endpoint["addresses"].to_string(), R"(["10.128.0.1"])");
  EXPECT_EQ(endpoint["conditions"].to_string(),
            R"({"ready":true,"serving":true,"terminating":false})");
  EXPECT_EQ(endpoint["nodeName"].as_string(), "node-1");
  EXPECT_EQ(endpoint["targetRef"]["kind"].as_string(), "Pod");
  EXPECT_EQ(endpoint["targetRef"]["name"].as_string(), "a");
  EXPECT_EQ(endpoint["targetRef"]["uid"], cluster.Pod("a")["metadata"]["uid"]);
  EXPECT_EQ(slices[0]["endpoints"][1]["conditions"].to_string(),
            R"({"ready":false,"serving":false,"terminating":false})");
}

TEST(EndpointSlices, APodThatEndsIsTerminatingAndThenGone) {
  Simulated cluster;
  cluster.AddNodes(1);
  cluster.AddPod("a");
  cluster.AddPod("b", "", R"(,"annotations":{"berth.dev/ready":"false"})");
  cluster.AddService("web");
  cluster.Settle();
  for (const char* name : {"b", "a"}) {
    cluster.Delete(Format("{}/{}", kPods, name));
    cluster.Settle();
    for (const Json& endpoint : cluster.List(kSlices)[0]["endpoints"].array_range()) {
      if (endpoint["targetRef"]["name"].as_string() == name) {
        EXPECT_EQ(endpoint["conditions"].to_string(),
                  R"({"ready":false,"serving":false,"terminating":true})");
      }
    }
  }
  cluster.Advance(30s);
  EXPECT_THAT(Addresses(cluster), ElementsAre("")) << "an empty slice";
}

TEST(EndpointSlices, EndpointsStayInTheirSliceAndNewOnesFillGaps) {
  Simulated cluster({.max_endpoints = 2});
  cluster.AddNodes(1);
  cluster.AddService("web");
  cluster.Settle();
  EXPECT_THAT(Addresses(cluster), ElementsAre("")) << "an empty slice";
  for (const char* name : {"a", "b", "c", "d", "e"}) cluster.AddPod(name);
  cluster.Settle();
  const auto places = [&] {
    std::map<std::string, std::string> slices;  // by pod
    for (const Json& slice : cluster.List(kSlices)) {
      for (const Json& endpoint : slice["endpoints"].array_range())
        slices[endpoint["targetRef"]["name"].as_string()] = slice["metadata"]["name"].as_string();
    }
    return slices;
  };
  auto before = places();
  EXPECT_THAT(cluster.List(kSlices), SizeIs(3));
  cluster.Delete(Format("{}/a", kPods), R"({"gracePeriodSeconds":0})");
  cluster.Settle();
  cluster.AddPod("f");
  cluster.Settle();
  before["f"] = before["a"];
  before.erase("a");
  EXPECT_EQ(places(), before);
  for (const char* name : {"b", "c", "d", "e", "f"})
    cluster.Delete(Format("{}/{}", kPods, name), R"({"gracePeriodSeconds":0})");
  cluster.Settle();
  EXPECT_THAT(Addresses(cluster), ElementsAre(""));
}

TEST(EndpointSlices, EachFamilyAndEachSetOfPortsHasItsOwn) {
  Simulated cluster({.dual_stack = true});
  cluster.AddNodes(1);
  const auto pod = [&](const char* name, const char* port) {
    cluster.Post(kPods, Format(R"({{"metadata":{{"name":"{}","labels":{{"app":"web"}}}},"spec":{{)"
                               R"("containers":[{{"name":"c","image":"i","ports":[{}]}}]}}}})",
                               name, port));
  };
  pod("old", R"({"name":"http","containerPort":8080})");
  pod("new", R"({"name":"http","containerPort":9090,"protocol":"TCP"})");
  pod("none", R"({"name":"http","containerPort":53,"protocol":"UDP"})");
  cluster.Post(kServices, R"({"metadata":{"name":"web"},"spec":{"selector":{"app":"web"},
    "ipFamilies":["IPv4","IPv6"],"ports":[{"name":"web","port":80,"targetPort":"http"}]}})");
  cluster.Settle();
  std::vector<std::string> seen;
  for (const Json& slice : cluster.List(kSlices)) {
    for (const Json& endpoint : slice["endpoints"].array_range()) {
      const auto ports = slice["ports"].array_range();
      seen.push_back(Format("{} {} {}", endpoint["targetRef"]["name"].as_string(),
                            endpoint["addresses"][0].as_string(),
                            ports.empty() ? "-" : ports[0]["port"].as_string()));
    }
  }
  EXPECT_THAT(seen, UnorderedElementsAre("old 10.128.0.1 8080", "old fd00:10::1 8080",
                                         "new 10.128.0.2 9090", "new fd00:10::2 9090",
                                         "none 10.128.0.3 -", "none fd00:10::3 -"));
}

TEST(EndpointSlices, TheSelectorDecidesAndForeignSlicesStay) {
  Simulated cluster;
  cluster.AddNodes(1);
  cluster.AddPod("a");
  cluster.AddService("web");
  const std::string uid = cluster.Get(Format("{}/web", kServices))["metadata"]["uid"].as_string();
  cluster.Post(
      kSlices,
      Format(
          R"({{"metadata":{{"name":"mine","labels":{{"kubernetes.io/service-name":"web"}},)"
          R"("ownerReferences":[{{"apiVersion":"v1","kind":"Service","name":"web","uid":"{}"}}]}},)"
          R"("addressType":"IPv4","endpoints":[{{"addresses":["192.0.2.1"]}}]}})",
          uid));
  cluster.Settle();
  EXPECT_THAT(Addresses(cluster), ElementsAre("10.128.0.1", "192.0.2.1"));
  cluster.Patch(Format("{}/web", kServices), R"({"spec":{"selector":{"app":"other"}}})");
  cluster.Settle();
  EXPECT_THAT(Addresses(cluster), ElementsAre("", "192.0.2.1"));
  cluster.Patch(Format("{}/a", kPods), R"({"metadata":{"labels":{"app":"other"}}})");
  cluster.Settle();
  EXPECT_THAT(Addresses(cluster), ElementsAre("10.128.0.1", "192.0.2.1"));
  cluster.Delete(Format("{}/web", kServices));
  cluster.Settle();
  EXPECT_THAT(Addresses(cluster), IsEmpty()) << "the garbage collector's";
}

TEST(EndpointSlices, ANewServiceDoesNotTakeTheSlicesOfAnEarlierOne) {
  Simulated cluster;
  cluster.AddNodes(1);
  cluster.AddPod("a");
  cluster.AddService("web");
  cluster.Settle();
  cluster.Delete(Format("{}/web", kServices));
  cluster.AddService("web");
  while (cluster.server().RunMachinery()) {
  }
  EXPECT_THAT(Addresses(cluster), ElementsAre("10.128.0.1", "10.128.0.1"));
  cluster.Settle();
  EXPECT_THAT(Addresses(cluster), ElementsAre("10.128.0.1"));
}

TEST(EndpointSlices, ASliceThatSomebodyDeletesComesBack) {
  Simulated cluster;
  cluster.AddNodes(1);
  cluster.AddPod("a");
  cluster.AddService("web", R"(,"publishNotReadyAddresses":true)");
  cluster.Settle();
  cluster.Delete(kSlices);
  cluster.Settle();
  EXPECT_THAT(Addresses(cluster), ElementsAre("10.128.0.1"));
}

}  // namespace
}  // namespace berth::kube::memory
