#pragma once

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "log/format.h"

// For tests only: an HTTP/1.1 server on a free port of the loopback that answers with whatever
// bytes the test says.
namespace berth::test {

// A self-signed certificate for `name` and 127.0.0.1, and its key, in PEM.
inline std::pair<std::string, std::string> MakeCertificate(const std::string& name) {
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const std::unique_ptr<X509, decltype(&X509_free)> cert(X509_new(), X509_free);
  X509_set_version(cert.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(cert.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(cert.get()), -60);
  X509_gmtime_adj(X509_getm_notAfter(cert.get()), 3600);
  X509_set_pubkey(cert.get(), key.get());
  const std::unique_ptr<X509_NAME, decltype(&X509_NAME_free)> subject(X509_NAME_new(),
                                                                      X509_NAME_free);
  X509_NAME_add_entry_by_txt(subject.get(), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509_set_subject_name(cert.get(), subject.get());
  X509_set_issuer_name(cert.get(), subject.get());
  const std::string names = "DNS:" + name + ",IP:127.0.0.1";
  X509_EXTENSION* extension =
      X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, names.c_str());
  X509_add_ext(cert.get(), extension, -1);
  X509_EXTENSION_free(extension);
  X509_sign(cert.get(), key.get(), EVP_sha256());

  auto text = [](auto write) {
    const std::unique_ptr<BIO, decltype(&BIO_free)> bio(BIO_new(BIO_s_mem()), BIO_free);
    write(bio.get());
    char* data = nullptr;
    const long size = BIO_get_mem_data(bio.get(), &data);
    return std::string(data, static_cast<std::size_t>(size));
  };
  return {text([&](BIO* bio) { PEM_write_bio_X509(bio, cert.get()); }), text([&](BIO* bio) {
            PEM_write_bio_PrivateKey(bio, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
          })};
}

inline std::string Answer(int code, std::string_view body, std::string_view headers = "") {
  return Format("HTTP/1.1 {} X\r\nContent-Type: application/json\r\n{}Content-Length: {}\r\n\r\n{}",
                code, headers, body.size(), body);
}

// The head of an answer whose body follows in chunks, a chunk, and the last one.
inline constexpr std::string_view kChunkedHead =
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
inline std::string Chunk(std::string_view bytes) {
  return Format("{:x}\r\n{}\r\n", bytes.size(), bytes);
}
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

// A client's connection, for a handler that answers bit by bit.
class Connection {
 public:
  explicit Connection(int fd, SSL* ssl = nullptr) : fd_(fd), ssl_(ssl) {}

  // Blocks while the client does not read; false when the connection has ended.
  bool Write(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto n = ssl_ ? SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size()))
                          : static_cast<int>(send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL));
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }

  bool Read(std::string& into) {
    char bytes[16384];
    const auto n = ssl_ ? SSL_read(ssl_, bytes, sizeof(bytes))
                        : static_cast<int>(recv(fd_, bytes, sizeof(bytes), 0));
    if (n > 0) into.append(bytes, static_cast<std::size_t>(n));
    return n > 0;
  }

  bool WaitUntilWritable(std::chrono::milliseconds limit) { return Wait(POLLOUT, limit); }
  bool WaitUntilClosed(std::chrono::milliseconds limit) { return Wait(POLLRDHUP, limit); }

 private:
  bool Wait(int event, std::chrono::milliseconds limit) const {
    pollfd poll_fd{fd_, static_cast<short>(event), 0};
    return poll(&poll_fd, 1, static_cast<int>(limit.count())) > 0;
  }

  int fd_;
  SSL* ssl_;
};

struct ServedRequest {
  std::string head;  // request line and headers, each ended by "\r\n"
  std::string body;
  std::string peer_name;             // common name of the client's certificate
  Connection* connection = nullptr;  // while the handler runs

  bool Has(std::string_view header_line) const {
    return head.contains(Format("\r\n{}\r\n", header_line));
  }
  std::string Line() const { return head.substr(0, head.find("\r\n")); }
};

class Server {
 public:
  // The bytes to answer with; "" closes the connection. Runs on the connection's thread, so it may
  // wait.
  using Handler = std::function<std::string(const ServedRequest&)>;

  explicit Server(Handler handler) : handler_(std::move(handler)) { Listen(); }

  // With TLS; `client_ca_pem`, where given, is asked of clients.
  Server(Handler handler, const std::string& cert_pem, const std::string& key_pem,
         const std::string& client_ca_pem = "")
      : handler_(std::move(handler)), tls_(SSL_CTX_new(TLS_server_method())) {
    const auto cert = Read<X509>(cert_pem, PEM_read_bio_X509);
    const auto key = Read<EVP_PKEY>(key_pem, PEM_read_bio_PrivateKey);
    SSL_CTX_use_certificate(tls_.get(), cert);
    SSL_CTX_use_PrivateKey(tls_.get(), key);
    X509_free(cert);
    EVP_PKEY_free(key);
    SSL_CTX_set_alpn_select_cb(tls_.get(), RecordAlpn, this);
    if (!client_ca_pem.empty()) {
      X509* ca = Read<X509>(client_ca_pem, PEM_read_bio_X509);
      X509_STORE_add_cert(SSL_CTX_get_cert_store(tls_.get()), ca);
      X509_free(ca);
      SSL_CTX_set_verify(tls_.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    }
    Listen();
  }

  ~Server() {
    shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    close(listener_);
    std::unique_lock lock(mutex_);
    for (const int fd : open_) shutdown(fd, SHUT_RDWR);
    lock.unlock();
    connections_.clear();
  }

  int port() const { return port_; }
  std::string url() const { return Format("{}://127.0.0.1:{}", tls_ ? "https" : "http", port_); }
  std::vector<ServedRequest> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  std::size_t connections() const {
    const std::lock_guard lock(mutex_);
    return accepted_;
  }
  std::string alpn_offered() const {
    const std::lock_guard lock(mutex_);
    return alpn_;
  }

 private:
  struct TlsDeleter {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };

  template <typename T, typename Reader>
  static T* Read(const std::string& pem, Reader reader) {
    BIO* bio = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
    T* out = reader(bio, nullptr, nullptr, nullptr);
    BIO_free(bio);
    return out;
  }

  static int RecordAlpn(SSL*, const unsigned char**, unsigned char*, const unsigned char* in,
                        unsigned size, void* self) {
    auto& server = *static_cast<Server*>(self);
    const std::lock_guard lock(server.mutex_);
    server.alpn_.assign(reinterpret_cast<const char*>(in), size);
    return SSL_TLSEXT_ERR_NOACK;
  }

  void Listen() {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0) {
      throw std::runtime_error("cannot bind to a port of 127.0.0.1");
    }
    listen(listener_, 128);
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::thread([this] { Accept(); });
  }

  void Accept() {
    for (;;) {
      const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) return;
      const std::lock_guard lock(mutex_);
      ++accepted_;
      open_.push_back(fd);
      connections_.emplace_back([this, fd] {
        Serve(fd);
        const std::lock_guard inner(mutex_);
        std::erase(open_, fd);
        close(fd);
      });
    }
  }

  void Serve(int fd) {
    // OpenSSL writes without MSG_NOSIGNAL.
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
    std::unique_ptr<SSL, TlsDeleter> ssl;
    if (tls_) {
      ssl.reset(SSL_new(tls_.get()));
      SSL_set_fd(ssl.get(), fd);
      if (SSL_accept(ssl.get()) != 1) return;
    }
    Connection connection(fd, ssl.get());
    std::string buffer;
    for (;;) {
      std::size_t end;
      while ((end = buffer.find("\r\n\r\n")) == std::string::npos) {
        if (!connection.Read(buffer)) return;
      }
      ServedRequest request{buffer.substr(0, end + 2), {}, PeerName(ssl.get())};
      buffer.erase(0, end + 4);
      const std::size_t length = BodyLength(request.head);
      while (buffer.size() < length) {
        if (!connection.Read(buffer)) return;
      }
      request.body = buffer.substr(0, length);
      buffer.erase(0, length);
      {
        const std::lock_guard lock(mutex_);
        requests_.push_back(request);
      }
      request.connection = &connection;
      const std::string answer = handler_(request);
      if (answer.empty() || !connection.Write(answer)) return;
    }
  }

  static std::size_t BodyLength(const std::string& head) {
    constexpr std::string_view key = "\r\nContent-Length: ";
    const std::size_t at = head.find(key);
    return at == std::string::npos ? 0 : std::stoul(head.substr(at + key.size()));
  }

  static std::string PeerName(SSL* ssl) {
    const X509* cert = ssl == nullptr ? nullptr : SSL_get0_peer_certificate(ssl);
    if (cert == nullptr) return {};
    const X509_NAME* name = X509_get_subject_name(cert);
    const int at = X509_NAME_get_index_by_NID(name, NID_commonName, -1);
    if (at < 0) return {};
    const ASN1_STRING* value = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at));
    return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(value)),
            static_cast<std::size_t>(ASN1_STRING_length(value))};
  }

  Handler handler_;
  std::unique_ptr<SSL_CTX, TlsDeleter> tls_;
  int listener_ = -1;
  int port_ = 0;
  mutable std::mutex mutex_;
  std::vector<int> open_;
  std::vector<ServedRequest> requests_;
  std::size_t accepted_ = 0;
  std::string alpn_;
  std::list<std::jthread> connections_;
  std::thread acceptor_;
};

}  // namespace berth::test
