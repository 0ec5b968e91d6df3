#pragma once

#include <string_view>

#include "cloud/simulator/aliyun/cloud.h"
#include "http/transport.h"

namespace berth::cloud::simulator {

// Every access key speaks for this caller.
inline constexpr std::string_view kKeyOwner = "account";

// Other users of the account, and facts that a cloud does not tell, in JSON. No key is asked for.
//
//   GET    /ledger      how many addresses there are and were, and how often each action was called
//   GET    /eips        all addresses
//   PATCH  /eips/ID     name, description, deletionProtection; instanceID, which makes it InUse;
//                       lockReason (financial, security), which locks it
//   DELETE /eips/ID     at once, whatever it is used for
//   POST   /packages    a bandwidth package
//   PUT    /keys/ID     an access key whose secret is the body; /keys/ID/ACCOUNT: of that account
//   DELETE /keys/ID
//
// Settle the cloud first.
http::Response OutOfBand(Cloud& cloud, const http::Request& request, std::string_view path);

}  // namespace berth::cloud::simulator
