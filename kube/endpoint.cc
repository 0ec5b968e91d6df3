#include "kube/endpoint.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <format>

#include "kube/transport.h"

namespace berth::kube {
namespace {

constexpr long kConnectTimeoutMs = 5'000;
// A watch may be silent for long and sends nothing itself: only probes tell whether the other side
// is still there. With kDelivery a dead one is noticed after 25 s or so.
constexpr long kKeepAliveIdleSeconds = 20;
constexpr long kKeepAliveIntervalSeconds = 5;

int SetUpSocket(void*, curl_socket_t socket, curlsocktype) {
  // How long a peer may leave sent bytes unacknowledged. Without it an HTTP/2 connection to a
  // machine that vanished would fail every call until TCP gives up after some 15 minutes; and a
  // leader's fence counts on it.
  unsigned unacked = kDelivery.count();
  setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacked, sizeof(unacked));
  return CURL_SOCKOPT_OK;
}

}  // namespace

Endpoint::Endpoint(const Config& config) : url_(config.server), ca_pem_(config.ca_pem) {
  const std::size_t begin = config.server.find("//") + 2;
  const std::size_t end = std::min(config.server.find('/', begin), config.server.size());
  authority_ = config.server.substr(begin, end - begin);
  if (config.tls_server_name.empty()) return;
  const std::size_t colon = authority_.find(':', authority_.find(']') + 1);
  const std::string host = authority_.substr(0, colon);
  const std::string port = colon == std::string::npos ? "443" : authority_.substr(colon + 1);
  url_ = std::format("https://{}:{}{}", config.tls_server_name, port, config.server.substr(end));
  connect_to_.reset(curl_slist_append(nullptr, std::format("::{}:{}", host, port).c_str()));
}

void Endpoint::Apply(CURL* easy, bool share) const {
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(easy, CURLOPT_PROXY, "");  // and none from the environment
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS);
  curl_easy_setopt(easy, CURLOPT_PIPEWAIT, share ? 1L : 0L);
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, kConnectTimeoutMs);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, kKeepAliveIdleSeconds);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, kKeepAliveIntervalSeconds);
  curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, SetUpSocket);
  curl_easy_setopt(easy, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2);
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
  if (connect_to_) curl_easy_setopt(easy, CURLOPT_CONNECT_TO, connect_to_.get());
  if (!ca_pem_.empty()) {
    SetBlob(easy, CURLOPT_CAINFO_BLOB, ca_pem_);
    // The blob takes the place of the system's bundle but not of its folder of authorities.
    curl_easy_setopt(easy, CURLOPT_CAPATH, nullptr);
  }
}

}  // namespace berth::kube
