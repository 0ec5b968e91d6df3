#pragma once

#include <map>
#include <string>
#include <string_view>

#include "cloud/query.h"
#include "http/transport.h"

namespace berth::cloud::simulator {

// A request taken apart.
struct ReceivedRequest {
  explicit ReceivedRequest(const http::Request& request);

  // Empty when there is none. Names are in lower case.
  const std::string& Header(const std::string& name) const;
  // A parameter of the query, or of a form.
  const std::string& Parameter(const std::string& name) const;

  std::string method;
  std::string path;
  std::string host;  // with the port, if one was named
  std::map<std::string, std::string> headers;
  Parameters query;
  Parameters form;
  std::string body;
};

}  // namespace berth::cloud::simulator
