#include "server/cloud_front.h"

#include <trantor/net/EventLoop.h>

#include <utility>

#include "cloud/simulator/aliyun/out_of_band.h"
#include "log/format.h"

namespace berth::server {
namespace {

// How long a call whose answer is lost is kept open; clients give up sooner.
constexpr std::chrono::seconds kLongest{60};

http::Request Read(const drogon::HttpRequestPtr& request) {
  http::Request read{
      .method = request->methodString(),
      .url = Format("https://{}{}", request->getHeader("host"), http::RawPath(request)),
      .body = std::string(request->body()),
      .timeout = kLongest};
  if (!request->query().empty()) read.url += "?" + request->query();
  for (const auto& [name, value] : request->headers()) read.headers.push_back({name, value});
  return read;
}

// Drogon wants answers on the connection's thread.
http::Callback Home(http::Callback callback) {
  auto* loop = trantor::EventLoop::getEventLoopOfCurrentThread();
  return [loop, callback = std::move(callback)](const drogon::HttpResponsePtr& response) {
    loop->queueInLoop([callback, response] { callback(response); });
  };
}

}  // namespace

CloudFront::CloudFront(const SimulateCloudOptions& options) {
  loop_.Run([&] { cloud_ = std::make_unique<SimulatedCloud>(loop_, options); });
}

CloudFront::~CloudFront() {
  loop_.Run([this] {
    calls_.clear();
    cloud_.reset();
  });
}

void CloudFront::AddKey(std::string id, std::string secret) {
  loop_.Run([&] {
    cloud_->cloud().keys().Add({.id = std::move(id),
                                .secret = std::move(secret),
                                .caller = std::string(cloud::simulator::kKeyOwner)});
  });
}

void CloudFront::Serve(const drogon::HttpRequestPtr& request, http::Callback callback) {
  loop_.Post([this, read = Read(request), path = std::string(http::RawPath(request)),
              home = Home(std::move(callback))]() mutable {
    if (path == "/") return Call(std::move(read), std::move(home));
    if (path.starts_with("/refusal")) {
      const auto code = path.find('/', 1);
      const bool refuse = read.method == "PUT" && code != path.npos;
      cloud_->RefuseAll(refuse ? path.substr(code + 1) : "");
      return home(http::Respond(200, "{}"));
    }
    cloud_->cloud().Settle(loop_.WallNow());
    const http::Response answer = cloud::simulator::OutOfBand(cloud_->cloud(), read, path);
    home(http::Respond(answer.code, answer.body));
  });
}

void CloudFront::Call(http::Request request, http::Callback callback) {
  const std::uint64_t id = ++last_call_;
  calls_[id] = cloud_->Send(std::move(request), [this, id, callback = std::move(callback)](
                                                    const Result<http::Response>& answer) {
    const auto ended = calls_.extract(id);
    callback(answer ? http::Respond(answer->code, answer->body) : http::Respond(504, "{}"));
  });
}

}  // namespace berth::server
