// The aggregated API with one object that changes as fast as it is told to; measure.py tells how it
// is talked to.
#include <prometheus/registry.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <string>
#include <thread>

#include "handlers/apis/api_server.h"
#include "handlers/apis/live_collection.h"
#include "http/file.h"
#include "server/http_server.h"
#include "server/peer_name.h"

namespace {

using namespace berth;

apis::ResourceType Ticks() {
  apis::ResourceType type;
  type.plural = "ticks";
  type.singular = "tick";
  type.kind = "Tick";
  type.properties = berth::Json::Object();
  return type;
}

// About as large as an object of the peer's, so that lines weigh the same.
void Publish(apis::LiveCollection& ticks, std::uint64_t adds) {
  apis::LiveCollection::Draft draft{
      .ns = {}, .name = "tick", .labels = {{"app", "bench"}}, .fields = {}, .cells = {}};
  berth::Json status;
  status["adds"] = adds;
  status["message"] =
      "a line of a watch is about this long when an object has a status and a message";
  draft.content["status"] = std::move(status);
  ticks.Put(std::move(draft));
}

template <typename T>
T OrDie(kube::Result<T> result) {
  if (result) {
    if constexpr (std::is_void_v<T>)
      return;
    else
      return std::move(*result);
  }
  std::cerr << result.error().message << "\n";
  std::_Exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Serves one object to many watchers.");
  std::filesystem::path cert, key, client_ca;
  app.add_option("--cert", cert)->required();
  app.add_option("--key", key)->required();
  app.add_option("--client-ca", client_ca)->required();
  CLI11_PARSE(app, argc, argv);
  std::signal(SIGPIPE, SIG_IGN);

  std::string scratch = std::filesystem::temp_directory_path() / "berth-bench.XXXXXX";
  if (mkdtemp(scratch.data()) == nullptr) return 1;
  server::TlsFiles files(scratch);
  OrDie(files.SetPair(OrDie(ReadFile(cert)), OrDie(ReadFile(key))));
  const std::string ca = OrDie(ReadFile(client_ca));
  OrDie(files.SetClientCa(ca));

  prometheus::Registry registry;
  apis::LiveCollection ticks(Ticks());
  apis::Authenticator authenticator(nullptr, server::NameOfPeer);
  authenticator.SetRequestHeader(std::make_shared<const apis::RequestHeaderConfig>(
      apis::RequestHeaderConfig::Usual(ca, {"front-proxy-client"})));
  apis::Authorizer authorizer(nullptr);
  apis::ApiServer api(authenticator, authorizer, registry);
  api.Add(ticks);
  api.Start();

  server::HttpServer http(
      {.bind_address = "127.0.0.1",
       .io_threads = 1,
       .max_in_flight = 10'000,
       .guard = {},
       .tls = {.min_version = "1.2", .cipher_suites = {}, .client_ca = files.client_ca()},
       .tls_pair = files.pair(),
       .scratch = scratch,
       .registry = registry});
  http.Add({.name = "api",
            .tls = server::Listener::Tls::kClientCertificates,
            .handler = [&](const auto& request, auto callback) {
              api.Serve(request, std::move(callback));
            }});
  http.OnDisconnect([&](const trantor::TcpConnection* connection) { api.Forget(connection); });
  OrDie(http.Prepare());

  std::uint64_t adds = 0;
  Publish(ticks, ++adds);
  std::thread commands;
  http.Run([&] {
    commands = std::thread([&] {
      const std::uint16_t port = http.listeners().front().port;
      while (!server::CanConnect("127.0.0.1", port)) std::this_thread::yield();
      std::cout << R"({"port":)" << port << R"(,"pid":)" << getpid() << "}" << std::endl;
      std::string word;
      while (std::cin >> word && word == "burst") {
        std::uint64_t count = 0;
        std::cin >> count;
        while (count-- > 0) Publish(ticks, ++adds);
      }
      http.Quit();
    });
  });
  commands.join();
  std::filesystem::remove_all(scratch);
}
