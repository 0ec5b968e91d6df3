// The floor under the webhook benchmark: Drogon with TLS and a constant answer, which no handler of
// Drogon's can beat. Berth's reviews go past Drogon's parser, so what Berth itself costs is a
// little more than its distance from this number.
//
//   bench_webhook_floor CERT KEY UID     prints {"port":N,"pid":N}, serves until SIGTERM
#include <drogon/drogon.h>
#include <openssl/err.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>

namespace {

constexpr size_t kBodyLimit =
    8 << 20;  // Both limits alike, or Drogon spools bodies over 64 KiB to disk.

drogon::HttpResponsePtr Answer(const std::string& body) {
  auto response =
      drogon::HttpResponse::newHttpResponse(drogon::k200OK, drogon::CT_APPLICATION_JSON);
  response->setBody(body);
  return response;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: %s CERT KEY UID\n", argv[0]);
    return 2;
  }
  const std::string cert = argv[1];
  const std::string key = argv[2];
  const std::string answer =
      R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":")" +
      std::string(argv[3]) + R"(","allowed":true}})";

  // Drogon serves files from its document root and makes upload folders: give it an empty directory
  // that goes away.
  std::string scratch = (std::filesystem::temp_directory_path() / "berth-floor.XXXXXX").string();
  if (::mkdtemp(scratch.data()) == nullptr) {
    std::perror("mkdtemp");
    return 1;
  }

  auto& app = drogon::app();
  app.setLogLevel(trantor::Logger::kError)
      .setThreadNum(1)
      .setClientMaxBodySize(kBodyLimit)
      .setClientMaxMemoryBodySize(kBodyLimit)
      .setIdleConnectionTimeout(120)
      .setDocumentRoot(scratch)
      .setUploadPath(scratch)
      .addListener("127.0.0.1", 0, true, cert, key, false,
                   {{"NumTickets", "0"}, {"Options", "-SessionTicket"}});
  // trantor leaves a failed connection's errors in OpenSSL's per-thread queue, where they would end
  // other connections.
  app.setConnectionCallback([](const trantor::TcpConnectionPtr&) { ERR_clear_error(); });
  app.registerPreRoutingAdvice([&answer](const drogon::HttpRequestPtr&,
                                         drogon::AdviceCallback&& reply,
                                         drogon::AdviceChainCallback&&) { reply(Answer(answer)); });
  app.registerBeginningAdvice([] {
    std::printf("{\"port\":%u,\"pid\":%d}\n", drogon::app().getListeners().front().toPort(),
                static_cast<int>(::getpid()));
    std::fflush(stdout);
  });
  app.run();
  std::error_code ignored;
  std::filesystem::remove_all(scratch, ignored);
}
