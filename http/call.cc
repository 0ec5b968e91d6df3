#include "http/call.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "log/escape.h"
#include "log/format.h"

namespace berth::http {
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

bool IsHeaderName(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) || c == '-' || c == '_';
  });
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

// Where the path of a URL begins.
std::size_t PathAt(std::string_view url) {
  const std::size_t scheme = url.find("//");
  return scheme == url.npos ? 0 : std::min(url.find('/', scheme + 2), url.size());
}

}  // namespace

Call::Call(PeerPtr to, Request what, Client::Done then, CallOptions how)
    : peer(std::move(to)),
      request(std::move(what)),
      done(std::move(then)),
      options(std::move(how)),
      created(std::chrono::steady_clock::now()),
      deadline(created + request.timeout) {}

std::string Call::Host() const { return request.url.substr(0, PathAt(request.url)); }

std::string Call::WhyMalformed() const {
  const auto methods = {"GET", "POST", "PUT", "PATCH", "DELETE"};
  if (std::ranges::find(methods, request.method) == methods.end()) return "no such method";
  if (!request.url.starts_with("https://") && !request.url.starts_with("http://")) {
    return "the URL must begin with \"https://\"";
  }
  if (!IsHeaderSafe(request.url) || request.url.find_first_of(" #") != std::string::npos) {
    return "the URL has characters that must be escaped";
  }
  for (const auto& [name, value] : request.headers) {
    if (!IsHeaderName(name)) return "a header's name has characters that are not allowed";
    if (!IsHeaderSafe(value)) return Format("the header {} has control characters", name);
  }
  if (request.timeout.count() <= 0) return "the timeout must be above 0";
  return {};
}

bool Call::Prepare(CredentialPtr with, bool share, Time now) {
  easy.reset(curl_easy_init());
  if (!easy) return false;
  started = now;
  credential = std::move(with);
  SetRequest();
  SetHeaders();
  SetCallbacks();
  peer->Apply(easy.get());
  curl_easy_setopt(easy.get(), CURLOPT_PIPEWAIT, share ? 1L : 0L);
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - now);
  curl_easy_setopt(easy.get(), CURLOPT_TIMEOUT_MS, static_cast<long>(left.count()));
  if (credential && !credential->client_cert_pem.empty()) {
    SetBlob(easy.get(), CURLOPT_SSLCERT_BLOB, credential->client_cert_pem);
    SetBlob(easy.get(), CURLOPT_SSLKEY_BLOB, credential->client_key_pem);
  }
  return true;
}

void Call::SetRequest() {
  curl_easy_setopt(easy.get(), CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(easy.get(), CURLOPT_PATH_AS_IS, 1L);
  if (!request.body.empty() || request.method == "POST") {
    curl_easy_setopt(easy.get(), CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request.body.size()));
    curl_easy_setopt(easy.get(), CURLOPT_POSTFIELDS, request.body.data());
  }
  curl_easy_setopt(easy.get(), CURLOPT_CUSTOMREQUEST, request.method.c_str());
  curl_easy_setopt(easy.get(), CURLOPT_USERAGENT, "berth/" BERTH_VERSION);
}

void Call::SetHeaders() {
  // Without "Expect:" libcurl would wait for a 100 before large bodies, without "Content-Type:" it
  // would give bodies one of its own; a real one still goes out.
  curl_slist* list = curl_slist_append(nullptr, "Expect:");
  list = curl_slist_append(list, "Content-Type:");
  for (const auto& [name, value] : request.headers) {
    // libcurl's way to write one without a value.
    const std::string line = value.empty() ? name + ";" : name + ": " + value;
    list = curl_slist_append(list, line.c_str());
  }
  if (credential && !credential->token.empty()) {
    list = curl_slist_append(list, ("Authorization: Bearer " + credential->token).c_str());
  }
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
  sent = told = false;
  tried_again = options.ahead = true;
}

int Call::HttpCode() const {
  long code = 0;
  curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &code);
  return static_cast<int>(code);
}

bool Call::HasHttp2() const {
  long version = 0;
  curl_easy_getinfo(easy.get(), CURLINFO_HTTP_VERSION, &version);
  return version == CURL_HTTP_VERSION_2_0;
}

Result<Response> Call::Outcome(CURLcode code) {
  if (code != CURLE_OK) return std::unexpected(FailureOf(code));
  // Where neither length nor chunks say so, a cut connection looks like the end.
  if (lines.has_partial()) return std::unexpected(Abandoned("the stream ended inside a line"));
  auto fields = AnswerHeaders();
  if (!fields) return std::unexpected(std::move(fields.error()));
  curl_off_t retry_after = 0;
  curl_easy_getinfo(easy.get(), CURLINFO_RETRY_AFTER, &retry_after);
  return Response{HttpCode(), std::move(*fields), std::move(answer),
                  std::chrono::seconds(retry_after)};
}

// libcurl has kept them, with a bound of its own.
Result<std::vector<Header>> Call::AnswerHeaders() const {
  std::vector<Header> fields;
  std::size_t size = 0;
  curl_header* at = nullptr;
  while ((at = curl_easy_nextheader(easy.get(), CURLH_HEADER, -1, at)) != nullptr) {
    Header& field = fields.emplace_back(at->name, at->value);
    size += field.name.size() + field.value.size();
    if (size > Client::kMaxHeaders) return std::unexpected(TooLarge("the headers are over 64 KiB"));
    std::ranges::transform(field.name, field.name.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  }
  return fields;
}

Error Call::FailureOf(CURLcode code) const {
  const bool begun = IsStream() && IsGood(HttpCode());
  if (too_large) return TooLarge(begun ? "a line is over 8 MiB" : "the answer is over 32 MiB");
  if (repeated) return Failure(ErrorClass::kAmbiguous, "the connection ended before the answer");
  if (code == CURLE_OPERATION_TIMEDOUT && sent) {
    return Abandoned(
        Format("{} within {} ms", begun ? "not over" : "no answer", request.timeout.count()));
  }
  const std::string_view why = error[0] != '\0' ? error.data() : curl_easy_strerror(code);
  if (!sent && IsSetup(code)) return Failure(ErrorClass::kTerminal, why);
  return Abandoned(why);
}

static_assert(Client::kMaxAnswer == 32 << 20 && Client::kMaxLine == 8 << 20 &&
                  Client::kMaxHeaders == 64 << 10,
              "messages name them");

Error Call::TooLarge(std::string_view what) const {
  return Failure(IsWrite() ? ErrorClass::kAmbiguous : ErrorClass::kTerminal, what);
}

Error Call::Abandoned(std::string_view why) const {
  return Failure(IsWrite() && sent ? ErrorClass::kAmbiguous : ErrorClass::kRetry, why);
}

Error Call::Failure(ErrorClass error_class, std::string_view why) const {
  std::string_view path = std::string_view(request.url).substr(PathAt(request.url));
  path = log::Prefix(path.substr(0, path.find('?')), kMaxPathInMessage);  // a query may be signed
  return Error{error_class, {}, Format("{} {}: {}", request.method, path, why)};
}

}  // namespace berth::http
