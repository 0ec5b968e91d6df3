#include "cloud/simulator/received.h"

#include <algorithm>

#include "cloud/names.h"

namespace berth::cloud::simulator {
namespace {

constexpr std::string_view kForm = "application/x-www-form-urlencoded";
const std::string kNone;

const std::string& Find(const std::map<std::string, std::string>& in, const std::string& name) {
  const auto found = in.find(name);
  return found == in.end() ? kNone : found->second;
}

std::string_view Trim(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

}  // namespace

ReceivedRequest::ReceivedRequest(const http::Request& request)
    : method(request.method), body(request.body) {
  std::string_view rest = request.url;
  if (const auto scheme = rest.find("://"); scheme != std::string_view::npos) {
    rest.remove_prefix(scheme + 3);
  }
  const auto authority = std::min(rest.find_first_of("/?"), rest.size());
  host = rest.substr(0, authority);
  rest.remove_prefix(authority);
  rest = rest.substr(0, rest.find('#'));
  const auto question = std::min(rest.find('?'), rest.size());
  path = question == 0 ? "/" : rest.substr(0, question);
  if (question < rest.size()) query = ParseQuery(rest.substr(question + 1));

  for (const auto& [name, value] : request.headers) headers[Lower(name)] = Trim(value);
  if (headers.contains("host")) host = headers["host"];
  headers["host"] = host;
  if (Header("content-type").starts_with(kForm)) form = ParseQuery(body);
}

const std::string& ReceivedRequest::Header(const std::string& name) const {
  return Find(headers, name);
}

const std::string& ReceivedRequest::Parameter(const std::string& name) const {
  const std::string& value = Find(query, name);
  return value.empty() ? Find(form, name) : value;
}

}  // namespace berth::cloud::simulator
