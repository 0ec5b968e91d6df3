#pragma once

#include <string>
#include <string_view>

#include "cloud/aliyun/signature.h"
#include "cloud/simulator/aliyun/product.h"
#include "cloud/simulator/received.h"
#include "http/transport.h"

namespace berth::cloud::simulator {

// A request taken apart. Both styles are understood: the one with headers (ACS3) and the older one
// (V1), where everything is a parameter. SDKs of the older style send x-acs-action and
// x-acs-version as well, so the Authorization header alone tells which it is.
struct Received : ReceivedRequest {
  explicit Received(const http::Request& request);

  // Whether it claims to be signed with ACS3.
  bool IsAcs3() const;
  // Without those that say how it is signed and what it calls.
  aliyun::Parameters ActionParameters() const;

  std::string action;
  std::string version;
};

http::Response SuccessResponse(Json fields, std::string_view request_id);
http::Response ErrorResponse(const Refusal& refusal, std::string_view host,
                             std::string_view request_id);

}  // namespace berth::cloud::simulator
