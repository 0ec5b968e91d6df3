#pragma once

#include <string>
#include <vector>

#include "async/task.h"
#include "cloud/aliyun/account_clients.h"
#include "cloud/eni.h"

namespace berth::cloud::aliyun {

// Enis::DescribeVSwitches, which is VPC's for ECS and EFLO alike. `vpc` outlives the task.
async::Task<Result<std::vector<VSwitch>>> ReadVSwitches(AccountApi* vpc,
                                                        std::vector<std::string> ids);

}  // namespace berth::cloud::aliyun
