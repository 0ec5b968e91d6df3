#include "cloud/simulator/cloud.h"

#include <array>
#include <utility>

#include "cloud/simulator/wire.h"

namespace berth::cloud::simulator {

Cloud::Cloud(Options options)
    : ids_(options.seed),
      throttle_(std::move(options.calls_per_minute)),
      client_tokens_(options.client_tokens),
      vpc_(std::move(options.vpc), ids_),
      sts_(gate_, ids_) {}

http::Response Cloud::Answer(const http::Request& request, async::WallTime now) {
  const Received received(request);
  Outcome outcome = Carry(received, now);
  const std::string request_id = ids_.Request();
  if (!outcome) return ErrorResponse(outcome.error(), received.host, request_id);
  return SuccessResponse(std::move(*outcome), request_id);
}

http::Response Cloud::Decline(const http::Request& request, const Refusal& refusal) {
  return ErrorResponse(refusal, Received(request).host, ids_.Request());
}

Outcome Cloud::Carry(const Received& request, async::WallTime now) {
  if (request.method != "GET" && request.method != "POST") {
    return Refuse(403, "UnsupportedHTTPMethod", "This http method is not supported.");
  }
  Product* product = Find(request.version);
  const bool has = product && request.path == "/" && product->Has(request.action);
  Call call{request.action, {}, request.ActionParameters(), now};
  if (!has || !product->IsOpen(request.action)) {
    auto caller = gate_.Admit(request, now);
    if (!caller) return std::unexpected(caller.error());
    call.caller = std::move(*caller);
  }
  if (!has) {
    return Refuse(404, "InvalidAction.NotFound",
                  "Specified api is not found, please check your url and method.");
  }
  Calls& calls = calls_[call.action];
  if (!throttle_.Take(call.action, now)) {
    ++calls.throttled;
    return std::unexpected(Throttled());
  }
  ++calls.carried_out;
  if (auto earlier = client_tokens_.Recall(call)) return std::move(*earlier);
  Outcome outcome = product->Do(call);
  if (outcome) client_tokens_.Remember(call, *outcome);
  return outcome;
}

Product* Cloud::Find(const std::string& version) {
  for (Product* product : std::array<Product*, 2>{&vpc_, &sts_}) {
    if (product->version() == version) return product;
  }
  return nullptr;
}

}  // namespace berth::cloud::simulator
