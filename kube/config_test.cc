#include "kube/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "http/temp_folder_test.h"
#include "log/format.h"

namespace berth::kube {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

// "-----BEGIN X-----\n" and "-----BEGIN Y-----" in base64, with and without padding.
constexpr std::string_view kDataX = "LS0tLS1CRUdJTiBYLS0tLS0K";
constexpr std::string_view kDataY = "LS0tLS1CRUdJTiBZLS0tLS0=";
constexpr std::string_view kPemX = "-----BEGIN X-----\n";
constexpr std::string_view kPemY = "-----BEGIN Y-----";

class ConfigTest : public testing::Test {
 protected:
  void TearDown() override {
    unsetenv("KUBERNETES_SERVICE_HOST");
    unsetenv("KUBERNETES_SERVICE_PORT");
  }

  void Write(const std::string& name, std::string_view content) { temp_.Write(name, content); }

  Result<Config> Load(std::string_view cluster, std::string_view user) {
    Write("config", Format("apiVersion: v1\nkind: Config\ncurrent-context: here\n"
                           "contexts:\n- name: other\n  context: {{cluster: x, user: x}}\n"
                           "- name: here\n  context: {{cluster: c, user: u}}\n"
                           "clusters:\n- name: c\n  cluster: {{{}}}\n"
                           "users:\n- name: u\n  user: {{{}}}\n",
                           cluster, user));
    return LoadKubeconfig(folder_ / "config");
  }

  std::string Refused(std::string_view cluster, std::string_view user) {
    const auto config = Load(cluster, user);
    EXPECT_FALSE(config);
    if (config) return "";
    EXPECT_EQ(config.error().error_class, ErrorClass::kTerminal);
    EXPECT_THAT(config.error().message, HasSubstr((folder_ / "config").string()));
    return config.error().message;
  }

  std::string RefusedText(std::string_view text) {
    Write("config", text);
    const auto config = LoadKubeconfig(folder_ / "config");
    EXPECT_FALSE(config);
    return config ? "" : config.error().message;
  }

  const TempFolder temp_;
  const std::filesystem::path folder_ = temp_.path();
};

TEST_F(ConfigTest, ReadsTheCurrentContextWithInlineData) {
  const auto config =
      Load(Format("server: 'https://h:6443/', certificate-authority-data: {}, "
                  "certificate-authority: missing.crt, tls-server-name: kube",
                  kDataX),
           Format("client-certificate-data: {}, client-key-data: {}, token: t", kDataY, kDataX));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->server, "https://h:6443");
  EXPECT_EQ(config->ca_pem, kPemX);
  EXPECT_EQ(config->client_cert_pem, kPemY);
  EXPECT_EQ(config->client_key_pem, kPemX);
  EXPECT_EQ(config->token, "t");
  EXPECT_EQ(config->tls_server_name, "kube");
  EXPECT_TRUE(config->token_file.empty());
}

TEST_F(ConfigTest, FilesAreRelativeToTheKubeconfig) {
  Write("pki/ca.crt", kPemX);
  Write("pki/client.crt", kPemY);
  const auto config = Load("server: 'https://h', certificate-authority: pki/ca.crt",
                           Format("client-certificate: pki/client.crt, client-key: {}, "
                                  "tokenFile: run/token",
                                  (folder_ / "pki/ca.crt").string()));
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->ca_pem, kPemX);
  EXPECT_EQ(config->client_cert_pem, kPemY);
  EXPECT_EQ(config->client_key_pem, kPemX);
  EXPECT_EQ(config->token_file, folder_ / "run/token");
}

TEST_F(ConfigTest, WhatIsNotSupportedIsNamed) {
  const std::string cluster = "server: 'https://h'";
  EXPECT_THAT(Refused(cluster + ", insecure-skip-tls-verify: true", "token: t"),
              HasSubstr("insecure-skip-tls-verify"));
  EXPECT_THAT(Refused(cluster + ", proxy-url: 'http://p'", "token: t"), HasSubstr("proxy-url"));
  EXPECT_THAT(Refused(cluster, "auth-provider: {name: gcp}"), HasSubstr("auth-provider"));
  EXPECT_THAT(Refused(cluster, "username: me, password: hunter2"),
              AllOf(HasSubstr("username"), Not(HasSubstr("hunter2"))));
  EXPECT_THAT(Refused(cluster, "as: root"), HasSubstr("as is not supported"));
  EXPECT_TRUE(Load(cluster + ", insecure-skip-tls-verify: false", "token: t"));
}

TEST_F(ConfigTest, ReadsACredentialPlugin) {
  const auto config =
      Load("server: 'https://h', extensions: [{name: client.authentication.k8s.io/exec}]",
           "exec: {apiVersion: client.authentication.k8s.io/v1, command: bin/plugin, "
           "interactiveMode: Never, args: [get-token, --n, 1], "
           "env: [{name: REGION, value: eu}, {name: EMPTY}]}");
  ASSERT_TRUE(config) << config.error().message;
  ASSERT_TRUE(config->exec);
  EXPECT_EQ(config->exec->api_version, "client.authentication.k8s.io/v1");
  EXPECT_EQ(config->exec->command, (folder_ / "bin/plugin").string());
  EXPECT_THAT(config->exec->args, ElementsAre("get-token", "--n", "1"));
  EXPECT_THAT(config->exec->env, ElementsAre(Pair("REGION", "eu"), Pair("EMPTY", "")));
  EXPECT_FALSE(config->exec->provide_cluster_info);
  EXPECT_EQ(config->exec->time_limit, std::chrono::seconds(60));
}

TEST_F(ConfigTest, APluginsCommandIsAPathOnlyWithASlash) {
  auto command = [&](std::string_view text) {
    const auto config = Load("server: 'https://h'",
                             Format("exec: {{apiVersion: client.authentication.k8s.io/v1beta1, "
                                    "command: {}, provideClusterInfo: true}}",
                                    text));
    EXPECT_TRUE(config && config->exec && config->exec->provide_cluster_info);
    return config ? config->exec->command : config.error().message;
  };
  EXPECT_EQ(command("aws"), "aws");
  EXPECT_EQ(command("/usr/bin/aws"), "/usr/bin/aws");
  EXPECT_EQ(command("./aws"), (folder_ / "./aws").string());
}

TEST_F(ConfigTest, WhatAPluginMayNotBeIsNamed) {
  auto refused = [&](std::string_view exec, std::string_view more = "") {
    return Refused("server: 'https://h'", Format("exec: {{{}}}{}", exec, more));
  };
  const std::string v1 = "apiVersion: client.authentication.k8s.io/v1";
  EXPECT_THAT(refused("command: aws"), HasSubstr("exec.apiVersion"));
  EXPECT_THAT(refused("apiVersion: client.authentication.k8s.io/v1alpha1, command: aws"),
              HasSubstr("exec.apiVersion"));
  EXPECT_THAT(refused(v1 + ", interactiveMode: Never"), HasSubstr("exec.command"));
  EXPECT_THAT(refused(v1 + ", command: aws"), HasSubstr("exec.interactiveMode"));
  EXPECT_THAT(refused(v1 + ", command: aws, interactiveMode: Sometimes"),
              HasSubstr("exec.interactiveMode"));
  EXPECT_THAT(refused(v1 + ", command: aws, interactiveMode: Always"), HasSubstr("terminal"));
  EXPECT_THAT(refused(v1 + ", command: aws, interactiveMode: Never, args: --all"),
              HasSubstr("exec.args"));
  EXPECT_THAT(refused(v1 + ", command: aws, interactiveMode: Never, env: [{value: hunter2}]"),
              AllOf(HasSubstr("exec.env"), Not(HasSubstr("hunter2"))));
  EXPECT_THAT(refused(v1 + ", command: aws, interactiveMode: Never", ", token: hunter2"),
              AllOf(HasSubstr("together with a token"), Not(HasSubstr("hunter2"))));
  EXPECT_THAT(Refused("server: 'http://h'",
                      Format("exec: {{{}, command: aws, interactiveMode: Never}}", v1)),
              HasSubstr("plain http"));
  EXPECT_THAT(
      Refused("server: 'https://h', extensions: [{name: client.authentication.k8s.io/exec}]",
              Format("exec: {{{}, command: aws, interactiveMode: Never, "
                     "provideClusterInfo: true}}",
                     v1)),
      HasSubstr("extension"));
}

TEST_F(ConfigTest, ServersAreChecked) {
  EXPECT_THAT(Refused("server: 'ftp://h'", "token: t"), HasSubstr("https://"));
  EXPECT_THAT(Refused("tls-server-name: x", "token: t"), HasSubstr("server"));
  EXPECT_THAT(Refused("server: 'https://'", "token: t"), HasSubstr("server"));
  EXPECT_THAT(Refused("server: 'https://me:hunter2@h'", "token: t"),
              AllOf(HasSubstr("server"), Not(HasSubstr("hunter2"))));
  EXPECT_THAT(Refused("server: 'http://h'", "token: t"), HasSubstr("plain http"));
  EXPECT_TRUE(Load("server: 'http://127.0.0.1:8001'", ""));
}

TEST_F(ConfigTest, BrokenCertificatesAreNamedNotShown) {
  EXPECT_THAT(Refused("server: 'https://h', certificate-authority-data: 'c2Vjcm!='", ""),
              AllOf(HasSubstr("certificate-authority-data is not base64"), Not(HasSubstr("c2V"))));
  EXPECT_THAT(Refused("server: 'https://h', certificate-authority-data: AA=A", ""),
              HasSubstr("not base64"));
  EXPECT_THAT(
      Refused("server: 'https://h', certificate-authority-data: c2VjcmV0", ""),
      AllOf(HasSubstr("certificate-authority-data holds no PEM"), Not(HasSubstr("secret"))));
  EXPECT_THAT(Refused("server: 'https://h', certificate-authority: no.crt", ""),
              AllOf(HasSubstr("certificate-authority: cannot read"), HasSubstr("no.crt")));
  EXPECT_THAT(Refused("server: 'https://h'", Format("client-key-data: {}", kDataX)),
              HasSubstr("together"));
  Write("key", "-----BEGIN ENCRYPTED PRIVATE KEY-----\n");
  EXPECT_THAT(Refused("server: 'https://h'",
                      Format("client-certificate-data: {}, client-key: key", kDataX)),
              HasSubstr("client-key is encrypted"));
}

TEST_F(ConfigTest, MissingPartsAreNamed) {
  EXPECT_THAT(RefusedText("kind: Config\n"), HasSubstr("no current-context"));
  EXPECT_THAT(RefusedText("current-context: lost\n"),
              HasSubstr("there is no context named \"lost\" in contexts"));
  EXPECT_THAT(RefusedText("current-context: a\ncontexts: [{name: a, context: {user: u}}]\n"),
              HasSubstr("context \"a\" names no cluster"));
  EXPECT_THAT(
      RefusedText("current-context: a\ncontexts: [{name: a, context: {user: u, cluster: c}}]\n"),
      HasSubstr("there is no cluster named \"c\" in clusters"));
}

TEST_F(ConfigTest, WhatIsNoKubeconfigIsRefused) {
  EXPECT_THAT(RefusedText(""), HasSubstr("not a kubeconfig"));
  EXPECT_THAT(RefusedText("- a\n- b\n"), HasSubstr("not a kubeconfig"));
  EXPECT_THAT(RefusedText("a: b\ntoken: {hunter2\n"),
              AllOf(HasSubstr("malformed YAML in line"), Not(HasSubstr("hunter2"))));
  EXPECT_THAT(RefusedText("current-context: [a]\ncontexts: 7\n"), HasSubstr("current-context"));
  EXPECT_THAT(RefusedText(std::string(2 << 20, ' ')), HasSubstr("over 1 MiB"));
  const auto missing = LoadKubeconfig(folder_ / "missing");
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("No such file"));
  const auto directory = LoadKubeconfig(folder_);
  ASSERT_FALSE(directory);
  EXPECT_THAT(directory.error().message, HasSubstr("directory"));
}

TEST_F(ConfigTest, InClusterReadsTheServiceAccount) {
  setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1);
  setenv("KUBERNETES_SERVICE_PORT", "443", 1);
  Write("ca.crt", kPemX);
  Write("token", "secret\n");
  const auto config = InClusterConfig(folder_);
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->server, "https://10.0.0.1:443");
  EXPECT_EQ(config->ca_pem, kPemX);
  EXPECT_EQ(config->token_file, folder_ / "token");
  EXPECT_EQ(config->token, "");

  setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1);
  EXPECT_EQ(InClusterConfig(folder_)->server, "https://[fd00::1]:443");
}

TEST_F(ConfigTest, InClusterSaysWhatIsMissing) {
  auto refused = [this] {
    const auto config = InClusterConfig(folder_);
    return config ? std::string() : config.error().message;
  };
  EXPECT_THAT(refused(), HasSubstr("not in a pod"));
  setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1);
  setenv("KUBERNETES_SERVICE_PORT", "443", 1);
  EXPECT_THAT(refused(), HasSubstr("ca.crt"));
  Write("ca.crt", "not a certificate");
  EXPECT_THAT(refused(), HasSubstr("holds no PEM"));
  Write("ca.crt", kPemX);
  EXPECT_THAT(refused(), HasSubstr("token"));
  Write("token", " \n");
  EXPECT_THAT(refused(), HasSubstr("is empty"));
}

}  // namespace
}  // namespace berth::kube
