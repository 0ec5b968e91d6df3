#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "http/client.h"
#include "http/eventually_test.h"
#include "http/test_server.h"

// For tests only: short ways to ask a Client.
namespace berth::http {

using namespace std::chrono_literals;
using test::Eventually;

inline PeerPtr AnyPeer() { return std::make_shared<Peer>(); }

inline Request Get(const test::Server& server, const std::string& path,
                   std::chrono::milliseconds timeout = 10s) {
  return {.method = "GET", .url = server.url() + path, .timeout = timeout};
}

inline Request Post(const test::Server& server, std::string body,
                    std::chrono::milliseconds timeout = 10s) {
  return {.url = server.url() + "/things", .body = std::move(body), .timeout = timeout};
}

inline std::future<Result<Response>> Begin(Client& client, Request request,
                                           PeerPtr peer = AnyPeer()) {
  auto promise = std::make_shared<std::promise<Result<Response>>>();
  auto future = promise->get_future();
  client.Send(std::move(peer), std::move(request),
              [promise](Result<Response> result) { promise->set_value(std::move(result)); });
  return future;
}

inline Result<Response> Ask(Client& client, Request request, PeerPtr peer = AnyPeer()) {
  return Begin(client, std::move(request), std::move(peer)).get();
}

inline Error Failed(Result<Response> result) {
  EXPECT_FALSE(result);
  return result ? Error{} : result.error();
}

}  // namespace berth::http
