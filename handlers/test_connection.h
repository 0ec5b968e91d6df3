#pragma once

#include <trantor/net/EventLoop.h>
#include <trantor/net/TcpConnection.h>

#include <functional>
#include <memory>
#include <string>

namespace berth::http {

// A connection without a socket: takes what it is given and counts it. On one thread.
class TestConnection : public trantor::TcpConnection {
 public:
  explicit TestConnection(trantor::EventLoop& loop) : loop_(loop) {}
  int sends() const { return sends_; }
  bool closed() const { return closed_; }
  // From now on the peer takes nothing.
  void StopReading() { reads_ = false; }

  void send(const char*, size_t size) override { Take(size); }
  void send(const void*, size_t size) override { Take(size); }
  void send(const std::string& text) override { Take(text.size()); }
  void send(std::string&& text) override { Take(text.size()); }
  void send(const trantor::MsgBuffer& buffer) override { Take(buffer.readableBytes()); }
  void send(trantor::MsgBuffer&& buffer) override { Take(buffer.readableBytes()); }
  void send(const std::shared_ptr<std::string>& text) override { Take(text->size()); }
  void send(const std::shared_ptr<trantor::MsgBuffer>& buffer) override {
    Take(buffer->readableBytes());
  }
  void sendFile(const char*, long long, long long) override {}
  void sendFile(const wchar_t*, long long, long long) override {}
  void sendStream(std::function<std::size_t(char*, std::size_t)> next) override {
    std::string buffer(64 * 1024, '\0');
    while (next(buffer.data(), buffer.size()) > 0) {
    }
    next(nullptr, 0);
  }
  trantor::AsyncStreamPtr sendAsyncStream(bool) override { return {}; }
  const trantor::InetAddress& localAddr() const override { return address_; }
  const trantor::InetAddress& peerAddr() const override { return address_; }
  bool connected() const override { return !closed_; }
  bool disconnected() const override { return closed_; }
  void setHighWaterMarkCallback(const trantor::HighWaterMarkCallback&, size_t) override {}
  void setTcpNoDelay(bool) override {}
  void shutdown() override {}
  void forceClose() override { closed_ = true; }
  trantor::EventLoop* getLoop() override { return &loop_; }
  std::string applicationProtocol() const override { return {}; }
  void keepAlive() override {}
  bool isKeepAlive() override { return true; }
  size_t bytesSent() const override { return sent_; }
  size_t bytesReceived() const override { return 0; }
  bool isSSLConnection() const override { return false; }
  trantor::MsgBuffer* getRecvBuffer() override { return nullptr; }
  trantor::CertificatePtr peerCertificate() const override { return {}; }
  std::string sniName() const override { return {}; }
  void startEncryption(trantor::TLSPolicyPtr, bool,
                       std::function<void(const trantor::TcpConnectionPtr&)>) override {}
  void connectEstablished() override {}
  void connectDestroyed() override {}
  void enableKickingOff(size_t, const std::shared_ptr<trantor::TimingWheel>&) override {}
  void forwardToTLSBuffer(trantor::MsgBuffer*) override {}

 private:
  void Take(size_t size) {
    ++sends_;
    if (reads_) sent_ += size;
  }

  trantor::EventLoop& loop_;
  trantor::InetAddress address_;
  int sends_ = 0;
  size_t sent_ = 0;
  bool reads_ = true;
  bool closed_ = false;
};

}  // namespace berth::http
