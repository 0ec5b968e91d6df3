#include "cloud/azure/token_source.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

#include "cloud/answer.h"
#include "cloud/query.h"
#include "http/file.h"
#include "log/format.h"
#include "log/log.h"

namespace berth::cloud::azure {
namespace {

constexpr std::chrono::milliseconds kTimeout{10'000};
constexpr const char* kAction = "GetToken";
constexpr const char* kAssertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

Error Failure(std::string_view why) {
  return {.error_class = ErrorClass::kRetry, .message = Format("there is no token: {}", why)};
}

// {"error":"invalid_client","error_description":"AADSTS7000215: …","trace_id":"…"}
Error FromAuthority(const http::Response& response, const Json& body, Secrets secrets) {
  Error error = Failure(WithoutSecrets(Text(body, "error_description"), secrets));
  error.reason = WithoutSecrets(Text(body, "error"), secrets);
  error.retry_after = RetryAfter(response);
  error.code = response.code;
  if (response.code == 429 || error.reason == "temporarily_unavailable") {
    error.error_class = ErrorClass::kThrottled;
  } else if (response.code >= 400 && response.code < 500) {
    // Whatever is wrong with the identity, it is not taken: as a 401 of the cloud itself.
    error.error_class = ErrorClass::kTerminal;
    error.code = 401;
  }
  return error;
}

Answer ReadTokenAnswer(const Result<http::Response>& response, Secrets secrets) {
  // Nothing is spent by it, so it may be sent again as a read may.
  if (!response) return {std::unexpected(NoAnswer(response.error(), false, secrets)), {}};
  std::string request_id = WithoutSecrets(HeaderOf(*response, "x-ms-request-id"), secrets);
  auto body = ParseObject(response->body);
  if (body && response->code == 200) return {*std::move(body), std::move(request_id)};
  if (!body || Text(*body, "error").empty()) {
    return {std::unexpected(Unreadable(*response, false)), std::move(request_id)};
  }
  return {std::unexpected(FromAuthority(*response, *body, secrets)), std::move(request_id)};
}

std::chrono::seconds LifetimeOf(const Json& answer) {
  const std::string text = Text(answer, "expires_in");
  long seconds = 0;
  std::from_chars(text.data(), text.data() + text.size(), seconds);
  return std::chrono::seconds(std::clamp(seconds, 0L, 7L * 86'400));
}

}  // namespace

Identity IdentityOf(const Config& config, std::function<std::string()> secret) {
  const bool federated = !config.federated_token_file.empty();
  return {.authority = config.authority,
          .tenant = config.tenant,
          .client_id = config.client_id,
          .scope = config.scope,
          .secret = federated ? nullptr : std::move(secret),
          .federated_token_file = config.federated_token_file};
}

TokenSource::TokenSource(async::Executor& executor, http::Transport& transport,
                         CallObserver* observer, Identity identity)
    : executor_(executor),
      transport_(transport),
      observer_(observer),
      identity_(std::move(identity)),
      tokens_(executor, [this] { return Fetch(); }, Failure("none was fetched yet")) {}

void TokenSource::Refused(const std::string& token) {
  Error error = Failure("Azure refused the one it gave");
  error.error_class = ErrorClass::kTerminal;
  error.code = 401;
  tokens_.Drop(token, std::move(error));
}

async::Task<Result<TokenSource::Leases::Lease>> TokenSource::Fetch() {
  auto lease = co_await Ask();
  if (!lease) {
    log::Warn("no token of Azure", {{"client", identity_.client_id},
                                    {"code", lease.error().reason},
                                    {"error", lease.error().message}});
  }
  co_return lease;
}

async::Task<Result<TokenSource::Leases::Lease>> TokenSource::Ask() {
  const std::string proof =
      identity_.secret ? identity_.secret() : ReadSecretFile(identity_.federated_token_file);
  if (!IsSecret(proof)) {
    co_return std::unexpected(Failure(identity_.secret
                                          ? "there is no client secret"
                                          : Format("there is no federated token in {}",
                                                   identity_.federated_token_file.string())));
  }
  const async::TimePoint sent = executor_.Now();
  CallRecord record{.action = kAction, .at = executor_.WallNow(), .resource = identity_.client_id};
  const http::Request request = Request(proof);
  const auto response = co_await async::Callback<Result<http::Response>>(
      [this, &request](auto done) { return transport_.Send(request, std::move(done)); });
  record.latency = executor_.Now() - sent;

  const std::string encoded = Encode(proof);
  const Answer answer = ReadTokenAnswer(response, {proof, encoded});
  Complete(record, answer, kTimeout);
  if (observer_) observer_->Called(record);
  if (!answer.outcome) co_return std::unexpected(Named(kAction, answer.outcome.error()));

  Leases::Lease lease{.value = Text(*answer.outcome, "access_token"),
                      .expires = executor_.WallNow() + LifetimeOf(*answer.outcome)};
  if (!IsSecret(lease.value) || executor_.WallNow() + Leases::kMargin >= lease.expires) {
    co_return std::unexpected(Failure("the authority's answer has none that is good"));
  }
  co_return lease;
}

http::Request TokenSource::Request(const std::string& proof) const {
  // In the body, because addresses find their way into other people's logs.
  Parameters form{{"grant_type", "client_credentials"},
                  {"client_id", identity_.client_id},
                  {"scope", identity_.scope}};
  if (identity_.secret) {
    form["client_secret"] = proof;
  } else {
    form["client_assertion_type"] = kAssertionType;
    form["client_assertion"] = proof;
  }
  http::Request request;
  request.url = Format("{}/{}/oauth2/v2.0/token", identity_.authority, Encode(identity_.tenant));
  request.headers = {{"accept", "application/json"},
                     {"content-type", "application/x-www-form-urlencoded"}};
  request.body = Query(form);
  request.timeout = kTimeout;
  return request;
}

}  // namespace berth::cloud::azure
