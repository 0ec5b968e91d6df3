#pragma once

#include <string>
#include <string_view>

// Answers that are written without Drogon.
namespace berth::server {

struct PlainAnswerParts {
  int code = 200;
  std::string_view body;  // JSON
  bool close = false;     // the connection
  int retry_after = 0;    // seconds; 0: not told
};

// Head and body of an HTTP/1.1 answer. O(body).
std::string PlainAnswer(const PlainAnswerParts& parts);

}  // namespace berth::server
