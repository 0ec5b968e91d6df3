#pragma once

#include <string>
#include <utility>

#include "async/executor.h"
#include "cloud/aliyun/api_client.h"
#include "cloud/aliyun/ecs_client.h"
#include "cloud/aliyun/eflo_client.h"
#include "cloud/aliyun/key_accounts.h"
#include "cloud/aliyun/test_cloud.h"
#include "cloud/aliyun/vpc_client.h"
#include "cloud/call_log.h"
#include "cloud/simulator/aliyun/cloud.h"
#include "cloud/simulator/transport.h"

namespace berth::cloud {

// For tests and benchmarks only: a simulated cloud, and the real client with a key to it.
struct TestAccount {
  static constexpr const char* kKeyId = "LTAI-of-the-test";
  static constexpr const char* kSecret = "very-secret";
  static constexpr const char* kRegion = "cn-hangzhou";

  // `limits` says how much the client may ask of the cloud; its endpoint does not count.
  TestAccount(async::Executor& executor, simulator::Fates& fates, simulator::Cloud::Options options,
              const aliyun::ApiOptions& limits = {}, CallObserver* observer = nullptr)
      : cloud(std::move(options)),
        network(cloud, executor, fates),
        transport(network, executor),
        api(executor, transport, credentials, observer, Placed(limits)),
        ecs_api(executor, transport, credentials, observer, PlacedInEcs(limits)),
        eflo_api(executor, transport, credentials, observer, PlacedInEflo(limits)),
        leni_apis{executor, eflo_api, api},
        key_accounts(executor, transport, observer, Placed({})),
        vpcs(api, credentials, key_accounts, kRegion),
        vpc(api),
        enis(eni_apis),
        eni_accounts(eni_apis, credentials, key_accounts, kRegion),
        lenis(leni_apis),
        leni_accounts(leni_apis, credentials, key_accounts, kRegion) {
    GiveKey();
    credentials.now = aliyun::Credential{kKeyId, kSecret, ""};
  }

  void GiveKey() { cloud.keys().Add({.id = kKeyId, .secret = kSecret, .caller = "berth"}); }
  // From now on calls are signed with another key.
  void ChangeKey(const std::string& id, const std::string& account) {
    cloud.keys().Add({.id = id, .secret = kSecret, .caller = "berth", .account = account});
    credentials.now = aliyun::Credential{id, kSecret, ""};
  }

  simulator::Cloud cloud;
  simulator::Network network;
  simulator::Transport transport;
  aliyun::TestCredentials credentials;
  aliyun::ApiClient api;
  aliyun::ApiClient ecs_api;
  aliyun::ApiClient eflo_api;
  const aliyun::EniApis eni_apis{ecs_api, api};
  const aliyun::EfloApis leni_apis;
  aliyun::KeyAccounts key_accounts;
  aliyun::VpcClients vpcs;
  aliyun::VpcClient vpc;   // of whatever account the key is
  aliyun::EcsClient enis;  // likewise
  aliyun::EniClients eni_accounts;
  aliyun::EfloClient lenis;  // of whatever account the key is
  aliyun::LeniClients leni_accounts;

 private:
  static aliyun::ApiOptions Placed(aliyun::ApiOptions options) {
    options.region = kRegion;
    options.endpoint = aliyun::VpcEndpoint(options.region, false);
    options.version = aliyun::kVpcVersion;
    return options;
  }
  static aliyun::ApiOptions PlacedInEcs(aliyun::ApiOptions options) {
    options = Placed(std::move(options));
    options.endpoint = aliyun::EcsEndpoint(options.region, false);
    options.version = aliyun::kEcsVersion;
    return options;
  }
  static aliyun::ApiOptions PlacedInEflo(aliyun::ApiOptions options) {
    options = Placed(std::move(options));
    options.endpoint = aliyun::EfloEndpoint(options.region, false);
    options.version = aliyun::kEfloVersion;
    options.form = true;
    return options;
  }
};

}  // namespace berth::cloud
