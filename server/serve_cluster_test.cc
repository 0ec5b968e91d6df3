// Berth beside an API server that does not answer.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/serve_fixture_test.h"

namespace berth::server::test {
namespace {

// Takes connections and never says a word.
class SilentServer {
 public:
  SilentServer() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (bind(fd_, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(fd_, 16) != 0 ||
        getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      ADD_FAILURE() << "no socket";
    }
    port_ = ntohs(address.sin_port);
  }
  ~SilentServer() { close(fd_); }
  SilentServer(const SilentServer&) = delete;
  SilentServer& operator=(const SilentServer&) = delete;
  std::uint16_t port() const { return port_; }

 private:
  int fd_;
  std::uint16_t port_ = 0;
};

class SilentCluster : public testing::Test {
 protected:
  SilentCluster() {
    WriteFile(Kubeconfig(),
              "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
              "contexts: [{name: c, context: {cluster: c, user: u}}]\n"
              "users: [{name: u, user: {}}]\n"
              "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:" +
                  std::to_string(server_.port()) + "'}}]\n");
  }
  std::filesystem::path Kubeconfig() const { return pki_.dir() / "kubeconfig"; }

  Pki pki_;
  SilentServer server_;
};

TEST_F(SilentCluster, IsNotReadyAndSaysWhyAndStillEndsWell) {
  BerthProcess berth(pki_, {{"kubeconfig", Kubeconfig()}, {"requestheader-client-ca-file", ""}});
  ASSERT_TRUE(berth.listening()) << berth.Log();
  PlainClient health(berth.port("health"));
  const auto ready = health.Exchange(Get("/readyz"));
  ASSERT_TRUE(ready);
  EXPECT_EQ(ready->code, 503);
  EXPECT_NE(ready->body.find("[-]front-proxy failed"), std::string::npos) << ready->body;
  EXPECT_EQ(Code(health.Exchange(Get("/livez"))), 200);
  // A call to the API server is under way now, and a token's review after the next line; neither
  // may outlive its caller.
  TlsClient api(berth.port("api"));
  ASSERT_TRUE(api.Send(Get(kWorkQueues, {"Authorization: Bearer some-token"})));
  EXPECT_EQ(berth.Stop(), 0) << berth.Log();
}

TEST_F(SilentCluster, AcceptsNoClientCertificateBeforeTheFrontProxyIsKnown) {
  BerthProcess berth(pki_, {{"kubeconfig", Kubeconfig()}, {"requestheader-client-ca-file", ""}});
  ASSERT_TRUE(berth.listening()) << berth.Log();
  TlsClient api(berth.port("api"), TlsOptions{.identity = &pki_.front_proxy});
  EXPECT_FALSE(api.Exchange(Get(kWorkQueues, kAdmin)));
}

}  // namespace
}  // namespace berth::server::test
