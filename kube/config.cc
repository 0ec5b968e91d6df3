#include "kube/config.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "http/base64.h"
#include "http/file.h"
#include "log/format.h"

namespace berth::kube {
namespace {

bool IsBlank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

// Blanks are passed over.
std::optional<std::string> DecodeBlock(std::string_view text) {
  std::string packed;
  std::ranges::copy_if(text, std::back_inserter(packed), [](char c) { return !IsBlank(c); });
  return Base64Problem(packed) ? std::nullopt : DecodeBase64(packed);
}

Result<void> CheckServer(const std::string& server, bool has_credentials) {
  const bool plain = server.starts_with("http://");
  if (!plain && !server.starts_with("https://")) {
    return Terminal("server must begin with https:// (or http:// when there are no credentials)");
  }
  if (plain && has_credentials) {
    return Terminal("server is plain http: credentials would be sent in the open; use https");
  }
  const std::string_view rest = std::string_view(server).substr(server.find("//") + 2);
  if (rest.empty() || rest.front() == '/') return Terminal("server names no host");
  if (std::ranges::any_of(rest, [](char c) {
        return static_cast<unsigned char>(c) <= ' ' || c == '@' || c == '?' || c == '#';
      })) {
    return Terminal("server must be scheme, host, port and path alone");
  }
  return {};
}

// A kubeconfig that has been parsed; yaml-cpp's exceptions end in LoadKubeconfig.
class Kubeconfig {
 public:
  Kubeconfig(const YAML::Node& root, std::filesystem::path folder)
      : root_(root), folder_(std::move(folder)) {}

  Result<Config> Read() const {
    const std::string current = Text(root_, "current-context");
    if (current.empty()) return Terminal("there is no current-context");
    const auto context = Named("contexts", "context", current);
    if (!context) return std::unexpected(context.error());
    const auto cluster = Part(*context, current, "cluster", "clusters");
    if (!cluster) return std::unexpected(cluster.error());
    const auto user = Part(*context, current, "user", "users");
    if (!user) return std::unexpected(user.error());

    Config config;
    if (auto done = ReadCluster(*cluster, config); !done) return std::unexpected(done.error());
    if (auto done = ReadUser(*user, config); !done) return std::unexpected(done.error());
    if (config.exec && config.exec->provide_cluster_info && HasExecExtension(*cluster)) {
      return Terminal("the cluster's extension client.authentication.k8s.io/exec is not supported");
    }
    const bool has_credentials = HasFixedCredentials(config) || config.exec;
    if (auto fine = CheckServer(config.server, has_credentials); !fine) {
      return std::unexpected(fine.error());
    }
    return config;
  }

 private:
  static std::string Text(const YAML::Node& node, const char* key) {
    if (!node.IsMap()) return {};
    const YAML::Node value = node[key];
    return value && value.IsScalar() ? value.Scalar() : std::string();
  }

  static bool Has(const YAML::Node& node, const char* key) {
    return node.IsMap() && node[key] && !node[key].IsNull();
  }

  // The entry `name` of the list `list`, which keeps its content under `key`.
  Result<YAML::Node> Named(const char* list, const char* key, const std::string& name) const {
    if (Has(root_, list) && root_[list].IsSequence()) {
      for (const YAML::Node& entry : root_[list]) {
        if (Text(entry, "name") == name && Has(entry, key)) return entry[key];
      }
    }
    return Terminal(Format("there is no {} named \"{}\" in {}", key, name, list));
  }

  Result<YAML::Node> Part(const YAML::Node& context, const std::string& current, const char* key,
                          const char* list) const {
    const std::string name = Text(context, key);
    if (name.empty()) return Terminal(Format("context \"{}\" names no {}", current, key));
    return Named(list, key, name);
  }

  Result<void> ReadCluster(const YAML::Node& cluster, Config& config) const {
    const std::string insecure = Text(cluster, "insecure-skip-tls-verify");
    if (!insecure.empty() && insecure != "false") {
      return Terminal(
          "insecure-skip-tls-verify is not supported: give the certificate-authority instead");
    }
    if (!Text(cluster, "proxy-url").empty()) return Terminal("proxy-url is not supported");
    config.server = Text(cluster, "server");
    while (config.server.ends_with('/')) config.server.pop_back();
    config.tls_server_name = Text(cluster, "tls-server-name");
    return ReadPem(cluster, "certificate-authority", config.ca_pem);
  }

  Result<void> ReadUser(const YAML::Node& user, Config& config) const {
    for (const char* field :
         {"auth-provider", "username", "password", "as", "as-uid", "as-groups", "as-user-extra"}) {
      if (Has(user, field)) return Terminal(Format("{} is not supported", field));
    }
    if (auto done = ReadPem(user, "client-certificate", config.client_cert_pem); !done) return done;
    if (auto done = ReadPem(user, "client-key", config.client_key_pem); !done) return done;
    if (config.client_cert_pem.empty() != config.client_key_pem.empty()) {
      return Terminal("client-certificate and client-key must be given together");
    }
    // OpenSSL would ask for the passphrase on the terminal.
    if (config.client_key_pem.contains("ENCRYPTED")) {
      return Terminal("client-key is encrypted, which is not supported");
    }
    config.token = Text(user, "token");
    if (const std::string file = Text(user, "tokenFile"); !file.empty()) {
      config.token_file = folder_ / file;
    }
    if (!Has(user, "exec")) return {};
    if (HasFixedCredentials(config)) {
      return Terminal("exec is given together with a token or a certificate: keep one");
    }
    return ReadExec(user["exec"], config.exec.emplace());
  }

  static bool HasFixedCredentials(const Config& config) {
    return !config.token.empty() || !config.token_file.empty() || !config.client_key_pem.empty();
  }

  Result<void> ReadExec(const YAML::Node& exec, ExecPlugin& plugin) const {
    plugin.api_version = Text(exec, "apiVersion");
    const bool is_v1 = plugin.api_version == "client.authentication.k8s.io/v1";
    if (!is_v1 && plugin.api_version != "client.authentication.k8s.io/v1beta1") {
      return Terminal("exec.apiVersion must be client.authentication.k8s.io/v1 or /v1beta1");
    }
    const std::string mode = Text(exec, "interactiveMode");
    if (mode == "Always") return Terminal("exec.interactiveMode Always: there is no terminal");
    if (mode != "Never" && mode != "IfAvailable" && (is_v1 || !mode.empty())) {
      return Terminal("exec.interactiveMode must be Never or IfAvailable");
    }
    plugin.command = Text(exec, "command");
    if (plugin.command.empty()) return Terminal("exec.command is missing");
    if (plugin.command.contains('/')) plugin.command = (folder_ / plugin.command).string();
    plugin.provide_cluster_info = Text(exec, "provideClusterInfo") == "true";
    return ReadWords(exec, plugin);
  }

  static Result<void> ReadWords(const YAML::Node& exec, ExecPlugin& plugin) {
    for (const char* list : {"args", "env"}) {
      if (Has(exec, list) && !exec[list].IsSequence()) {
        return Terminal(Format("exec.{} must be a list", list));
      }
    }
    if (Has(exec, "args")) {
      for (const YAML::Node& arg : exec["args"]) plugin.args.push_back(arg.Scalar());
    }
    if (!Has(exec, "env")) return {};
    for (const YAML::Node& variable : exec["env"]) {
      std::string name = Text(variable, "name");
      if (name.empty() || name.contains('='))
        return Terminal("exec.env has a variable without name");
      plugin.env.emplace_back(std::move(name), Text(variable, "value"));
    }
    return {};
  }

  static bool HasExecExtension(const YAML::Node& cluster) {
    if (!Has(cluster, "extensions")) return false;
    return std::ranges::any_of(cluster["extensions"], [](const YAML::Node& extension) {
      return Text(extension, "name") == "client.authentication.k8s.io/exec";
    });
  }

  // `key`-data inline goes before the file that `key` names, as in client-go.
  Result<void> ReadPem(const YAML::Node& node, const std::string& key, std::string& pem) const {
    std::string source = key + "-data";
    if (const std::string data = Text(node, source.c_str()); !data.empty()) {
      auto decoded = DecodeBlock(data);
      if (!decoded) return Terminal(Format("{} is not base64", source));
      pem = std::move(*decoded);
    } else if (const std::string file = Text(node, key.c_str()); !file.empty()) {
      auto content = ReadFile(folder_ / file);
      if (!content) {
        return Terminal(Format("{}: {}", key, content.error().message));
      }
      pem = std::move(*content);
      source = key;
    } else {
      return {};
    }
    if (!pem.contains("-----BEGIN ")) return Terminal(Format("{} holds no PEM", source));
    return {};
  }

  YAML::Node root_;
  std::filesystem::path folder_;
};

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

}  // namespace

Result<Config> InClusterConfig(const std::filesystem::path& root) {
  const std::string host = Environment("KUBERNETES_SERVICE_HOST");
  const std::string port = Environment("KUBERNETES_SERVICE_PORT");
  if (host.empty() || port.empty()) {
    return Terminal(
        "not in a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set");
  }
  Config config;
  const bool is_ipv6 = host.contains(':') && !host.starts_with('[');
  config.server = Format("https://{}:{}", is_ipv6 ? "[" + host + "]" : host, port);
  if (auto fine = CheckServer(config.server, true); !fine) return std::unexpected(fine.error());
  auto ca = ReadFile(root / "ca.crt");
  if (!ca) return std::unexpected(ca.error());
  if (!ca->contains("-----BEGIN ")) {
    return Terminal(Format("{} holds no PEM", (root / "ca.crt").string()));
  }
  config.ca_pem = std::move(*ca);
  config.token_file = root / "token";
  auto token = ReadFile(config.token_file);
  if (!token) return std::unexpected(token.error());
  if (std::ranges::all_of(*token, IsBlank)) {
    return Terminal(Format("{} is empty", config.token_file.string()));
  }
  return config;
}

Result<Config> ParseKubeconfig(const std::string& text, const std::filesystem::path& folder) {
  try {
    const YAML::Node root = YAML::Load(text);
    if (!root.IsMap()) return Terminal("this is not a kubeconfig");
    return Kubeconfig(root, folder).Read();
  } catch (const YAML::Exception& error) {
    // Only the place: yaml-cpp may quote what stands there, and that may be a secret.
    return Terminal(Format("malformed YAML in line {}", error.mark.line + 1));
  }
}

Result<Config> LoadKubeconfig(const std::filesystem::path& file) {
  const auto text = ReadFile(file);
  if (!text) return std::unexpected(text.error());
  auto config = ParseKubeconfig(*text, file.parent_path());
  if (!config) return Terminal(Format("{}: {}", file.string(), config.error().message));
  return config;
}

}  // namespace berth::kube
