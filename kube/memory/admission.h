#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "async/task.h"
#include "kube/memory/call.h"
#include "kube/memory/cluster.h"
#include "kube/memory/server.h"

namespace berth::kube::memory {

// The subject of a review: objects are in the version of the call; null where there is none.
struct Review {
  std::string_view operation;  // CREATE, UPDATE, DELETE
  Value object;
  Value old;
  Value delete_options;  // of a DELETE
};

// The webhooks, and the calls to them.
class Admission {
 public:
  explicit Admission(Cluster& cluster) : cluster_(cluster), alive_(std::make_shared<bool>(true)) {}

  void Add(Server::Webhook webhook) { webhooks_.push_back(std::move(webhook)); }

  // Whether there is one to ask. O(webhooks).
  bool Wants(const Call& call, std::string_view operation, bool mutating) const;

  // The object as the mutating webhooks left it; they are asked in the order they were added.
  async::Task<Outcome<Value>> Mutate(Call call, Review review);
  // Whether all validating ones allow it.
  async::Task<Outcome<void>> Validate(Call call, Review review);

 private:
  async::Task<Outcome<Value>> Ask(std::size_t webhook, Call call, Review review);

  Cluster& cluster_;
  std::vector<Server::Webhook> webhooks_;
  // A webhook may answer when the server is gone; then there is nobody to tell.
  std::shared_ptr<bool> alive_;
  Decoder decoder_;
};

}  // namespace berth::kube::memory
