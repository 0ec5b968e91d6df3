#pragma once

#include <string>

#include "cloud/simulator/aliyun/cloud.h"
#include "http/transport.h"
#include "json/json.h"

// The parts of OutOfBand.
namespace berth::cloud::simulator {

inline http::Response ConsoleAnswer(int code, const Json& body) {
  return {.code = code, .body = body.to_string()};
}
inline http::Response ConsoleError(int code, const std::string& message) {
  Json body;
  body["message"] = message;
  return ConsoleAnswer(code, body);
}

// Of ECS and EFLO, and what they need. `id` is the rest of the path; empty for the whole list. A
// body that is no JSON, or of other types than it should be, throws JsonError.
http::Response OnInstances(Cloud& cloud, const http::Request& request, const std::string& id);
http::Response OnEnis(Cloud& cloud, const http::Request& request, const std::string& id);
http::Response OnVSwitches(Cloud& cloud, const http::Request& request);
http::Response OnFaults(Cloud& cloud, const http::Request& request);

}  // namespace berth::cloud::simulator
