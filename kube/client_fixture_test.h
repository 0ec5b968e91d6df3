#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "http/eventually_test.h"
#include "http/test_server.h"
#include "kube/client.h"

// For tests only: short ways to ask a Client.
namespace berth::kube {

using namespace std::chrono_literals;
using test::Eventually;

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

}  // namespace berth::kube
