#pragma once

#include <span>
#include <string>

#include "cloud/simulator/faults.h"
#include "http/transport.h"
#include "json/json.h"

// The console of a simulated cloud, in JSON: the part that all clouds share.
namespace berth::cloud::simulator {

inline http::Response ConsoleAnswer(int code, const Json& body) {
  return {.code = code, .body = body.to_string()};
}
inline http::Response ConsoleError(int code, const std::string& message) {
  Json body;
  body["message"] = message;
  return ConsoleAnswer(code, body);
}

// The member of a fault that gives its kind: true, or the code of the error that comes of it.
struct FaultName {
  const char* member;
  Fault::Kind kind;
};

// PUT: the faults of the next calls, in the place of those before, a list of {action, count, and
// one of code, delay (seconds) and the names}. The answer, of a GET too, lists those still to come.
// A body that is no JSON, or of other types than it should be, throws JsonError.
http::Response ConsoleFaults(Faults& faults, const http::Request& request,
                             std::span<const FaultName> names);

}  // namespace berth::cloud::simulator
