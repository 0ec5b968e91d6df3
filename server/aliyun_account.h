#pragma once

#include <memory>

#include "async/executor.h"
#include "cloud/aliyun/api_client.h"
#include "cloud/aliyun/credentials.h"
#include "cloud/aliyun/ecs_client.h"
#include "cloud/aliyun/eflo_client.h"
#include "cloud/aliyun/key_accounts.h"
#include "cloud/aliyun/vpc_client.h"
#include "cloud/call_log.h"
#include "http/client.h"
#include "http/transport.h"
#include "server/options.h"

namespace berth::server {

// Access to Alibaba Cloud and all that calling it takes. Of the control thread.
class AliyunAccount {
 public:
  // Over HTTPS, as the options say. kTerminal when a file cannot be read or there is no key.
  // Executor, client and observer, if there is one, outlive the account.
  static Result<std::unique_ptr<AliyunAccount>> Open(async::Executor& executor,
                                                     http::Client& client,
                                                     cloud::CallObserver* observer,
                                                     const systems::AliyunOptions& options);

  // In whatever cloud `transport` leads to.
  AliyunAccount(async::Executor& executor, std::unique_ptr<http::Transport> transport,
                std::unique_ptr<cloud::aliyun::Credentials> credentials,
                cloud::CallObserver* observer, const systems::AliyunOptions& options);

  cloud::Vpcs& vpcs() { return vpcs_; }
  // Network interfaces of ECS instances, and of Lingjun nodes.
  cloud::EniAccounts& ecs_enis() { return ecs_enis_; }
  cloud::EniAccounts& eflo_enis() { return eflo_enis_; }

 private:
  const std::unique_ptr<http::Transport> transport_;
  const std::unique_ptr<cloud::aliyun::Credentials> credentials_;
  cloud::aliyun::ApiClient vpc_api_;
  cloud::aliyun::ApiClient ecs_api_;
  cloud::aliyun::ApiClient eflo_api_;
  const cloud::aliyun::EniApis ecs_apis_;
  const cloud::aliyun::EfloApis eflo_apis_;
  cloud::aliyun::KeyAccounts key_accounts_;
  cloud::aliyun::VpcClients vpcs_;
  cloud::aliyun::EniClients ecs_enis_;
  cloud::aliyun::LeniClients eflo_enis_;
};

}  // namespace berth::server
