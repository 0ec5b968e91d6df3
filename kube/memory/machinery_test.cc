#include "kube/memory/machinery.h"

#include <gmock/gmock.h>

#include "kube/memory/machinery_fixture_test.h"

namespace berth::kube::memory {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

TEST(Machinery, ANodeGetsAnAddressOfEachFamilyAndIsReady) {
  Simulated one;
  one.AddNodes(2);
  const Json node = one.Get("/api/v1/nodes/node-2");
  EXPECT_EQ(node["status"]["addresses"].to_string(),
            R"([{"address":"172.16.0.2","type":"InternalIP"}])");
  EXPECT_EQ(Condition(node, "Ready"), "True");
  Simulated dual({.dual_stack = true});
  dual.AddNodes(1);
  EXPECT_THAT(Texts(dual.Get("/api/v1/nodes/node-1")["status"]["addresses"], "address"),
              ElementsAre("172.16.0.1", "fd00:172::1"));
}

TEST(Machinery, APodGetsANodeAndAddressesAndRuns) {
  Simulated cluster({.dual_stack = true});
  cluster.AddNodes(1);
  cluster.AddPod("web");
  EXPECT_EQ(cluster.Pod("web")["status"]["phase"].as_string(), "Pending");
  cluster.Settle();
  const Json pod = cluster.Pod("web");
  const Json& status = pod["status"];
  EXPECT_EQ(NodeOf(pod), "node-1");
  EXPECT_EQ(status["phase"].as_string(), "Running");
  EXPECT_EQ(status["podIP"].as_string(), "10.128.0.1");
  EXPECT_THAT(Texts(status["podIPs"], "ip"), ElementsAre("10.128.0.1", "fd00:10::1"));
  EXPECT_EQ(status["hostIP"].as_string(), "172.16.0.1");
  EXPECT_THAT(Texts(status["hostIPs"], "ip"), ElementsAre("172.16.0.1", "fd00:172::1"));
  for (const char* type : {"PodScheduled", "Initialized", "ContainersReady", "Ready"})
    EXPECT_EQ(Condition(pod, type), "True") << type;
  const Json& container = status["containerStatuses"][0];
  EXPECT_EQ(container["name"].as_string(), "c");
  EXPECT_TRUE(container["ready"].as<bool>());
  EXPECT_TRUE(container["state"].contains("running"));
  EXPECT_FALSE(cluster.server().RunMachinery()) << "at rest";
}

TEST(Machinery, PodsGoToTheNodeWithTheFewestThatTakesThem) {
  Simulated cluster;
  cluster.AddNodes(3);
  cluster.Patch("/api/v1/nodes/node-2", R"({"spec":{"unschedulable":true}})");
  for (const char* name : {"a", "b", "c", "d"}) cluster.AddPod(name);
  cluster.AddPod("picky", R"(,"nodeSelector":{"kubernetes.io/hostname":"node-1"})");
  cluster.AddPod("placed", R"(,"nodeName":"node-2")");
  cluster.Settle();
  EXPECT_EQ(NodeOf(cluster.Pod("a")), "node-1");
  EXPECT_EQ(NodeOf(cluster.Pod("b")), "node-3");
  EXPECT_EQ(NodeOf(cluster.Pod("c")), "node-1");
  EXPECT_EQ(NodeOf(cluster.Pod("d")), "node-3");
  EXPECT_EQ(NodeOf(cluster.Pod("picky")), "node-1");
  EXPECT_EQ(cluster.Pod("placed")["status"]["phase"].as_string(), "Running");
}

TEST(Machinery, APodWithoutANodeWaitsForOne) {
  Simulated cluster;
  cluster.AddNodes(1);
  cluster.Patch(
      "/api/v1/nodes/node-1/status",
      R"({"status":{"conditions":[{"type":"Ready","status":"False","reason":"KubeletNotReady"}]}})");
  cluster.AddPod("web");
  cluster.AddPod("other", R"(,"nodeSelector":{"disk":"ssd"})");
  cluster.Settle();
  EXPECT_EQ(cluster.Pod("web")["status"]["phase"].as_string(), "Pending");
  EXPECT_EQ(Condition(cluster.Pod("web"), "PodScheduled"), "False");
  cluster.Post("/api/v1/nodes", R"({"metadata":{"name":"late"}})");
  cluster.Settle();
  EXPECT_EQ(NodeOf(cluster.Pod("web")), "late");
  EXPECT_EQ(Condition(cluster.Pod("web"), "PodScheduled"), "True");
  EXPECT_EQ(NodeOf(cluster.Pod("other")), "");
  cluster.Patch("/api/v1/nodes/late", R"({"metadata":{"labels":{"disk":"ssd"}}})");
  cluster.Settle();
  EXPECT_EQ(NodeOf(cluster.Pod("other")), "late");
}

TEST(Machinery, APodIsNotReadyWhileItsAnnotationOrItsNodeSaysSo) {
  Simulated cluster;
  cluster.AddNodes(1);
  cluster.AddPod("web", "", R"(,"annotations":{"berth.dev/ready":"false"})");
  cluster.Settle();
  EXPECT_EQ(cluster.Pod("web")["status"]["phase"].as_string(), "Running");
  EXPECT_EQ(Condition(cluster.Pod("web"), "Ready"), "False");
  cluster.Patch(Format("{}/web", kPods),
                R"({"metadata":{"annotations":{"berth.dev/ready":null}}})");
  cluster.Settle();
  EXPECT_EQ(Condition(cluster.Pod("web"), "Ready"), "True");
  cluster.Patch("/api/v1/nodes/node-1/status",
                R"({"status":{"conditions":[{"type":"Ready","status":"False"}]}})");
  cluster.Settle();
  EXPECT_EQ(Condition(cluster.Pod("web"), "Ready"), "False");
}

TEST(Machinery, APodNeedsContainersWithANameAndAnImage) {
  Simulated cluster;
  EXPECT_THAT(cluster.Send(Method::kPost, kPods, R"({"metadata":{"name":"p"},"spec":{}})").body,
              HasSubstr("spec.containers: Required value"));
  const Response nameless =
      cluster.Send(Method::kPost, kPods, R"({"metadata":{"name":"p"},"spec":{"containers":[{}]}})");
  EXPECT_EQ(nameless.code, 422);
  EXPECT_THAT(nameless.body, HasSubstr("spec.containers[0].name: Required value"));
  EXPECT_THAT(nameless.body, HasSubstr("spec.containers[0].image: Required value"));
}

TEST(Machinery, OfAPodsSpecTheImageCanBeChanged) {
  Simulated cluster;
  cluster.AddNodes(2);
  cluster.AddPod("web");
  cluster.Settle();
  const std::string web = Format("{}/web", kPods);
  EXPECT_EQ(cluster.Patch(web, R"({"spec":{"containers":[{"name":"c","image":"j"}]}})"), 200);
  for (const char* spec :
       {R"({"nodeName":"other"})", R"({"hostNetwork":true})",
        R"({"containers":[{"name":"c","image":"j"},{"name":"d","image":"j"}]})"}) {
    EXPECT_EQ(cluster.Patch(web, Format(R"({{"spec":{}}})", spec)), 422) << spec;
  }
}

TEST(Machinery, SomebodyElseCanGiveAPodItsAddress) {
  Simulated cluster;
  cluster.AddNodes(1);
  cluster.AddPod("web", "", R"(,"annotations":{"berth.dev/pod-ips":""})");
  cluster.AddPod("host", R"(,"hostNetwork":true)");
  cluster.Settle();
  const Json waiting = cluster.Pod("web");
  EXPECT_EQ(waiting["status"]["phase"].as_string(), "Pending");
  EXPECT_EQ(waiting["status"]["containerStatuses"][0]["state"]["waiting"]["reason"].as_string(),
            "ContainerCreating");
  EXPECT_EQ(cluster.Pod("host")["status"]["podIP"].as_string(), "172.16.0.1");
  cluster.Patch(Format("{}/web", kPods),
                R"({"metadata":{"annotations":{"berth.dev/pod-ips":"192.0.2.7,2001:db8::7"}}})");
  cluster.Settle();
  const Json running = cluster.Pod("web");
  EXPECT_EQ(running["status"]["phase"].as_string(), "Running");
  EXPECT_THAT(Texts(running["status"]["podIPs"], "ip"), ElementsAre("192.0.2.7", "2001:db8::7"));
  EXPECT_EQ(Condition(running, "Ready"), "True");
}

TEST(Machinery, ANodesNewAddressIsItsPodsHostIp) {
  Simulated cluster;
  cluster.AddNodes(1);
  cluster.AddPod("web");
  cluster.Settle();
  cluster.Patch("/api/v1/nodes/node-1/status",
                R"({"status":{"addresses":[{"type":"InternalIP","address":"192.0.2.1"}]}})");
  cluster.Settle();
  EXPECT_EQ(cluster.Pod("web")["status"]["hostIP"].as_string(), "192.0.2.1");
}

TEST(Machinery, APodEndsWhenItsGracePeriodIsOver) {
  Simulated cluster;
  cluster.AddNodes(1);
  cluster.AddPod("web");
  cluster.Settle();
  const Response answer = cluster.Send(Method::kDelete, Format("{}/web", kPods));
  EXPECT_EQ(Json::parse(answer.body)["metadata"]["deletionGracePeriodSeconds"].as<int>(), 30);
  EXPECT_EQ(Json::parse(answer.body)["metadata"]["deletionTimestamp"].as_string(),
            "2027-01-15T08:00:30Z");
  cluster.Advance(29s);
  EXPECT_EQ(Condition(cluster.Pod("web"), "Ready"), "False");
  EXPECT_EQ(cluster.Pod("web")["status"]["phase"].as_string(), "Running");
  cluster.Advance(1s);
  EXPECT_EQ(cluster.Pod("web")["code"].as<int>(), 404);
  cluster.AddPod("next");
  cluster.Settle();
  EXPECT_EQ(cluster.Pod("next")["status"]["podIP"].as_string(), "10.128.0.1") << "used again";
}

TEST(Machinery, AGracePeriodCanBeShortenedOnly) {
  Simulated cluster;
  cluster.AddNodes(1);
  for (const char* name : {"web", "now"}) cluster.AddPod(name);
  cluster.Settle();
  cluster.Delete(Format("{}/web", kPods), R"({"gracePeriodSeconds":20})");
  cluster.Delete(Format("{}/web", kPods), R"({"gracePeriodSeconds":60})");
  cluster.Delete(Format("{}/web", kPods));
  EXPECT_EQ(cluster.Pod("web")["metadata"]["deletionGracePeriodSeconds"].as<int>(), 20);
  cluster.Delete(Format("{}/web?gracePeriodSeconds=5", kPods));
  EXPECT_EQ(cluster.Pod("web")["metadata"]["deletionTimestamp"].as_string(),
            "2027-01-15T08:00:05Z");
  EXPECT_EQ(cluster.Delete(Format("{}/now", kPods), R"({"gracePeriodSeconds":0})"), 200);
  EXPECT_EQ(cluster.Pod("now")["code"].as<int>(), 404) << "at once";
  cluster.Advance(5s);
  EXPECT_EQ(cluster.Pod("web")["code"].as<int>(), 404);
}

TEST(Machinery, APodThatRunsNowhereEndsAtOnce) {
  Simulated cluster;
  cluster.AddPod("web");
  cluster.Settle();
  cluster.Delete(Format("{}/web", kPods));
  EXPECT_EQ(cluster.Pod("web")["code"].as<int>(), 404);
}

TEST(Machinery, AFinalizerHoldsAPodThatHasEnded) {
  Simulated cluster;
  cluster.AddNodes(1);
  cluster.AddPod("held", "", R"(,"finalizers":["x.dev/hold"])");
  cluster.Settle();
  cluster.Delete(Format("{}/held", kPods));
  cluster.Patch(Format("{}/held", kPods), R"({"metadata":{"labels":{"seen":"yes"}}})");
  cluster.Advance(40s);
  const Json pod = cluster.Pod("held");
  EXPECT_EQ(pod["status"]["phase"].as_string(), "Succeeded");
  EXPECT_EQ(pod["metadata"]["deletionGracePeriodSeconds"].as<int>(), 0);
  cluster.AddPod("next");
  cluster.Settle();
  EXPECT_EQ(cluster.Pod("next")["status"]["podIP"].as_string(), "10.128.0.1");
  cluster.Patch(Format("{}/held", kPods), R"({"metadata":{"finalizers":null}})");
  EXPECT_EQ(cluster.Pod("held")["code"].as<int>(), 404);
}

TEST(Machinery, AnUpdateDoesNotEndAPodBeforeItsTime) {
  Simulated cluster;
  cluster.AddNodes(1);
  cluster.AddPod("held", "", R"(,"finalizers":["x.dev/hold"])");
  cluster.Settle();
  cluster.Delete(Format("{}/held", kPods));
  cluster.Patch(Format("{}/held", kPods), R"({"metadata":{"finalizers":null}})");
  EXPECT_EQ(cluster.Pod("held")["metadata"]["deletionGracePeriodSeconds"].as<int>(), 30);
  cluster.Advance(30s);
  EXPECT_EQ(cluster.Pod("held")["code"].as<int>(), 404);
}

TEST(Machinery, ThePodsOfANodeThatIsGoneAreDeleted) {
  Simulated cluster;
  cluster.AddNodes(2);
  for (const char* name : {"a", "b"}) cluster.AddPod(name);
  cluster.Settle();
  for (const char* name : {"node-1", "node-2"}) cluster.Delete(Format("/api/v1/nodes/{}", name));
  cluster.Advance(20s);
  EXPECT_THAT(cluster.List(kPods), SizeIs(2));
  cluster.Post("/api/v1/nodes", R"({"metadata":{"name":"node-2"}})");
  cluster.Advance(21s);
  ASSERT_THAT(cluster.List(kPods), SizeIs(1)) << "that of a node that has come back";
  EXPECT_EQ(NodeOf(cluster.List(kPods)[0]), "node-2");
}

TEST(Machinery, ARefusedRequestIsTriedAgain) {
  Simulated cluster;
  bool refuse = true;
  cluster.server().AddWebhook({.name = "test",
                               .group = "",
                               .resources = {"pods"},
                               .operations = {"UPDATE"},
                               .call = [&](const std::string& review, const auto& answer) {
                                 answer(Format(R"({{"response":{{"uid":"{}","allowed":{}}}}})",
                                               Json::parse(review)["request"]["uid"].as_string(),
                                               !refuse));
                               }});
  cluster.AddNodes(1);
  cluster.AddPod("web");
  cluster.Settle();
  EXPECT_EQ(NodeOf(cluster.Pod("web")), "");
  refuse = false;
  cluster.Advance(1s);
  EXPECT_EQ(cluster.Pod("web")["status"]["phase"].as_string(), "Running");
}

TEST(Machinery, TablesAreKubectls) {
  Simulated cluster;
  cluster.AddNodes(1);
  cluster.AddPod("a");
  cluster.AddService("web");
  cluster.Settle();
  const auto rows = [&](const std::string& path) {
    std::string text;
    cluster.server().Handle(
        {.path = path, .accept = "application/json;as=Table;v=v1;g=meta.k8s.io"},
        [&](const Response& answer) {
          text = Json::parse(answer.body)["rows"][0]["cells"].to_string();
        });
    return text;
  };
  EXPECT_EQ(rows("/api/v1/nodes"),
            R"(["node-1","Ready","<none>","0s","v1.36.0+berth","172.16.0.1","<none>","none",)"
            R"("none","none"])");
  EXPECT_EQ(rows(kPods),
            R"(["a","1/1","Running","0","0s","10.128.0.1","node-1","<none>","<none>"])");
  EXPECT_EQ(rows(kServices), R"(["web","ClusterIP","<none>","<none>","80/TCP","0s","app=web"])");
  EXPECT_THAT(rows(kSlices), HasSubstr(R"("IPv4","80","10.128.0.1","0s"])"));
}

}  // namespace
}  // namespace berth::kube::memory
