#include "server/simulate_agent.h"

#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <memory>
#include <optional>

#include "async/event_loop.h"
#include "cloud/agent/agent_client.h"
#include "http/client_transport.h"
#include "http/file.h"
#include "http/test_server.h"
#include "server/serve_fixture_test.h"

// `berth simulate-agent` as the real client meets it: real sockets, the real program.
namespace berth::server::test {
namespace {

using cloud::AgentStatus;

cloud::SandboxRequest Wanted(const std::string& uid) {
  return {.sandbox_id = uid + "-1",
          .claim_uid = uid,
          .image = "python",
          .pod_uid = "pod-uid",
          .attempt = 1};
}

class SimulateAgentTest : public testing::Test {
 protected:
  void Start(BerthProcess::Flags flags = {}) {
    flags.insert({{"pod-name", "agent-1"}, {"pod-uid", "pod-uid"}});
    agents_.emplace(BerthProcess::Agent{flags});
    if (!agents_->listening()) throw std::runtime_error("it does not start: " + agents_->Log());
  }
  void Open(http::Peer::Options peer = {}, cloud::agent::AgentOptions options = {}) {
    loop_.Run([&] {
      client_.reset();
      transport_ = std::make_unique<http::ClientTransport>(
          http_, std::make_shared<http::Peer>(std::move(peer)), loop_);
      client_ = std::make_unique<cloud::agent::AgentClient>(loop_, *transport_, nullptr, options);
    });
  }
  void TearDown() override {
    loop_.Run([this] {
      client_.reset();
      transport_.reset();
    });
    if (!agents_) return;
    EXPECT_EQ(agents_->Stop(), 0) << agents_->Log();
  }

  cloud::AgentAddress At(const std::string& ip = "127.0.0.1") const {
    return {.ip = ip, .port = agents_->port("agent")};
  }
  template <typename T>
  Result<T> Wait(std::function<async::Task<Result<T>>(cloud::SandboxAgents&)> call) {
    std::promise<Result<T>> answer;
    async::Running running;
    loop_.Run([&] {
      running = async::Start([](auto ask, cloud::SandboxAgents& agents,
                                std::promise<Result<T>>* to) -> async::Task<void> {
        to->set_value(co_await ask(agents));
      }(std::move(call), *client_, &answer));
    });
    auto result = answer.get_future().get();
    loop_.Run([&] { running = {}; });
    return result;
  }
  Result<void> Create(const std::string& uid) {
    return Wait<void>([this, uid](auto& agents) { return agents.Create(At(), Wanted(uid)); });
  }
  Result<AgentStatus> Status(const std::string& ip = "127.0.0.1") {
    return Wait<AgentStatus>([this, ip](auto& agents) { return agents.Status(At(ip)); });
  }
  // Makes a call to the console; the answer's JSON.
  Json Ask(const std::string& method, const std::string& path, const std::string& body = {}) {
    TlsClient client(agents_->port("console"), TlsOptions{.trust = ReadFile(CaFile()).value()});
    const auto response = client.Exchange(Request(method, path, {}, body));
    EXPECT_EQ(Code(response), 200) << Body(response);
    return response ? Json::parse(response->body) : Json::null();
  }
  std::filesystem::path CaFile() const { return agents_->state_dir() / "certs" / "ca.crt"; }

  std::optional<BerthProcess> agents_;
  http::Client http_;
  async::EventLoop loop_{"test"};
  std::unique_ptr<http::Transport> transport_;
  std::unique_ptr<cloud::SandboxAgents> client_;
};

TEST_F(SimulateAgentTest, ASandboxLivesItsLifeOverTheWire) {
  Start({{"pull", "50ms"}, {"stop", "50ms"}});
  Open();
  const auto made = Create("u");
  ASSERT_TRUE(made) << made.error().message;
  const auto status = Status();
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(status->agent_id, "agent-1");
  ASSERT_EQ(status->sandboxes.size(), 1u);
  EXPECT_EQ(status->sandboxes[0].phase, cloud::AgentPhase::kRunning);
  const Json shown = Ask("GET", "/sandboxes");
  ASSERT_EQ(shown.size(), 1u);
  EXPECT_EQ(shown[std::size_t{0}]["container"], Json("running"));
  const auto gone = Wait<void>([this](auto& agents) { return agents.Delete(At(), "u-1"); });
  ASSERT_TRUE(gone) << gone.error().message;
  EXPECT_TRUE(WaitUntil([this] { return Ask("GET", "/sandboxes").empty(); }));
}

TEST_F(SimulateAgentTest, EachAddressIsAnAgent) {
  Start({{"bind-address", "0.0.0.0"}, {"pull", "0ms"}});
  Open();
  ASSERT_TRUE(Create("u"));
  const auto other = Status("127.0.0.2");
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_TRUE(other->sandboxes.empty());
  EXPECT_EQ(other->agent_id, "agent-1-127.0.0.2");
  EXPECT_EQ(Ask("GET", "/agents").size(), 2u);
}

TEST_F(SimulateAgentTest, AClientThatHangsUpEndsItsCreate) {
  Start({{"pull", "600s"}});
  Open();
  {
    async::Running running;
    loop_.Run([&] {
      running = async::Start(
          [](cloud::SandboxAgents& agents, cloud::AgentAddress at) -> async::Task<void> {
            co_await agents.Create(at, Wanted("u"));
          }(*client_, At()));
    });
    ASSERT_TRUE(WaitUntil([this] { return Ask("GET", "/sandboxes").size() == 1; }));
    loop_.Run([&] { running = {}; });
  }
  EXPECT_TRUE(WaitUntil([this] { return Ask("GET", "/sandboxes").empty(); }));
}

TEST_F(SimulateAgentTest, TheConsoleFails) {
  Start({{"pull", "0ms"}});
  Open();
  Ask("PUT", "/faults", R"([{"action": "CreateSandbox", "code": "CapacityRejected"}])");
  const auto refused = Create("u");
  ASSERT_FALSE(refused);
  EXPECT_TRUE(cloud::IsRejected(refused.error())) << refused.error().message;
  Ask("PUT", "/agents/127.0.0.1/hang", R"({"seconds": 600})");
  Open({}, {.status_timeout = std::chrono::milliseconds(200)});
  const auto hung = Status();
  ASSERT_FALSE(hung);
  EXPECT_EQ(hung.error().error_class, ErrorClass::kRetry) << hung.error().message;
}

TEST_F(SimulateAgentTest, WithMutualTlsACertificateIsAskedFor) {
  const auto [cert, key] = berth::test::MakeCertificate("berth");
  const TempDir folder;
  WriteFile(folder.path() / "client-ca.pem", cert);
  Start({{"client-ca-file", folder.path() / "client-ca.pem"}, {"pull", "0ms"}});
  const std::string ca = ReadFile(CaFile()).value();
  Open({.ca_pem = ca, .credential = std::make_shared<http::Credential>("", cert, key)},
       {.tls = true});
  EXPECT_TRUE(Status()) << Status().error().message;
  Open({.ca_pem = ca}, {.tls = true});
  EXPECT_FALSE(Status());
}

}  // namespace
}  // namespace berth::server::test
