#include "kube/exec_credential.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "http/temp_folder_test.h"
#include "http/test_server.h"
#include "json/json.h"
#include "kube/client.h"
#include "kube/client_fixture_test.h"
#include "kube/status.h"
#include "log/format.h"
#include "log/timestamp.h"

namespace berth::kube {
namespace {

using test::Answer;
using test::MakeCertificate;
using test::ServedRequest;
using test::Server;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::Le;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

constexpr const char* kV1 = "client.authentication.k8s.io/v1";

std::string Printed(const Json& status) {
  Json credential;
  credential["apiVersion"] = kV1;
  credential["kind"] = "ExecCredential";
  credential["status"] = status;
  return credential.to_string();
}

std::string Token(std::string_view token, std::string_view expires = "") {
  Json status;
  status["token"] = std::string(token);
  if (!expires.empty()) status["expirationTimestamp"] = std::string(expires);
  return Printed(status);
}

std::string Pair(const std::pair<std::string, std::string>& pair, std::string_view expires = "") {
  Json status;
  status["clientCertificateData"] = pair.first;
  status["clientKeyData"] = pair.second;
  if (!expires.empty()) status["expirationTimestamp"] = std::string(expires);
  return Printed(status);
}

std::string In(std::chrono::seconds time) {
  return FormatTime(std::chrono::ceil<std::chrono::seconds>(std::chrono::system_clock::now()) +
                    time);
}

TEST(ExecInfoTest, TellsOfTheClusterOnlyWhoAsks) {
  ExecPlugin plugin{.api_version = kV1, .command = "x"};
  Config cluster;
  cluster.server = "https://h:6443";
  cluster.ca_pem = "PEM";
  cluster.token = "hunter2";
  EXPECT_EQ(ExecInfo(plugin, cluster), Format(R"({{"apiVersion":"{}","kind":"ExecCredential",)"
                                              R"("spec":{{"interactive":false}}}})",
                                              kV1));
  plugin.provide_cluster_info = true;
  EXPECT_THAT(ExecInfo(plugin, cluster),
              AllOf(HasSubstr(R"("spec":{"interactive":false,"cluster":{"server":"https://h:6443",)"
                              R"("certificate-authority-data":"UEVN"}})"),
                    Not(HasSubstr("hunter2"))));
  cluster.tls_server_name = "kube";
  EXPECT_THAT(ExecInfo(plugin, cluster), HasSubstr(R"("tls-server-name":"kube")"));
}

TEST(ParseExecCredentialTest, ATokenACertificateOrBoth) {
  const auto token = ParseExecCredential(Token("t", "2026-01-02T03:04:05Z"), kV1);
  ASSERT_TRUE(token) << token.error().message;
  EXPECT_EQ(token->credential.token, "t");
  using namespace std::chrono;
  const sys_seconds then = sys_days(2026y / January / 2) + 3h + 4min + 5s;
  EXPECT_EQ(token->expires, then);
  EXPECT_EQ(ParseExecCredential(Token("t", "2026-01-02T05:04:05.000+02:00"), kV1)->expires, then);
  EXPECT_FALSE(ParseExecCredential(Token("t"), kV1)->expires);

  const auto pair = MakeCertificate("me");
  const auto cert = ParseExecCredential(Pair(pair), kV1);
  ASSERT_TRUE(cert) << cert.error().message;
  EXPECT_EQ(cert->credential.client_cert_pem, pair.first);
  EXPECT_EQ(cert->credential.client_key_pem, pair.second);
}

TEST(ParseExecCredentialTest, WhatIsWrongIsNamedNeverShown) {
  auto why = [](std::string_view json) {
    const auto credential = ParseExecCredential(json, kV1);
    EXPECT_FALSE(credential) << json;
    if (credential) return std::string();
    EXPECT_EQ(credential.error().error_class, ErrorClass::kRetry);
    EXPECT_THAT(credential.error().message, Not(HasSubstr("hunter2")));
    EXPECT_THAT(credential.error().message, Not(HasSubstr("BEGIN")));
    return credential.error().message;
  };
  EXPECT_THAT(why(""), HasSubstr("JSON"));
  EXPECT_THAT(why("hunter2"), HasSubstr("JSON"));
  EXPECT_THAT(why(R"({"token":"hunter2"})"), HasSubstr("ExecCredential"));
  EXPECT_THAT(why(R"({"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1beta1",)"
                  R"("status":{"token":"hunter2"}})"),
              HasSubstr(kV1));
  EXPECT_THAT(why(Printed(Json::Object())), HasSubstr("no token"));
  EXPECT_THAT(why(Token("hunter2\r\nX: y")), HasSubstr("header"));
  EXPECT_THAT(why(Token("hunter2", "soon")), HasSubstr("expirationTimestamp"));
  const auto pair = MakeCertificate("me");
  EXPECT_THAT(why(Pair({pair.first, ""})), HasSubstr("without a key"));
  EXPECT_THAT(why(Pair({"", pair.second})), HasSubstr("without a certificate"));
  EXPECT_THAT(why(Pair({pair.first, MakeCertificate("you").second})), HasSubstr("not a pair"));
  EXPECT_THAT(why(Pair({"hunter2", "hunter2"})), HasSubstr("not a pair"));
}

// A client whose plugin is a script. Each run of it is a line in the file "runs".
class ExecPluginTest : public testing::Test {
 protected:
  Config With(const Server& server, std::string_view script) {
    Config config = To(server);
    config.exec = ExecPlugin{.api_version = kV1,
                             .command = folder_.Script("plugin", script),
                             .env = {{"BERTH_EXTRA", "extra"}}};
    return config;
  }

  // Prints what the files "1", "2", … hold, one each run, the last one again and again.
  Config Printing(const Server& server, const std::vector<std::string>& outputs) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      folder_.Write(std::to_string(i + 1), outputs[i]);
    }
    return With(server, Format("echo run >> runs; n=$(wc -l < runs)\n"
                               "[ $n -gt {0} ] && n={0}; cat $n",
                               outputs.size()));
  }

  std::size_t Runs() const {
    const std::string runs = folder_.Read("runs");
    return static_cast<std::size_t>(std::ranges::count(runs, '\n'));
  }

  static std::vector<std::string> Tokens(const Server& server) {
    std::vector<std::string> tokens;
    for (const auto& request : server.requests()) {
      constexpr std::string_view key = "\r\nAuthorization: Bearer ";
      const std::size_t at = request.head.find(key);
      tokens.push_back(
          at == std::string::npos
              ? "none"
              : request.head.substr(at + key.size(),
                                    request.head.find("\r\n", at + 2) - at - key.size()));
    }
    return tokens;
  }

  static std::string Fine(const ServedRequest&) { return Answer(200, "{}"); }

  TempFolder folder_;
};

TEST_F(ExecPluginTest, OneRunServesManyCalls) {
  Server server(Fine);
  Client client(Printing(server, {Token("one")}), {.qps = 0});
  std::vector<std::future<Result<Response>>> calls;
  for (int i = 0; i < 20; ++i) calls.push_back(Begin(client, Post("{}")));
  for (auto& call : calls) EXPECT_TRUE(call.get());
  EXPECT_TRUE(Ask(client, Get("/x")));
  EXPECT_THAT(Tokens(server), AllOf(SizeIs(21), Each("one")));
  EXPECT_EQ(Runs(), 1u);
}

TEST_F(ExecPluginTest, ItIsToldWhatItNeeds) {
  Server server(Fine);
  folder_.Write("out", Token("one"));
  Config config = With(server, "echo \"$KUBERNETES_EXEC_INFO $BERTH_EXTRA $*\" > told; cat out");
  config.exec->args = {"get token", "now"};
  Client client(config);
  ASSERT_TRUE(Ask(client, Get("/x")));
  EXPECT_EQ(folder_.Read("told"), ExecInfo(*config.exec, config) + " extra get token now\n");
}

TEST_F(ExecPluginTest, AKubeconfigSaysWhichToRun) {
  const auto pair = MakeCertificate("kube.test");
  Server server(Fine, pair.first, pair.second);
  folder_.Write("out", Token("one"));
  folder_.Write("ca.crt", pair.first);
  std::filesystem::create_directory(folder_ / "bin");
  folder_.Script("bin/plugin", "cat out");
  const std::string file =
      folder_.Write("config", Format("current-context: a\n"
                                     "contexts: [{{name: a, context: {{cluster: c, user: u}}}}]\n"
                                     "clusters: [{{name: c, cluster: {{server: '{}', "
                                     "certificate-authority: ca.crt}}}}]\n"
                                     "users: [{{name: u, user: {{exec: {{apiVersion: {}, "
                                     "command: bin/plugin, interactiveMode: IfAvailable}}}}}}]\n",
                                     server.url(), kV1));
  const auto config = LoadKubeconfig(file);
  ASSERT_TRUE(config) << config.error().message;
  Client client(*config);
  const auto response = Ask(client, Get("/x"));
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_THAT(Tokens(server), testing::ElementsAre("one"));
}

TEST_F(ExecPluginTest, CallsWaitForItWithinTheirTimeAndNobodyIsBlocked) {
  Server server(Fine);
  folder_.Write("out", Token("one"));
  Client client(With(server, "until [ -e go ]; do sleep 0.01; done; cat out"));
  std::atomic<bool> called = false;
  const CallId unwanted = client.Send(Get("/unwanted"), [&](Result<Response>) { called = true; });
  auto patient = Begin(client, Get("/patient", 60s));
  const Error error = Failed(Ask(client, Post("{}", 50ms)));
  EXPECT_EQ(error.error_class, ErrorClass::kRetry) << "it never left";
  EXPECT_THAT(error.message, HasSubstr("not sent within 50 ms"));
  client.Cancel(unwanted);
  EXPECT_EQ(patient.wait_for(0s), std::future_status::timeout);
  folder_.Write("go", "");
  EXPECT_TRUE(patient.get());
  EXPECT_FALSE(called);
  EXPECT_THAT(server.requests(), SizeIs(1));
}

TEST_F(ExecPluginTest, AnExpiredTokenIsReplaced) {
  Server server(Fine);
  Client client(Printing(server, {Token("one", In(2s)), Token("two", In(1h))}));
  ASSERT_TRUE(Ask(client, Get("/x")));
  EXPECT_TRUE(Eventually([&] {
    EXPECT_TRUE(Ask(client, Get("/x")));
    return Tokens(server).back() == "two";
  }));
  EXPECT_EQ(Tokens(server).front(), "one");
  EXPECT_EQ(Runs(), 2u);
}

TEST_F(ExecPluginTest, ItIsFetchedAnewBeforeItExpiresWhileTheOldOneServes) {
  folder_.Write("1", Token("one", "2030-01-01T01:00:00Z"));
  folder_.Write("2", Token("two"));
  const ExecPlugin plugin{.api_version = kV1,
                          .command = folder_.Script("plugin",
                                                    "echo run >> runs; n=$(wc -l < runs)\n"
                                                    "until [ -e go$n ]; do sleep 0.01; done\n"
                                                    "cat $n")};
  std::atomic<int> woken = 0;
  ExecCredentials credentials(plugin, {}, [&] { ++woken; });
  using namespace std::chrono;
  const sys_seconds start = sys_days(2030y / January / 1);
  auto token = [&](sys_seconds now) {
    const auto credential = credentials.Get(now);
    return !credential ? "none" : *credential ? (**credential)->token : "error";
  };
  EXPECT_EQ(token(start), "none");
  folder_.Write("go1", "");
  EXPECT_TRUE(Eventually([&] { return woken == 1; }));
  EXPECT_EQ(token(start), "one");
  EXPECT_EQ(token(start + 58min), "one");
  EXPECT_EQ(Runs(), 1u);
  EXPECT_EQ(token(start + 59min), "one") << "a minute before its end the plugin is run again";
  EXPECT_TRUE(Eventually([&] { return Runs() == 2; }));
  EXPECT_EQ(token(start + 59min), "one");
  EXPECT_EQ(token(start + 60min), "none") << "now it has to be waited for";
  folder_.Write("go2", "");
  EXPECT_TRUE(Eventually([&] { return woken == 2; }));
  EXPECT_EQ(token(start + 60min), "two");
  EXPECT_EQ(token(start + 24h * 10000), "two") << "for ever, if it does not expire";
  EXPECT_EQ(Runs(), 2u);
}

TEST_F(ExecPluginTest, AFailureBeforeItExpiresLeavesItInForce) {
  folder_.Write("1", Token("one", "2030-01-01T01:00:00Z"));
  folder_.Write("2", Token("two", "2029-01-01T01:00:00Z"));
  const ExecPlugin plugin{
      .api_version = kV1,
      .command = folder_.Script("plugin", "echo run >> runs; cat $(wc -l < runs)")};
  std::atomic<int> woken = 0;
  ExecCredentials credentials(plugin, {}, [&] { ++woken; });
  using namespace std::chrono;
  const sys_seconds start = sys_days(2030y / January / 1);
  EXPECT_FALSE(credentials.Get(start));
  EXPECT_TRUE(Eventually([&] { return woken == 1; }));
  EXPECT_TRUE(credentials.Get(start));
  EXPECT_TRUE(credentials.Get(start + 59min)) << "fetches anew";
  EXPECT_TRUE(Eventually([&] { return woken == 2; }));
  for (int i = 0; i < 2; ++i) {
    const auto still = credentials.Get(start + 59min);
    ASSERT_TRUE(still && *still) << "the second had expired before it came";
    EXPECT_EQ((**still)->token, "one");
  }
}

TEST_F(ExecPluginTest, A401BringsANewOneOnce) {
  Server server([](const ServedRequest& request) {
    return request.Has("Authorization: Bearer two") ? Answer(201, "{}")
                                                    : Answer(401, ToJson(Unauthorized()));
  });
  Client client(Printing(server, {Token("one"), Token("two")}), {.qps = 0});
  std::vector<std::future<Result<Response>>> calls;
  for (int i = 0; i < 10; ++i) calls.push_back(Begin(client, Post("{}")));
  for (auto& call : calls) {
    const auto response = call.get();
    EXPECT_TRUE(response) << response.error().message;
  }
  EXPECT_EQ(Runs(), 2u) << "one new one for all ten";
}

TEST_F(ExecPluginTest, AStreamIsTriedAgainToo) {
  Server server([](const ServedRequest& request) {
    return request.Has("Authorization: Bearer two") ? Answer(200, "line\n")
                                                    : Answer(401, ToJson(Unauthorized()));
  });
  Client client(Printing(server, {Token("one"), Token("two")}));
  std::promise<Result<void>> end;
  std::string text;
  client.Stream(Get("/x"), {[&](std::string lines) { text += lines; },
                            [&](Result<void> result) { end.set_value(std::move(result)); }});
  EXPECT_TRUE(end.get_future().get());
  EXPECT_EQ(text, "line\n");
  EXPECT_THAT(server.requests(), SizeIs(2));
}

TEST_F(ExecPluginTest, AServerThatRefusesEveryTokenIsNotAskedForEver) {
  Server server([](const ServedRequest&) { return Answer(401, ToJson(Unauthorized())); });
  Client client(Printing(server, {Token("one")}), {.qps = 0});
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 1; i <= 20; ++i) {
    const Error error = Failed(Ask(client, Get("/x")));
    EXPECT_EQ(error.code, 401);
    EXPECT_THAT(server.requests(), SizeIs(Le(2u * i)));
  }
  const auto seconds = (std::chrono::steady_clock::now() - begin) / 1s;
  EXPECT_LE(Runs(), 4u + static_cast<std::size_t>(seconds));
}

TEST_F(ExecPluginTest, ACertificateIsShownAndItsSuccessorOnANewConnection) {
  const auto own = MakeCertificate("kube.test"), one = MakeCertificate("one");
  Server server([](const ServedRequest& request) { return Answer(200, request.peer_name); },
                own.first, own.second, one.first);
  Config config = Printing(server, {Pair(one, In(2s)), Token("two", In(1h))});
  config.ca_pem = own.first;
  Client client(config);
  const auto response = Ask(client, Get("/x"));
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->body, "one");
  // The second has a token alone: on the old connection the server would still see the first.
  EXPECT_TRUE(Eventually([&] { return !Ask(client, Get("/x")); }));
  EXPECT_EQ(Runs(), 2u);
}

TEST_F(ExecPluginTest, FailuresAreSaidWithoutWhatItWrote) {
  Server server(Fine);
  for (const auto& [script, why] : std::vector<std::pair<std::string, std::string>>{
           {"echo hunter2; echo hunter2 >&2; exit 3", "ended with status 3"},
           {"echo hunter2", "did not print JSON"},
           {"yes hunter2", "wrote more than 1048576 bytes"},
           {"echo hunter2; sleep 1000", "did not end within 300 ms"},
           {"cat expired", "gave a credential that has expired"}}) {
    folder_.Write("expired", Token("hunter2", "2020-01-01T00:00:00Z"));
    Config config = With(server, script);
    if (script.contains("sleep")) config.exec->time_limit = 300ms;
    Client client(config);
    auto also = Begin(client, Get("/x"));
    for (const Error& error : {Failed(Ask(client, Post("{}"))), Failed(also.get())}) {
      EXPECT_EQ(error.error_class, ErrorClass::kRetry);
      EXPECT_THAT(error.message,
                  AllOf(StartsWith("the credential plugin \"" + folder_.path().string()),
                        HasSubstr(why), Not(HasSubstr("hunter2"))));
    }
  }
  EXPECT_THAT(server.requests(), SizeIs(0));
}

TEST_F(ExecPluginTest, ACommandThatIsNotThereIsTerminal) {
  Server server(Fine);
  Config config = With(server, "");
  config.exec->command = "berth-no-such-plugin";
  Client client(config);
  const Error error = Failed(Ask(client, Get("/x")));
  EXPECT_EQ(error.error_class, ErrorClass::kTerminal);
  EXPECT_THAT(error.message, HasSubstr("\"berth-no-such-plugin\" cannot be run"));
}

TEST_F(ExecPluginTest, AFailureStandsForASecondThenItIsRunAgain) {
  Server server(Fine);
  folder_.Write("out", Token("one"));
  Client client(With(server, "echo run >> runs; [ -e go ] && cat out"), {.qps = 0});
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 50; ++i) EXPECT_FALSE(Ask(client, Get("/x")));
  const auto seconds = (std::chrono::steady_clock::now() - begin) / 1s;
  EXPECT_LE(Runs(), 1u + static_cast<std::size_t>(seconds));
  folder_.Write("go", "");
  EXPECT_TRUE(Eventually([&] { return Ask(client, Get("/x")).has_value(); }));
}

TEST_F(ExecPluginTest, ShuttingDownDoesNotWaitForIt) {
  Server server(Fine);
  auto client = std::make_unique<Client>(With(server, "echo $$ > pid; exec sleep 1000"));
  auto call = Begin(*client, Post("{}", 60s));
  EXPECT_TRUE(Eventually([&] { return folder_.Read("pid").ends_with('\n'); }));
  client.reset();
  const Error error = Failed(call.get());
  EXPECT_EQ(error.error_class, ErrorClass::kRetry);
  EXPECT_THAT(error.message, HasSubstr("shutting down"));
  EXPECT_NE(kill(std::stoi(folder_.Read("pid")), 0), 0) << "the plugin is gone";
}

}  // namespace
}  // namespace berth::kube
