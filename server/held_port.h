#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "kube/error.h"

namespace berth::server {

// A port that is bound and does not listen: nobody else is given it before a listener opens it.
// Several holds of one port may stand beside each other and beside that listener.
class HeldPort {
 public:
  // Port 0 is any free one. The error says why the port cannot be had, and names the option that
  // sets it, "" for none.
  static kube::Result<HeldPort> Hold(const std::string& address, std::uint16_t port,
                                     const std::string& flag);
  ~HeldPort();
  HeldPort(HeldPort&& other) noexcept : fd_(std::exchange(other.fd_, -1)), port_(other.port_) {}
  HeldPort& operator=(HeldPort&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(port_, other.port_);
    return *this;
  }

  std::uint16_t port() const { return port_; }

 private:
  HeldPort(int fd, std::uint16_t port) : fd_(fd), port_(port) {}

  int fd_;
  std::uint16_t port_;
};

}  // namespace berth::server
