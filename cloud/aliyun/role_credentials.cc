#include "cloud/aliyun/role_credentials.h"

#include <chrono>
#include <utility>

#include "cloud/aliyun/answer.h"
#include "cloud/aliyun/request.h"
#include "cloud/aliyun/signature.h"
#include "http/file.h"
#include "log/format.h"
#include "log/log.h"
#include "log/timestamp.h"

namespace berth::cloud::aliyun {
namespace {

constexpr std::string_view kAction = "AssumeRoleWithOIDC";
constexpr std::string_view kVersion = "2015-04-01";
constexpr std::chrono::seconds kLifetime{3600};
constexpr std::chrono::milliseconds kTimeout{10'000};

Error Failure(std::string_view why) {
  return {.error_class = ErrorClass::kRetry, .message = Format("the role has no key: {}", why)};
}

}  // namespace

std::string StsEndpoint(std::string_view region, bool from_vpc) {
  return Format("https://{}.{}.aliyuncs.com", from_vpc ? "sts-vpc" : "sts", region);
}

RoleCredentials::RoleCredentials(async::Executor& executor, http::Transport& transport,
                                 CallObserver* observer, OidcRole role)
    : executor_(executor),
      transport_(transport),
      observer_(observer),
      role_(std::move(role)),
      keys_(executor, [this] { return Fetch(); }, Failure("none was fetched yet")) {}

async::Task<Result<Credential>> RoleCredentials::Get() { return keys_.Get(); }

void RoleCredentials::Refused(const Credential& credential) {
  keys_.Drop(credential, Failure("the cloud refused the one it gave"));
}

async::Task<Result<RoleCredentials::Keys::Lease>> RoleCredentials::Fetch() {
  auto key = co_await AssumeRole();
  if (!key) {
    const Error& failure = key.error();
    log::Warn("the role's key could not be renewed",
              {{"role", role_.role_arn}, {"code", failure.reason}, {"error", failure.message}});
  }
  co_return key;
}

async::Task<Result<RoleCredentials::Keys::Lease>> RoleCredentials::AssumeRole() {
  const std::string token = ReadSecretFile(role_.token_file);
  if (!IsSecret(token)) {
    co_return std::unexpected(
        Failure(Format("there is no token in {}", role_.token_file.string())));
  }
  const async::TimePoint sent = executor_.Now();
  CallRecord record{.action = std::string(kAction), .at = executor_.WallNow()};
  const http::Request request = Request(token);
  const auto response = co_await async::Callback<Result<http::Response>>(
      [this, &request](auto done) { return transport_.Send(request, std::move(done)); });
  record.latency = executor_.Now() - sent;

  // Nothing is spent by it, so it may be sent again as a read may.
  const Answer answer = ReadAnswer(response, false, {token});
  Complete(record, answer, kTimeout);
  if (observer_) observer_->Called(record);
  if (!answer.outcome) {
    Error error = answer.outcome.error();
    const bool is_throttled = error.error_class == ErrorClass::kThrottled;
    error.error_class = is_throttled ? ErrorClass::kThrottled : ErrorClass::kRetry;
    error.message = Failure(Format("{} {}", error.reason, error.message)).message;
    co_return std::unexpected(std::move(error));
  }

  const Json& given = Member(*answer.outcome, "Credentials");
  Keys::Lease key{.value = {Text(given, "AccessKeyId"), Text(given, "AccessKeySecret"),
                            Text(given, "SecurityToken")},
                  .expires = ParseTime(Text(given, "Expiration")).value_or(async::WallTime())};
  const bool is_whole = IsUsable(key.value) && !key.value.security_token.empty();
  if (!is_whole || executor_.WallNow() + kMargin >= key.expires) {
    co_return std::unexpected(Failure("the cloud's answer has none that is good"));
  }
  co_return key;
}

http::Request RoleCredentials::Request(const std::string& token) {
  const std::uint64_t high = executor_.Random();
  const std::uint64_t low = executor_.Random();
  const Parameters query{{"Action", std::string(kAction)},
                         {"Version", std::string(kVersion)},
                         {"Format", "JSON"},
                         {"Timestamp", FormatTime(executor_.WallNow())},
                         {"SignatureNonce", Format("{:016x}{:016x}", high, low)}};
  // In the body, because addresses find their way into other people's logs.
  const Parameters form{{"RoleArn", role_.role_arn},
                        {"OIDCProviderArn", role_.provider_arn},
                        {"OIDCToken", token},
                        {"RoleSessionName", role_.session_name},
                        {"DurationSeconds", std::to_string(kLifetime.count())}};
  http::Request request;
  request.url = Format("{}/?{}", role_.endpoint, Query(query));
  request.headers = {{"accept", "application/json"},
                     {"content-type", "application/x-www-form-urlencoded"}};
  request.body = Query(form);
  request.timeout = kTimeout;
  return request;
}

}  // namespace berth::cloud::aliyun
