#include "cloud/agent/agent_client.h"

#include <utility>

#include "cloud/agent/wire.h"
#include "log/escape.h"
#include "log/format.h"

namespace berth::cloud::agent {
namespace {

constexpr std::size_t kLongestResource = 128;

// "10.0.0.1:5758", "[fd00::1]:5758".
std::string HostOf(const AgentAddress& agent) {
  const bool is_ipv6 = agent.ip.contains(':');
  return is_ipv6 ? Format("[{}]:{}", agent.ip, agent.port) : Format("{}:{}", agent.ip, agent.port);
}

}  // namespace

// One call, and when it was sent.
struct AgentClient::Call {
  std::string_view action;
  std::string_view path;
  const AgentAddress& agent;
  std::chrono::milliseconds timeout;
  std::string resource;  // what it is about, for people
  std::string body = {};
  async::TimePoint sent = {};
  async::WallTime at = {};
};

AgentClient::AgentClient(async::Executor& executor, http::Transport& transport,
                         CallObserver* observer, AgentOptions options)
    : executor_(executor), transport_(transport), observer_(observer), options_(options) {}

async::Task<Result<void>> AgentClient::Create(AgentAddress agent, SandboxRequest request) {
  agent.port = options_.port.value_or(agent.port);
  Call call{.action = "CreateSandbox",
            .path = kCreatePath,
            .agent = agent,
            .timeout = options_.create_timeout,
            .resource = request.sandbox_id,
            .body = CreateBody(request)};
  call.sent = executor_.Now();
  call.at = executor_.WallNow();
  Answer answer = ReadCreated(co_await Send(&call), request.sandbox_id);
  Complete(call, answer);
  if (!answer.outcome) co_return std::unexpected(std::move(answer.outcome.error()));
  co_return Result<void>();
}

async::Task<Result<void>> AgentClient::Delete(AgentAddress agent, std::string sandbox_id) {
  agent.port = options_.port.value_or(agent.port);
  // The agent deadlocks when the ID is not listed.
  const auto status = co_await Status(agent);
  if (!status) {
    Error error = status.error();
    if (error.error_class == ErrorClass::kAmbiguous) error.error_class = ErrorClass::kRetry;
    co_return std::unexpected(std::move(error));
  }
  const AgentSandbox* listed = status->Find(sandbox_id);
  if (!listed) {
    co_return std::unexpected(
        Named(Format("DeleteSandbox {}", HostOf(agent)),
              Error{ErrorClass::kNotFound, std::string(kNotListed),
                    Format("{} is not listed", log::ToUtf8(sandbox_id, kLongestResource))}));
  }
  if (listed->phase == AgentPhase::kTerminating) co_return Result<void>();

  Call call{.action = "DeleteSandbox",
            .path = kDeletePath,
            .agent = agent,
            .timeout = options_.delete_timeout,
            .resource = sandbox_id,
            .body = DeleteBody(sandbox_id)};
  call.sent = executor_.Now();
  call.at = executor_.WallNow();
  Answer answer = ReadDeleted(co_await Send(&call));
  Complete(call, answer);
  if (!answer.outcome) co_return std::unexpected(std::move(answer.outcome.error()));
  co_return Result<void>();
}

async::Task<Result<AgentStatus>> AgentClient::Status(AgentAddress agent) {
  agent.port = options_.port.value_or(agent.port);
  Call call{.action = "GetAgentStatus",
            .path = kStatusPath,
            .agent = agent,
            .timeout = options_.status_timeout,
            .resource = agent.ip};
  call.sent = executor_.Now();
  call.at = executor_.WallNow();
  Answer answer = ReadStatus(co_await Send(&call));
  Result<AgentStatus> status = AgentStatus();
  if (answer.outcome) {
    status = StatusOf(*answer.outcome);
    if (!status) answer.outcome = std::unexpected(std::move(status.error()));
  }
  Complete(call, answer);
  if (!answer.outcome) co_return std::unexpected(std::move(answer.outcome.error()));
  co_return status;
}

async::Task<Result<http::Response>> AgentClient::Send(const Call* call) {
  const http::Request request = RequestOf(*call);
  co_return co_await async::Callback<Result<http::Response>>(
      [this, &request](auto done) { return transport_.Send(request, std::move(done)); });
}

http::Request AgentClient::RequestOf(const Call& call) const {
  http::Request request{
      .method = call.body.empty() ? "GET" : "POST",
      .url = Format("{}://{}{}", options_.tls ? "https" : "http", HostOf(call.agent), call.path),
      .headers = {{"accept", "application/json"}},
      .body = call.body,
      .timeout = call.timeout};
  if (!call.body.empty()) request.headers.push_back({"content-type", "application/json"});
  return request;
}

void AgentClient::Complete(const Call& call, Answer& answer) const {
  if (!answer.outcome) {
    Error& error = answer.outcome.error();
    error = Named(Format("{} {}", call.action, HostOf(call.agent)), std::move(error));
    error.message = log::ToUtf8(error.message, kMaxMessage);
  }
  if (!observer_) return;
  CallRecord record{.action = std::string(call.action),
                    .at = call.at,
                    .latency = executor_.Now() - call.sent,
                    .resource = log::ToUtf8(call.resource, kLongestResource)};
  cloud::Complete(record, answer, call.timeout);
  observer_->Called(record);
}

}  // namespace berth::cloud::agent
