#include "cloud/aliyun/api_client.h"

#include <algorithm>
#include <utility>

#include "cloud/aliyun/error_table.h"
#include "cloud/aliyun/request.h"
#include "cloud/vpc.h"
#include "log/escape.h"
#include "log/format.h"

namespace berth::cloud::aliyun {
namespace {

constexpr std::size_t kLongestResource = 128;

// The resource that a call is about; see CallRecord. None of these parameters ever has a secret.
std::string ResourceOf(const Parameters& parameters) {
  for (const char* name :
       {"AllocationId", "IpInstanceId", "ResourceId", "ResourceId.1", "NetworkInterfaceId",
        "NetworkInterfaceId.1", "ElasticNetworkInterfaceId", "ClientToken", "Tag.1.Value",
        "InstanceId", "NodeId"}) {
    const auto found = parameters.find(name);
    if (found == parameters.end()) continue;
    const std::string& value = found->second;
    const auto more = std::ranges::count(value, ',');
    const std::string first = log::ToUtf8(value.substr(0, value.find(',')), kLongestResource - 24);
    return more == 0 ? first : Format("{} and {} more", first, more);
  }
  return {};
}

bool IsRead(std::string_view action) {
  return action.starts_with("Describe") || action.starts_with("List") || action.starts_with("Get");
}

}  // namespace

ApiClient::ApiClient(async::Executor& executor, http::Transport& transport,
                     Credentials& credentials, CallObserver* observer, ApiOptions options)
    : executor_(executor),
      transport_(transport),
      credentials_(credentials),
      observer_(observer),
      options_(std::move(options)) {}

async::Task<Result<Json>> ApiClient::Call(std::string action, Parameters parameters,
                                          KeyCheck check) {
  const async::TimePoint came = executor_.Now();
  const auto credential = co_await WaitToSend(action, std::move(check));
  const async::TimePoint sent = executor_.Now();
  CallRecord record{.action = action,
                    .at = executor_.WallNow(),
                    .waited = sent - came,
                    .resource = ResourceOf(parameters)};
  if (!credential) {
    Tell(std::move(record), {std::unexpected(credential.error()), {}});
    co_return std::unexpected(credential.error());
  }

  const http::Request request = Signed(action, std::move(parameters), *credential);
  const auto response = co_await async::Callback<Result<http::Response>>(
      [this, &request](auto done) { return transport_.Send(request, std::move(done)); });
  record.latency = executor_.Now() - sent;

  Answer answer = ReadAnswer(response, !IsRead(action),
                             {credential->key_id, credential->secret, credential->security_token});
  if (!answer.outcome) {
    Learn(answer.outcome.error(), action, sent, *credential);
  } else if (std::string made = Text(*answer.outcome, "AllocationId"); !made.empty()) {
    record.resource = log::ToUtf8(made, kLongestResource);
  }
  Tell(std::move(record), answer);
  if (!answer.outcome) co_return std::unexpected(Named(action, std::move(answer.outcome.error())));
  co_return std::move(answer.outcome);
}

async::Task<Result<Credential>> ApiClient::WaitToSend(std::string action, KeyCheck check) {
  if (!co_await LineOf(action).Turn()) {
    co_return std::unexpected(Error{
        .error_class = ErrorClass::kThrottled,
        .reason = std::string(kNotSent),
        .message =
            Format("{} did not have its turn within {} ms", action, options_.patience.count()),
        .retry_after = std::chrono::ceil<std::chrono::milliseconds>(CallLine::kFirstPause)});
  }
  auto credential = co_await credentials_.Get();
  if (!credential) {
    credential.error().reason = kNotSent;
    credential.error().code = 0;  // another call's
    co_return credential;
  }
  if (check) {
    auto good = co_await check(*credential);
    if (!good) co_return std::unexpected(std::move(good.error()));
  }
  co_return credential;
}

http::Request ApiClient::Signed(const std::string& action, Parameters parameters,
                                const Credential& credential) {
  parameters.emplace("RegionId", options_.region);
  // One after the other: the order of a call's arguments is the compiler's affair.
  const std::uint64_t high = executor_.Random();
  const std::uint64_t low = executor_.Random();
  const UnsignedCall call{.endpoint = options_.endpoint,
                          .version = options_.version,
                          .action = action,
                          .parameters = std::move(parameters),
                          .form = options_.form,
                          .date = executor_.WallNow(),
                          .nonce = Format("{:016x}{:016x}", high, low)};
  const bool is_v1 = options_.signature == SignatureVersion::kV1;
  http::Request request = is_v1 ? SignV1(call, credential) : SignAcs3(call, credential);
  request.timeout = options_.timeout;
  return request;
}

void ApiClient::Learn(Error& error, const std::string& action, async::TimePoint sent,
                      const Credential& credential) {
  if (RefusesKey(error.reason)) credentials_.Refused(credential);
  if (error.error_class == ErrorClass::kThrottled) {
    error.retry_after = std::chrono::ceil<std::chrono::milliseconds>(
        LineOf(action).Throttled(sent, error.retry_after));
  }
}

void ApiClient::Tell(CallRecord record, const Answer& answer) const {
  if (!observer_) return;
  Complete(record, answer, options_.timeout);
  observer_->Called(record);
}

CallLine& ApiClient::LineOf(const std::string& action) {
  const auto limit = options_.limits.find(action);
  const int calls = limit == options_.limits.end() ? options_.calls_per_minute : limit->second;
  return lines_.try_emplace(action, executor_, calls, options_.patience).first->second;
}

}  // namespace berth::cloud::aliyun
