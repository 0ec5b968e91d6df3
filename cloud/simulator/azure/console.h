#pragma once

#include <string_view>

#include "cloud/simulator/azure/cloud.h"
#include "http/transport.h"

namespace berth::cloud::simulator::azure {

// Other users of the subscription, and facts that a cloud does not tell, in JSON. No token is asked
// for.
//
//   GET    /state       publicIPAddresses, loadBalancers and natGateways as their GET shows them,
//                       services and addressLocations of the gateway
//   GET    /ledger      how many resources of a type there were and are, operations under way, and
//                       how often each action was called and throttled
//   PUT    /faults      what goes wrong with the next calls, in the place of what was to: a list of
//                       {action, count, and one of code, applied-then-timeout, lro-failed (true, or
//                       the error's code), sticks, delay (seconds)}. GET: those still to come
//   PUT    /resources/TYPE/NAME  a resource at once, whatever the rules say: its body as in a PUT
//   DELETE /resources/TYPE/NAME  at once, whatever it is used for
//   PUT    /services/NAME        serviceType, backendPools (IDs), natGatewayID; at once
//   DELETE /services/NAME
//   PUT    /locations/IP         {"ADDRESS": ["SERVICE", …], …}; at once
//   DELETE /locations/IP
//   PUT    /quotas               {"TYPE": MOST, …}
//   DELETE /tokens      every token given so far is refused from now on
//
// Settle the cloud first.
http::Response Console(Cloud& cloud, const http::Request& request, std::string_view path);

}  // namespace berth::cloud::simulator::azure
