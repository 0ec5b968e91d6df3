#pragma once

#include "cloud/simulator/aliyun/product.h"

// Refusals of EFLO: by number, in an answer with the HTTP status 200.
namespace berth::cloud::simulator {

inline std::unexpected<Refusal> EfloGone() {
  return Refuse(200, "1011", "The resource does not exist.");
}
inline std::unexpected<Refusal> EfloAddressQuota() {
  return Refuse(200, "1013", "The private IP addresses of the network interface exceed the quota.");
}
inline std::unexpected<Refusal> EfloWrongState() {
  return Refuse(200, "1017", "The status of the resource does not support this operation.");
}
// Codes for these are not published: they are those of ECS here.
inline std::unexpected<Refusal> EfloVSwitchFull() {
  return Refuse(403, "InvalidVSwitchId.IpNotEnough",
                "The vSwitch does not have enough free addresses.");
}
inline std::unexpected<Refusal> EfloNodeFull() {
  return Refuse(403, "EniPerInstanceLimitExceeded",
                "The network interfaces of the node exceed its quota.");
}

}  // namespace berth::cloud::simulator
