#include "http/peer.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <utility>

#include "http/transport.h"

namespace berth::http {
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

Peer::Peer(Options options) : options_(std::move(options)) {
  if (options_.connect_to.empty()) return;
  connect_to_.reset(curl_slist_append(nullptr, ("::" + options_.connect_to).c_str()));
}

void Peer::Apply(CURL* easy) const {
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(easy, CURLOPT_PROXY, "");  // and none from the environment
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS);
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, kConnectTimeoutMs);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, kKeepAliveIdleSeconds);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, kKeepAliveIntervalSeconds);
  curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, SetUpSocket);
  curl_easy_setopt(easy, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2);
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 1L);
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 2L);
  if (connect_to_) curl_easy_setopt(easy, CURLOPT_CONNECT_TO, connect_to_.get());
  if (!options_.ca_pem.empty()) {
    SetBlob(easy, CURLOPT_CAINFO_BLOB, options_.ca_pem);
    // The blob takes the place of the system's bundle but not of its folder of authorities.
    curl_easy_setopt(easy, CURLOPT_CAPATH, nullptr);
  }
}

Admission Peer::Admit(const Call&, async::TimePoint) { return options_.credential; }
bool Peer::Refused(const CredentialPtr&) { return false; }
void Peer::Answered(const Call&) {}

}  // namespace berth::http
