#include "cloud/azure/config.h"

#include <gtest/gtest.h>

#include <map>

namespace berth::cloud::azure {
namespace {

constexpr const char* kFile = R"({
  "cloud": "AzurePublicCloud", "tenantId": "t", "subscriptionId": "s",
  "resourceGroup": "rg", "location": "westeurope", "vnetName": "net",
  "aadClientId": "id", "aadClientSecret": "very-secret", "useInstanceMetadata": true})";

Result<Config> Read(std::string_view text, const ConfigOverrides& overrides = {},
                    std::map<std::string, std::string> variables = {}) {
  return ReadConfig(text, overrides, [&](const char* name) { return variables[name]; });
}

std::string With(std::string members) {
  std::string text = kFile;
  return text.insert(1, members + ",");
}

TEST(AzureConfigTest, AzuresOwnFileIsEnough) {
  const auto config = Read(kFile);
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->tenant, "t");
  EXPECT_EQ(config->subscription, "s");
  EXPECT_EQ(config->vnet_resource_group, "rg");
  EXPECT_EQ(config->gateway, "servicegateway");
  EXPECT_EQ(config->endpoint, "https://management.azure.com");
  EXPECT_EQ(config->authority, "https://login.microsoftonline.com");
  EXPECT_EQ(config->scope, "https://management.azure.com/.default");
  EXPECT_EQ(config->api_version, "2025-05-01");
  EXPECT_EQ(config->client_secret, "very-secret");
}

TEST(AzureConfigTest, YamlIsReadToo) {
  const auto config = Read(
      "tenantId: t\nsubscriptionId: s\nresourceGroup: rg\nlocation: x\nvnetName: n\n"
      "aadClientId: id\naadClientSecret: z\n");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->client_secret, "z");
}

TEST(AzureConfigTest, NetworkResourcesMayBeElsewhere) {
  const auto config = Read(With(R"("networkResourceSubscriptionID": "other",
      "networkResourceTenantID": "theirs", "vnetResourceGroup": "nets",
      "serviceGatewayName": "gw", "resourceManagerEndpoint": "https://arm/")"));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->subscription, "other");
  EXPECT_EQ(config->tenant, "theirs");
  EXPECT_EQ(config->vnet_resource_group, "nets");
  EXPECT_EQ(config->gateway, "gw");
  EXPECT_EQ(config->endpoint, "https://arm");
}

TEST(AzureConfigTest, OptionsGoBeforeTheFile) {
  const auto config =
      Read(With(R"("serviceGatewayName": "gw")"), {.gateway = "mine",
                                                   .endpoint = "https://localhost:1/",
                                                   .authority = "https://localhost:2",
                                                   .api_version = "2026-01-01"});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->gateway, "mine");
  EXPECT_EQ(config->endpoint, "https://localhost:1");
  EXPECT_EQ(config->authority, "https://localhost:2");
  EXPECT_EQ(config->scope, "https://management.azure.com/.default");
  EXPECT_EQ(config->api_version, "2026-01-01");
}

TEST(AzureConfigTest, AWorkloadIdentityTakesItsVariables) {
  const std::string file = R"({"useFederatedWorkloadIdentityExtension": true,
      "subscriptionId": "s", "resourceGroup": "rg", "location": "x", "vnetName": "n"})";
  const auto config = Read(file, {},
                           {{"AZURE_CLIENT_ID", "c"},
                            {"AZURE_TENANT_ID", "t"},
                            {"AZURE_AUTHORITY_HOST", "https://login.example/"},
                            {"AZURE_FEDERATED_TOKEN_FILE", "/token"}});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->client_id, "c");
  EXPECT_EQ(config->tenant, "t");
  EXPECT_EQ(config->authority, "https://login.example");
  EXPECT_EQ(config->federated_token_file, "/token");
  EXPECT_TRUE(Read(file).error().message.contains("AZURE_FEDERATED_TOKEN_FILE"));
}

TEST(AzureConfigTest, ASovereignCloudHasItsOwnEndpoints) {
  const auto config = Read(R"({"cloud": "AZUREUSGOVERNMENTCLOUD", "tenantId": "t",
      "subscriptionId": "s", "resourceGroup": "rg", "location": "x", "vnetName": "n",
      "aadClientId": "id", "aadClientSecret": "z"})");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->endpoint, "https://management.usgovcloudapi.net");
  EXPECT_EQ(config->scope, "https://management.usgovcloudapi.net/.default");
}

TEST(AzureConfigTest, AnErrorNamesTheMemberAndQuotesNothing) {
  for (const auto& [member, text] : std::map<std::string, std::string>{
           {"location", R"({"tenantId": "t", "subscriptionId": "s", "resourceGroup": "r",
               "vnetName": "n", "aadClientId": "i", "aadClientSecret": "very-secret"})"},
           {"aadClientSecret", R"({"tenantId": "t"})"},
           {"managed identity", R"({"useManagedIdentityExtension": true})"},
           {"cloud", R"({"cloud": "Mars"})"},
           {"JSON or YAML", "{\"aadClientSecret\": \"very-secret"},
           {"JSON or YAML object", "very-secret"}}) {
    const auto config = Read(text);
    ASSERT_FALSE(config) << text;
    EXPECT_TRUE(config.error().message.contains(member)) << config.error().message;
    EXPECT_FALSE(config.error().message.contains("very-secret"));
  }
}

TEST(AzureConfigTest, ATokenGoesOverHttpsOnly) {
  EXPECT_FALSE(Read(kFile, {.endpoint = "http://management.azure.com"}));
  EXPECT_FALSE(Read(kFile, {.authority = "http://login"}));
}

}  // namespace
}  // namespace berth::cloud::azure
