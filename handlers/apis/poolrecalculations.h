#pragma once

#include "handlers/apis/resource.h"
#include "reconcile/ipam/desk.h"

namespace berth::apis {

// The resource `poolrecalculations`: creating one has the status of the SubnetPool that `spec.pool`
// names counted anew, as an event on it would. Only the leading replica can; the others say 503
// with a Retry-After, which clients follow. The desk outlives the last call.
class PoolRecalculation : public Action {
 public:
  explicit PoolRecalculation(ipam::Desk& desk);

  const ResourceType& type() const override { return type_; }
  void Create(const Call& call, async::Executor& home, Answer answer) override;

 private:
  ipam::Desk& desk_;
  const ResourceType type_;
};

}  // namespace berth::apis
