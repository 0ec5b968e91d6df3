#pragma once

#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <cstdint>
#include <expected>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "async/executor.h"
#include "handlers/admission/review.h"
#include "handlers/http.h"
#include "kube/api.h"

namespace berth::admission {

enum class Phase : std::uint8_t { kMutate, kValidate };

// "mutate", "validate"
std::string_view Name(Phase phase);

// The sideEffects of a webhook, as its configuration states them.
enum class SideEffects : std::uint8_t { kNone, kNoneOnDryRun };

// The registered webhooks. A webhook's path is /mutate/<group>/<resource> or
// /validate/<group>/<resource>; the group of built-in kinds is "core" there. Registration is done
// before serving; after that every method is thread-safe.
class Webhooks {
 public:
  using Reply = std::move_only_function<void(Response)>;
  // Calls `reply` exactly once, on `home`, the thread it was called on; may do so after it has
  // returned.
  using Handler = std::function<void(const Request&, async::Executor& home, Reply)>;

  using Answer = std::move_only_function<void(std::expected<std::string, kube::Status>)>;

  explicit Webhooks(prometheus::Registry& registry);
  ~Webhooks();

  void On(Phase phase, const kube::Resource& resource, std::initializer_list<Operation> operations,
          Handler handler, SideEffects side_effects = SideEffects::kNone);

  // Handles one HTTP request, on its event loop. Operations that have no handler are allowed: the
  // webhook configuration decides what is sent.
  void Serve(const drogon::HttpRequestPtr& request, http::Callback callback) const;
  // The same for a POST of JSON that Drogon has not read; the parts are read until this returns.
  void Serve(std::string_view path, std::string_view body, std::string_view audit_id,
             Answer answer) const;

  // A webhook as its configuration describes it.
  struct Rule {
    std::string path;
    Phase phase;
    std::string group;
    std::string resource;
    std::vector<Operation> operations;
    SideEffects side_effects;
  };
  std::vector<Rule> Rules() const;

  // Answers a review, an AdmissionReview as JSON, of the webhook with this path as if it had come
  // over HTTP: with the AdmissionReview to answer, or with the Status that refuses a malformed one.
  // On `home`, the thread this is called on.
  void Review(std::string_view path, std::string_view review, async::Executor& home,
              Answer answer) const;

 private:
  struct Webhook;

  template <typename Callable>
  static void Judge(const Webhook& webhook, std::string_view review, async::Executor& home,
                    Callable answer);

  prometheus::Family<prometheus::Counter>& reviews_;
  prometheus::Family<prometheus::Histogram>& latency_;
  std::map<std::string, std::unique_ptr<Webhook>, std::less<>> by_path_;
};

}  // namespace berth::admission
