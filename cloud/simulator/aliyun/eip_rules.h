#pragma once

#include <expected>
#include <optional>

#include "cloud/simulator/aliyun/product.h"
#include "cloud/vpc.h"

namespace berth::cloud::simulator {

// The EIP that AllocateEipAddress asks for, with the cloud's defaults; neither ID nor address.
std::expected<Eip, Refusal> EipToAllocate(const Call& call);
// How long the subscription lasts that an accepted AllocateEipAddress asks for; none for
// pay-as-you-go. A month is a twelfth of a year.
std::optional<async::Duration> SubscriptionTerm(const Call& call);
// `eip` as ModifyEipAddressAttribute wants it.
std::expected<Eip, Refusal> EipModified(Eip eip, const Call& call);

}  // namespace berth::cloud::simulator
