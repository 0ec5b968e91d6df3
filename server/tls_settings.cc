#include "server/tls_settings.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <memory>

#include "certs/authority.h"
#include "server/private_file.h"

namespace berth::server {
namespace {

struct Deleter {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL_CONF_CTX* context) const { SSL_CONF_CTX_free(context); }
  void operator()(SSL* ssl) const { SSL_free(ssl); }
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* cert) const { X509_free(cert); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
template <typename T>
using Owned = std::unique_ptr<T, Deleter>;

std::string Join(const std::vector<std::string>& parts) {
  std::string text;
  for (const auto& part : parts) text += (text.empty() ? "" : ":") + part;
  return text;
}

Owned<SSL_CTX> ClientContext(const certs::KeyPair& pair) {
  Owned<SSL_CTX> context(SSL_CTX_new(TLS_client_method()));
  const Owned<BIO> cert_bio(
      BIO_new_mem_buf(pair.cert_pem.data(), static_cast<int>(pair.cert_pem.size())));
  const Owned<BIO> key_bio(
      BIO_new_mem_buf(pair.key_pem.data(), static_cast<int>(pair.key_pem.size())));
  const Owned<X509> cert(PEM_read_bio_X509(cert_bio.get(), nullptr, nullptr, nullptr));
  const Owned<EVP_PKEY> key(PEM_read_bio_PrivateKey(key_bio.get(), nullptr, nullptr, nullptr));
  SSL_CTX_use_certificate(context.get(), cert.get());
  SSL_CTX_use_PrivateKey(context.get(), key.get());
  return context;
}

class Socket {
 public:
  Socket(const std::string& address, std::uint16_t port)
      : fd_(socket(address.contains(':') ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval timeout{.tv_sec = 5, .tv_usec = 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
    if (address.contains(':')) {
      sockaddr_in6 peer{.sin6_family = AF_INET6,
                        .sin6_port = htons(port),
                        .sin6_flowinfo = 0,
                        .sin6_addr = in6addr_loopback,
                        .sin6_scope_id = 0};
      connected_ = connect(fd_, reinterpret_cast<sockaddr*>(&peer), sizeof peer) == 0;
    } else {
      sockaddr_in peer{};
      peer.sin_family = AF_INET;
      peer.sin_port = htons(port);
      inet_pton(AF_INET, address == "0.0.0.0" ? "127.0.0.1" : address.c_str(), &peer.sin_addr);
      connected_ = connect(fd_, reinterpret_cast<sockaddr*>(&peer), sizeof peer) == 0;
    }
  }
  ~Socket() { close(fd_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int fd() const { return fd_; }
  bool connected() const { return connected_; }

 private:
  int fd_;
  bool connected_ = false;
};

}  // namespace

TlsCommands Commands(const TlsSettings& settings) {
  // Without tickets there is nothing to resume, which trantor cannot: it sets no session-id
  // context.
  TlsCommands commands = {{"NumTickets", "0"}, {"Options", "-SessionTicket"}};
  commands.emplace_back("Protocol",
                        settings.min_version == "1.3" ? "-ALL,TLSv1.3" : "-ALL,TLSv1.2,TLSv1.3");
  std::vector<std::string> modern;
  std::vector<std::string> older;
  for (const auto& suite : settings.cipher_suites)
    (suite.starts_with("TLS_") ? modern : older).push_back(suite);
  if (!modern.empty()) commands.emplace_back("Ciphersuites", Join(modern));
  // Without a choice TLS 1.2 has what TLS 1.3 has: authenticated encryption and forward secrecy.
  commands.emplace_back("CipherString",
                        older.empty() ? "ECDHE+AESGCM:ECDHE+CHACHA20" : Join(older));
  if (!settings.client_ca.empty()) {
    commands.emplace_back("VerifyCAFile", settings.client_ca.string());
    commands.emplace_back("VerifyMode", settings.needs_client ? "Require" : "Request");
  }
  return commands;
}

kube::Result<void> CheckCommands(const TlsCommands& commands) {
  const Owned<SSL_CTX> context(SSL_CTX_new(TLS_server_method()));
  const Owned<SSL_CONF_CTX> conf(SSL_CONF_CTX_new());
  // The flags trantor sets.
  SSL_CONF_CTX_set_flags(conf.get(), SSL_CONF_FLAG_SERVER | SSL_CONF_FLAG_CLIENT |
                                         SSL_CONF_FLAG_CERTIFICATE | SSL_CONF_FLAG_FILE);
  SSL_CONF_CTX_set_ssl_ctx(conf.get(), context.get());
  bool verifies = false;
  for (const auto& [name, value] : commands) {
    const int taken = SSL_CONF_cmd(conf.get(), name.c_str(), value.c_str());
    ERR_clear_error();
    if (taken <= 0)
      return kube::Terminal("the TLS setting " + name + "=\"" + value + "\" is not understood");
    verifies = verifies || name == "VerifyMode";
  }
  SSL_CONF_CTX_finish(conf.get());
  if (verifies && (SSL_CTX_get_verify_mode(context.get()) & SSL_VERIFY_PEER) == 0) {
    return kube::Terminal("the TLS settings leave client certificates unverified");
  }
  return {};
}

bool CanConnect(const std::string& address, std::uint16_t port) {
  return Socket(address, port).connected();
}

kube::Result<void> CheckForeignCertificateIsRefused(const std::string& address,
                                                    std::uint16_t port) {
  using std::chrono::hours;
  const auto authority = certs::MakeAuthority("berth self-test", hours(1));
  if (!authority) return std::unexpected(authority.error());
  const auto foreign = certs::Issue(*authority, "front-proxy-client", {}, hours(1), true);
  if (!foreign) return std::unexpected(foreign.error());
  const Owned<SSL_CTX> context = ClientContext(*foreign);
  const Socket socket(address, port);
  if (!socket.connected())
    return kube::Terminal("the TLS self-test cannot connect to its listener");
  const Owned<SSL> ssl(SSL_new(context.get()));
  SSL_set_fd(ssl.get(), socket.fd());
  // In TLS 1.3 the refusal comes after the client's side of the handshake is through: ask for
  // something.
  constexpr std::string_view kRequest = "GET /self-test HTTP/1.1\r\nHost: self-test\r\n\r\n";
  char answer = 0;
  const bool answered =
      SSL_connect(ssl.get()) == 1 &&
      SSL_write(ssl.get(), kRequest.data(), static_cast<int>(kRequest.size())) > 0 &&
      SSL_read(ssl.get(), &answer, 1) == 1;
  ERR_clear_error();
  if (answered) return kube::Terminal("a listener accepts client certificates of any CA");
  return {};
}

kube::Result<bool> TlsFiles::SetPair(const std::string& cert_pem, const std::string& key_pem) {
  if (const auto checked = certs::CheckPair(cert_pem, key_pem); !checked)
    return std::unexpected(checked.error());
  return Replace(pair(), cert_pem + "\n" + key_pem, last_pair_);
}

kube::Result<bool> TlsFiles::SetClientCa(const std::string& pem) {
  if (const auto checked = certs::CheckBundle(pem); !checked)
    return std::unexpected(checked.error());
  return Replace(client_ca(), pem, last_client_ca_);
}

kube::Result<bool> TlsFiles::SetWebhookClientCa(const std::string& pem) {
  if (const auto checked = certs::CheckBundle(pem); !checked)
    return std::unexpected(checked.error());
  return Replace(webhook_client_ca(), pem, last_webhook_client_ca_);
}

kube::Result<bool> TlsFiles::Replace(const std::filesystem::path& file, const std::string& contents,
                                     std::string& last) {
  if (contents == last) return false;
  if (const auto written = WritePrivateFile(file, contents); !written)
    return std::unexpected(written.error());
  last = contents;
  return true;
}

}  // namespace berth::server
