#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "handlers/http.h"

namespace berth::health {

// The kubelet's probes. /livez and /healthz say that the process answers; /readyz that it should
// get traffic: every condition holds and it is not shutting down. ?verbose lists them as an API
// server does. Thread-safe once serving.
class Health {
 public:
  // One condition of readiness; `why` is shown while it does not hold.
  class Condition {
   public:
    Condition(std::string name, std::string why) : name_(std::move(name)), why_(std::move(why)) {}
    void Set(bool holds) { holds_ = holds; }
    bool holds() const { return holds_; }
    const std::string& name() const { return name_; }
    const std::string& why() const { return why_; }

   private:
    std::string name_;
    std::string why_;
    std::atomic<bool> holds_ = false;
  };

  // Before serving only.
  Condition& Require(std::string name, std::string why);

  bool ready() const;
  void Serve(const drogon::HttpRequestPtr& request, http::Callback callback) const;

 private:
  std::vector<std::unique_ptr<Condition>> conditions_;
};

}  // namespace berth::health
