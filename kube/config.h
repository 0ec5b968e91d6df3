#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kube/error.h"

namespace berth::kube {

// A program that hands out credentials (client.authentication.k8s.io): `exec` of a kubeconfig's
// user.
struct ExecPlugin {
  std::string api_version;  // "client.authentication.k8s.io/v1" or ".../v1beta1"
  std::string command;      // looked for in PATH unless it has a slash
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;
  bool provide_cluster_info = false;
  std::chrono::milliseconds time_limit{60'000};
};

// Where the API server is and how to prove who we are. PEM contents, not paths, except for the
// token file, which is read again when it changes because the kubelet rotates it.
struct Config {
  std::string server;  // "https://10.0.0.1:443", perhaps with a path, never with a "/" at its end
  std::string ca_pem;  // empty: the system's authorities
  std::string client_cert_pem;
  std::string client_key_pem;
  std::string token;
  std::filesystem::path token_file;  // goes before `token`
  std::string tls_server_name;
  std::optional<ExecPlugin> exec;  // in place of token and certificate
};

// The service account mounted into a pod: KUBERNETES_SERVICE_HOST/_PORT and the files below `root`.
Result<Config> InClusterConfig(
    const std::filesystem::path& root = "/var/run/secrets/kubernetes.io/serviceaccount");

// A kubeconfig file: its current context; certificates, keys and tokens inline or as files, or a
// credential plugin (paths relative to the kubeconfig). Refused with a message that names the
// field: insecure-skip-tls-verify, plugins that must have a terminal, auth providers, passwords,
// impersonation, proxies, and credentials for a plain http server. Messages never hold contents of
// the file beyond names.
Result<Config> LoadKubeconfig(const std::filesystem::path& file);
// The same of a kubeconfig's text; relative paths in it begin at `folder`.
Result<Config> ParseKubeconfig(const std::string& text, const std::filesystem::path& folder);

}  // namespace berth::kube
