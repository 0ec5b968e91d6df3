#include "server/held_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace berth::server {

kube::Result<HeldPort> HeldPort::Hold(const std::string& address, std::uint16_t port,
                                      const std::string& flag) {
  sockaddr_in6 v6{};
  sockaddr_in v4{};
  const bool is_v6 = address.contains(':');
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(port);
  v4.sin_family = AF_INET;
  v4.sin_port = htons(port);
  inet_pton(is_v6 ? AF_INET6 : AF_INET, address.c_str(),
            is_v6 ? static_cast<void*>(&v6.sin6_addr) : &v4.sin_addr);
  auto* where = is_v6 ? reinterpret_cast<sockaddr*>(&v6) : reinterpret_cast<sockaddr*>(&v4);
  socklen_t size = is_v6 ? sizeof v6 : sizeof v4;
  HeldPort held(socket(is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), port);
  const int on = 1;
  setsockopt(held.fd_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(held.fd_, where, size) != 0 || getsockname(held.fd_, where, &size) != 0) {
    std::string why =
        "cannot listen on " + address + ":" + std::to_string(port) + ": " + std::strerror(errno);
    if (errno == EADDRINUSE && !flag.empty())
      why += "; end the process that listens there, or choose another port by " + flag;
    return kube::Terminal(std::move(why));
  }
  held.port_ = ntohs(is_v6 ? v6.sin6_port : v4.sin_port);
  return held;
}

HeldPort::~HeldPort() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace berth::server
