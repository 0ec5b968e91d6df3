#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "cloud/answer.h"
#include "cloud/sandbox_agent.h"
#include "http/transport.h"

// The agent's HTTP API: bodies of requests, and what answers mean. Errors are classed as
// cloud/sandbox_agent.h says; their messages do not name the call yet.
namespace berth::cloud::agent {

inline constexpr std::size_t kMaxStatus = std::size_t{1} << 20;  // bytes of an answer
inline constexpr std::string_view kCreatePath = "/api/v1/agent/create";
inline constexpr std::string_view kDeletePath = "/api/v1/agent/delete";
inline constexpr std::string_view kStatusPath = "/api/v1/agent/status";

std::string CreateBody(const SandboxRequest& request);
std::string DeleteBody(const std::string& sandbox_id);

// The outcome of an Answer is empty but for a status: then it is the status.
Answer ReadCreated(const Result<http::Response>& response, std::string_view sandbox_id);
Answer ReadDeleted(const Result<http::Response>& response);
Answer ReadStatus(const Result<http::Response>& response);

// Reads a status that ReadStatus accepted. kRetry for a list that cannot be trusted.
Result<AgentStatus> StatusOf(const Json& body);

}  // namespace berth::cloud::agent
