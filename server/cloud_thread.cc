#include "server/cloud_thread.h"

#include <trantor/net/EventLoop.h>

#include <utility>

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

drogon::HttpResponsePtr Respond(const Result<http::Response>& answer) {
  if (!answer) return http::Respond(504, "{}");
  auto response = http::Respond(answer->code, answer->body);
  for (const auto& [name, value] : answer->headers) {
    if (name != "content-type") response->addHeader(name, value);
  }
  return response;
}

}  // namespace

void CloudThread::Serve(const drogon::HttpRequestPtr& request, http::Callback callback,
                        Reader serve) {
  loop_.Post([read = Read(request), path = std::string(http::RawPath(request)),
              home = Home(std::move(callback)), serve = std::move(serve)]() mutable {
    serve(std::move(read), std::move(path), std::move(home));
  });
}

std::uint64_t CloudThread::Call(http::Transport& cloud, http::Request request,
                                http::Callback callback) {
  const std::uint64_t id = ++last_call_;
  calls_[id] =
      cloud.Send(std::move(request),
                 [this, id, callback = std::move(callback)](const Result<http::Response>& answer) {
                   const auto ended = calls_.extract(id);
                   callback(Respond(answer));
                 });
  return id;
}

}  // namespace berth::server
