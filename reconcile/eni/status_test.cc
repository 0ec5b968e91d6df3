// A Node's status: what is read of it, and the patch from one to another, on an API server in
// memory with the chart's schema and on JSON with members that nobody knows.
#include <gmock/gmock.h>

#include <random>

#include "async/test_executor.h"
#include "kube/memory/patch.h"
#include "kube/object.h"
#include "log/format.h"
#include "reconcile/eni/objects.h"
#include "reconcile/test_crds.h"

namespace berth::eni {
namespace {

constexpr const char* kPath = "/apis/network.alibabacloud.com/v1beta1/nodes";
constexpr const char* kUnknown = "later.example.com";

// As Terway's controller leaves it: times that it has not set are null.
constexpr const char* kTerwayNode = R"({
  "apiVersion": "network.alibabacloud.com/v1beta1", "kind": "Node",
  "metadata": {"name": "cn-hangzhou.10.0.0.7", "labels": {"name": "cn-hangzhou.10.0.0.7"},
               "finalizers": ["network.alibabacloud.com/node-controller"]},
  "spec": {"nodeMetadata": {"regionID": "cn-hangzhou", "instanceType": "ecs.g7.xlarge",
                            "instanceID": "i-1", "zoneID": "cn-hangzhou-h"},
           "nodeCap": {"adapters": 3, "ipv4PerAdapter": 15},
           "eni": {"vSwitchOptions": ["vsw-1"], "securityGroupIDs": ["sg-1"],
                   "vSwitchSelectPolicy": "most", "enableIPv4": true},
           "pool": {"maxPoolSize": 5, "minPoolSize": 0}},
  "status": {
    "nextSyncOpenAPITime": "2026-07-24T06:06:55Z", "lastSyncOpenAPITime": "2026-07-23T18:06:55Z",
    "lastModifiedTime": null, "nextIdleIPReclaimTime": null,
    "networkInterfaces": {
      "eni-1": {"id": "eni-1", "status": "InUse", "macAddress": "00:16:3e:00:00:01",
                "vSwitchID": "vsw-1", "securityGroupIDs": ["sg-1"],
                "primaryIPAddress": "10.0.0.8", "networkInterfaceTrafficMode": "Standard",
                "networkInterfaceType": "Secondary", "ipv4CIDR": "10.0.0.0/24",
                "ipv4": {"10.0.0.8": {"ip": "10.0.0.8", "primary": true, "status": "Valid",
                                      "podID": "default/a", "podUID": "u-1"},
                         "10.0.0.9": {"ip": "10.0.0.9", "primary": false, "status": "Deleting"}},
                "ipv4Prefix": [{"prefix": "10.0.0.16/28", "status": "Frozen",
                                "frozenExpireAt": null}],
                "conditions": {"InsufficientIP": {"observedTime": "2026-07-23T18:06:55Z",
                                                  "message": "vSwitch vsw-1 is full"}}}}}})";

class StatusTest : public testing::Test {
 protected:
  StatusTest() { InstallCrds(server_); }

  kube::Response Send(kube::Method method, const std::string& path, const std::string& body = "",
                      const std::string& type = "application/json") {
    kube::Response answer;
    server_.Handle({.method = method, .path = path, .body = body, .content_type = type},
                   [&](kube::Response response) { answer = std::move(response); });
    return answer;
  }
  // As both of Terway's programs write it: spec first, status by its own resource.
  Node Create(const std::string& json) {
    Send(kube::Method::kDelete, Format("{}/cn-hangzhou.10.0.0.7", kPath));
    Json object = Json::parse(json);
    object["metadata"].erase("finalizers");
    const auto made =
        Send(kube::Method::kPost, Format("{}?fieldValidation=Strict", kPath), object.to_string());
    EXPECT_EQ(made.code, 201) << made.body;
    if (!object.contains("status")) return Get();
    Json patch;
    patch["status"] = object["status"];
    return Patch(patch);
  }
  Node Patch(const Json& patch) {
    const auto answer = Send(kube::Method::kPatch,
                             Format("{}/cn-hangzhou.10.0.0.7/status?fieldValidation=Strict", kPath),
                             patch.to_string(), "application/merge-patch+json");
    EXPECT_EQ(answer.code, 200) << answer.body << patch.to_string();
    return Get();
  }
  Node Get() {
    return kube::Decode<Node>(
               Send(kube::Method::kGet, Format("{}/cn-hangzhou.10.0.0.7", kPath)).body)
        .value();
  }

  async::TestExecutor executor_;
  kube::memory::Server server_{{.now = [this] { return executor_.WallNow(); },
                                .random = [this] { return executor_.Random(); }}};
};

TEST_F(StatusTest, OfTerwaysObjectIsReadAndNeedsNoPatch) {
  const Node node = Create(kTerwayNode);
  EXPECT_EQ(StatusPatch(node, node.status), std::nullopt);
  ASSERT_TRUE(node.status.nics.contains("eni-1"));
  const Nic& nic = node.status.nics.at("eni-1");
  EXPECT_EQ(nic.mac, "00:16:3e:00:00:01");
  EXPECT_EQ(nic.ipv4.at("10.0.0.8").pod, "default/a");
  EXPECT_TRUE(nic.ipv4.at("10.0.0.8").primary);
  EXPECT_EQ(nic.ipv4.at("10.0.0.9").status, kDeleting);
  EXPECT_EQ(nic.ipv4_prefixes.at(0).frozen_until, std::nullopt);
  EXPECT_EQ(nic.conditions.at("InsufficientIP").message, "vSwitch vsw-1 is full");
  EXPECT_EQ(node.status.next_sync.value() - node.status.last_sync.value(), std::chrono::hours(12));
  EXPECT_EQ(node.status.last_modified, std::nullopt);
  EXPECT_EQ(node.status.figures, std::nullopt);
}

TEST_F(StatusTest, IsPatchedOnlyWhereItDiffersAndAtTheVersionThatWasRead) {
  const Node node = Create(kTerwayNode);
  NodeStatus to = node.status;
  Nic& nic = to.nics.at("eni-1");
  nic.ipv4.erase("10.0.0.9");
  nic.ipv4.at("10.0.0.8").pod.clear();
  nic.conditions.clear();
  to.figures = PoolFigures{};
  Json expected = Json::parse(R"({"metadata":{},"status":{"networkInterfaces":{"eni-1":{
      "ipv4":{"10.0.0.9":null,"10.0.0.8":{"podID":null}},"conditions":null}},
      "pool":{"enis":0,"addresses":0,"idle":0,"attaching":0}}})");
  expected["metadata"]["resourceVersion"] = node.id.version;
  const auto patch = StatusPatch(node, to);
  ASSERT_TRUE(patch);
  EXPECT_EQ(*patch, expected);
  EXPECT_EQ(Patch(*patch).status, to);
}

TEST_F(StatusTest, OfAnEniOfATypeThatTheSchemaLacksCanBeWritten) {
  const Node node = Create(kTerwayNode);
  NodeStatus to = node.status;
  to.nics.at("eni-1").type = "CUSTOM";
  to.nics["eni-2"] = {.id = "eni-2", .status = "InUse", .traffic_mode = "Other", .type = "CUSTOM"};
  const Node written = Patch(StatusPatch(node, to).value());
  EXPECT_EQ(written.status.nics.at("eni-2").type, "");
  EXPECT_EQ(StatusPatch(written, to), std::nullopt) << "written again and again otherwise";
}

TEST(Status, TakesTimesBeyondTheClockForNone) {
  const auto status = kube::Decode<Node>(
      R"({"status":{"nextSyncOpenAPITime":"9999-12-31T23:59:59Z",
                    "lastSyncOpenAPITime":"0001-01-01T00:00:00Z","lastModifiedTime":"soon"}})");
  EXPECT_EQ(status->status, NodeStatus());
}

// Random statuses with few names, so that two of them share many.
class Dice {
 public:
  explicit Dice(unsigned seed) : random_(seed) {}

  NodeStatus Status() {
    NodeStatus status;
    Fill(status.nics, "eni-", [&](Nic& nic) { Make(nic); });
    for (auto& [id, nic] : status.nics) nic.id = id;
    Fill(status.attempts, "token-", [&](Attempt& attempt) { Make(attempt); });
    for (auto& [token, attempt] : status.attempts) attempt.request.client_token = token;
    status.account = Text();
    status.next_sync = Time();
    status.last_sync = Time();
    status.last_modified = Time();
    status.next_reclaim = Time();
    status.warm_up_target = Below(3);
    status.warm_up_allocated = Below(3);
    status.warm_up_completed = Below(2) == 0;
    if (Below(2) == 0) status.figures = PoolFigures{Below(2), Below(2), Below(2), Below(2)};
    if (Below(2) == 0) {
      status.conditions = Json::parse(
          Format(R"([{{"type":"Ready","status":"{}","lastTransitionTime":"2026-01-01T00:00:00Z",)"
                 R"("reason":"R","message":""}}])",
                 Below(2) == 0 ? "True" : "False"));
    }
    return status;
  }

 private:
  int Below(int n) { return std::uniform_int_distribution<>(0, n - 1)(random_); }
  std::string Text() { return Below(3) == 0 ? "" : Format("text-{}", Below(2)); }
  std::string Of(std::initializer_list<std::string_view> values) {
    return std::string(values.begin()[Below(static_cast<int>(values.size()))]);
  }
  std::optional<async::WallTime> Time() {
    if (Below(2) == 0) return std::nullopt;
    return async::WallTime(std::chrono::seconds(1'700'000'000 + Below(2)));
  }
  std::vector<std::string> Texts() {
    std::vector<std::string> texts;
    for (int i = Below(3); i > 0; --i) texts.push_back(Format("text-{}", Below(2)));
    return texts;
  }
  template <typename T, typename Make>
  void Fill(std::map<std::string, T>& entries, const char* name, Make make) {
    for (int i = Below(4); i > 0; --i) make(entries[Format("{}{}", name, Below(4))]);
  }
  void Fill(std::map<std::string, Ip>& addresses) {
    Fill(addresses, "10.0.0.", [&](Ip& ip) {
      ip = {.primary = Below(2) == 0,
            .status = Of({"Valid", "Invalid", "Deleting"}),
            .pod = Text(),
            .pod_uid = Text(),
            .name = Text()};
    });
    for (auto& [address, ip] : addresses) ip.address = address;
  }
  void Fill(std::vector<Prefix>& prefixes) {
    for (int i = Below(3); i > 0; --i)
      prefixes.push_back(
          {.prefix = Text(), .status = Of({"Valid", "Frozen"}), .frozen_until = Time()});
  }
  void Make(Nic& nic) {
    nic = {.status = Text(),
           .mac = Text(),
           .vswitch = Text(),
           .security_groups = Texts(),
           .primary_address = Text(),
           .traffic_mode = Of({"", "Standard", "HighPerformance"}),
           .type = Of({"", "Secondary", "Trunk", "Primary", "Member"}),
           .unschedulable = Below(2) == 0,
           .ipv4_cidr = Text(),
           .ipv6_cidr = Text()};
    Fill(nic.ipv4);
    Fill(nic.ipv6);
    Fill(nic.ipv4_prefixes);
    Fill(nic.ipv6_prefixes);
    Fill(nic.conditions, "Condition", [&](NicCondition& condition) {
      condition = {.message = Text(), .observed = Time().value_or(async::WallTime())};
    });
  }
  void Make(Attempt& attempt) {
    attempt.begun = Time().value_or(async::WallTime());
    attempt.request = {.vswitch_id = Text(),
                       .security_group_ids = Texts(),
                       .traffic_mode = Of({"", "Standard"}),
                       .trunk = Below(2) == 0,
                       .resource_group_id = Text(),
                       .ipv4_addresses = Below(3),
                       .ipv4_prefixes = Below(2),
                       .ipv6_addresses = Below(2),
                       .ipv6_prefixes = Below(2),
                       .instance_id = Text(),
                       .zone_id = Text(),
                       .vpc_id = Text()};
    for (int i = Below(3); i > 0; --i) attempt.request.tags[Format("tag-{}", Below(2))] = Text();
  }

  std::mt19937 random_;
};

TEST_F(StatusTest, BecomesAnyOtherByItsPatch) {
  Node node = Create(kTerwayNode);
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const NodeStatus to = Dice(seed).Status();
    const auto patch = StatusPatch(node, to);
    ASSERT_TRUE(patch);
    node = Patch(*patch);
    ASSERT_EQ(node.status, to) << patch->to_string();
    ASSERT_EQ(StatusPatch(node, to), std::nullopt);
  }
}

using kube::memory::Value;

void AddUnknown(Value& entries) {
  for (auto& entry : entries.object_range()) entry.value()[kUnknown] = "kept";
}

// Puts a member that Berth does not know into the status and each of its parts.
void AddUnknownEverywhere(Value& status) {
  status[kUnknown] = "kept";
  if (Value* attempts = status.find("attempts")) AddUnknown(*attempts);
  if (Value* pool = status.find("pool")) (*pool)[kUnknown] = "kept";
  Value* nics = status.find("networkInterfaces");
  if (!nics) return;
  AddUnknown(*nics);
  for (auto& nic : nics->object_range()) {
    for (const char* map : {"ipv4", "ipv6", "conditions"}) {
      if (Value* entries = nic.value().find(map)) AddUnknown(*entries);
    }
  }
}

// Every part of `before` that is also in `after` has kept its unknown member.
void ExpectKept(const Value& before, const Value& after, const std::string& path) {
  EXPECT_TRUE(!before.contains(kUnknown) || after.contains(kUnknown)) << path;
  for (const auto& member : before.object_range()) {
    if (const Value* present = after.find(member.key()); present && present->is_object())
      ExpectKept(member.value(), *present, path + "/" + member.key());
  }
}

// A user may write any number: it would stay if it were read as a count that it is not.
TEST(Status, CountsThatCannotBeAreWrittenAgain) {
  for (const char* idle : {"-1", "2000000000", "null"}) {
    const auto node = kube::Decode<Node>(
        Format(R"({{"metadata":{{"name":"n","resourceVersion":"7"}},"status":{{"pool":{{"enis":0,)"
               R"("addresses":0,"idle":{},"attaching":0}}}}}})",
               idle));
    NodeStatus to = node->status;
    to.figures = PoolFigures{};
    const auto patch = StatusPatch(*node, to);
    ASSERT_TRUE(patch) << idle;
    EXPECT_EQ((*patch)["status"]["pool"]["idle"].as<int>(), 0) << idle;
  }
}

TEST(Status, KeepsMembersThatBerthDoesNotKnow) {
  const auto read = [](const Value& status) {
    return kube::Decode<Node>(Format(R"({{"status":{}}})", status.to_string())).value();
  };
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Value status = Value::parse(R"({"status":{}})");
    const NodeStatus first = Dice(seed).Status();
    const auto patch = StatusPatch(Node(), first);
    kube::memory::MergePatch(status, Value::parse(patch->to_string()));
    AddUnknownEverywhere(status["status"]);
    const Node node = read(status["status"]);
    ASSERT_EQ(node.status, first);

    const Value before = status;
    const NodeStatus to = Dice(seed + 1'000'000).Status();
    kube::memory::MergePatch(status, Value::parse(StatusPatch(node, to)->to_string()));
    ASSERT_EQ(read(status["status"]).status, to);
    ExpectKept(before["status"], status["status"], "status");
  }
}

}  // namespace
}  // namespace berth::eni
