#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kube/transport.h"
#include "simulate/scheduler.h"

namespace berth::simulate {

// Others who refuse what a replica or a user writes, for a while: a quota, somebody's policy
// webhook, which chooses the code of its answer, missing permissions, a namespace that is being
// deleted.
class Refusals {
 public:
  // Draws what is refused, and when, within `span` from now. Resources are named as RBAC and quotas
  // name them: PLURAL.GROUP, or PLURAL for those of Kubernetes' core.
  void Draw(Dice& random, async::TimePoint now, async::Duration span,
            const std::vector<std::string>& resources);
  void End() { times_.clear(); }

  // The answer to give instead, if the request is refused now.
  std::optional<kube::Response> Refuse(const kube::Request& request, bool by_user,
                                       async::TimePoint now) const;

 private:
  enum class Kind { kQuota, kPolicy, kPermission, kTerminating };
  struct Time {
    Kind kind;
    int code;  // of a policy's answer
    std::string resource;
    async::TimePoint begin, end;
  };

  std::vector<Time> times_;
};

}  // namespace berth::simulate
