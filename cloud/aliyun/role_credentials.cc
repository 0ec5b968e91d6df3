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
      failure_(Failure("none was fetched yet")) {}

async::Task<Result<Credential>> RoleCredentials::Get() {
  if (!HasKeyFor(kRenewal)) Renew();
  if (!HasKeyFor(kMargin)) co_await Renewed();
  if (key_ && HasKeyFor(kMargin)) co_return key_->credential;
  co_return std::unexpected(failure_);
}

void RoleCredentials::Refused(const Credential& credential) {
  if (!key_ || key_->credential != credential) return;
  key_.reset();
  failure_ = Failure("the cloud refused the one it gave");
}

bool RoleCredentials::HasKeyFor(async::Duration time) const {
  return key_ && executor_.WallNow() + time < key_->expires;
}

void RoleCredentials::Renew() {
  if (renewal_ || executor_.Now() < next_renewal_) return;
  renewal_ = async::Start(Fetch(), [this] {
    // Whoever goes on may give up others that wait, so each is taken out before it is told.
    while (!waiting_.empty()) waiting_.extract(waiting_.begin()).mapped()(true);
  });
}

async::Task<void> RoleCredentials::Renewed() {
  if (!renewal_) co_return;
  co_await async::Callback<bool>([this](auto done) {
    const std::uint64_t place = ++last_;
    waiting_.emplace(place, std::move(done));
    return async::Handle([this, place] { waiting_.erase(place); });
  });
}

async::Task<void> RoleCredentials::Fetch() {
  auto key = co_await AssumeRole();
  next_renewal_ = executor_.Now() + kPause;
  if (key) {
    key_ = std::move(*key);
  } else {
    failure_ = std::move(key.error());
    log::Warn("the role's key could not be renewed",
              {{"role", role_.role_arn}, {"code", failure_.reason}, {"error", failure_.message}});
  }
}

async::Task<Result<RoleCredentials::Key>> RoleCredentials::AssumeRole() {
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
  Key key{.credential = {Text(given, "AccessKeyId"), Text(given, "AccessKeySecret"),
                         Text(given, "SecurityToken")},
          .expires = ParseTime(Text(given, "Expiration")).value_or(async::WallTime())};
  const bool is_whole = IsUsable(key.credential) && !key.credential.security_token.empty();
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
