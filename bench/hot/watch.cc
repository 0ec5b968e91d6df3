// A watch: an object changes, its line is rendered once, and handed to the connections of 100
// watchers, half of them of the object and half of a table.
#include <drogon/drogon.h>
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <trantor/net/EventLoop.h>
#include <trantor/net/TcpConnection.h>

#include <memory>
#include <string>
#include <vector>

#include "bench/hot/count.h"
#include "handlers/apis/live_collection.h"
#include "handlers/apis/watch.h"

namespace {

using namespace berth;

constexpr int kWatchers = 100;
constexpr int kEvents = 200;

// Takes what it is given and counts it.
class Connection : public trantor::TcpConnection {
 public:
  explicit Connection(trantor::EventLoop& loop) : loop_(loop) {}
  int sends() const { return sends_; }

  void send(const char*, size_t) override { ++sends_; }
  void send(const void*, size_t) override { ++sends_; }
  void send(const std::string&) override { ++sends_; }
  void send(std::string&&) override { ++sends_; }
  void send(const trantor::MsgBuffer&) override { ++sends_; }
  void send(trantor::MsgBuffer&&) override { ++sends_; }
  void send(const std::shared_ptr<std::string>&) override { ++sends_; }
  void send(const std::shared_ptr<trantor::MsgBuffer>&) override { ++sends_; }
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
  bool connected() const override { return true; }
  bool disconnected() const override { return false; }
  void setHighWaterMarkCallback(const trantor::HighWaterMarkCallback&, size_t) override {}
  void setTcpNoDelay(bool) override {}
  void shutdown() override {}
  void forceClose() override {}
  trantor::EventLoop* getLoop() override { return &loop_; }
  std::string applicationProtocol() const override { return {}; }
  void keepAlive() override {}
  bool isKeepAlive() override { return true; }
  size_t bytesSent() const override { return 0; }
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
  trantor::EventLoop& loop_;
  trantor::InetAddress address_;
  int sends_ = 0;
};

apis::ResourceType Ticks() {
  apis::ResourceType type;
  type.plural = "ticks";
  type.singular = "tick";
  type.kind = "Tick";
  type.columns = {{"Adds", "integer", "How many."}, {"Message", "string", "What."}};
  return type;
}

void Publish(apis::LiveCollection& ticks, int number) {
  apis::LiveCollection::Draft draft;
  draft.name = "tick";
  draft.labels = {{"app", "bench"}, {"adds", std::to_string(number)}};
  draft.cells = {apis::Cell::Number(static_cast<std::uint64_t>(number)),
                 apis::Cell::Text("a line of a watch")};
  ticks.Put(std::move(draft));
}

// Everything that is queued.
void Turn(trantor::EventLoop& loop) {
  loop.queueInLoop([&] { loop.quit(); });
  loop.loop();
}

}  // namespace

int main() {
  trantor::EventLoop& loop = *drogon::app().getLoop();  // a thread has one
  prometheus::Gauge watchers;
  prometheus::Counter cut_off;
  apis::LiveCollection ticks(Ticks(), 1, {});
  Publish(ticks, 0);
  apis::WatchHub hub(ticks, {watchers, cut_off});
  std::vector<std::shared_ptr<Connection>> connections;
  for (int i = 0; i < kWatchers; ++i) {
    connections.push_back(std::make_shared<Connection>(loop));
    apis::WatchRequest request{.timeout = std::chrono::hours(1)};
    const bool table = i % 2 == 1;
    if (table) request.selection.form.kind = apis::Form::Kind::kTable;
    request.selection.key = table ? "table" : "object";
    hub.Start(connections.back(), std::move(request));
  }
  Turn(loop);

  int published = 0;
  hot::Count("watch_event_100_watchers", kEvents, [&] {
    for (int i = 0; i < kEvents; ++i) {
      Publish(ticks, ++published);
      Turn(loop);
    }
  });
  for (const auto& connection : connections)
    hot::Require(connection->sends() == published, "a watcher has missed an event");
  hub.Close();
  Turn(loop);
  std::_Exit(0);
}
