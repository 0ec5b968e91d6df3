#include "cloud/simulator/azure/cloud.h"

#include <gtest/gtest.h>

#include "cloud/simulator/azure/console.h"
#include "cloud/simulator/azure/test_caller.h"

namespace berth::cloud::simulator::azure {
namespace {

using namespace std::chrono_literals;

class AzureCloudTest : public testing::Test {
 protected:
  Json Console(const std::string& method, const std::string& path, const std::string& body = "") {
    const auto answer = azure::Console(cloud_, {.method = method, .url = "", .body = body}, path);
    console_code_ = answer.code;
    return Json::parse(answer.body);
  }
  std::string PutIp(const std::string& name) {
    return caller_.Net("PUT", "publicIPAddresses/" + name, caller_.IpBody()).Code();
  }
  std::string Register(const std::string& name) {
    return caller_
        .Gateway("updateServices", Format(R"({{"action":"PartialUpdate",
        "serviceRequests":[{{"service":{{"name":"{}","properties":{{"serviceType":"Inbound"}}}}}}]}})",
                                          name))
        .Code();
  }
  std::string Locate(const std::string& locations) {
    return caller_
        .Gateway("updateAddressLocations",
                 Format(R"({{"action":"PartialUpdate","addressLocations":[{}]}})", locations))
        .Code();
  }

  Cloud cloud_{{.page = 2, .limits = {.enabled = false}}};
  TestCaller caller_{cloud_};
  int console_code_ = 0;
};

TEST_F(AzureCloudTest, OnlyATokenThatIsGoodIsTaken) {
  EXPECT_EQ(caller_.Login({{"client_secret", "wrong"}}).code, 401);
  EXPECT_EQ(caller_
                .Login({{"client_assertion", "jwt"},
                        {"client_assertion_type",
                         "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"}})
                .code,
            200);
  EXPECT_EQ(caller_.Net("GET", "publicIPAddresses").Code(), "OK");
  caller_.now += 61min;
  EXPECT_EQ(caller_.Net("GET", "publicIPAddresses").Code(), "ExpiredAuthenticationToken");
  caller_.token = "x";
  EXPECT_EQ(caller_.Net("GET", "publicIPAddresses").Code(), "InvalidAuthenticationToken");
}

TEST_F(AzureCloudTest, NamesHaveNoCaseAndMissingResourcesAreNotFound) {
  EXPECT_EQ(PutIp("One-Pip"), "OK");
  EXPECT_EQ(caller_.Net("GET", "PUBLICIPADDRESSES/one-PIP").body["name"].as<std::string>(),
            "One-Pip");
  EXPECT_EQ(caller_.Net("GET", "publicIPAddresses/two").Code(), "ResourceNotFound");
  EXPECT_EQ(caller_.Net("DELETE", "publicIPAddresses/two").code, 204);
  EXPECT_EQ(caller_.Net("DELETE", "publicIPAddresses/ONE-PIP").code, 200);
  EXPECT_EQ(caller_.Net("GET", "publicIPAddresses/one-pip").Code(), "ResourceNotFound");
}

TEST_F(AzureCloudTest, ListsHavePages) {
  for (const char* name : {"a", "b", "c", "d", "e"}) EXPECT_EQ(PutIp(name), "OK");
  auto page = caller_.Net("GET", "publicIPAddresses");
  std::size_t seen = page.body["value"].size();
  while (page.body.contains("nextLink")) {
    page = caller_.Ask("GET", page.body["nextLink"].as<std::string>());
    seen += page.body["value"].size();
  }
  EXPECT_EQ(seen, 5u);
}

TEST_F(AzureCloudTest, AnEtagGuardsAResource) {
  EXPECT_EQ(PutIp("a"), "OK");
  const std::string etag = caller_.Net("GET", "publicIPAddresses/a").body["etag"].as<std::string>();
  const auto put = [&](const char* header, const std::string& value) {
    return caller_.Net("PUT", "publicIPAddresses/a", caller_.IpBody(), {{header, value}}).code;
  };
  EXPECT_EQ(put("if-none-match", "*"), 412);
  EXPECT_EQ(put("if-match", etag), 200);
  EXPECT_EQ(put("if-match", etag), 412);
  EXPECT_EQ(caller_.Net("DELETE", "publicIPAddresses/a", "", {{"if-match", etag}}).code, 412);
}

TEST_F(AzureCloudTest, RulesOfALoadBalancer) {
  EXPECT_EQ(PutIp("a-pip"), "OK");
  using Rules = std::vector<std::tuple<const char*, int, int>>;
  const auto put = [&](const char* ip, Rules rules) {
    return caller_.Net("PUT", "loadBalancers/a", caller_.BalancerBody("a", ip, std::move(rules)))
        .Code();
  };
  EXPECT_EQ(put("none", {{"Tcp", 80, 80}}), "InvalidResourceReference");
  EXPECT_EQ(put("a-pip", {{"Tcp", 65'535, 80}}), "InvalidRequestContent");
  EXPECT_EQ(put("a-pip", {{"Sctp", 80, 80}}), "InvalidRequestContent");
  EXPECT_EQ(put("a-pip", {{"Tcp", 80, 8080}, {"Tcp", 81, 8080}}),
            "RulesUseSameBackendPortProtocolAndPool");
  EXPECT_EQ(put("a-pip", {{"Tcp", 80, 8080}, {"Udp", 80, 8080}}), "OK");
  EXPECT_EQ(caller_.Net("DELETE", "publicIPAddresses/a-pip").Code(),
            "PublicIPAddressCannotBeDeleted");
  EXPECT_EQ(caller_.Net("PUT", "loadBalancers/b", caller_.BalancerBody("b", "a-pip", {})).Code(),
            "PublicIPAddressInUse");
}

TEST_F(AzureCloudTest, ALoadBalancerStaysWhileAServiceRefersToIt) {
  EXPECT_EQ(PutIp("a-pip"), "OK");
  EXPECT_EQ(caller_.Net("PUT", "loadBalancers/a", caller_.BalancerBody("a", "a-pip", {})).Code(),
            "OK");
  const auto update = [&](const std::string& pools) {
    return caller_
        .Gateway("updateServices", Format(R"({{"action":"PartialUpdate","serviceRequests":
        [{{"service":{{"name":"A","properties":{{"serviceType":"Inbound",
        "loadBalancerBackendPools":{}}}}}}}]}})",
                                          pools))
        .Code();
  };
  EXPECT_EQ(
      update(
          R"([{"id":"/subscriptions/x/resourceGroups/y/providers/Microsoft.Network/loadBalancers/a"}])"),
      "InvalidResourceReference");
  EXPECT_EQ(
      update(Format(R"([{{"id":"{}/loadBalancers/a/backendAddressPools/a"}}])", caller_.Base())),
      "OK");
  EXPECT_EQ(caller_.Net("DELETE", "loadBalancers/a").Code(), "InUseLoadBalancerCannotBeDeleted");
  EXPECT_EQ(update("[]"), "OK");
  EXPECT_EQ(caller_.Net("DELETE", "loadBalancers/a").Code(), "OK");
}

TEST_F(AzureCloudTest, RulesOfServices) {
  EXPECT_EQ(Register("a"), "OK");
  EXPECT_EQ(caller_
                .Gateway("updateServices", R"({"action":"PartialUpdate","serviceRequests":
      [{"service":{"name":"b","properties":{"serviceType":"Outbound","isDefault":true}}}]})")
                .Code(),
            "MultipleDefaultServicesNotAllowedInServiceGateway");
  EXPECT_EQ(Locate(R"({"addressLocation":"10.0.0.1","addressUpdateAction":"FullUpdate",
      "addresses":[{"address":"10.1.0.1","services":["A"]}]})"),
            "OK");
  const char* remove = R"({"action":"PartialUpdate","serviceRequests":
      [{"isDelete":true,"service":{"name":"a"}}]})";
  EXPECT_EQ(caller_.Gateway("updateServices", remove).Code(),
            "ServiceWithOverlayMappingsCannotBeDeleted");
  EXPECT_EQ(Locate(R"({"addressLocation":"10.0.0.1","addressUpdateAction":"PartialUpdate",
      "addresses":[{"address":"10.1.0.1","services":[]}]})"),
            "OK");
  EXPECT_EQ(caller_.Gateway("updateServices", remove).Code(), "OK");
  EXPECT_EQ(cloud_.gateway().services().size(), 1u);
  EXPECT_EQ(caller_
                .Gateway("updateServices", R"({"action":"PartialUpdate","serviceRequests":
      [{"isDelete":true,"service":{"name":"default-natgw"}}]})")
                .Code(),
            "DefaultServiceCannotBeRemoved");
}

TEST_F(AzureCloudTest, RulesOfLocations) {
  EXPECT_EQ(Register("a"), "OK");
  const std::string one = R"({"addressLocation":"fd00::A","addressUpdateAction":"FullUpdate",
      "addresses":[{"address":"fd00:1::A","services":["a"]}]})";
  const std::string same = R"({"addressLocation":"FD00:0:0::a","addressUpdateAction":"FullUpdate",
      "addresses":[]})";
  EXPECT_EQ(Locate(one + "," + same), "DuplicateLocationsInRequest");
  EXPECT_EQ(Locate(one), "OK");
  const auto shown = caller_.Net("GET", "serviceGateways/servicegateway/addressLocations").body;
  EXPECT_EQ(shown["value"][std::size_t{0}]["addressLocation"].as<std::string>(), "FD00::A");
  EXPECT_EQ(Locate(R"({"addressLocation":"10.0.0.1","addressUpdateAction":"FullUpdate",
      "addresses":[{"address":"fd00::1","services":["a"]}]})"),
            "AddressFamilyMismatchInLocation");
  EXPECT_EQ(Locate(R"({"addressLocation":"10.0.0.1","addressUpdateAction":"FullUpdate",
      "addresses":[{"address":"10.1.0.1","services":["b"]}]})"),
            "ServicesNotFoundInServiceGateway");
  EXPECT_EQ(Locate(R"({"addressLocation":"10.0.0.1","addressUpdateAction":"FullUpdate",
      "addresses":null})"),
            "InvalidRequestFormat");
  EXPECT_EQ(Locate(same), "OK");
  EXPECT_TRUE(cloud_.gateway().locations().empty());
}

TEST_F(AzureCloudTest, QuotasAreSettable) {
  Console("PUT", "/quotas", R"({"publicIPAddresses": 1})");
  EXPECT_EQ(PutIp("a"), "OK");
  EXPECT_EQ(PutIp("b"), "PublicIPCountLimitReached");
  EXPECT_EQ(PutIp("a"), "OK");
}

TEST_F(AzureCloudTest, OthersMeddle) {
  Console("PUT", "/resources/natGateways/theirs", R"({"location":"westeurope","properties":{}})");
  EXPECT_EQ(caller_.Net("GET", "natGateways/theirs").code, 200);
  Console("PUT", "/services/x", R"({"serviceType":"Inbound"})");
  Console("PUT", "/locations/10.0.0.9", R"({"10.1.0.9":["x"]})");
  const Json state = Console("GET", "/state");
  EXPECT_EQ(state["natGateways"].size(), 1u);
  EXPECT_EQ(state["services"].size(), 2u);
  EXPECT_EQ(state["addressLocations"].size(), 1u);
  Console("DELETE", "/resources/natGateways/theirs");
  Console("DELETE", "/locations/10.0.0.9");
  EXPECT_EQ(caller_.Net("GET", "natGateways/theirs").code, 404);
  const Json ledger = Console("GET", "/ledger");
  EXPECT_EQ(ledger["resources"]["natGateways"]["deleted"].as<int>(), 1);
  EXPECT_EQ(ledger["calls"]["GetNatGateway"].as<int>(), 2);
  Console("PUT", "/faults", R"([{"action":"A"}])");
  EXPECT_EQ(console_code_, 400);
  EXPECT_EQ(Console("PUT", "/faults", R"([{"action":"A","lro-failed":"X","count":2}])").size(), 1u);
}

TEST_F(AzureCloudTest, BodiesOfAnyKindAreAnswered) {
  for (const char* body : {"", "7", "[]", "{}", "{\"action\":7}", R"({"action":"PartialUpdate",
           "serviceRequests":[7]})",
                           R"({"action":"PartialUpdate","addressLocations":[[]]})"}) {
    EXPECT_EQ(caller_.Net("PUT", "publicIPAddresses/a", body).code, 400) << body;
    EXPECT_EQ(caller_.Net("PUT", "loadBalancers/a", body).code, 400) << body;
    EXPECT_EQ(caller_.Gateway("updateServices", body).code, 400) << body;
    EXPECT_EQ(caller_.Gateway("updateAddressLocations", body).code, 400) << body;
  }
}

class SlowAzureTest : public testing::Test {
 protected:
  Cloud cloud_{{.least_operation = 2s, .most_operation = 2s}};
  TestCaller caller_{cloud_};
};

TEST_F(SlowAzureTest, AnOperationIsFollowedToItsEnd) {
  const auto put = caller_.Net("PUT", "publicIPAddresses/a", caller_.IpBody());
  EXPECT_EQ(put.code, 201);
  EXPECT_EQ(put.body["properties"]["provisioningState"].as<std::string>(), "Updating");
  const std::string poll = put.Header("azure-asyncoperation");
  EXPECT_EQ(caller_.Ask("GET", poll).body["status"].as<std::string>(), "InProgress");
  caller_.now += 2s;
  EXPECT_EQ(caller_.Ask("GET", poll).body["status"].as<std::string>(), "Succeeded");
  const auto removed = caller_.Net("DELETE", "publicIPAddresses/a");
  EXPECT_EQ(removed.code, 202);
  EXPECT_EQ(caller_.Net("PUT", "publicIPAddresses/a", caller_.IpBody()).code, 409);
  EXPECT_EQ(caller_.Ask("GET", removed.Header("location")).code, 202);
  caller_.now += 2s;
  EXPECT_EQ(caller_.Ask("GET", removed.Header("location")).code, 200);
  EXPECT_EQ(caller_.Net("GET", "publicIPAddresses/a").code, 404);
}

TEST_F(SlowAzureTest, ALaterWriteSupersedesAnEarlierOne) {
  const auto first = caller_.Net("PUT", "publicIPAddresses/a", caller_.IpBody());
  caller_.Net("PUT", "publicIPAddresses/a", caller_.IpBody());
  const auto poll = caller_.Ask("GET", first.Header("azure-asyncoperation"));
  EXPECT_EQ(poll.body["status"].as<std::string>(), "Canceled");
  EXPECT_EQ(poll.body["error"]["code"].as<std::string>(),
            "CanceledAndSupersededDueToAnotherOperation");
}

TEST_F(SlowAzureTest, AReferenceToAResourceThatIsNotReadyIsRefused) {
  caller_.Net("PUT", "publicIPAddresses/a", caller_.IpBody());
  EXPECT_EQ(caller_.Net("PUT", "loadBalancers/a", caller_.BalancerBody("a", "a", {})).Code(),
            "ReferencedResourceNotProvisioned");
}

TEST_F(SlowAzureTest, AnUpdateOfTheGatewayTakesEffectAtItsEnd) {
  const auto post = caller_.Gateway("updateServices", R"({"action":"PartialUpdate",
      "serviceRequests":[{"service":{"name":"a","properties":{"serviceType":"Inbound"}}}]})");
  EXPECT_EQ(post.code, 202);
  EXPECT_EQ(cloud_.gateway().services().size(), 1u);
  caller_.now += 2s;
  cloud_.Settle(caller_.now);
  EXPECT_EQ(cloud_.gateway().services().size(), 2u);
}

TEST_F(SlowAzureTest, AFailedOperationLeavesAResourceThatFailed) {
  cloud_.faults().Set(
      {{.action = "PutPublicIPAddress", .kind = Fault::Kind::kFallsBack, .code = "QuotaExceeded"}});
  const auto put = caller_.Net("PUT", "publicIPAddresses/a", caller_.IpBody());
  caller_.now += 2s;
  const auto poll = caller_.Ask("GET", put.Header("azure-asyncoperation"));
  EXPECT_EQ(poll.code, 200);
  EXPECT_EQ(poll.body["status"].as<std::string>(), "Failed");
  EXPECT_EQ(poll.body["error"]["code"].as<std::string>(), "QuotaExceeded");
  EXPECT_EQ(caller_.Net("GET", "publicIPAddresses/a")
                .body["properties"]["provisioningState"]
                .as<std::string>(),
            "Failed");
}

TEST_F(SlowAzureTest, TooManyCallsAreThrottled) {
  int good = 0;
  TestCaller::Answered last;
  for (int i = 0; i < 300; ++i) {
    last = caller_.Net("GET", "publicIPAddresses");
    if (last.code == 200) ++good;
  }
  EXPECT_EQ(good, 250);
  EXPECT_EQ(last.Code(), "TooManyRequests");
  EXPECT_EQ(last.Header("retry-after"), "5");
  caller_.now += 1s;
  EXPECT_EQ(caller_.Net("GET", "publicIPAddresses").code, 200);
  EXPECT_EQ(cloud_.calls().at("ListPublicIPAddresses").throttled, 50u);
}

}  // namespace
}  // namespace berth::cloud::simulator::azure
