#pragma once

#include "cloud/simulator/aliyun/product.h"
#include "cloud/vpc.h"

// Refusals of calls that the state of an EIP does not allow.
namespace berth::cloud::simulator {

inline std::unexpected<Refusal> WrongStatus() {
  return Refuse(400, "IncorrectEipStatus",
                "Current elastic IP status does not support this operation.");
}

inline std::unexpected<Refusal> PackageBusy() {
  return Refuse(400, "BandwidthPackageOperation.conflict",
                "There is already a operation in progress on the bandwidth package.");
}

// Whether it is joining a bandwidth package or leaving one.
inline bool IsBeingMoved(const Eip& eip) {
  return eip.bandwidth_package_status == "BINDING" || eip.bandwidth_package_status == "UNBINDING";
}

}  // namespace berth::cloud::simulator
