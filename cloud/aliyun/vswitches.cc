#include "cloud/aliyun/vswitches.h"

#include <cstdint>

#include "cloud/aliyun/fields.h"

namespace berth::cloud::aliyun {
namespace {

VSwitch ReadVSwitch(const Json& json) {
  const Json& free = Member(json, "AvailableIpAddressCount");
  return {.id = Text(json, "VSwitchId"),
          .vpc_id = Text(json, "VpcId"),
          .zone_id = Text(json, "ZoneId"),
          .cidr = Text(json, "CidrBlock"),
          .ipv6_cidr = Text(json, "Ipv6CidrBlock"),
          .free_addresses = free.is_int64() && free.as<std::int64_t>() > 0
                                ? static_cast<std::size_t>(free.as<std::int64_t>())
                                : 0};
}

}  // namespace

async::Task<Result<std::vector<VSwitch>>> ReadVSwitches(AccountApi* vpc,
                                                        std::vector<std::string> ids) {
  std::vector<VSwitch> vswitches;
  for (const std::string& id : ids) {
    const auto answer = co_await vpc->Call("DescribeVSwitches", {{"VSwitchId", id}});
    if (!answer) co_return std::unexpected(answer.error());
    const bool is_list = ForEach(*answer, "VSwitches", "VSwitch",
                                 [&](const Json& item) { vswitches.push_back(ReadVSwitch(item)); });
    if (!is_list) co_return std::unexpected(Lacks(*answer, "VSwitches", ErrorClass::kRetry));
  }
  co_return vswitches;
}

}  // namespace berth::cloud::aliyun
