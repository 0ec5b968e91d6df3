#include "reconcile/ipam/refusals.h"

#include <algorithm>
#include <utility>

#include "log/escape.h"
#include "log/format.h"

namespace berth::ipam {
namespace {

constexpr std::size_t kMostOfMessage = 512;
// The words of kube-apiserver, in a 500.
constexpr std::string_view kWebhookFailed = "failed calling webhook";

std::string_view Advice(const kube::Error& error) {
  const std::string_view words = error.message;
  if (words.contains("exceeded quota")) return "raise the ResourceQuota or delete what it counts";
  if (words.contains("being terminated") || runtime::IsGone(error))
    return "the namespace is being deleted";
  if (words.contains(kWebhookFailed)) return "see to it that this webhook answers";
  if (words.contains("denied")) return "change the policy that denies it";
  if (error.code == 403) return "check the permissions of Berth's service account";
  return "remove what is in the way";
}

std::string Replaced(std::string text, std::string_view old, std::string_view now) {
  for (auto at = text.find(old); at != text.npos; at = text.find(old, at + now.size())) {
    text.replace(at, old.size(), now);
  }
  return text;
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
  if (same && last.wait > async::Duration::zero()) {
    const auto longer = static_cast<double>(last.wait.count()) * kBackOff.factor;
    last.wait = std::min(kBackOff.max, async::Duration(static_cast<async::Duration::rep>(longer)));
  } else {
    if (!same) last = {.uid = id.uid, .generation = id.generation, .message = {}};
    last.wait = kBackOff.base;
  }
  last.message = std::move(message);
  last.until = now + last.wait;
  return last;
}

std::string Refusals::NoteBlock(const Identity& id, const std::string& pool, const Cidr& block,
                                const std::string& message, bool pass_over) {
  Refusal& last = refusals_[id.Key()];
  if (last.uid != id.uid || last.generation != id.generation) {
    last = {.uid = id.uid, .generation = id.generation, .message = {}};
  }
  if (!pass_over || last.blocks.size() >= kMostBlocks) last.blocks.clear();
  if (pass_over) last.blocks.push_back(block);
  if (last.told) {
    std::string same = Replaced(message, block.ToString(), last.told->ToString());
    same = Replaced(std::move(same), SubnetName(pool, block), SubnetName(pool, *last.told));
    if (same == last.message) return same;
  }
  last.told = block;
  return message;
}

std::vector<Cidr> Refusals::Blocks(const Identity& id) const {
  const auto found = refusals_.find(id.Key());
  if (found == refusals_.end()) return {};
  const Refusal& last = found->second;
  const bool same = last.uid == id.uid && last.generation == id.generation;
  return same ? last.blocks : std::vector<Cidr>();
}

bool MayAdmitAnother(std::string_view message) {
  return !message.contains("exceeded quota") && !message.contains("being terminated") &&
         !message.contains("cannot create resource") && !message.contains(kWebhookFailed);
}

kube::Error WithWebhooksAsRefusals(kube::Error error) {
  if (error.error_class == kube::ErrorClass::kRetry && error.code == 500 &&
      error.message.contains(kWebhookFailed)) {
    error.error_class = kube::ErrorClass::kTerminal;
  }
  return error;
}

std::string ExplainRefusal(std::string_view kind, std::string_view name, const kube::Error& error,
                           std::string_view refused) {
  return Format("{} {} cannot be {}: {}; {}; Berth tries again within 30 s", kind, name, refused,
                log::Prefix(error.message, kMostOfMessage), Advice(error));
}

kube::Error Explained(kube::Error error, std::string_view kind, std::string_view name,
                      std::string_view refused) {
  error = WithWebhooksAsRefusals(std::move(error));
  if (error.error_class == kube::ErrorClass::kTerminal) {
    error.message = ExplainRefusal(kind, name, error, refused);
  }
  return error;
}

}  // namespace berth::ipam
