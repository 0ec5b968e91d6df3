#pragma once

#include <string>

#include "cloud/azure/config.h"
#include "cloud/azure/token_source.h"
#include "cloud/simulator/azure/cloud.h"

namespace berth::cloud::simulator::azure {

// An identity that a simulated Azure knows.
inline constexpr const char* kTenant = "00000000-0000-0000-0000-00000000face";
inline constexpr const char* kClient = "00000000-0000-0000-0000-00000000cafe";
inline constexpr const char* kEndpoint = "https://management.azure.com";

// From now on the cloud knows the identity by this secret.
inline void AddIdentity(Cloud& cloud, const std::string& secret) {
  cloud.login().Add({.tenant = kTenant, .id = kClient, .secret = secret, .assertions = {}});
}

// The cloud config of an account of that identity, with Resource Manager and authority at one
// endpoint.
inline cloud::azure::Config ConfigOf(const Cloud::Options& options, const std::string& secret,
                                     const std::string& endpoint = kEndpoint) {
  return {.tenant = kTenant,
          .subscription = options.subscription,
          .resource_group = options.resource_group,
          .location = options.location,
          .vnet = "berth",
          .vnet_resource_group = options.resource_group,
          .gateway = options.gateway,
          .client_id = kClient,
          .client_secret = secret,
          .federated_token_file = {},
          .endpoint = endpoint,
          .authority = endpoint,
          .scope = "https://management.azure.com/.default"};
}

}  // namespace berth::cloud::simulator::azure
