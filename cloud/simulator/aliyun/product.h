#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>

#include "async/executor.h"
#include "cloud/aliyun/signature.h"
#include "cloud/simulator/server.h"
#include "json/json.h"
#include "log/format.h"

namespace berth::cloud::simulator {

// A call that was let in.
struct Call {
  std::string action;
  std::string caller;             // whom its key speaks for; empty for an action that needs no key
  std::string account;            // that the key belongs to
  aliyun::Parameters parameters;  // the action's own
  async::WallTime now;

  // Empty when it was not given, which the cloud takes for the same.
  const std::string& operator[](const std::string& name) const {
    static const std::string kNone;
    const auto found = parameters.find(name);
    return found == parameters.end() ? kNone : found->second;
  }
  bool Has(const std::string& name) const { return parameters.contains(name); }
};

// The answer's own fields, without the request ID.
using Outcome = std::expected<Json, Refusal>;
using Check = std::expected<void, Refusal>;

inline std::unexpected<Refusal> Refuse(int http_code, std::string code, std::string message) {
  return std::unexpected(Refusal{http_code, std::move(code), std::move(message)});
}
inline std::unexpected<Refusal> Missing(std::string_view parameter) {
  return Refuse(400, "MissingParameter",
                Format("The input parameter \"{}\" that is mandatory for processing this "
                       "request is not supplied.",
                       parameter));
}
inline std::unexpected<Refusal> Invalid(std::string_view parameter) {
  return Refuse(400, "InvalidParameter",
                Format("Specified value of \"{}\" is not valid.", parameter));
}

// One product of the cloud: the actions of one API version.
class Product {
 public:
  virtual ~Product() = default;

  virtual std::string_view version() const = 0;
  virtual bool Has(std::string_view action) const = 0;
  // Whether the action is for callers without a key.
  virtual bool IsOpen(std::string_view) const { return false; }
  // Carries out an action it has.
  virtual Outcome Do(const Call& call) = 0;
};

}  // namespace berth::cloud::simulator
