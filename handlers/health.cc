#include "handlers/health.h"

#include <algorithm>

namespace berth::health {

Health::Condition& Health::Require(std::string name, std::string why) {
  return *conditions_.emplace_back(std::make_unique<Condition>(std::move(name), std::move(why)));
}

bool Health::ready() const {
  return std::ranges::all_of(conditions_, [](const auto& condition) { return condition->holds(); });
}

void Health::Serve(const drogon::HttpRequestPtr& request, http::Callback callback) const {
  const std::string& path = request->path();
  const bool readiness = path == "/readyz";
  if (!readiness && path != "/livez" && path != "/healthz")
    return callback(http::Respond(http::NoSuchPath()));
  if (request->method() != drogon::Get)
    return callback(http::Respond(kube::MethodNotAllowed("", path, request->methodString())));
  const bool ok = !readiness || ready();
  std::string body = ok ? "ok" : "";
  if (!ok || request->parameters().contains("verbose")) {
    body.clear();
    if (readiness) {
      for (const auto& condition : conditions_) {
        body += condition->holds()
                    ? "[+]" + condition->name() + " ok\n"
                    : "[-]" + condition->name() + " failed: " + condition->why() + "\n";
      }
    } else {
      body += "[+]ping ok\n";
    }
    body += path.substr(1) + " check " + (ok ? "passed\n" : "failed\n");
  }
  callback(http::Respond(ok ? 200 : 503, std::move(body), "text/plain; charset=utf-8"));
}

}  // namespace berth::health
