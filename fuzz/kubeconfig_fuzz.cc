// Any text as a kubeconfig. A configuration that is taken sends no credentials in the open and has
// one kind of them.
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/require.h"
#include "kube/config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto config = berth::kube::ParseKubeconfig(text, "/no/such/folder");
  if (!config) {
    Require(!config.error().message.empty(), "a refusal has a message");
    return 0;
  }
  const std::string_view server = config->server;
  const bool has_certificate = !config->client_key_pem.empty();
  const bool has_token = !config->token.empty() || !config->token_file.empty();
  Require(server.starts_with("https://") || server.starts_with("http://"), "server is a URL");
  Require(!server.ends_with('/'), "server does not end with a slash");
  Require(server.starts_with("https://") || !(has_certificate || has_token || config->exec),
          "credentials are never sent in the open");
  Require(has_certificate != config->client_cert_pem.empty(), "a certificate comes with its key");
  Require(!config->exec || !(has_certificate || has_token), "a plugin stands alone");
  Require(!config->exec || !config->exec->command.empty(), "a plugin has a command");
  return 0;
}
