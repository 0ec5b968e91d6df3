#pragma once

#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <chrono>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "async/executor.h"
#include "async/task.h"
#include "handlers/apis/resource.h"
#include "json/json.h"
#include "kube/api.h"
#include "kube/lru_map.h"
#include "kube/transport.h"
#include "reconcile/sandbox/system.h"

namespace berth::apis {

// The resource `sandboxrequests`, FastPath: creating one creates a Sandbox of that namespace, on
// whatever replica. Fast answers once the API server has stored the Sandbox, with the slot that the
// webhook gave it if it did; it never starts a container first. Strong answers once the agent says
// that it runs; without that within kStrongWithin the answer is a 504, and the Sandbox stays.
//
// `spec.requestID` makes it idempotent: the same ID and spec get the same Sandbox, another spec a
// 409. The ID stands in an annotation of the Sandbox, whose name comes of it where none is given;
// so this holds across replicas and crashes for as long as the Sandbox exists. Beyond that, and for
// a second request with another name, the last kMostIds IDs are remembered, by this replica.
class SandboxRequests : public Action {
 public:
  static constexpr std::chrono::seconds kStrongWithin{45};
  static constexpr std::size_t kMostIds = 10'000;
  static constexpr std::size_t kMostWaiting = 2'000;  // beyond: 429
  static constexpr std::size_t kLongestId = 128;
  static constexpr std::string_view kAnnotation = "sandbox.fast.io/request";

  // Outlived by `control`, and outlives the last call.
  explicit SandboxRequests(async::Executor& control);
  ~SandboxRequests() override;

  const ResourceType& type() const override { return type_; }
  void Create(const Call& call, async::Executor& home, Answer answer) override;

  // On the control thread: serves until Close. All outlive that. `registry`: where
  // fastpath_create_sandbox_duration_seconds is, by mode and success; null for nowhere.
  void Open(sandbox::System& system, kube::Transport& transport, prometheus::Registry* registry);
  // On the control thread: from now on, and for those that wait, the answer is a 503.
  void Close();

 private:
  // The content of a call.
  struct Wish {
    std::string ns;
    std::string name;  // of the Sandbox
    std::string id;    // requestID, or one of our own
    bool given_id = false;
    bool strong = false;
    bool dry_run = false;
    std::string hash;  // of the spec
    Json spec;         // the Sandbox's
    Json asked;        // as it was sent
  };
  struct Waiter;
  struct Remembered {
    std::string hash;
    std::string name;
  };
  using Answered = std::expected<Outcome, kube::Status>;

  std::expected<Wish, kube::Status> Read(const Call& call) const;
  void Begin(Wish wish, async::Executor& home, Answer answer);
  async::Task<void> Serve(Waiter* waiter);
  async::Task<Answered> Carry(const Wish* wish);
  // The stored Sandbox, JSON.
  async::Task<std::expected<Json, kube::Status>> Store(const Wish* wish);
  async::Task<std::expected<Json, kube::Status>> FindStored(const Wish* wish);
  async::Task<Answered> AwaitRunning(const Wish* wish, std::string uid);
  void Notice(const std::string& key);
  Outcome OutcomeOf(const Wish& wish, const Json& stored) const;

  async::Executor& control_;
  const ResourceType type_;
  // Of the control thread.
  sandbox::System* system_ = nullptr;
  kube::Transport* transport_ = nullptr;
  prometheus::Family<prometheus::Histogram>* durations_ = nullptr;
  async::Handle listening_;
  std::list<std::unique_ptr<Waiter>> waiters_;
  std::multimap<std::string, std::function<void()>> strong_;  // by "namespace/name"
  kube::LruMap<Remembered> ids_{kMostIds};                    // by "namespace/ID"
};

ResourceType SandboxRequestType();

}  // namespace berth::apis
