#include "kube/client.h"

#include <curl/curl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <format>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kube/status.h"
#include "kube/token.h"
#include "log/escape.h"

namespace berth::kube {
namespace {

using std::chrono::milliseconds;
using SteadyTime = std::chrono::steady_clock::time_point;

constexpr long kConnectTimeoutMs = 5'000;
// kube-apiserver takes 100 streams on a connection; a few connections carry bursts past that.
constexpr long kMaxConnections = 8;
constexpr int kPollMs = 60'000;
// How long a peer may leave sent bytes unacknowledged. Without it an HTTP/2 connection to a machine
// that vanished would fail every call until TCP gives up after some 15 minutes.
constexpr unsigned kUnackedMs = 20'000;
constexpr std::size_t kMaxPathInMessage = 200;

struct EasyDeleter {
  void operator()(CURL* easy) const { curl_easy_cleanup(easy); }
};
struct MultiDeleter {
  void operator()(CURLM* multi) const { curl_multi_cleanup(multi); }
};
struct ListDeleter {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using EasyHandle = std::unique_ptr<CURL, EasyDeleter>;
using MultiHandle = std::unique_ptr<CURLM, MultiDeleter>;
using HeaderList = std::unique_ptr<curl_slist, ListDeleter>;

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

// One request from Send to done. libcurl keeps pointers into it, so it stays where it is.
struct Call {
  Request request;
  Client::Done done;
  SteadyTime deadline;

  EasyHandle easy;
  HeaderList headers;
  std::string answer;
  bool sent = false;      // bytes of the request may have left
  bool repeated = false;  // libcurl wanted to send a write a second time
  bool too_large = false;
  char error[CURL_ERROR_SIZE] = {};

  bool IsWrite() const { return request.method != Method::kGet; }

  // What the caller may do about a call that ended without an answer.
  ErrorClass Unanswered() const {
    return IsWrite() && sent ? ErrorClass::kAmbiguous : ErrorClass::kRetry;
  }

  Error Failure(ErrorClass error_class, std::string_view why) const {
    const std::string_view path = log::Prefix(request.path, kMaxPathInMessage);
    return Error{error_class, {}, std::format("{} {}: {}", Name(request.method), path, why)};
  }
};

std::size_t TakeBody(char* data, std::size_t, std::size_t size, void* context) {
  auto& call = *static_cast<Call*>(context);
  if (call.answer.size() + size > Client::kMaxAnswer) {
    call.too_large = true;
    return CURL_WRITEFUNC_ERROR;
  }
  call.answer.append(data, size);
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

int SetUpSocket(void*, curl_socket_t socket, curlsocktype) {
  unsigned unacked = kUnackedMs;
  setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacked, sizeof(unacked));
  return CURL_SOCKOPT_OK;
}

bool IsHeaderSafe(std::string_view text) {
  return std::ranges::none_of(
      text, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7F'; });
}

std::string WhyMalformed(const Request& request) {
  if (!request.path.starts_with('/')) return "the path must begin with \"/\"";
  if (!IsHeaderSafe(request.path) || request.path.find_first_of(" #") != std::string::npos) {
    return "the path has characters that must be escaped";
  }
  if (!IsHeaderSafe(request.content_type)) return "the content type has control characters";
  if (request.timeout.count() <= 0) return "the timeout must be above 0";
  return {};
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

Error FailureOf(const Call& call, CURLcode code) {
  if (call.too_large) {
    const auto error_class = call.IsWrite() ? ErrorClass::kAmbiguous : ErrorClass::kTerminal;
    return call.Failure(error_class, "the answer is over 32 MiB");
  }
  if (call.repeated) {
    return call.Failure(ErrorClass::kAmbiguous, "the connection ended before the answer");
  }
  if (code == CURLE_OPERATION_TIMEDOUT && call.sent) {
    return call.Failure(call.Unanswered(),
                        std::format("no answer within {} ms", call.request.timeout.count()));
  }
  const std::string_view why = call.error[0] != '\0' ? call.error : curl_easy_strerror(code);
  if (!call.sent && IsSetup(code)) return call.Failure(ErrorClass::kTerminal, why);
  return call.Failure(call.Unanswered(), why);
}

static_assert(Client::kMaxAnswer == 32 << 20, "FailureOf() names it");

// The address to name in the URL and, where the certificate has another name than the server's
// address, the one to connect to.
struct Target {
  std::string url;         // scheme, name, port and path before a request's own
  std::string connect_to;  // "::host:port" for CURLOPT_CONNECT_TO, or empty
  std::string authority;   // the Host header that goes with it
};

Target TargetOf(const Config& config) {
  if (config.tls_server_name.empty()) return {config.server, {}, {}};
  const std::size_t begin = config.server.find("//") + 2;
  const std::size_t end = std::min(config.server.find('/', begin), config.server.size());
  const std::string authority = config.server.substr(begin, end - begin);
  const std::size_t colon = authority.find(':', authority.find(']') + 1);
  const std::string host = authority.substr(0, colon);
  const std::string port = colon == std::string::npos ? "443" : authority.substr(colon + 1);
  return {std::format("https://{}:{}{}", config.tls_server_name, port, config.server.substr(end)),
          std::format("::{}:{}", host, port), authority};
}

curl_blob BlobOf(const std::string& text) {
  // libcurl takes a pointer to non-const but does not write; the Config outlives every handle.
  return {const_cast<char*>(text.data()), text.size(), CURL_BLOB_NOCOPY};
}

// Signals belong to the main thread; and a TLS write to a closed connection raises SIGPIPE in the
// writing thread, which libcurl leaves alone when it is told not to touch signals.
void BlockSignals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

constexpr const char* kShuttingDown = "the client is shutting down";

void InitialiseCurl() {
  static const CURLcode once = curl_global_init(CURL_GLOBAL_DEFAULT);
  static_cast<void>(once);
}

}  // namespace

class Client::Impl {
 public:
  explicit Impl(Config config)
      : config_(std::move(config)),
        target_(TargetOf(config_)),
        token_(config_.token, config_.token_file) {
    InitialiseCurl();
    multi_.reset(curl_multi_init());
    curl_multi_setopt(multi_.get(), CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
    curl_multi_setopt(multi_.get(), CURLMOPT_MAX_HOST_CONNECTIONS, kMaxConnections);
    if (!target_.connect_to.empty()) {
      connect_to_.reset(curl_slist_append(nullptr, target_.connect_to.c_str()));
    }
    thread_ = std::jthread([this](std::stop_token stop) { Run(stop); });
  }

  ~Impl() { Shutdown(); }

  void Shutdown() {
    assert(std::this_thread::get_id() != thread_.get_id());
    {
      const std::lock_guard lock(mutex_);
      shut_ = true;
    }
    thread_.request_stop();
    curl_multi_wakeup(multi_.get());
    if (thread_.joinable()) thread_.join();
  }

  void Send(Request request, Done done) {
    auto call = std::make_unique<Call>();
    call->deadline = std::chrono::steady_clock::now() + request.timeout;
    call->request = std::move(request);
    call->done = std::move(done);
    if (calls_.fetch_add(1) >= kMaxCalls) {
      --calls_;
      auto error = call->Failure(ErrorClass::kThrottled, "too many calls are waiting");
      error.retry_after = std::chrono::seconds(1);
      call->done(std::unexpected(std::move(error)));
      return;
    }
    if (!Accept(call)) {
      --calls_;
      call->done(std::unexpected(call->Failure(ErrorClass::kRetry, kShuttingDown)));
      return;
    }
    curl_multi_wakeup(multi_.get());
  }

 private:
  // Takes the call, unless the client is shut.
  bool Accept(std::unique_ptr<Call>& call) {
    const std::lock_guard lock(mutex_);
    if (!shut_) inbox_.push_back(std::move(call));
    return !shut_;
  }

  void Run(std::stop_token stop) {
    BlockSignals();
    while (!stop.stop_requested()) {
      for (auto& call : TakeInbox()) Start(std::move(call));
      int running = 0;
      curl_multi_perform(multi_.get(), &running);
      FinishEnded();
      // A wake-up that came meanwhile makes this return at once.
      curl_multi_poll(multi_.get(), nullptr, 0, kPollMs, nullptr);
    }
    EndAll();
  }

  std::vector<std::unique_ptr<Call>> TakeInbox() {
    const std::lock_guard lock(mutex_);
    return std::exchange(inbox_, {});
  }

  void Start(std::unique_ptr<Call> call) {
    if (const std::string why = WhyMalformed(call->request); !why.empty()) {
      return Finish(*call, std::unexpected(call->Failure(ErrorClass::kTerminal, why)));
    }
    const auto left =
        std::chrono::ceil<milliseconds>(call->deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) {
      return Finish(*call, std::unexpected(FailureOf(*call, CURLE_OPERATION_TIMEDOUT)));
    }
    const auto token = token_.Get();
    if (!token) return Finish(*call, std::unexpected(token.error()));
    call->easy.reset(curl_easy_init());
    if (!call->easy) return Finish(*call, std::unexpected(FailureOf(*call, CURLE_OUT_OF_MEMORY)));

    SetCall(*call, left);
    SetHeaders(*call, *token);
    SetConnection(call->easy.get());
    CURL* easy = call->easy.get();
    if (curl_multi_add_handle(multi_.get(), easy) != CURLM_OK) {
      return Finish(*call, std::unexpected(FailureOf(*call, CURLE_FAILED_INIT)));
    }
    under_way_.emplace(easy, std::move(call));
  }

  void SetCall(Call& call, milliseconds left) {
    CURL* easy = call.easy.get();
    const Request& request = call.request;
    curl_easy_setopt(easy, CURLOPT_URL, (target_.url + request.path).c_str());
    curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
    if (!request.body.empty() || request.method == Method::kPost) {
      curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                       static_cast<curl_off_t>(request.body.size()));
      curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request.body.data());
    }
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, Name(request.method));
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(left.count()));
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, TakeBody);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &call);
    curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, BeforeSending);
    curl_easy_setopt(easy, CURLOPT_PREREQDATA, &call);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, call.error);
  }

  void SetHeaders(Call& call, const std::string& token) {
    // Without "Expect:" libcurl would wait for a 100 before large bodies.
    std::vector<std::string> lines = {"Accept: application/json", "Expect:"};
    if (!call.request.body.empty()) lines.push_back("Content-Type: " + call.request.content_type);
    if (!token.empty()) lines.push_back("Authorization: Bearer " + token);
    if (!target_.authority.empty()) lines.push_back("Host: " + target_.authority);
    curl_slist* list = nullptr;
    for (const auto& line : lines) list = curl_slist_append(list, line.c_str());
    call.headers.reset(list);
    curl_easy_setopt(call.easy.get(), CURLOPT_HTTPHEADER, list);
  }

  void SetConnection(CURL* easy) {
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "berth/" BERTH_VERSION);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(easy, CURLOPT_PROXY, "");  // and none from the environment
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS);
    // Wait for a connection being made, to share it, only where HTTP/2 has been seen: with HTTP/1.1
    // the wait would last until the first call's answer.
    curl_easy_setopt(easy, CURLOPT_PIPEWAIT, has_http2_ ? 1L : 0L);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, kConnectTimeoutMs);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, SetUpSocket);
    curl_easy_setopt(easy, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
    if (connect_to_) curl_easy_setopt(easy, CURLOPT_CONNECT_TO, connect_to_.get());
    if (!config_.ca_pem.empty()) {
      SetBlob(easy, CURLOPT_CAINFO_BLOB, config_.ca_pem);
      // The blob takes the place of the system's bundle but not of its folder of authorities.
      curl_easy_setopt(easy, CURLOPT_CAPATH, nullptr);
    }
    if (!config_.client_cert_pem.empty()) {
      SetBlob(easy, CURLOPT_SSLCERT_BLOB, config_.client_cert_pem);
      SetBlob(easy, CURLOPT_SSLKEY_BLOB, config_.client_key_pem);
    }
  }

  static void SetBlob(CURL* easy, CURLoption option, const std::string& pem) {
    curl_blob blob = BlobOf(pem);
    curl_easy_setopt(easy, option, &blob);
  }

  void FinishEnded() {
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      const CURLcode code = message->data.result;
      CURL* easy = message->easy_handle;
      curl_multi_remove_handle(multi_.get(), easy);
      auto node = under_way_.extract(easy);
      assert(!node.empty());
      Finish(*node.mapped(), ResultOf(*node.mapped(), code));
    }
  }

  Result<Response> ResultOf(Call& call, CURLcode code) {
    if (code != CURLE_OK) return std::unexpected(FailureOf(call, code));
    long version = 0;
    curl_easy_getinfo(call.easy.get(), CURLINFO_HTTP_VERSION, &version);
    has_http2_ = version == CURL_HTTP_VERSION_2_0;
    long http_code = 0;
    curl_off_t retry_after = 0;
    curl_easy_getinfo(call.easy.get(), CURLINFO_RESPONSE_CODE, &http_code);
    curl_easy_getinfo(call.easy.get(), CURLINFO_RETRY_AFTER, &retry_after);
    if (http_code >= 200 && http_code < 300) {
      return Response{static_cast<int>(http_code), std::move(call.answer)};
    }
    return std::unexpected(ErrorFromStatus(static_cast<int>(http_code), call.answer,
                                           std::chrono::seconds(retry_after), call.IsWrite()));
  }

  void Finish(Call& call, Result<Response> result) {
    --calls_;
    call.done(std::move(result));
  }

  void EndAll() {
    auto end = [this](Call& call) {
      Finish(call, std::unexpected(call.Failure(call.Unanswered(), kShuttingDown)));
    };
    for (auto& [easy, call] : std::exchange(under_way_, {})) {
      curl_multi_remove_handle(multi_.get(), easy);
      end(*call);
    }
    // `done` may have sent more.
    for (auto inbox = TakeInbox(); !inbox.empty(); inbox = TakeInbox()) {
      for (auto& call : inbox) end(*call);
    }
  }

  const Config config_;
  const Target target_;
  HeaderList connect_to_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Call>> inbox_;  // under mutex_
  bool shut_ = false;                         // under mutex_
  std::atomic<std::size_t> calls_{0};         // waiting or under way

  // The rest belongs to the thread; curl_multi_wakeup alone may be called from others.
  TokenSource token_;
  MultiHandle multi_;
  std::unordered_map<CURL*, std::unique_ptr<Call>> under_way_;
  bool has_http2_ = false;
  std::jthread thread_;
};

Client::Client(Config config) : impl_(std::make_unique<Impl>(std::move(config))) {}
Client::~Client() = default;

void Client::Shutdown() { impl_->Shutdown(); }
void Client::Send(Request request, Done done) { impl_->Send(std::move(request), std::move(done)); }

}  // namespace berth::kube
