#include "server/plain_answer.h"

#include <drogon/utils/Utilities.h>

#include <charconv>
#include <concepts>

namespace berth::server {
namespace {

std::string_view Reason(int code) {
  switch (code) {
    case 200:
      return "OK";
    case 404:
      return "Not Found";
    case 408:
      return "Request Timeout";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 417:
      return "Expectation Failed";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Bad Request";
  }
}

void AppendNumber(std::string& out, std::integral auto number) {
  char digits[20];
  const auto [end, error] = std::to_chars(std::begin(digits), std::end(digits), number);
  out.append(digits, end);
}

std::string Written(int code, std::string_view json, bool close, int retry_after) {
  std::string out;
  out.reserve(192 + json.size());
  out.append("HTTP/1.1 ");
  AppendNumber(out, code);
  out.append(" ").append(Reason(code));
  out.append("\r\nContent-Type: application/json\r\nContent-Length: ");
  AppendNumber(out, json.size());
  // Drogon keeps the text of the second.
  out.append("\r\nDate: ").append(drogon::utils::getHttpFullDate());
  if (close) out.append("\r\nConnection: close");
  if (retry_after > 0) {
    out.append("\r\nRetry-After: ");
    AppendNumber(out, retry_after);
  }
  return out.append("\r\n\r\n").append(json);
}

}  // namespace

std::string PlainAnswer(std::string_view json, bool close) { return Written(200, json, close, 0); }

std::string PlainAnswer(const kube::Status& status, bool close) {
  return Written(status.code, kube::ToJson(status), close, status.details.retry_after_seconds);
}

}  // namespace berth::server
