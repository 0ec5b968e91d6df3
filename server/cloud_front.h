#pragma once

#include <memory>
#include <string>

#include "handlers/http.h"
#include "server/cloud_thread.h"
#include "server/options.h"
#include "server/simulated_cloud.h"

namespace berth::server {

// The simulated cloud as its clients meet it. Its API is at "/", as the real one's. Beside it, with
// no key asked for, are the paths of cloud::simulator::OutOfBand, and
//
//   PUT    /refusal/CODE  every call of the API is refused with this code
//   DELETE /refusal
//
// A thread of its own has the cloud. Thread-safe.
class CloudFront {
 public:
  explicit CloudFront(const SimulateCloudOptions& options);
  ~CloudFront();
  CloudFront(const CloudFront&) = delete;
  CloudFront& operator=(const CloudFront&) = delete;

  void AddKey(std::string id, std::string secret);
  void Serve(const drogon::HttpRequestPtr& request, http::Callback callback);

 private:
  void Answer(http::Request request, const std::string& path, http::Callback callback);

  CloudThread thread_;
  std::unique_ptr<SimulatedCloud> cloud_;  // of the thread
};

}  // namespace berth::server
