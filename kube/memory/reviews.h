#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "kube/memory/response.h"
#include "kube/memory/value.h"
#include "kube/request_target.h"
#include "kube/transport.h"

// The reviews: SelfSubjectAccessReview and its kin, which are created and never kept. There is one
// user, who may do everything; whoever else is asked about may, too. No token is known.
namespace berth::kube::memory {

// The answer, or none for a path that leads to no review. O(size).
std::optional<Response> AnswerReview(const Request& request, const RequestTarget& target,
                                     Decoder& decoder);

struct ReviewKind {
  std::string_view group;
  std::string_view plural;
  std::string_view kind;
  bool namespaced;
  // Fills in `status`.
  void (*answer)(const Value& review, Value& status);
};
// All of version v1, by group and plural; for discovery.
std::span<const ReviewKind> ReviewKinds();

}  // namespace berth::kube::memory
