#pragma once

#include <string_view>

#include "cloud/simulator/agent/agents.h"
#include "http/transport.h"

namespace berth::cloud::simulator::agent {

// The nodes behind the agents, and facts that an agent does not tell, in JSON.
//
//   GET    /sandboxes            every sandbox that is listed or has a container: sandboxId, agent,
//                                claimUid, image, listed (the phase, or none), container (running,
//                                exited or none)
//   DELETE /sandboxes/ID         its container exits by itself
//   GET    /agents               every agent: address, pod, its node, capacity, listed, restarts,
//                                and whether it is deadlocked or hung
//   PUT    /agents/IP            a pod: name, uid, node, capacity
//   DELETE /agents/IP            the pod is gone, and its containers with it
//   PUT    /agents/IP/restart    the agent's process starts anew: it has forgotten all
//   PUT    /agents/IP/hang       {seconds}: it answers nothing for so long
//   PUT    /fences               {enabled}: false plays agents of fast-sandbox
//   GET    /ledger               how often each action was called
//   PUT    /faults               what goes wrong with the next calls, in the place of what was to:
//                                a list of {action, count, and one of code (an HTTP status, or the
//                                code of a 409), applied-then-timeout, exits, sticks, delay
//                                (seconds)}. GET: those still to come
//
// Settle the agents first; calls may have ended afterwards.
http::Response Console(Agents& agents, const http::Request& request, std::string_view path,
                       async::WallTime now);

}  // namespace berth::cloud::simulator::agent
