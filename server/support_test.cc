#include "server/support_test.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

extern char** environ;

namespace berth::server::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kPollEvery = 5ms;
constexpr auto kLifetime = std::chrono::hours(24);

template <typename T>
T Must(kube::Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}

std::string LastTlsError() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason == nullptr ? std::strerror(errno) : reason;
}

std::shared_ptr<BIO> Memory(const std::string& text) {
  return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free};
}

void UseIdentity(SSL_CTX* context, const certs::KeyPair& pair) {
  const std::shared_ptr<X509> cert(
      PEM_read_bio_X509(Memory(pair.cert_pem).get(), nullptr, nullptr, nullptr), X509_free);
  const std::shared_ptr<EVP_PKEY> key(
      PEM_read_bio_PrivateKey(Memory(pair.key_pem).get(), nullptr, nullptr, nullptr),
      EVP_PKEY_free);
  SSL_CTX_use_certificate(context, cert.get());
  SSL_CTX_use_PrivateKey(context, key.get());
}

void Trust(SSL_CTX* context, const std::string& pem) {
  const std::shared_ptr<X509> cert(PEM_read_bio_X509(Memory(pem).get(), nullptr, nullptr, nullptr),
                                   X509_free);
  X509_STORE_add_cert(SSL_CTX_get_cert_store(context), cert.get());
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
}

std::string Lower(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::string Trim(const std::string& text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// Strict: three digits after the version, every header with a name and a colon.
bool ParseHead(const std::string& head, HttpResponse& response) {
  std::istringstream lines(head);
  std::string line;
  if (!std::getline(lines, line) || !line.starts_with("HTTP/1.") || line.size() < 13) return false;
  const auto [end, error] = std::from_chars(line.data() + 9, line.data() + 12, response.code);
  if (error != std::errc{} || end != line.data() + 12 || response.code < 100) return false;
  while (std::getline(lines, line)) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    const auto colon = line.find(':');
    if (colon == std::string::npos || colon == 0) return false;
    response.headers.emplace(Lower(line.substr(0, colon)), Trim(line.substr(colon + 1)));
  }
  return true;
}

// The program is to see what it is told here and nothing of where the tests run.
std::vector<std::string> CleanEnvironment() {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (!text.starts_with("BERTH_") && !text.starts_with("KUBERNETES_"))
      variables.emplace_back(text);
  }
  return variables;
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// A field of a JSON log line of ours, where neither keys nor these values are escaped.
std::string Field(std::string_view line, const std::string& name) {
  const std::string key = "\"" + name + "\":";
  const auto found = line.find(key);
  if (found == std::string_view::npos) return "";
  line.remove_prefix(found + key.size());
  if (line.starts_with('"')) line.remove_prefix(1);
  return std::string(line.substr(0, line.find_first_of("\",}")));
}

}  // namespace

bool WaitUntil(const std::function<bool()>& condition, std::chrono::milliseconds within) {
  const auto deadline = Clock::now() + within;
  while (!condition()) {
    if (Clock::now() > deadline) return false;
    poll(nullptr, 0, kPollEvery.count());
  }
  return true;
}

TempDir::TempDir() {
  // In memory where there is such a place: Drogon makes 256 directories at every start.
  const bool in_memory = access("/dev/shm", W_OK) == 0;
  const auto parent = in_memory ? "/dev/shm" : std::filesystem::temp_directory_path();
  std::string name = (parent / "berth-test-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make " + name);
  path_ = name;
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void WriteFile(const std::filesystem::path& file, std::string_view contents) {
  const std::filesystem::path fresh = file.string() + ".new";
  std::ofstream(fresh, std::ios::binary) << contents;
  std::filesystem::rename(fresh, file);
}

std::string ReadTestData(const std::string& name) {
  const std::string path = std::string(BERTH_SOURCE_DIR) + "/server/testdata/" + name;
  std::ifstream in(path, std::ios::binary);
  std::ostringstream contents;
  contents << in.rdbuf();
  if (!in || contents.str().empty()) throw std::runtime_error("cannot read " + path);
  return contents.str();
}

Pki::Pki()
    : serving_ca(Must(certs::MakeAuthority("serving", kLifetime))),
      serving(NewServingPair()),
      front_proxy_ca(Must(certs::MakeAuthority("front-proxy", kLifetime))),
      front_proxy(NewClient("front-proxy-client")),
      foreign_ca(Must(certs::MakeAuthority("foreign", kLifetime))),
      foreign(Must(certs::Issue(foreign_ca, "front-proxy-client", {}, kLifetime, true))) {
  WriteFile(cert_file(), serving.cert_pem);
  WriteFile(key_file(), serving.key_pem);
  WriteFile(client_ca_file(), front_proxy_ca.cert_pem);
}

certs::KeyPair Pki::NewServingPair() const {
  return Must(certs::Issue(serving_ca, "berth", {{"localhost"}, {"127.0.0.1"}}, kLifetime));
}

certs::KeyPair Pki::NewClient(const std::string& common_name) const {
  return Must(certs::Issue(front_proxy_ca, common_name, {}, kLifetime, true));
}

std::string HttpResponse::Header(const std::string& lower_name) const {
  const auto found = headers.find(lower_name);
  return found == headers.end() ? "" : found->second;
}

Client::Client(std::uint16_t port, std::chrono::milliseconds timeout)
    : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes without MSG_NOSIGNAL
  const timeval limit{.tv_sec = timeout.count() / 1000, .tv_usec = timeout.count() % 1000 * 1000};
  setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  const int on = 1;
  setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  sockaddr_in peer{};
  peer.sin_family = AF_INET;
  peer.sin_port = htons(port);
  peer.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  connected_ = connect(fd_, reinterpret_cast<sockaddr*>(&peer), sizeof peer) == 0;
  if (!connected_) error_ = std::strerror(errno);
}

Client::Client(Client&& other) noexcept { *this = std::move(other); }

Client& Client::operator=(Client&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(ssl_, other.ssl_);
  std::swap(connected_, other.connected_);
  std::swap(closed_, other.closed_);
  std::swap(ended_, other.ended_);
  std::swap(buffer_, other.buffer_);
  std::swap(line_buffer_, other.line_buffer_);
  std::swap(error_, other.error_);
  return *this;
}

Client::~Client() {
  if (ssl_ != nullptr) SSL_free(ssl_);
  if (fd_ >= 0) close(fd_);
}

void Client::Handshake(SSL_CTX* context) {
  if (!connected_) return;
  ssl_ = SSL_new(context);
  SSL_set_fd(ssl_, fd_);
  X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_), "127.0.0.1");
  connected_ = SSL_connect(ssl_) == 1;
  if (!connected_) error_ = LastTlsError();
}

bool Client::Fail(std::string why) {
  error_ = std::move(why);
  return false;
}

bool Client::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ssl_ != nullptr
                             ? SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size()))
                             : send(fd_, bytes.data(), bytes.size(), 0);
    if (sent <= 0) return Fail(LastTlsError());
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool Client::Fill() {
  if (closed_) return Fail("the connection is closed");
  char bytes[16 * 1024];
  const ssize_t got =
      ssl_ != nullptr ? SSL_read(ssl_, bytes, sizeof bytes) : recv(fd_, bytes, sizeof bytes, 0);
  if (got > 0) {
    buffer_.append(bytes, static_cast<std::size_t>(got));
    return true;
  }
  const bool timed_out = got < 0 && (ssl_ != nullptr ? SSL_want_read(ssl_) : errno == EAGAIN);
  closed_ = !timed_out;
  return Fail(timed_out ? "timed out" : "the connection was closed: " + LastTlsError());
}

bool Client::ReadUntil(std::string_view mark, std::string& out) {
  std::size_t found = 0;
  while ((found = buffer_.find(mark)) == std::string::npos) {
    if (!Fill()) return false;
  }
  out = buffer_.substr(0, found);
  buffer_.erase(0, found + mark.size());
  return true;
}

bool Client::ReadBytes(std::size_t count, std::string& out) {
  while (buffer_.size() < count) {
    if (!Fill()) return false;
  }
  out.append(buffer_, 0, count);
  buffer_.erase(0, count);
  return true;
}

bool Client::ReadChunk(std::string& out) {
  std::string line;
  if (!ReadUntil("\r\n", line)) return false;
  std::size_t size = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), size, 16);
  if (error != std::errc{} || end != line.data() + line.size()) return Fail("bad chunk: " + line);
  std::string mark;
  if (!ReadBytes(size, out) || !ReadBytes(2, mark)) return false;
  if (mark != "\r\n") return Fail("a chunk does not end where it should");
  ended_ = size == 0;
  return !ended_;
}

bool Client::ReadBody(HttpResponse& response) {
  const std::string length = response.Header("content-length");
  if (response.Header("transfer-encoding") == "chunked") {
    while (ReadChunk(response.body)) {
    }
    return ended_;
  }
  if (length.empty()) {
    while (Fill()) {
    }
    response.body = std::exchange(buffer_, "");
    return closed_;
  }
  std::size_t size = 0;
  const auto [end, error] = std::from_chars(length.data(), length.data() + length.size(), size);
  if (error != std::errc{} || end != length.data() + length.size()) return Fail("bad length");
  return ReadBytes(size, response.body);
}

std::optional<HttpResponse> Client::ReadHead() {
  HttpResponse response;
  std::string head;
  ended_ = false;
  if (!ReadUntil("\r\n\r\n", head)) return std::nullopt;
  if (!ParseHead(head, response)) {
    error_ = "not an HTTP response: " + head;
    return std::nullopt;
  }
  return response;
}

std::optional<HttpResponse> Client::ReadResponse(bool to_head) {
  auto response = ReadHead();
  if (!response) return response;
  const bool bodiless =
      to_head || response->code < 200 || response->code == 204 || response->code == 304;
  if (!bodiless && !ReadBody(*response)) return std::nullopt;
  return response;
}

std::optional<HttpResponse> Client::Exchange(std::string_view request) {
  if (!Send(request)) return std::nullopt;
  return ReadResponse();
}

std::optional<std::string> Client::ReadLine() {
  std::size_t end = 0;
  while ((end = line_buffer_.find('\n')) == std::string::npos) {
    if (ended_ || !ReadChunk(line_buffer_)) return std::nullopt;
  }
  std::string line = line_buffer_.substr(0, end);
  line_buffer_.erase(0, end + 1);
  return line;
}

bool Client::Closed() {
  while (Fill()) buffer_.clear();
  return closed_;
}

bool Client::Readable(std::chrono::milliseconds within) const {
  if (!buffer_.empty() || (ssl_ != nullptr && SSL_pending(ssl_) > 0)) return true;
  pollfd waiting{.fd = fd_, .events = POLLIN, .revents = 0};
  return poll(&waiting, 1, static_cast<int>(within.count())) > 0;
}

TlsContext::TlsContext(const TlsOptions& options)
    : context_(SSL_CTX_new_ex(nullptr, nullptr, TLS_client_method()), SSL_CTX_free) {
  // Old versions need signatures that today's libraries do not offer by themselves.
  if (options.most_version != 0 && options.most_version < TLS1_2_VERSION) {
    SSL_CTX_set_cipher_list(get(), "DEFAULT@SECLEVEL=0");
  }
  SSL_CTX_set_min_proto_version(get(), options.least_version);
  SSL_CTX_set_max_proto_version(get(), options.most_version);
  if (options.identity != nullptr) UseIdentity(get(), *options.identity);
  if (!options.trust.empty()) Trust(get(), options.trust);
  ERR_clear_error();
}

TlsClient::TlsClient(std::uint16_t port, const TlsContext& context,
                     std::chrono::milliseconds timeout)
    : Client(port, timeout) {
  Handshake(context.get());
}

std::string TlsClient::PeerCertificate() const {
  const std::shared_ptr<BIO> memory(BIO_new(BIO_s_mem()), BIO_free);
  PEM_write_bio_X509(memory.get(), SSL_get0_peer_certificate(ssl()));
  char* text = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

BerthProcess::BerthProcess(const Pki& pki, const Flags& flags) : listeners_(4) {
  Start("serve",
        {
            {"bind-address", "127.0.0.1"},
            {"webhook-port", "0"},
            {"api-port", "0"},
            {"metrics-port", "0"},
            {"health-port", "0"},
            {"tls-cert-file", pki.cert_file()},
            {"tls-private-key-file", pki.key_file()},
            {"requestheader-client-ca-file", pki.client_ca_file()},
            {"shutdown-delay", "0s"},
        },
        flags);
}

BerthProcess::BerthProcess(const Demo& demo) : listeners_(5) {
  Start("demo", {{"port", "0"}, {"log-level", "info"}}, demo.flags);
}

BerthProcess::BerthProcess(const Cloud& cloud) : listeners_(1) {
  Start("simulate-cloud", {{"port", "0"}}, cloud.flags);
}

BerthProcess::BerthProcess(const Azure& azure) : listeners_(2) {
  Start("simulate-azure", {{"port", "0"}, {"console-port", "0"}}, azure.flags);
}

BerthProcess::BerthProcess(const Agent& agent) : listeners_(2) {
  Start("simulate-agent", {{"port", "0"}, {"console-port", "0"}}, agent.flags);
}

void BerthProcess::Start(const std::string& command, Flags usual, const Flags& flags) {
  usual.insert({{"state-dir", state_dir_.path()}, {"log-format", "json"}});
  for (const auto& [name, value] : flags) usual[name] = value;
  std::erase_if(usual, [](const auto& flag) { return flag.second.empty(); });
  Spawn(command, usual);
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kPatience, [this] {
    FindPorts();
    return log_ended_ || listening();
  });
}

void BerthProcess::Spawn(const std::string& command, const Flags& flags) {
  std::vector<std::string> arguments = {BERTH_PROGRAM, command};
  for (const auto& [name, value] : flags) arguments.insert(arguments.end(), {"--" + name, value});
  std::vector<std::string> environment = CleanEnvironment();
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  const int failed = posix_spawn(&pid_, BERTH_PROGRAM, &actions, nullptr,
                                 Pointers(arguments).data(), Pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (failed != 0) throw std::runtime_error("cannot start " BERTH_PROGRAM);
  reader_ = std::thread([this, fd = ends[0]] { ReadLog(fd); });
}

BerthProcess::~BerthProcess() {
  if (!status_) {
    Signal(SIGKILL);
    Wait();
  }
  reader_.join();
}

void BerthProcess::ReadLog(int fd) {
  char bytes[4096];
  while (true) {
    const ssize_t got = read(fd, bytes, sizeof bytes);
    if (got < 0 && errno == EINTR) continue;
    const std::lock_guard lock(mutex_);
    if (got > 0) log_.append(bytes, static_cast<std::size_t>(got));
    log_ended_ = got <= 0;
    changed_.notify_all();
    if (log_ended_) break;
  }
  close(fd);
}

void BerthProcess::FindPorts() {
  std::istringstream lines(log_);
  for (std::string line; std::getline(lines, line) && !lines.eof();) {
    if (Field(line, "msg") != "listening") continue;
    ports_[Field(line, "listener")] = static_cast<std::uint16_t>(std::stoi(Field(line, "port")));
  }
}

void BerthProcess::Signal(int signal) const {
  if (!status_) kill(pid_, signal);
}

int BerthProcess::Wait(std::chrono::milliseconds within) {
  if (status_) return *status_;
  int status = 0;
  if (!WaitUntil([&] { return waitpid(pid_, &status, WNOHANG) == pid_; }, within)) return -1;
  status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  // The last lines of the log are part of how it ended.
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kPatience, [this] { return log_ended_; });
  return *status_;
}

int BerthProcess::Stop() {
  Signal(SIGTERM);
  return Wait();
}

bool BerthProcess::Running() const {
  siginfo_t info{};
  return !status_ &&
         waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == 0;
}

std::string BerthProcess::Log() const {
  const std::lock_guard lock(mutex_);
  return log_;
}

bool BerthProcess::WaitForLog(std::string_view text, std::chrono::milliseconds within) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, within, [&] { return log_.contains(text); });
}

}  // namespace berth::server::test
