#include "server/http_server.h"

#include <drogon/HttpAppFramework.h>
#include <trantor/utils/Logger.h>

#include <algorithm>
#include <limits>
#include <thread>

#include "log/log.h"
#include "server/plain_answer.h"

namespace berth::server {
namespace {

constexpr std::size_t kMaxBody =
    8 * 1024 * 1024;  // above the framing's bound, so that the framing is what refuses
constexpr int kRetrySoon = 1;
constexpr std::chrono::seconds kOpenWithin{10};
constexpr std::chrono::milliseconds kPoll{20};

// Drogon's own lines, as ours.
void TakeOverDrogonLog() {
  trantor::Logger::setLogLevel(trantor::Logger::kWarn);
  trantor::Logger::setOutputFunction(
      [](const char* text, std::uint64_t size) {
        std::string_view line(text, size);
        while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
        const bool ends_the_process = line.contains("Bind address failed");
        log::Write(ends_the_process ? log::Level::kError : log::Level::kDebug, "drogon",
                   {{"line", line}});
      },
      [] {});
}

// Drogon keeps a connection's requests for the next ones, with the memory of their bodies.
void FreeBody(drogon::HttpRequest& request) {
  std::string none;
  none.reserve(64);  // on the heap, so that the two change their memory
  request.setBody(std::move(none));
}

// A request on its way: counted for as long as anybody holds its callback. The answer may be given
// up, the count must not.
class InFlight {
 public:
  InFlight(std::atomic<std::size_t>& count, ConnectionGuard& guard)
      : count_(count), guard_(guard), connection_(ConnectionGuard::passing()) {
    ++count_;
  }
  ~InFlight() { --count_; }
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;

  // Whether there is room for an answer of `bytes`, which is sent then.
  bool Fits(std::size_t bytes) const { return !connection_ || guard_.OnAnswer(connection_, bytes); }

 private:
  std::atomic<std::size_t>& count_;
  ConnectionGuard& guard_;
  const ConnectionGuard::StatePtr connection_;
};

// A request that Drogon has read.
class DrogonRequest : public InFlight {
 public:
  DrogonRequest(std::atomic<std::size_t>& count, ConnectionGuard& guard,
                const drogon::HttpRequestPtr& request, http::Callback callback)
      : InFlight(count, guard), callback_(std::move(callback)) {
    if (request->body().size() > MemoryBudget::kSmall) large_ = request;
  }
  ~DrogonRequest() {
    if (large_) FreeBody(*large_);
  }

  void Answer(const drogon::HttpResponsePtr& response) const {
    callback_(Fits(response->body().size()) ? response
                                            : http::Respond(kube::TooManyRequests(kRetrySoon)));
  }

 private:
  const http::Callback callback_;
  drogon::HttpRequestPtr large_;
};

}  // namespace

HttpServer::HttpServer(Settings settings)
    : settings_(std::move(settings)),
      shed_(prometheus::BuildCounter()
                .Name("berth_http_requests_shed_total")
                .Help("Requests answered 429 because too many were being served.")
                .Register(settings_.registry)
                .Add({})),
      guard_(
          settings_.guard,
          prometheus::BuildCounter()
              .Name("berth_http_requests_refused_total")
              .Help("Requests refused before they were handled, by HTTP code: framing, size, time.")
              .Register(settings_.registry),
          prometheus::BuildCounter()
              .Name("berth_http_connections_refused_total")
              .Help("Connections closed at once because there were too many.")
              .Register(settings_.registry)
              .Add({})) {}

kube::Result<void> HttpServer::Prepare() {
  for (Listener& listener : listeners_) {
    auto held = HeldPort::Hold(settings_.bind_address, listener.port, listener.port_flag);
    if (!held) return std::unexpected(held.error());
    // Both would open, and take each other's connections.
    const auto is_same = [&](const Listener& other) {
      return &other != &listener && other.port == held->port();
    };
    if (std::ranges::any_of(listeners_, is_same)) {
      return kube::Terminal("two listeners on " + settings_.bind_address + ":" +
                            std::to_string(held->port()));
    }
    listener.port = held->port();
    held_ports_.push_back(std::move(*held));
  }
  // OpenSSL skips a cipher suite that it does not know if it knows another one: each is asked for
  // alone.
  for (const std::string& suite : settings_.tls.cipher_suites) {
    if (auto known = CheckCommands(Commands({.cipher_suites = {suite}, .client_ca = {}})); !known)
      return known;
  }
  for (const Listener& listener : listeners_) {
    if (auto checked = CheckCommands(CommandsOf(listener)); !checked) return checked;
  }
  return {};
}

TlsCommands HttpServer::CommandsOf(const Listener& listener) const {
  using enum Listener::Tls;
  if (listener.tls == kNone) return {};
  TlsSettings tls = settings_.tls;
  if (listener.tls == kServer) tls.client_ca.clear();
  if (listener.tls == kNeedsClientCertificates) {
    tls.client_ca = listener.client_ca;
    tls.needs_client = true;
  }
  return Commands(tls);
}

void HttpServer::Configure() {
  TakeOverDrogonLog();
  auto& app = drogon::app();
  for (const Listener& listener : listeners_) {
    const bool tls = listener.tls != Listener::Tls::kNone;
    app.addListener(settings_.bind_address, listener.port, tls, settings_.tls_pair,
                    settings_.tls_pair, false, CommandsOf(listener));
    if (!listener.sheds) guard_.Spare(listener.port);
    if (listener.direct) {
      guard_.PassDirectly(listener.port, [this, &listener](const auto& posted, const auto& from) {
        return DispatchDirectly(listener, posted, from);
      });
    }
  }
  app.setThreadNum(settings_.io_threads)
      .setMaxConnectionNum(std::numeric_limits<std::size_t>::max())  // the guard counts them
      .setIdleConnectionTimeout(static_cast<std::size_t>(settings_.idle_timeout.count()))
      .setClientMaxBodySize(kMaxBody)
      .setClientMaxMemoryBodySize(kMaxBody)
      .setDocumentRoot(settings_.scratch)
      .setUploadPath(settings_.scratch)
      .enableServerHeader(false)
      .enableGzip(false)
      .enableBrotli(false)
      .setPipeliningRequestsNumber(64)
      .disableSigtermHandling();
  app.setAfterAcceptSockOptCallback([this](int fd) { guard_.OnAccept(fd); });
  app.setConnectionCallback([this](const trantor::TcpConnectionPtr& connection) {
    guard_.OnConnection(connection);
    if (!connection->connected() && disconnected_) disconnected_(connection.get());
  });
  app.registerPreRoutingAdvice(
      [this](const drogon::HttpRequestPtr& request, drogon::AdviceCallback&& answer,
             drogon::AdviceChainCallback&&) { Dispatch(request, std::move(answer)); });
  app.registerPreSendingAdvice(
      [this](const drogon::HttpRequestPtr& request, const drogon::HttpResponsePtr& response) {
        // A client certificate that is refused stays refused: its owner has to connect anew.
        const bool refused =
            response->statusCode() == drogon::k401Unauthorized && request->peerCertificate();
        if (draining_ || refused) response->setCloseConnection(true);
      });
}

kube::Result<void> HttpServer::WaitUntilOpen() const {
  const auto deadline = std::chrono::steady_clock::now() + kOpenWithin;
  for (const Listener& listener : listeners_) {
    while (!CanConnect(settings_.bind_address, listener.port)) {
      if (std::chrono::steady_clock::now() > deadline)
        return kube::Terminal("the listener " + listener.name + " does not open");
      std::this_thread::sleep_for(kPoll);
    }
  }
  return {};
}

void HttpServer::Dispatch(const drogon::HttpRequestPtr& request, http::Callback callback) {
  const auto pending =
      std::make_shared<DrogonRequest>(in_flight_, guard_, request, std::move(callback));
  const std::uint16_t port = request->localAddr().toPort();
  const auto listener = std::ranges::find(listeners_, port, &Listener::port);
  if (listener == listeners_.end()) return pending->Answer(http::Respond(http::NoSuchPath()));
  if (listener->sheds && in_flight_ > settings_.max_in_flight) {
    shed_.Increment();
    return pending->Answer(http::Respond(kube::TooManyRequests(kRetrySoon)));
  }
  // The boundary where a library's exceptions end: nothing of ours throws.
  try {
    listener->handler(
        request, [pending](const drogon::HttpResponsePtr& response) { pending->Answer(response); });
  } catch (const std::exception& error) {
    log::Error("a handler failed",
               {{"listener", listener->name}, {"path", request->path()}, {"error", error.what()}});
    pending->Answer(http::Respond(kube::InternalError("the request could not be handled")));
  }
}

// A request that is turned away for its number is Drogon's to answer.
bool HttpServer::DispatchDirectly(const Listener& listener, const PostedJson& posted,
                                  const trantor::TcpConnectionPtr& connection) {
  if (in_flight_ >= settings_.max_in_flight) return false;
  auto pending = std::make_unique<const InFlight>(in_flight_, guard_);
  try {
    listener.direct(posted, [this, connection, pending = std::move(pending)](
                                std::expected<std::string, kube::Status> answer) {
      const bool close = draining_;
      std::string text = answer ? PlainAnswer(*answer, close) : PlainAnswer(answer.error(), close);
      if (!pending->Fits(text.size())) text = PlainAnswer(kube::TooManyRequests(kRetrySoon), close);
      connection->send(std::move(text));
      if (close) connection->shutdown();
    });
  } catch (const std::exception& error) {
    // As in Dispatch; the answer went with the exception.
    log::Error("a handler failed",
               {{"listener", listener.name}, {"path", posted.path}, {"error", error.what()}});
    connection->getLoop()->queueInLoop([connection] { connection->forceClose(); });
  }
  return true;
}

void HttpServer::Run(const std::function<void()>& started) {
  Configure();
  drogon::app().registerBeginningAdvice(started);
  drogon::app().run();
}

void HttpServer::ReloadTls() { drogon::app().reloadSSLFiles(); }

void HttpServer::Quit() { drogon::app().quit(); }

}  // namespace berth::server
