#include "kube/exec_credential.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <algorithm>
#include <memory>
#include <system_error>
#include <utility>

#include "http/base64.h"
#include "json/json.h"
#include "kube/json_view.h"
#include "kube/subprocess.h"
#include "log/format.h"
#include "log/log.h"
#include "log/timestamp.h"

namespace berth::kube {
namespace {

using std::chrono::seconds;

// How long a failure stands, and the shortest life of a credential that is worth having.
constexpr seconds kPause{1};
// A new credential is fetched when a tenth of the old one's life is left, or this.
constexpr std::chrono::minutes kMaxMargin{1};

bool FitsHeader(std::string_view token) {
  return std::ranges::all_of(token, [](char c) { return c > ' ' && c < '\x7F'; });
}

// Whether both can be read, without asking for a passphrase, and belong together.
bool IsPair(const std::string& cert_pem, const std::string& key_pem) {
  using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;
  const Bio cert_bio(BIO_new_mem_buf(cert_pem.data(), static_cast<int>(cert_pem.size())), BIO_free);
  const Bio key_bio(BIO_new_mem_buf(key_pem.data(), static_cast<int>(key_pem.size())), BIO_free);
  const std::unique_ptr<X509, decltype(&X509_free)> cert(
      PEM_read_bio_X509(cert_bio.get(), nullptr, nullptr, nullptr), X509_free);
  pem_password_cb* no_passphrase = [](char*, int, int, void*) { return -1; };
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      PEM_read_bio_PrivateKey(key_bio.get(), nullptr, no_passphrase, nullptr), EVP_PKEY_free);
  return cert && key && X509_check_private_key(cert.get(), key.get()) == 1;
}

std::unexpected<Error> Wrong(std::string_view what) {
  return std::unexpected(Error{ErrorClass::kRetry, {}, std::string(what)});
}

}  // namespace

std::string ExecInfo(const ExecPlugin& plugin, const Config& cluster) {
  Json spec;
  spec["interactive"] = false;
  if (plugin.provide_cluster_info) {
    Json about;
    about["server"] = cluster.server;
    if (!cluster.tls_server_name.empty()) about["tls-server-name"] = cluster.tls_server_name;
    if (!cluster.ca_pem.empty()) about["certificate-authority-data"] = EncodeBase64(cluster.ca_pem);
    spec["cluster"] = std::move(about);
  }
  Json info;
  info["apiVersion"] = plugin.api_version;
  info["kind"] = "ExecCredential";
  info["spec"] = std::move(spec);
  return info.to_string();
}

Result<ExecCredential> ParseExecCredential(std::string_view json, std::string_view api_version) {
  JsonDocument document;
  const auto root = document.Parse(json);
  if (!root) return Wrong("did not print JSON");
  if ((*root)["kind"].StringOr("") != "ExecCredential" ||
      (*root)["apiVersion"].StringOr("") != api_version) {
    return Wrong(Format("did not print an ExecCredential of {}", api_version));
  }
  const JsonView status = (*root)["status"];
  ExecCredential out;
  out.credential.token = status["token"].StringOr("");
  out.credential.client_cert_pem = status["clientCertificateData"].StringOr("");
  out.credential.client_key_pem = status["clientKeyData"].StringOr("");
  const bool has_cert = !out.credential.client_cert_pem.empty();
  if (has_cert == out.credential.client_key_pem.empty()) {
    return Wrong("gave a certificate without a key, or a key without a certificate");
  }
  if (out.credential.token.empty() && !has_cert) return Wrong("gave no token and no certificate");
  if (!FitsHeader(out.credential.token)) return Wrong("gave a token that fits no header");
  if (has_cert && !IsPair(out.credential.client_cert_pem, out.credential.client_key_pem)) {
    return Wrong("gave a certificate and a key that are not a pair");
  }
  if (const auto expiry = status["expirationTimestamp"].String()) {
    out.expires = ParseTime(*expiry);
    if (!out.expires) return Wrong("gave an expirationTimestamp that is no RFC 3339 time");
  }
  return out;
}

Result<ExecCredential> RunExecPlugin(const ExecPlugin& plugin, const Config& cluster,
                                     std::stop_token stop) {
  Program program{.command = plugin.command,
                  .args = plugin.args,
                  .environment = plugin.env,
                  .time_limit = plugin.time_limit};
  program.environment.emplace_back("KUBERNETES_EXEC_INFO", ExecInfo(plugin, cluster));
  const auto output = RunProgram(program, stop);
  auto credential = output ? ParseExecCredential(*output, plugin.api_version)
                           : Result<ExecCredential>(std::unexpected(output.error()));
  if (!credential) {
    std::string& message = credential.error().message;
    if (output) message = Format("\"{}\" {}", plugin.command, message);
    message = "the credential plugin " + message;
  }
  return credential;
}

ExecCredentials::ExecCredentials(ExecPlugin plugin, Config cluster, std::function<void()> wake)
    : plugin_(std::move(plugin)),
      cluster_(std::move(cluster)),
      wake_(std::move(wake)),
      refusals_(std::chrono::seconds(1), 3) {}

std::optional<Result<CredentialPtr>> ExecCredentials::Get(WallTime now) {
  TakeOutcome(now);
  if (current_ && now >= expires_) current_ = nullptr;
  if (current_ && now < refresh_) return current_;
  if (!running_ && Clock::now() >= next_run_) Start();
  if (current_) return current_;
  if (running_) return std::nullopt;
  return std::unexpected(failure_);
}

bool ExecCredentials::Refused(const CredentialPtr& credential) {
  if (credential != current_) return true;  // there has been another since
  if (!refusals_.Take(Clock::now())) return false;
  current_ = nullptr;
  return true;
}

void ExecCredentials::Start() try {
  thread_ = std::jthread([this](std::stop_token stop) {
    auto outcome = RunExecPlugin(plugin_, cluster_, stop);
    {
      const std::lock_guard lock(mutex_);
      outcome_ = std::move(outcome);
    }
    wake_();
  });
  running_ = true;
} catch (const std::system_error&) {
  Fail({ErrorClass::kRetry, {}, "there is no thread to run the credential plugin on"});
}

void ExecCredentials::TakeOutcome(WallTime now) {
  std::optional<Result<ExecCredential>> outcome;
  {
    const std::lock_guard lock(mutex_);
    outcome = std::exchange(outcome_, std::nullopt);
  }
  if (!outcome) return;
  running_ = false;
  if (*outcome) {
    Keep(std::move(**outcome), now);
  } else {
    Fail(std::move(outcome->error()));
  }
}

void ExecCredentials::Keep(ExecCredential fetched, WallTime now) {
  const WallTime expires = fetched.expires.value_or(WallTime::max());
  if (expires < now + kPause) {
    return Fail({ErrorClass::kRetry,
                 {},
                 Format("the credential plugin \"{}\" gave a credential that has expired",
                        plugin_.command)});
  }
  expires_ = expires;
  refresh_ = expires - std::min<WallTime::duration>((expires - now) / 10, kMaxMargin);
  current_ = std::make_shared<Credential>(std::move(fetched.credential));
}

void ExecCredentials::Fail(Error error) {
  log::Warn("credential plugin failed", {{"error", error.message}});
  failure_ = std::move(error);
  next_run_ = Clock::now() + kPause;
}

}  // namespace berth::kube
