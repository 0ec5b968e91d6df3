#include "server/cloud_front.h"

#include <utility>

#include "cloud/simulator/aliyun/out_of_band.h"

namespace berth::server {

CloudFront::CloudFront(const SimulateCloudOptions& options) {
  thread_.loop().Run([&] { cloud_ = std::make_unique<SimulatedCloud>(thread_.loop(), options); });
}

CloudFront::~CloudFront() {
  thread_.loop().Run([this] {
    thread_.Clear();
    cloud_.reset();
  });
}

void CloudFront::AddKey(std::string id, std::string secret) {
  thread_.loop().Run([&] {
    cloud_->cloud().keys().Add({.id = std::move(id),
                                .secret = std::move(secret),
                                .caller = std::string(cloud::simulator::kKeyOwner)});
  });
}

void CloudFront::Serve(const drogon::HttpRequestPtr& request, http::Callback callback) {
  thread_.Serve(request, std::move(callback),
                [this](http::Request read, const std::string& path, http::Callback home) {
                  Answer(std::move(read), path, std::move(home));
                });
}

void CloudFront::Answer(http::Request request, const std::string& path, http::Callback callback) {
  if (path == "/") {
    thread_.Call(*cloud_, std::move(request), std::move(callback));
    return;
  }
  if (path.starts_with("/refusal")) {
    const auto code = path.find('/', 1);
    const bool refuse = request.method == "PUT" && code != path.npos;
    cloud_->RefuseAll(refuse ? path.substr(code + 1) : "");
    return callback(http::Respond(200, "{}"));
  }
  cloud_->cloud().Settle(thread_.loop().WallNow());
  const http::Response answer = cloud::simulator::OutOfBand(cloud_->cloud(), request, path);
  callback(http::Respond(answer.code, answer.body));
}

}  // namespace berth::server
