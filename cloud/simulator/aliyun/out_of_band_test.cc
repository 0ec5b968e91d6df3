#include "cloud/simulator/aliyun/out_of_band.h"

#include <gtest/gtest.h>

namespace berth::cloud::simulator {
namespace {

class OutOfBandTest : public testing::Test {
 protected:
  Json Ask(const std::string& method, const std::string& path, const std::string& body = "") {
    const http::Response answer =
        OutOfBand(cloud_, {.method = method, .url = {}, .body = body}, path);
    code_ = answer.code;
    return Json::parse(answer.body);
  }
  std::string PrimaryEni() {
    return Ask("GET", "/enis")[0]["networkInterfaceID"].as<std::string>();
  }

  Cloud cloud_{{}};
  int code_ = 0;
};

TEST_F(OutOfBandTest, InstancesComeAndGoWithTheirPrimaryEni) {
  Ask("POST", "/instances", R"({"vSwitchID": "vsw-x"})");
  EXPECT_EQ(code_, 409);
  const Json vswitch = Ask("POST", "/vswitches", R"({"cidr": "10.0.0.0/28"})");
  EXPECT_EQ(vswitch["freeAddresses"].as<int>(), 12);
  const std::string body = R"({"instanceID": "i-1", "adapters": 3, "vSwitchID": ")" +
                           vswitch["vSwitchID"].as<std::string>() + "\"}";
  EXPECT_EQ(Ask("POST", "/instances", body)["adapters"].as<int>(), 3);
  Ask("POST", "/instances", body);
  EXPECT_EQ(code_, 409);
  EXPECT_EQ(Ask("GET", "/instances/i-1")["zoneID"].as<std::string>(), "cn-hangzhou-a");
  EXPECT_EQ(Ask("GET", "/enis/" + PrimaryEni())["instanceID"].as<std::string>(), "i-1");
  EXPECT_EQ(Ask("GET", "/vswitches")[0]["freeAddresses"].as<int>(), 11);
  Ask("DELETE", "/instances/i-1");
  EXPECT_EQ(Ask("GET", "/instances").size(), 0u);
  EXPECT_EQ(Ask("GET", "/enis").size(), 0u);
  Ask("DELETE", "/instances/i-1");
  EXPECT_EQ(code_, 404);
}

TEST_F(OutOfBandTest, AnEniIsChangedAndDeleted) {
  Ask("POST", "/vswitches", R"({"vSwitchID": "vsw-a", "cidr": "10.0.0.0/28"})");
  Ask("POST", "/instances", R"({"instanceID": "i-1", "vSwitchID": "vsw-a"})");
  const std::string path = "/enis/" + PrimaryEni();
  Ask("PATCH", path, R"({"status": "Detaching", "serviceManaged": true, "tags": {"k": "v"}})");
  const Json eni = Ask("GET", path);
  EXPECT_EQ(eni["status"].as<std::string>(), "Detaching");
  EXPECT_TRUE(eni["serviceManaged"].as<bool>());
  EXPECT_EQ(eni["tags"]["k"].as<std::string>(), "v");
  Ask("PATCH", path, R"({"size": 3})");
  EXPECT_EQ(code_, 400);
  for (const char* wrong : {"no JSON", "[]"}) {
    Ask("PATCH", path, wrong);
    EXPECT_EQ(code_, 400) << wrong;
  }
  Ask("DELETE", path);
  EXPECT_EQ(code_, 200);
  Ask("GET", path);
  EXPECT_EQ(code_, 404);
}

TEST_F(OutOfBandTest, NodesAndEnisOfEfloStandBesideThoseOfEcs) {
  Ask("POST", "/vswitches", R"({"vSwitchID": "vsw-a", "cidr": "10.0.0.0/28"})");
  Ask("POST", "/instances", R"({"instanceID": "i-1", "vSwitchID": "vsw-a"})");
  const Json node = Ask("POST", "/instances", R"({"backend": "EFLO", "vSwitchID": "vsw-a"})");
  EXPECT_EQ(node["backend"].as<std::string>(), "EFLO");
  const std::string id = node["instanceID"].as<std::string>();
  EXPECT_EQ(Ask("GET", "/instances/" + id), node);
  EXPECT_EQ(Ask("GET", "/instances")[0]["backend"].as<std::string>(), "ECS");
  EXPECT_EQ(Ask("GET", "/instances").size(), 2u);
  const Json enis = Ask("GET", "/enis");
  ASSERT_EQ(enis.size(), 2u);
  EXPECT_EQ(enis[1]["instanceID"].as<std::string>(), id);
  const std::string path = "/enis/" + enis[1]["networkInterfaceID"].as<std::string>();
  EXPECT_EQ(Ask("PATCH", path, R"({"status": "Attach Failed"})")["status"].as<std::string>(),
            "Attach Failed");
  Ask("DELETE", path);
  EXPECT_EQ(Ask("GET", "/enis").size(), 1u);
  Ask("DELETE", "/instances/" + id);
  EXPECT_EQ(Ask("GET", "/instances").size(), 1u);
  Ask("POST", "/instances", R"({"backend": "EKS", "vSwitchID": "vsw-a"})");
  EXPECT_EQ(code_, 400);
}

TEST_F(OutOfBandTest, FaultsAreReplacedAsAWhole) {
  const Json faults = Ask("PUT", "/faults", R"([
      {"action": "AttachNetworkInterface", "code": "Throttling.User", "count": 2},
      {"action": "CreateNetworkInterface", "lost-answer": true},
      {"action": "DeleteNetworkInterface", "delay": 0.5},
      {"action": "AttachNetworkInterface", "falls-back": true},
      {"action": "DetachNetworkInterface", "sticks": true},
      {"action": "AllocateEipAddress", "carried-out": "ReserveIpFail"}])");
  EXPECT_EQ(code_, 200);
  EXPECT_EQ(faults.size(), 6u);
  EXPECT_EQ(Ask("GET", "/faults"), faults);
  EXPECT_EQ(faults[2]["delay"].as<double>(), 0.5);
  EXPECT_EQ(cloud_.faults().all().front().count, 2u);
  for (const char* wrong : {R"([{"action": "A"}])", R"([{"code": "C"}])",
                            R"([{"action": "A", "code": "C", "count": 0}])",
                            R"([{"action": "A", "code": "C", "sticks": true}])",
                            R"([{"action": "A", "carried-out": true}])", "7"}) {
    Ask("PUT", "/faults", wrong);
    EXPECT_EQ(code_, 400) << wrong;
  }
  EXPECT_EQ(Ask("GET", "/faults").size(), 6u);
  Ask("PUT", "/faults", "[]");
  EXPECT_TRUE(cloud_.faults().all().empty());
}

}  // namespace
}  // namespace berth::cloud::simulator
