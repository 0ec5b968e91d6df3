#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "kube/client.h"
#include "kube/test_server.h"

// For tests only: short ways to ask a Client.
namespace berth::kube {

using namespace std::chrono_literals;

inline Config To(const test::Server& server) {
  Config config;
  config.server = server.url();
  return config;
}

inline std::future<Result<Response>> Begin(Client& client, Request request) {
  auto promise = std::make_shared<std::promise<Result<Response>>>();
  auto future = promise->get_future();
  client.Send(std::move(request),
              [promise](Result<Response> result) { promise->set_value(std::move(result)); });
  return future;
}

inline Result<Response> Ask(Client& client, Request request) {
  return Begin(client, std::move(request)).get();
}

inline Error Failed(Result<Response> result) {
  EXPECT_FALSE(result);
  return result ? Error{} : result.error();
}

inline Request Get(std::string path, std::chrono::milliseconds timeout = 10s) {
  return {.path = std::move(path), .timeout = timeout};
}

inline Request Post(std::string body, std::chrono::milliseconds timeout = 10s) {
  return {.method = Method::kPost, .path = "/things", .body = std::move(body), .timeout = timeout};
}

// Whether the condition comes to hold before the test has to give up.
template <typename Condition>
bool Eventually(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + 20s;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

}  // namespace berth::kube
