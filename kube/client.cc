#include "kube/client.h"

#include <utility>

#include "kube/session.h"
#include "kube/status.h"
#include "log/escape.h"
#include "log/format.h"

namespace berth::kube {
namespace {

constexpr std::size_t kMaxPathInMessage = 200;

Result<Response> Judge(Result<http::Response> answer, bool write) {
  if (!answer) return std::unexpected(std::move(answer.error()));
  if (answer->code >= 200 && answer->code < 300) {
    return Response{answer->code, std::move(answer->body)};
  }
  return std::unexpected(ErrorFromStatus(answer->code, answer->body, answer->retry_after, write));
}

}  // namespace

Client::Client(Config config, ClientOptions options)
    : own_(options.http ? nullptr : std::make_unique<http::Client>()),
      http_(options.http ? *options.http : *own_),
      session_(std::make_shared<Session>(config, options, [this] { http_.Wake(); })) {}

Client::~Client() { Shutdown(); }

CallId Client::Send(Request request, Done done) {
  return Begin(std::move(request), std::move(done), nullptr);
}

CallId Client::Stream(Request request, StreamCallbacks callbacks) {
  auto done = [on_end = std::move(callbacks.on_end)](Result<Response> result) {
    on_end(result.transform([](const Response&) {}));
  };
  return Begin(std::move(request), std::move(done), std::move(callbacks.on_lines));
}

CallId Client::Begin(Request request, Done done, OnLines on_lines) {
  if (!request.path.starts_with('/')) {  // it would run on from the server's name
    const auto path = log::Prefix(request.path, kMaxPathInMessage);
    const auto what = Format("{} {}", Name(request.method), path);
    done(Terminal(what + ": the path must begin with \"/\""));
    return CallId::kNone;
  }
  const bool ahead = request.ahead, write = request.method != Method::kGet;
  auto judge = [done = std::move(done), write](Result<http::Response> answer) {
    done(Judge(std::move(answer), write));
  };
  return http_.Send(session_, session_->Address(std::move(request)), std::move(judge),
                    {.on_lines = std::move(on_lines), .ahead = ahead});
}

void Client::Acknowledge(CallId stream, std::size_t bytes) { http_.Acknowledge(stream, bytes); }
void Client::Cancel(CallId call) { http_.Cancel(call); }
void Client::Shutdown() { http_.Close(*session_); }

}  // namespace berth::kube
