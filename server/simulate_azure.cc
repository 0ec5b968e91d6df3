#include "server/simulate_azure.h"

#include <filesystem>
#include <iostream>
#include <memory>
#include <utility>

#include "cloud/simulator/azure/account.h"
#include "cloud/simulator/azure/console.h"
#include "log/format.h"
#include "server/cloud_thread.h"
#include "server/private_file.h"
#include "server/process.h"
#include "server/simulated_azure.h"
#include "server/simulation_frame.h"

namespace berth::server {
namespace {

// The simulated Azure as its clients and its operator meet it.
class AzureFront {
 public:
  AzureFront(const SimulateAzureOptions& options, const std::string& secret) {
    thread_.loop().Run(
        [&] { cloud_ = std::make_unique<SimulatedAzure>(thread_.loop(), options, secret); });
  }
  ~AzureFront() {
    thread_.loop().Run([this] {
      thread_.Clear();
      cloud_.reset();
    });
  }
  AzureFront(const AzureFront&) = delete;
  AzureFront& operator=(const AzureFront&) = delete;

  void Serve(const drogon::HttpRequestPtr& request, http::Callback callback) {
    thread_.Serve(request, std::move(callback),
                  [this](http::Request read, const std::string&, http::Callback home) {
                    thread_.Call(*cloud_, std::move(read), std::move(home));
                  });
  }
  void ServeConsole(const drogon::HttpRequestPtr& request, http::Callback callback) {
    thread_.Serve(request, std::move(callback),
                  [this](const http::Request& read, const std::string& path, http::Callback home) {
                    cloud_->cloud().Settle(thread_.loop().WallNow());
                    const auto answer =
                        cloud::simulator::azure::Console(cloud_->cloud(), read, path);
                    home(http::Respond(answer.code, answer.body));
                  });
  }

 private:
  CloudThread thread_;
  std::unique_ptr<SimulatedAzure> cloud_;  // of the thread
};

// As Azure's own cloud config.
std::string CloudConfig(const std::string& secret, std::uint16_t port) {
  const std::string endpoint = Format("https://localhost:{}", port);
  const auto config = cloud::simulator::azure::ConfigOf({}, secret, endpoint);
  Json file;
  file["cloud"] = "AzurePublicCloud";
  file["tenantId"] = config.tenant;
  file["subscriptionId"] = config.subscription;
  file["resourceGroup"] = config.resource_group;
  file["location"] = config.location;
  file["vnetName"] = config.vnet;
  file["aadClientId"] = config.client_id;
  file["aadClientSecret"] = config.client_secret;
  file["resourceManagerEndpoint"] = config.endpoint;
  file["activeDirectoryEndpoint"] = config.authority;
  return file.to_string();
}

void Announce(const SimulateAzureOptions& options, std::uint16_t console_port) {
  const std::string dir = options.state_dir.string();
  std::cout << Format(R"(
A simulated Azure: what is made in it is gone when this ends (Ctrl-C). Berth uses it with

  berth serve … --service-gateway --azure-cloud-config {}/cloud-config.json \
    --azure-ca-file {}/certs/ca.crt

Its console:  curl --cacert {}/certs/ca.crt https://localhost:{}/state

)",
                      dir, dir, dir, console_port)
            << std::flush;
}

}  // namespace

int SimulateAzure(const SimulateAzureOptions& options) {
  SetUpProcess(options.log_format, options.log_level);
  SimulationFrame frame({options.bind_address, options.tls_names, options.state_dir});
  if (const auto done = frame.Prepare(); !done) return CannotStart(done.error());
  const auto secret = KeepSecret(options.state_dir / "client-secret");
  if (!secret) return CannotStart(secret.error());
  AzureFront front(options, *secret);
  frame.Listen("cloud", options.port, "--port", [&front](const auto& request, auto callback) {
    front.Serve(request, std::move(callback));
  });
  frame.Listen("console", options.console_port, "--console-port",
               [&front](const auto& request, auto callback) {
                 front.ServeConsole(request, std::move(callback));
               });
  if (const auto done = frame.Open(); !done) return CannotStart(done.error());
  const auto config = options.state_dir / "cloud-config.json";
  if (const auto done = WritePrivateFile(config, CloudConfig(*secret, frame.port(0))); !done)
    return CannotStart(done.error());
  frame.Run([&] { Announce(options, frame.port(1)); });
  return 0;
}

}  // namespace berth::server
