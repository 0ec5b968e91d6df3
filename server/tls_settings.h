#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "kube/error.h"

// The TLS of our listeners: what Drogon is told, the files it reads, and the proof that both do
// what they say. Drogon ignores a setting it does not understand and aborts on a certificate whose
// key is another's, so neither gets that far.
namespace berth::server {

// Commands of OpenSSL's SSL_CONF_cmd.
using TlsCommands = std::vector<std::pair<std::string, std::string>>;

struct TlsSettings {
  std::string min_version = "1.2";
  std::vector<std::string> cipher_suites;
  std::filesystem::path client_ca;  // empty: no client certificates are asked for
  bool needs_client = false;        // nobody is served without one
};

TlsCommands Commands(const TlsSettings& settings);

// Tries every command on a context of our own; the error names the one that is wrong.
kube::Result<void> CheckCommands(const TlsCommands& commands);

bool CanConnect(const std::string& address, std::uint16_t port);

// Connects to a listener that asks for client certificates with one of a foreign CA: it must be
// turned away.
kube::Result<void> CheckForeignCertificateIsRefused(const std::string& address, std::uint16_t port);

// The files that Drogon reads: certificate and key in one, so that a change of both is one rename,
// and the CA bundle.
class TlsFiles {
 public:
  explicit TlsFiles(std::filesystem::path dir) : dir_(std::move(dir)) {}

  std::filesystem::path pair() const { return dir_ / "serving.pem"; }
  std::filesystem::path client_ca() const { return dir_ / "client-ca.pem"; }
  std::filesystem::path webhook_client_ca() const { return dir_ / "webhook-client-ca.pem"; }

  // Replaces a file if its contents are new, after checking them; true when they were. A refused
  // pair leaves what is there.
  kube::Result<bool> SetPair(const std::string& cert_pem, const std::string& key_pem);
  kube::Result<bool> SetClientCa(const std::string& pem);
  kube::Result<bool> SetWebhookClientCa(const std::string& pem);

 private:
  kube::Result<bool> Replace(const std::filesystem::path& file, const std::string& contents,
                             std::string& last);

  std::filesystem::path dir_;
  std::string last_pair_;
  std::string last_client_ca_;
  std::string last_webhook_client_ca_;
};

}  // namespace berth::server
