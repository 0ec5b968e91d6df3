#pragma once

#include <string>
#include <utility>

#include "async/executor.h"
#include "cloud/aliyun/api_client.h"
#include "cloud/aliyun/credentials.h"
#include "cloud/aliyun/vpc_client.h"
#include "cloud/call_log.h"
#include "cloud/simulator/cloud.h"
#include "cloud/simulator/transport.h"

namespace berth::cloud {

// For tests and benchmarks only: a simulated cloud, and the real client with a key to it.
struct TestAccount {
  static constexpr const char* kKeyId = "LTAI-of-the-test";
  static constexpr const char* kSecret = "very-secret";

  // Of `limits` what the client may ask of the cloud counts, not where that is.
  TestAccount(async::Executor& executor, simulator::Fates& fates, simulator::Cloud::Options options,
              aliyun::ApiOptions limits = {}, CallObserver* observer = nullptr)
      : cloud(std::move(options)),
        network(cloud, executor, fates),
        transport(network, executor),
        credentials({.key_id = kKeyId, .secret = kSecret, .security_token = ""}),
        api(executor, transport, credentials, observer, Placed(std::move(limits))),
        vpc(api) {
    GiveKey();
  }

  void GiveKey() { cloud.keys().Add({.id = kKeyId, .secret = kSecret, .caller = "berth"}); }

  simulator::Cloud cloud;
  simulator::Network network;
  simulator::Transport transport;
  aliyun::FixedCredentials credentials;
  aliyun::ApiClient api;
  aliyun::VpcClient vpc;

 private:
  static aliyun::ApiOptions Placed(aliyun::ApiOptions options) {
    options.region = "cn-hangzhou";
    options.endpoint = aliyun::VpcEndpoint(options.region, false);
    options.version = aliyun::kVpcVersion;
    return options;
  }
};

}  // namespace berth::cloud
