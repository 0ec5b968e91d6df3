#include "kube/session.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "http/call.h"
#include "log/format.h"

namespace berth::kube {

Endpoint::Endpoint(const Config& config) : url(config.server) {
  const std::size_t begin = url.find("//") + 2;
  const std::size_t end = std::min(url.find('/', begin), url.size());
  authority = url.substr(begin, end - begin);
  if (config.tls_server_name.empty()) return;
  const std::size_t colon = authority.find(':', authority.find(']') + 1);
  const std::string port = colon == std::string::npos ? "443" : authority.substr(colon + 1);
  connect_to = Format("{}:{}", authority.substr(0, colon), port);
  url = Format("https://{}:{}{}", config.tls_server_name, port, config.server.substr(end));
}

Session::Session(const Config& config, const ClientOptions& options, std::function<void()> wake)
    : http::Peer({.ca_pem = config.ca_pem, .connect_to = Endpoint(config).connect_to}),
      endpoint_(config),
      metrics_(options.metrics, endpoint_.authority),
      limit_(async::TokenBucket::PerSecond(options.qps), options.burst),
      credentials_(config, std::move(wake)) {}

http::Request Session::Address(Request request) const {
  http::Request addressed{
      .method = Name(request.method),
      .url = endpoint_.url + request.path,
      .headers = {{"Accept", std::move(request.accept)}, {"Host", endpoint_.authority}},
      .body = std::move(request.body),
      .timeout = request.timeout};
  if (!addressed.body.empty()) {
    addressed.headers.emplace_back("Content-Type", std::move(request.content_type));
  }
  return addressed;
}

http::Admission Session::Admit(const http::Call& call, async::TimePoint now) {
  auto credential = credentials_.Get();
  if (!credential) {
    held_up_until_ = now;
    return async::TimePoint::max();
  }
  if (!*credential) return std::move(credential->error());
  if (!call.options.ahead) {
    if (!limit_.Take(now)) return limit_.Next();
    metrics_.Waited(call.request.method, now - std::max(call.created, held_up_until_));
  }
  return std::move(**credential);
}

bool Session::Refused(const CredentialPtr& credential) { return credentials_.Refused(credential); }

// A stream's time is not taken: it may last an hour.
void Session::Answered(const http::Call& call) {
  metrics_.Answered(call.request.method, call.HttpCode());
  if (call.IsStream()) return;
  metrics_.Took(call.request.method, std::chrono::steady_clock::now() - call.started);
}

}  // namespace berth::kube
