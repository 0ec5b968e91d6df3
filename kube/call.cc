#include "kube/call.h"

#include <algorithm>
#include <format>
#include <utility>
#include <vector>

#include "kube/status.h"
#include "log/escape.h"

namespace berth::kube {
namespace {

constexpr std::size_t kMaxPathInMessage = 200;

// A paused stream goes on when this much is unacknowledged; not at the limit itself, where each
// acknowledgement would bring one packet.
constexpr std::size_t kResume = Client::kMaxUnacknowledged / 2;

bool IsGood(int http_code) { return http_code >= 200 && http_code < 300; }

std::size_t TakeBody(char* data, std::size_t, std::size_t size, void* context) {
  auto& call = *static_cast<Call*>(context);
  if (call.answer.size() + size > Client::kMaxAnswer) {
    call.too_large = true;
    return CURL_WRITEFUNC_ERROR;
  }
  call.answer.append(data, size);
  return size;
}

std::size_t TakeStream(char* data, std::size_t unit, std::size_t size, void* context) {
  auto& call = *static_cast<Call*>(context);
  if (!IsGood(call.HttpCode())) return TakeBody(data, unit, size, context);
  if (call.unacknowledged + call.lines.whole() > Client::kMaxUnacknowledged) {
    call.paused = true;
    return CURL_WRITEFUNC_PAUSE;  // libcurl brings the same bytes again
  }
  if (!call.lines.Append({data, size})) {
    call.too_large = true;
    return CURL_WRITEFUNC_ERROR;
  }
  return size;
}

// Runs each time libcurl is about to send the request. When a kept connection turns out to be
// closed, libcurl would quietly send again on a fresh one; but the server may have acted on the
// first, so a write stops here.
int BeforeSending(void* context, char*, char*, int, int) {
  auto& call = *static_cast<Call*>(context);
  if (call.IsWrite() && call.sent) {
    call.repeated = true;
    return CURL_PREREQFUNC_ABORT;
  }
  call.sent = true;
  return CURL_PREREQFUNC_OK;
}

bool IsHeaderSafe(std::string_view text) {
  return std::ranges::none_of(
      text, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7F'; });
}

// Failures that come from how the two sides are set up; trying again changes nothing.
bool IsSetup(CURLcode code) {
  switch (code) {
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CIPHER:
    case CURLE_BAD_FUNCTION_ARGUMENT:
      return true;
    default:
      return false;
  }
}

}  // namespace

const char* Name(Method method) {
  switch (method) {
    case Method::kGet:
      return "GET";
    case Method::kPost:
      return "POST";
    case Method::kPut:
      return "PUT";
    case Method::kPatch:
      return "PATCH";
    case Method::kDelete:
      return "DELETE";
  }
  return "?";
}

Call::Call(Request what, Client::Done then, OnLines for_lines)
    : request(std::move(what)),
      done(std::move(then)),
      on_lines(std::move(for_lines)),
      created(std::chrono::steady_clock::now()),
      deadline(created + request.timeout) {}

std::string Call::WhyMalformed() const {
  if (!request.path.starts_with('/')) return "the path must begin with \"/\"";
  if (!IsHeaderSafe(request.path) || request.path.find_first_of(" #") != std::string::npos) {
    return "the path has characters that must be escaped";
  }
  if (!IsHeaderSafe(request.content_type)) return "the content type has control characters";
  if (!IsHeaderSafe(request.accept)) return "the accepted types have control characters";
  if (request.timeout.count() <= 0) return "the timeout must be above 0";
  return {};
}

bool Call::Prepare(const Endpoint& endpoint, CredentialPtr with, bool share, Time now) {
  easy.reset(curl_easy_init());
  if (!easy) return false;
  started = now;
  credential = std::move(with);
  SetRequest(endpoint);
  SetHeaders(endpoint);
  SetCallbacks();
  endpoint.Apply(easy.get(), share);
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - now);
  curl_easy_setopt(easy.get(), CURLOPT_TIMEOUT_MS, static_cast<long>(left.count()));
  if (!credential->client_cert_pem.empty()) {
    SetBlob(easy.get(), CURLOPT_SSLCERT_BLOB, credential->client_cert_pem);
    SetBlob(easy.get(), CURLOPT_SSLKEY_BLOB, credential->client_key_pem);
  }
  return true;
}

void Call::SetRequest(const Endpoint& endpoint) {
  curl_easy_setopt(easy.get(), CURLOPT_URL, (endpoint.url() + request.path).c_str());
  curl_easy_setopt(easy.get(), CURLOPT_PATH_AS_IS, 1L);
  if (!request.body.empty() || request.method == Method::kPost) {
    curl_easy_setopt(easy.get(), CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request.body.size()));
    curl_easy_setopt(easy.get(), CURLOPT_POSTFIELDS, request.body.data());
  }
  curl_easy_setopt(easy.get(), CURLOPT_CUSTOMREQUEST, Name(request.method));
  curl_easy_setopt(easy.get(), CURLOPT_USERAGENT, "berth/" BERTH_VERSION);
}

void Call::SetHeaders(const Endpoint& endpoint) {
  // Without "Expect:" libcurl would wait for a 100 before large bodies.
  std::vector<std::string> fields = {"Accept: " + request.accept,
                                     "Expect:", "Host: " + endpoint.authority()};
  if (!request.body.empty()) fields.push_back("Content-Type: " + request.content_type);
  if (!credential->token.empty()) fields.push_back("Authorization: Bearer " + credential->token);
  curl_slist* list = nullptr;
  for (const auto& field : fields) list = curl_slist_append(list, field.c_str());
  headers.reset(list);
  curl_easy_setopt(easy.get(), CURLOPT_HTTPHEADER, list);
}

void Call::SetCallbacks() {
  curl_easy_setopt(easy.get(), CURLOPT_PRIVATE, this);
  curl_easy_setopt(easy.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy.get(), CURLOPT_WRITEFUNCTION, IsStream() ? TakeStream : TakeBody);
  curl_easy_setopt(easy.get(), CURLOPT_WRITEDATA, this);
  curl_easy_setopt(easy.get(), CURLOPT_PREREQFUNCTION, BeforeSending);
  curl_easy_setopt(easy.get(), CURLOPT_PREREQDATA, this);
  curl_easy_setopt(easy.get(), CURLOPT_ERRORBUFFER, error.data());
}

std::string Call::TakeLines() {
  if (lines.whole() == 0) return {};
  unacknowledged += lines.whole();
  return lines.Take();
}

void Call::Acknowledge(std::size_t bytes) {
  unacknowledged -= std::min(bytes, unacknowledged);
  if (!paused || unacknowledged > kResume) return;
  paused = false;
  curl_easy_pause(easy.get(), CURLPAUSE_CONT);
}

void Call::Rewind() {
  easy.reset();
  answer.clear();
  sent = counted = false;
  tried_again = request.ahead = true;
}

int Call::HttpCode() const {
  long code = 0;
  curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &code);
  return static_cast<int>(code);
}

Result<Response> Call::Outcome(CURLcode code) {
  if (code != CURLE_OK) return std::unexpected(FailureOf(code));
  // Where neither length nor chunks say so, a cut connection looks like the end.
  if (lines.has_partial()) return std::unexpected(Abandoned("the stream ended inside a line"));
  if (IsGood(HttpCode())) return Response{HttpCode(), std::move(answer)};
  curl_off_t retry_after = 0;
  curl_easy_getinfo(easy.get(), CURLINFO_RETRY_AFTER, &retry_after);
  return std::unexpected(
      ErrorFromStatus(HttpCode(), answer, std::chrono::seconds(retry_after), IsWrite()));
}

Error Call::FailureOf(CURLcode code) const {
  if (too_large) return TooLarge();
  if (repeated) return Failure(ErrorClass::kAmbiguous, "the connection ended before the answer");
  if (code == CURLE_OPERATION_TIMEDOUT && sent) {
    const bool begun = IsStream() && IsGood(HttpCode());
    return Abandoned(
        std::format("{} within {} ms", begun ? "not over" : "no answer", request.timeout.count()));
  }
  const std::string_view why = error[0] != '\0' ? error.data() : curl_easy_strerror(code);
  if (!sent && IsSetup(code)) return Failure(ErrorClass::kTerminal, why);
  return Abandoned(why);
}

Error Call::TooLarge() const {
  const auto error_class = IsWrite() ? ErrorClass::kAmbiguous : ErrorClass::kTerminal;
  const bool begun = IsStream() && IsGood(HttpCode());
  return Failure(error_class, begun ? "a line is over 8 MiB" : "the answer is over 32 MiB");
}

static_assert(Client::kMaxAnswer == 32 << 20 && Client::kMaxLine == 8 << 20,
              "TooLarge() names them");

Error Call::Abandoned(std::string_view why) const {
  return Failure(IsWrite() && sent ? ErrorClass::kAmbiguous : ErrorClass::kRetry, why);
}

Error Call::Failure(ErrorClass error_class, std::string_view why) const {
  const std::string_view path = log::Prefix(request.path, kMaxPathInMessage);
  return Error{error_class, {}, std::format("{} {}: {}", Name(request.method), path, why)};
}

}  // namespace berth::kube
