#pragma once

#include <openssl/types.h>
#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "certs/authority.h"

// Helpers of the tests of the running server: certificates, blocking clients and the program itself
// as a child process.
namespace berth::server::test {

inline constexpr std::chrono::milliseconds kPatience{20'000};

// Asks again every few milliseconds until it holds or the time is up; whether it holds.
bool WaitUntil(const std::function<bool()>& condition,
               std::chrono::milliseconds within = kPatience);

class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// By rename, so that a reader sees the old contents or the new ones.
void WriteFile(const std::filesystem::path& file, std::string_view contents);
std::string ReadTestData(const std::string& name);  // a file below server/testdata

// Three authorities and what they have issued; the files are what `berth serve` is told.
class Pki {
 public:
  Pki();

  std::filesystem::path dir() const { return dir_.path(); }
  std::filesystem::path cert_file() const { return dir() / "tls.crt"; }
  std::filesystem::path key_file() const { return dir() / "tls.key"; }
  std::filesystem::path client_ca_file() const { return dir() / "front-proxy-ca.crt"; }

  // A further serving pair, or client certificate of the front proxy's CA.
  certs::KeyPair NewServingPair() const;
  certs::KeyPair NewClient(const std::string& common_name) const;

  certs::KeyPair serving_ca;
  certs::KeyPair serving;  // localhost, 127.0.0.1
  certs::KeyPair front_proxy_ca;
  certs::KeyPair front_proxy;  // CN=front-proxy-client
  certs::KeyPair foreign_ca;
  certs::KeyPair foreign;  // the same name, of a CA that nobody trusts

 private:
  TempDir dir_;
};

struct HttpResponse {
  int code = 0;
  std::multimap<std::string, std::string> headers;  // names in lower case
  std::string body;

  std::string Header(const std::string& lower_name) const;  // the first, or ""
};

// A blocking HTTP/1.1 client on 127.0.0.1. Every call gives up after the timeout; error() says why
// the last one failed.
class Client {
 public:
  Client(Client&& other) noexcept;
  Client& operator=(Client&& other) noexcept;
  virtual ~Client();

  bool connected() const { return connected_; }
  const std::string& error() const { return error_; }

  bool Send(std::string_view bytes);
  // Nothing on a timeout, a closed connection or an answer that is not HTTP. 1xx answers are
  // answers of their own.
  std::optional<HttpResponse> ReadResponse(bool to_head = false);
  std::optional<HttpResponse> Exchange(std::string_view request);

  // For a stream: the head first, then the lines of its chunks; nothing at its end, when ended()
  // tells whether the last chunk was there.
  std::optional<HttpResponse> ReadHead();
  bool ReadBody(HttpResponse& response);
  std::optional<std::string> ReadLine();
  bool ended() const { return ended_; }

  // Waits until the server has closed the connection; whatever it still sends is dropped.
  bool Closed();
  // Whether bytes or a close are waiting to be read.
  bool Readable(std::chrono::milliseconds within) const;

 protected:
  Client(std::uint16_t port, std::chrono::milliseconds timeout);

  void Handshake(SSL_CTX* context);
  SSL* ssl() const { return ssl_; }

 private:
  bool Fill();  // more bytes into buffer_
  bool ReadUntil(std::string_view mark, std::string& out);
  bool ReadBytes(std::size_t count, std::string& out);
  bool ReadChunk(std::string& out);  // false at the last one too, with ended_
  bool Fail(std::string why);

  int fd_ = -1;
  SSL* ssl_ = nullptr;
  bool connected_ = false;
  bool closed_ = false;
  bool ended_ = false;
  std::string buffer_;
  std::string line_buffer_;
  std::string error_;
};

class PlainClient : public Client {
 public:
  explicit PlainClient(std::uint16_t port, std::chrono::milliseconds timeout = kPatience)
      : Client(port, timeout) {}
};

struct TlsOptions {
  const certs::KeyPair* identity = nullptr;  // client certificate
  std::string trust;                         // CA, PEM; empty: the server is not verified
  int least_version = 0;                     // TLS1_2_VERSION…; 0: the library's choice
  int most_version = 0;
};

// The settings of connections; made once for many.
class TlsContext {
 public:
  TlsContext(const TlsOptions& options = {});
  SSL_CTX* get() const { return context_.get(); }

 private:
  std::shared_ptr<SSL_CTX> context_;
};

class TlsClient : public Client {
 public:
  // connected() is false when the handshake failed. With TLS 1.3 a refused client certificate shows
  // at the first read.
  explicit TlsClient(std::uint16_t port, const TlsContext& context = TlsOptions{},
                     std::chrono::milliseconds timeout = kPatience);

  std::string PeerCertificate() const;  // PEM
};

// `berth serve`, `berth demo` or `berth simulate-cloud`, on free ports of 127.0.0.1 with a state
// directory of its own. The constructor returns when it listens or has ended; the destructor kills
// it.
class BerthProcess {
 public:
  using Flags = std::map<std::string, std::string>;  // without the dashes; "" as a value leaves a
                                                     // default flag out

  struct Demo {
    Flags flags;
  };
  struct Cloud {
    Flags flags;
  };
  struct Azure {
    Flags flags;
  };
  struct Agent {
    Flags flags;
  };

  explicit BerthProcess(const Pki& pki, const Flags& flags = {});
  explicit BerthProcess(const Demo& demo);
  explicit BerthProcess(const Cloud& cloud);
  explicit BerthProcess(const Azure& azure);
  explicit BerthProcess(const Agent& agent);
  ~BerthProcess();
  BerthProcess(const BerthProcess&) = delete;
  BerthProcess& operator=(const BerthProcess&) = delete;

  bool listening() const { return ports_.size() == listeners_; }
  std::uint16_t port(const std::string& listener) const { return ports_.at(listener); }
  pid_t pid() const { return pid_; }
  const std::filesystem::path& state_dir() const { return state_dir_.path(); }

  void Signal(int signal) const;
  // The exit status, 128 + the signal that ended it, or -1 when it has not ended in time.
  int Wait(std::chrono::milliseconds within = kPatience);
  int Stop();  // SIGTERM and Wait
  bool Running() const;

  // The output of the program: so far, or as soon as a line has it.
  std::string Log() const;
  bool LogContains(std::string_view text) const { return WaitForLog(text, {}); }
  bool WaitForLog(std::string_view text, std::chrono::milliseconds within = kPatience) const;

 private:
  void Start(const std::string& command, Flags usual, const Flags& flags);
  void Spawn(const std::string& command, const Flags& flags);
  void ReadLog(int fd);
  void FindPorts();

  const std::size_t listeners_;
  TempDir state_dir_;
  pid_t pid_ = -1;
  std::optional<int> status_;
  std::map<std::string, std::uint16_t> ports_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::string log_;
  bool log_ended_ = false;
  std::thread reader_;
};

}  // namespace berth::server::test
