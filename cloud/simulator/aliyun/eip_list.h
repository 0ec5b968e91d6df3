#pragma once

#include <expected>
#include <string>
#include <vector>

#include "cloud/simulator/aliyun/eip_store.h"
#include "cloud/simulator/aliyun/product.h"

// Filters, pages and members of the calls that list EIPs.
namespace berth::cloud::simulator {

// The visible EIPs that match every filter given; of these IDs and addresses, where any are named.
std::expected<std::vector<const EipRecord*>, Refusal> SelectEips(
    const EipStore& store, const std::vector<std::string>& ids,
    const std::vector<std::string>& addresses, const Call& call);
// The answer to DescribeEipAddresses.
Outcome DescribeEips(const EipStore& store, const std::string& region, const Call& call);

}  // namespace berth::cloud::simulator
