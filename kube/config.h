#pragma once

#include <filesystem>
#include <string>

#include "kube/error.h"

namespace berth::kube {

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
};

// The service account mounted into a pod: KUBERNETES_SERVICE_HOST/_PORT and the files below `root`.
Result<Config> InClusterConfig(
    const std::filesystem::path& root = "/var/run/secrets/kubernetes.io/serviceaccount");

// A kubeconfig file: its current context; certificates, keys and tokens inline or as files
// (relative to the kubeconfig). Refused with a message that names the field:
// insecure-skip-tls-verify, exec plugins, auth providers, passwords, impersonation, proxies, and
// credentials for a plain http server. Messages never hold contents of the file beyond names.
Result<Config> LoadKubeconfig(const std::filesystem::path& file);

}  // namespace berth::kube
