#include <gmock/gmock.h>

#include <map>
#include <set>

#include "async/sanitized.h"
#include "kube/memory/machinery_fixture_test.h"
#include "kube/memory/pod_status.h"

namespace berth::kube::memory {
namespace {

using testing::HasSubstr;

// Everything that users and tests do to nodes, pods and services, at random; in the end it is as a
// naive recount says.
class Chaos {
 public:
  explicit Chaos(std::uint64_t seed) : cluster_({.dual_stack = true, .max_endpoints = 2}, seed) {}

  void Run() {
    for (int i = 0; i < 200 && !testing::Test::HasFailure(); ++i) {
      Act();
      for (std::uint64_t steps = cluster_.Random(6); steps > 0; --steps)
        cluster_.server().RunMachinery();
      CheckAddresses();
    }
    cluster_.Advance(60s);
    CheckAddresses();
    CheckSlices();
    CheckPods();
  }

  // All there is, as text.
  std::string Picture() {
    std::string all;
    for (const char* path : {"/api/v1/nodes", "/api/v1/pods", "/api/v1/services",
                             "/apis/discovery.k8s.io/v1/endpointslices"})
      all += cluster_.Send(Method::kGet, path).body;
    return all;
  }

 private:
  std::string Name(const char* prefix) { return Format("{}{}", prefix, cluster_.Random(12)); }
  std::string Label() { return Format(R"("app":"{}")", cluster_.Random(3)); }

  void Act() {
    const std::string pod = Format("{}/{}", kPods, Name("p"));
    const std::string service = Format("{}/{}", kServices, Name("s"));
    const std::string node = Format("/api/v1/nodes/n{}", cluster_.Random(4));
    switch (cluster_.Random(14)) {
      case 0:
        cluster_.Post("/api/v1/nodes",
                      Format(R"({{"metadata":{{"name":"n{}"}}}})", cluster_.Random(4)));
        break;
      case 1:
        if (cluster_.Random(3) == 0) cluster_.Delete(node);
        break;
      case 2:
        cluster_.Patch(node,
                       Format(R"({{"spec":{{"unschedulable":{}}}}})", cluster_.Random(2) == 0));
        break;
      case 3:
      case 4:
      case 5:
      case 6:
        cluster_.Post(kPods, Format(R"({{"metadata":{{"name":"{}","labels":{{{}}}{}}},"spec":{{)"
                                    R"("containers":[{{"name":"c","image":"i"}}]{}}}}})",
                                    Name("p"), Label(),
                                    cluster_.Random(5) == 0 ? R"(,"finalizers":["x.dev/y"])" : "",
                                    cluster_.Random(8) == 0 ? R"(,"hostNetwork":true)" : ""));
        break;
      case 7:
        cluster_.Delete(pod, Format(R"({{"gracePeriodSeconds":{}}})", cluster_.Random(3) * 5));
        break;
      case 8:
        cluster_.Patch(pod, Format(R"({{"metadata":{{"annotations":{{"{}":"{}"}}}}}})",
                                   kReadyAnnotation, cluster_.Random(2) == 0));
        break;
      case 9:
        cluster_.Patch(pod, Format(R"({{"metadata":{{"labels":{{{}}}}}}})", Label()));
        break;
      case 10:
        cluster_.Patch(pod, R"({"metadata":{"finalizers":null}})");
        break;
      case 11:
        cluster_.Post(kServices,
                      Format(R"({{"metadata":{{"name":"{}"}},"spec":{{"selector":{{{}}},"ports":[)"
                             R"({{"port":80}}],"ipFamilies":["IPv4"{}]}}}})",
                             Name("s"), Label(), cluster_.Random(2) == 0 ? R"(,"IPv6")" : ""));
        break;
      case 12:
        cluster_.Random(2) == 0
            ? cluster_.Delete(service)
            : cluster_.Patch(service, Format(R"({{"spec":{{"selector":{{{}}}}}}})", Label()));
        break;
      default:
        cluster_.Advance(std::chrono::seconds(cluster_.Random(5)));
    }
  }

  static bool Live(const Json& pod) {
    const std::string phase = pod["status"]["phase"].as_string();
    return phase != "Succeeded" && phase != "Failed";
  }

  void CheckAddresses() {
    std::map<std::string, std::string> owners;
    for (const Json& pod : cluster_.List(kPods)) {
      if (!Live(pod) || pod["spec"].contains("hostNetwork")) continue;
      const std::string name = pod["metadata"]["name"].as_string();
      for (const std::string& ip : Texts(pod["status"]["podIPs"], "ip"))
        EXPECT_TRUE(owners.emplace(ip, name).second) << name << " has the IP of " << owners[ip];
    }
  }

  // A pod runs, waits for a node, or has ended and waits for its finalizer.
  void CheckPods() {
    for (const Json& pod : cluster_.List(kPods)) {
      SCOPED_TRACE(pod.to_string());
      const std::string phase = pod["status"]["phase"].as_string();
      if (pod["metadata"].contains("deletionTimestamp")) {
        EXPECT_EQ(phase, "Succeeded");
        EXPECT_TRUE(pod["metadata"].contains("finalizers"));
      } else if (NodeOf(pod).empty()) {
        EXPECT_EQ(Condition(pod, "PodScheduled"), "False");
      } else {
        EXPECT_EQ(phase, "Running");
        EXPECT_EQ(cluster_.Send(Method::kGet, "/api/v1/nodes/" + NodeOf(pod)).code, 200);
      }
    }
  }

  static std::string Line(const std::string& service, const std::string& family, const Json& pod,
                          const std::string& ip) {
    const bool ready = Condition(pod, "Ready") == "True";
    const bool ends = pod["metadata"].contains("deletionTimestamp");
    return Format("{} {} {} {} {} {} {}{}{}", service, family, ip,
                  pod["metadata"]["name"].as_string(), pod["metadata"]["uid"].as_string(),
                  NodeOf(pod), ready && !ends, ready, ends);
  }

  void CheckSlices() {
    std::multiset<std::string> expected, found;
    for (const Json& service : cluster_.List(kServices)) {
      for (const Json& family : service["spec"]["ipFamilies"].array_range()) {
        for (const Json& pod : cluster_.List(kPods)) {
          if (!Live(pod) || pod["metadata"]["labels"] != service["spec"]["selector"]) continue;
          for (const std::string& ip : Texts(pod["status"]["podIPs"], "ip")) {
            if (IsIpv6(ip) == (family.as_string() == "IPv6"))
              expected.insert(
                  Line(service["metadata"]["name"].as_string(), family.as_string(), pod, ip));
          }
        }
      }
    }
    for (const Json& slice : cluster_.List(kSlices)) {
      EXPECT_LE(slice["endpoints"].size(), 2);
      for (const Json& endpoint : slice["endpoints"].array_range()) {
        const Json& target = endpoint["targetRef"];
        const Json& conditions = endpoint["conditions"];
        found.insert(Format("{} {} {} {} {} {} {}{}{}",
                            slice["metadata"]["labels"]["kubernetes.io/service-name"].as_string(),
                            slice["addressType"].as_string(), endpoint["addresses"][0].as_string(),
                            target["name"].as_string(), target["uid"].as_string(),
                            endpoint["nodeName"].as_string(), conditions["ready"].as<bool>(),
                            conditions["serving"].as<bool>(),
                            conditions["terminating"].as<bool>()));
      }
    }
    EXPECT_EQ(found, expected);
  }

  Simulated cluster_;
};

TEST(Machinery, SlicesAndAddressesAreRightAfterAnythingThatHappens) {
  for (std::uint64_t seed = 1; seed <= (kSanitized ? 4 : 40) && !HasFailure(); ++seed) {
    SCOPED_TRACE(Format("seed {}", seed));
    Chaos(seed).Run();
  }
}

TEST(Machinery, TheSameSeedGivesTheSameBytes) {
  Chaos one(7), other(7);
  one.Run();
  other.Run();
  EXPECT_EQ(one.Picture(), other.Picture());
  EXPECT_THAT(one.Picture(), HasSubstr("Running"));
}

}  // namespace
}  // namespace berth::kube::memory
