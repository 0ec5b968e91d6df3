#pragma once

#include <string_view>

#include "cloud/simulator/aliyun/cloud.h"
#include "http/transport.h"

namespace berth::cloud::simulator {

// Every access key speaks for this caller.
inline constexpr std::string_view kKeyOwner = "account";

inline constexpr std::string_view kEipsPath = "/eips/";

// Other users of the account, and facts that a cloud does not tell, in JSON. No key is asked for.
//
//   GET    /ledger      how many addresses there are and were, and how often each action was called
//   GET    /eips        all addresses
//   PATCH  /eips/ID     name, description, deletionProtection; instanceID, which makes it InUse;
//                       lockReason (financial, security), which locks it
//   DELETE /eips/ID     at once, whatever it is used for
//   POST   /packages    a bandwidth package
//   GET    /vswitches   all vSwitches, and their free addresses
//   POST   /vswitches   cidr; vSwitchID, vpcID, zoneID, ipv6CIDR ("…::/64") where wished for
//   GET    /instances   all servers that ENIs can be attached to: of ECS, and nodes of EFLO
//   POST   /instances   vSwitchID; backend (ECS, EFLO), instanceID, instanceType, adapters,
//                       ipv4PerAdapter and ipv6PerAdapter where wished for. It has a primary ENI
//   DELETE /instances/ID  at once, and its ENIs with it unless DeleteOnRelease is false
//   GET    /enis, /enis/ID  ENIs of both; those of EFLO with the statuses of ECS
//   PATCH  /enis/ID     status, at once; serviceManaged; tags
//   DELETE /enis/ID     at once, whatever it is used for
//   PUT    /faults      what goes wrong with the next calls, in the place of what was to: a list of
//                       {action, count, and one of code, carried-out (a code), lost-answer,
//                       delay (seconds), falls-back, sticks}. GET: those still to come
//   PUT    /keys/ID     an access key whose secret is the body; /keys/ID/ACCOUNT: of that account
//   DELETE /keys/ID
//
// Settle the cloud first.
http::Response OutOfBand(Cloud& cloud, const http::Request& request, std::string_view path);

}  // namespace berth::cloud::simulator
