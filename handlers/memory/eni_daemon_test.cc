#include "handlers/memory/eni_daemon.h"

#include <gtest/gtest.h>

#include "json/json.h"
#include "log/format.h"
#include "reconcile/test_crds.h"

namespace berth::memory {
namespace {

class EniDaemonTest : public testing::Test {
 protected:
  EniDaemonTest() {
    thread_.Run([](ServerThread::Server& server) { InstallCrds(server); });
    daemon_.Start(thread_);
  }

  void Must(kube::Method method, const std::string& path, const std::string& body,
            const std::string& type = "application/json") {
    const auto answer =
        thread_.Ask({.method = method, .path = path, .body = body, .content_type = type});
    ASSERT_LT(answer.code, 300) << answer.body;
  }
  void CreateNode() {
    Must(kube::Method::kPost, kNodes,
         R"({"apiVersion":"network.alibabacloud.com/v1beta1","kind":"Node",)"
         R"("metadata":{"name":"worker-1"},"spec":{}})");
  }
  void CreatePod(const std::string& name, const std::string& annotations) {
    Must(kube::Method::kPost, kPods,
         Format(R"({{"metadata":{{"name":"{}","annotations":{}}},"spec":{{"nodeName":"worker-1",)"
                R"("containers":[{{"name":"c","image":"i"}}]}}}})",
                name, annotations));
  }
  // The Node's status binds an address to the pod.
  void Bind(const std::string& pod, const std::string& address, const std::string& nic_status) {
    Must(kube::Method::kPatch, std::string(kNodes) + "/worker-1/status",
         Format(R"({{"status":{{"networkInterfaces":{{"eni-1":{{"id":"eni-1","status":"{2}",)"
                R"("ipv4":{{"{1}":{{"ip":"{1}","primary":false,"status":"Valid","podID":)"
                R"("default/{0}"}}}}}}}}}}}})",
                pod, address, nic_status),
         "application/merge-patch+json");
  }
  std::string IpsOf(const std::string& pod) {
    // The daemon's request was posted to the thread before this one.
    thread_.Run([](auto&) {});
    const auto read = thread_.Ask({.path = std::string(kPods) + "/" + pod});
    const Json annotations =
        Json::parse(read.body)["metadata"].get_value_or<Json>("annotations", Json::Object());
    return annotations.get_value_or<std::string>("berth.dev/pod-ips", "none");
  }

  static constexpr const char* kNodes = "/apis/network.alibabacloud.com/v1beta1/nodes";
  static constexpr const char* kPods = "/api/v1/namespaces/default/pods";
  EniDaemon daemon_;
  ServerThread thread_;
};

TEST_F(EniDaemonTest, APodThatWaitsGetsTheAddressThatItIsBoundTo) {
  CreateNode();
  CreatePod("a", R"({"berth.dev/pod-ips":""})");
  Bind("a", "10.64.0.7", "Attaching");
  EXPECT_EQ(IpsOf("a"), "") << "the ENI is not in use yet";
  Bind("a", "10.64.0.7", "InUse");
  EXPECT_EQ(IpsOf("a"), "10.64.0.7");
}

TEST_F(EniDaemonTest, APodThatDoesNotWaitIsLeftAlone) {
  CreateNode();
  CreatePod("a", "{}");
  CreatePod("b", R"({"berth.dev/pod-ips":"192.0.2.1"})");
  Bind("a", "10.64.0.7", "InUse");
  Bind("b", "10.64.0.8", "InUse");
  EXPECT_EQ(IpsOf("a"), "none");
  EXPECT_EQ(IpsOf("b"), "192.0.2.1");
}

}  // namespace
}  // namespace berth::memory
