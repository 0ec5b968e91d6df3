#pragma once

#include <string>

#include "async/executor.h"
#include "cloud/aliyun/credentials.h"
#include "cloud/aliyun/signature.h"
#include "http/transport.h"

namespace berth::cloud::aliyun {

// One try of a call of the RPC style, before it is signed.
struct UnsignedCall {
  std::string endpoint;  // "https://vpc.cn-hangzhou.aliyuncs.com"
  std::string version;
  std::string action;
  Parameters parameters;
  bool form = false;  // the parameters travel in the body
  async::WallTime date;
  std::string nonce;  // never used before
};

// As both signatures and the cloud's answers write it: 2026-01-02T03:04:05Z.

// The request to send: a POST with the parameters in its query and no body, or in its body. The
// documents of an action tell where they belong. ACS3-HMAC-SHA256 has all else in headers, the
// older way has it in the query.
http::Request SignAcs3(const UnsignedCall& call, const Credential& credential);
http::Request SignV1(const UnsignedCall& call, const Credential& credential);

}  // namespace berth::cloud::aliyun
