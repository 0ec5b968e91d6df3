#include "server/plain_answer.h"

#include <drogon/utils/Utilities.h>

#include <charconv>

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

void AppendNumber(std::string& out, std::size_t number) {
  char digits[20];
  const auto [end, error] = std::to_chars(std::begin(digits), std::end(digits), number);
  out.append(digits, end);
}

}  // namespace

std::string PlainAnswer(const PlainAnswerParts& parts) {
  std::string out;
  out.reserve(192 + parts.body.size());
  out.append("HTTP/1.1 ");
  AppendNumber(out, static_cast<std::size_t>(parts.code));
  out.append(" ").append(Reason(parts.code));
  out.append("\r\nContent-Type: application/json\r\nContent-Length: ");
  AppendNumber(out, parts.body.size());
  // Drogon keeps the text of the second.
  out.append("\r\nDate: ").append(drogon::utils::getHttpFullDate());
  if (parts.close) out.append("\r\nConnection: close");
  if (parts.retry_after > 0) {
    out.append("\r\nRetry-After: ");
    AppendNumber(out, static_cast<std::size_t>(parts.retry_after));
  }
  return out.append("\r\n\r\n").append(parts.body);
}

}  // namespace berth::server
