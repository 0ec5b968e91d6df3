#include "cloud/azure/arm_client.h"

#include <algorithm>
#include <ranges>
#include <set>
#include <utility>

#include "cloud/query.h"
#include "log/escape.h"
#include "log/format.h"

namespace berth::cloud::azure {
namespace {

constexpr std::size_t kLongestResource = 128;

bool Writes(const std::string& method) { return method != "GET"; }

Error NamedFor(const ArmCall& call, Error error) {
  return Named(call.resource.empty() ? call.action : Format("{} {}", call.action, call.resource),
               std::move(error));
}

Error NotSent(ErrorClass error_class, std::string message) {
  return {
      .error_class = error_class, .reason = std::string(kNotSent), .message = std::move(message)};
}

// The write was taken, and its end is not known.
Error Lost(std::string_view why) {
  return {.error_class = ErrorClass::kAmbiguous,
          .reason = "OperationLost",
          .message = Format("the end of the operation is not known: {}", why)};
}

async::TokenBucket Bucket(double per_second, int burst) {
  return {async::TokenBucket::PerSecond(per_second), burst};
}

}  // namespace

ArmClient::ArmClient(async::Executor& executor, http::Transport& transport, Tokens& tokens,
                     CallObserver* observer, ArmOptions options)
    : executor_(executor),
      transport_(transport),
      tokens_(tokens),
      observer_(observer),
      options_(std::move(options)),
      changes_(options_.changes_per_window, options_.window),
      reads_(executor, Bucket(options_.reads_per_second, options_.read_burst), options_.patience),
      writes_(executor, Bucket(options_.writes_per_second, options_.write_burst), options_.patience,
              &changes_),
      deletes_(executor, Bucket(options_.deletes_per_second, options_.delete_burst),
               options_.patience, &changes_) {}

async::Task<Result<Json>> ArmClient::Get(ArmCall call) {
  ArmAnswer answer = co_await Send(call);
  if (!answer.answer.outcome) {
    co_return std::unexpected(NamedFor(call, std::move(answer.answer.outcome.error())));
  }
  co_return std::move(answer.answer.outcome);
}

async::Task<Result<std::vector<Json>>> ArmClient::List(ArmCall call) {
  std::vector<Json> items;
  std::set<std::string> seen;
  for (std::size_t page = 0; page < kMostPages; ++page) {
    auto answer = co_await Get(call);
    if (!answer) co_return std::unexpected(std::move(answer.error()));
    // Whether a thing exists is decided by a list, so nothing that is missing is guessed.
    const Json* value = answer->find("value");
    if (!value || !value->is_array()) {
      co_return std::unexpected(
          NamedFor(call, {.error_class = ErrorClass::kRetry, .message = "the answer has no list"}));
    }
    items.insert(items.end(), value->array_range().begin(), value->array_range().end());
    call.target = Text(*answer, "nextLink");
    if (call.target.empty()) co_return items;
    if (!seen.insert(call.target).second) break;
  }
  co_return std::unexpected(NamedFor(
      call, {.error_class = ErrorClass::kRetry, .message = "the pages of the list have no end"}));
}

async::Task<Result<Json>> ArmClient::Write(ArmCall call) {
  ArmAnswer began = co_await Send(call);
  if (!began.answer.outcome) {
    co_return std::unexpected(NamedFor(call, std::move(began.answer.outcome.error())));
  }
  const bool follows = !began.async_operation.empty() || !began.location.empty();
  // A POST answered 200 is done, whatever its headers say.
  const bool is_done = (call.method == "POST" && began.status == 200) || began.status == 204 ||
                       (StateOf(began) == OperationState::kSucceeded && !follows);
  if (is_done) co_return std::move(began.answer.outcome);

  auto ended = co_await Follow(&call, std::move(began));
  if (!ended) co_return std::unexpected(NamedFor(call, std::move(ended.error())));
  if (call.method != "PUT") co_return Json();
  std::string action = call.action;
  if (action.starts_with("Put")) action.replace(0, 3, "Get");
  auto made =
      co_await Get({.action = std::move(action), .target = call.target, .resource = call.resource});
  if (!made) made.error().error_class = ErrorClass::kAmbiguous;  // the write itself was carried out
  co_return made;
}

async::Task<Result<void>> ArmClient::Follow(const ArmCall* call, ArmAnswer began) {
  const async::TimePoint deadline = executor_.Now() + options_.operation;
  ArmCall poll{.action = "PollOperation",
               .target = !began.async_operation.empty() ? began.async_operation
                         : !began.location.empty()      ? began.location
                                                        : call->target,
               .resource = call->resource};
  if (!AddressOf(poll.target).starts_with(options_.endpoint + "/")) {
    co_return std::unexpected(Lost("it is followed at an address that is not Azure's"));
  }
  const bool by_location = began.async_operation.empty() && !began.location.empty();
  async::Duration usual = options_.first_poll;
  async::Duration asked = began.retry_after;
  std::string failure = "it took too long";
  for (int failures = 0; executor_.Now() < deadline;) {
    // The deadline holds however long the cloud asks to wait.
    co_await async::Sleep(
        executor_, std::min(asked > asked.zero() ? asked : usual, deadline - executor_.Now()));
    usual = std::min(2 * usual, async::Duration(options_.longest_poll));
    ArmAnswer answer = co_await Send(poll);
    asked = answer.retry_after;
    const OperationState state = StateOf(answer);
    if (state == OperationState::kSucceeded) co_return Result<void>();
    if (state == OperationState::kUnderWay) {
      failures = 0;
      continue;
    }
    if (answer.answer.outcome) {  // a resource whose provisioning has failed
      co_return std::unexpected(Error{.error_class = ErrorClass::kRetry,
                                      .reason = "ProvisioningFailed",
                                      .message = "the resource was not provisioned"});
    }
    Error error = std::move(answer.answer.outcome.error());
    const bool is_end = (answer.status >= 200 && answer.status < 300 && !error.reason.empty()) ||
                        (by_location && error.error_class == ErrorClass::kTerminal &&
                         answer.status != 401 && answer.status != 403);
    if (is_end) co_return std::unexpected(std::move(error));
    const bool is_gone = error.error_class == ErrorClass::kNotFound;
    if (is_gone && call->method == "DELETE" && poll.target == call->target)
      co_return Result<void>();
    failure = error.message;
    asked = std::max<async::Duration>(asked, error.retry_after);
    if (is_gone || ++failures >= options_.poll_failures) break;
  }
  co_return std::unexpected(Lost(failure));
}

async::Task<ArmAnswer> ArmClient::Send(ArmCall call) {
  std::string token;
  ArmAnswer answer = co_await SendOnce(&call, &token);
  if (answer.status != 401 || token.empty()) co_return answer;
  // Nothing was carried out. The token may have been withdrawn before its end.
  const std::string refused = std::exchange(token, {});
  tokens_.Refused(refused);
  const auto next = co_await tokens_.Get();
  if (!next || *next == refused) co_return answer;
  co_return co_await SendOnce(&call, &token);
}

async::Task<ArmAnswer> ArmClient::SendOnce(const ArmCall* call, std::string* token) {
  const async::TimePoint came = executor_.Now();
  auto allowed = co_await WaitToSend(call);
  const async::TimePoint sent = executor_.Now();
  CallRecord record{.action = call->action,
                    .at = executor_.WallNow(),
                    .waited = sent - came,
                    .resource = log::ToUtf8(call->resource, kLongestResource)};
  if (!allowed) {
    ArmAnswer unsent{.answer = {std::unexpected(std::move(allowed.error())), {}}};
    Tell(std::move(record), unsent.answer);
    co_return unsent;
  }
  *token = *std::move(allowed);
  const http::Request request = RequestOf(*call, *token);
  const auto response = co_await async::Callback<Result<http::Response>>(
      [this, &request](auto done) { return transport_.Send(request, std::move(done)); });
  record.latency = executor_.Now() - sent;

  ArmAnswer answer = ReadArmAnswer(response, Writes(call->method), {*token});
  if (!answer.answer.outcome) {
    Error& error = answer.answer.outcome.error();
    if (error.error_class == ErrorClass::kThrottled) {
      error.retry_after = std::chrono::ceil<std::chrono::milliseconds>(
          LineOf(call->method).Throttled(sent, error.retry_after));
    }
  }
  Tell(std::move(record), answer.answer);
  co_return answer;
}

async::Task<Result<std::string>> ArmClient::WaitToSend(const ArmCall* call) {
  // A link of another host would be given the token.
  if (!AddressOf(call->target).starts_with(options_.endpoint + "/")) {
    co_return std::unexpected(NotSent(ErrorClass::kRetry, "the address is not Azure's"));
  }
  CallLine& line = LineOf(call->method);
  if (!co_await line.Turn()) {
    Error error = NotSent(ErrorClass::kThrottled, Format("it did not have its turn within {} ms",
                                                         options_.patience.count()));
    error.retry_after =
        std::chrono::ceil<std::chrono::milliseconds>(std::max(line.Wait(), CallLine::kFirstPause));
    co_return std::unexpected(std::move(error));
  }
  if (call->wanted && !co_await call->wanted()) {
    co_return std::unexpected(NotSent(ErrorClass::kConflict, "it is no longer wanted"));
  }
  auto token = co_await tokens_.Get();
  if (!token) token.error().reason = kNotSent;
  co_return token;
}

http::Request ArmClient::RequestOf(const ArmCall& call, const std::string& token) const {
  http::Request request{.method = call.method,
                        .url = AddressOf(call.target),
                        .headers = call.headers,
                        .body = call.body,
                        .timeout = options_.timeout};
  request.headers.push_back({"accept", "application/json"});
  request.headers.push_back({"authorization", "Bearer " + token});
  if (!call.body.empty()) request.headers.push_back({"content-type", "application/json"});
  return request;
}

// Links of the cloud are encoded and carry their own api-version.
std::string ArmClient::AddressOf(const std::string& target) const {
  if (!target.starts_with('/')) return target;
  std::string path;
  for (const auto part : std::views::split(std::string_view(target).substr(1), '/')) {
    path += '/' + Encode(std::string_view(part.begin(), part.end()));
  }
  return Format("{}{}?api-version={}", options_.endpoint, path, options_.api_version);
}

CallLine& ArmClient::LineOf(const std::string& method) {
  if (method == "GET") return reads_;
  return method == "DELETE" ? deletes_ : writes_;
}

void ArmClient::Tell(CallRecord record, const Answer& answer) const {
  if (!observer_) return;
  Complete(record, answer, options_.timeout);
  observer_->Called(record);
}

}  // namespace berth::cloud::azure
