#include "reconcile/ipam/refusals.h"

#include <algorithm>
#include <utility>

#include "log/escape.h"
#include "log/format.h"

namespace berth::ipam {
namespace {

constexpr std::size_t kMostOfMessage = 512;

std::string_view Advice(const kube::Error& error) {
  const std::string_view words = error.message;
  if (words.contains("exceeded quota")) return "raise the ResourceQuota or delete what it counts";
  if (words.contains("being terminated") || runtime::IsGone(error))
    return "the namespace is being deleted";
  if (words.contains("denied")) return "change the policy that denies it";
  if (error.code == 403) return "check the permissions of Berth's service account";
  return "remove what is in the way";
}

}  // namespace

const Refusals::Refusal* Refusals::Waiting(const Identity& id, async::TimePoint now) const {
  if (refusals_.empty()) return nullptr;  // nearly always, and asked of every claim that waits
  const auto found = refusals_.find(id.Key());
  if (found == refusals_.end()) return nullptr;
  const Refusal& last = found->second;
  const bool same = last.uid == id.uid && last.generation == id.generation;
  return same && last.until > now ? &last : nullptr;
}

const Refusals::Refusal& Refusals::Note(const Identity& id, std::string message,
                                        async::TimePoint now) {
  constexpr runtime::BackOff kBackOff;
  Refusal& last = refusals_[id.Key()];
  const bool same = last.uid == id.uid && last.generation == id.generation;
  if (same) {
    const auto longer = static_cast<double>(last.wait.count()) * kBackOff.factor;
    last.wait = std::min(kBackOff.max, async::Duration(static_cast<async::Duration::rep>(longer)));
  } else {
    last = {.uid = id.uid, .generation = id.generation, .message = {}, .wait = kBackOff.base};
  }
  last.message = std::move(message);
  last.until = now + last.wait;
  return last;
}

std::string ExplainRefusal(std::string_view kind, std::string_view name, const kube::Error& error) {
  return Format("{} {} cannot be created: {}; {}; Berth tries again within 30 s", kind, name,
                log::Prefix(error.message, kMostOfMessage), Advice(error));
}

}  // namespace berth::ipam
