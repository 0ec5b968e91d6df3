#pragma once

#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "handlers/admission/review.h"
#include "handlers/http.h"

namespace berth::admission {

enum class Phase { kMutate, kValidate };

// The registered webhooks. A webhook's path is /mutate/<group>/<resource> or
// /validate/<group>/<resource>. Registration is done before serving; after that every method is
// thread-safe.
class Webhooks {
 public:
  using Reply = std::move_only_function<void(Response)>;
  // Calls `reply` exactly once, on the thread it was called on; may do so after it has returned.
  using Handler = std::function<void(const Request&, Reply)>;

  explicit Webhooks(prometheus::Registry& registry);
  ~Webhooks();

  void On(Phase phase, const std::string& group, const std::string& resource,
          std::initializer_list<Operation> operations, Handler handler);

  // Handles one HTTP request. Operations that have no handler are allowed: the webhook
  // configuration decides what is sent.
  void Serve(const drogon::HttpRequestPtr& request, http::Callback callback) const;

 private:
  struct Webhook;

  void Review(const Webhook& webhook, const drogon::HttpRequestPtr& request,
              http::Callback callback) const;

  prometheus::Family<prometheus::Counter>& reviews_;
  prometheus::Family<prometheus::Histogram>& latency_;
  std::map<std::string, std::unique_ptr<Webhook>, std::less<>> by_path_;
};

}  // namespace berth::admission
