#include "server/simulate_cloud.h"

#include <filesystem>
#include <iostream>
#include <utility>

#include "log/format.h"
#include "server/cloud_front.h"
#include "server/private_file.h"
#include "server/process.h"
#include "server/simulation_frame.h"

namespace berth::server {
namespace {

// The access key is that of an earlier run, or a new one.
kube::Result<void> KeepKey(const std::filesystem::path& dir, CloudFront& front) {
  if (auto made = MakePrivateDirectory(dir); !made) return made;
  auto id = KeepSecret(dir / "accessKeyID", "LTAI");
  if (!id) return std::unexpected(id.error());
  auto secret = KeepSecret(dir / "accessKeySecret");
  if (!secret) return std::unexpected(secret.error());
  front.AddKey(std::move(*id), std::move(*secret));
  return {};
}

kube::Result<void> Prepare(const SimulateCloudOptions& options, SimulationFrame& frame,
                           CloudFront& front) {
  if (auto done = frame.Prepare(); !done) return done;
  if (auto done = KeepKey(options.state_dir / "credentials", front); !done) return done;
  frame.Listen("cloud", options.port, "--port", [&front](const auto& request, auto callback) {
    front.Serve(request, std::move(callback));
  });
  return frame.Open();
}

void Announce(const SimulateCloudOptions& options, std::uint16_t port) {
  const std::string dir = options.state_dir.string();
  std::cout << Format(R"(
A simulated Alibaba Cloud: what is allocated in it is gone when this ends (Ctrl-C). Berth uses it with

  berth serve … --aliyun-region {} --aliyun-vpc-endpoint https://localhost:{} \
    --aliyun-sts-endpoint https://localhost:{} \
    --aliyun-credentials-dir {}/credentials --aliyun-ca-file {}/certs/ca.crt

Its ledger and calls:  curl --cacert {}/certs/ca.crt https://localhost:{}/ledger

)",
                      options.region, port, port, dir, dir, dir, port)
            << std::flush;
}

}  // namespace

int SimulateCloud(const SimulateCloudOptions& options) {
  SetUpProcess(options.log_format, options.log_level);
  CloudFront front(options);
  SimulationFrame frame({options.bind_address, options.tls_names, options.state_dir});
  if (const auto prepared = Prepare(options, frame, front); !prepared)
    return CannotStart(prepared.error());
  frame.Run([&] { Announce(options, frame.port(0)); });
  return 0;
}

}  // namespace berth::server
