#include <string>

#include "reconcile/eni/cloud_nic.h"
#include "reconcile/eni/pool.h"

namespace berth::eni {
namespace {

// The arguments of TakeView.
struct Look {
  const Node& node;
  NodeStatus& status;
  const CloudView& view;
  const std::set<std::string>& busy;
  const PodAddresses& pods;

  bool IsBusy(const cloud::Eni& eni) const { return busy.contains(eni.id); }
  bool IsHere(const cloud::Eni& eni) const { return eni.instance_id == node.spec.instance; }
  bool IsElsewhere(const cloud::Eni& eni) const { return !eni.instance_id.empty() && !IsHere(eni); }
};

bool IsShown(const cloud::Eni& eni) {
  if (eni.type == kPrimaryType || eni.type == kMemberType) return false;
  const auto is_true = [&eni](const char* key) {
    const auto tag = eni.tags.find(key);
    return tag != eni.tags.end() && tag->second == "true";
  };
  // The primary ENI of a Lingjun instance that was migrated to ECS' API.
  return !is_true("leni_primary") || !is_true("acs:ecs:support_eni");
}

Nic& AddNic(const Look& look, const cloud::Eni& eni, std::string_view status) {
  Nic& nic = look.status.nics[eni.id];
  MergeEni(nic, eni, look.pods);
  MergeVSwitch(nic, look.view.vswitches);
  nic.status = status;
  return nic;
}

void TakeNewEni(const Look& look, const cloud::Eni& eni) {
  const auto tag = eni.tags.find(std::string(kAttemptTag));
  const bool in_attempt = tag != eni.tags.end() && look.status.attempts.contains(tag->second);
  if (eni.status == kInUse) {
    if (IsLeftBehind(look.node, eni) && !look.IsBusy(eni) &&
        !IsUnschedulable(look.node, eni, nullptr) &&
        look.pods.HasAnyOf(AddNic(look, eni, kDeleting))) {
      look.status.nics.erase(eni.id);
    }
    if (!look.IsHere(eni)) return;
    AddNic(look, eni, kInUse).unschedulable = IsUnschedulable(look.node, eni, nullptr);
    if (in_attempt) look.status.attempts.erase(tag->second);
    return;
  }
  // The attempt or the task will bring it, and others' ENIs are theirs until they are InUse here.
  if (in_attempt || look.IsBusy(eni) || !HasTagOf(look.node, eni) || look.IsElsewhere(eni) ||
      IsUnschedulable(look.node, eni, nullptr)) {
    return;
  }
  Nic& nic = AddNic(look, eni, eni.status == kAttaching ? kAttaching : kDeleting);
  if (nic.status == kDeleting && look.pods.HasAnyOf(nic)) nic.status = kAttaching;
}

bool IsFailed(const std::string& status) {
  return status == kDeleting || status.ends_with("Failed");
}

// The status of a Nic that the cloud shows, but not InUse; empty when it is lost.
std::string StatusBesideUse(const Look& look, const Nic& nic, const cloud::Eni& eni) {
  const bool has_pod = look.pods.HasAnyOf(nic);
  if (nic.unschedulable)
    return eni.status == "Available" || (IsFailed(eni.status) && has_pod) ? "" : eni.status;
  if (nic.status == kAttaching || (nic.status == kDeleting && !has_pod)) return nic.status;
  // A list may be older than the end of the attach.
  if (eni.status == kAttaching) return nic.status == kInUse ? nic.status : std::string(kAttaching);
  if (eni.status == "Available") {
    // EFLO's may be Terway's, which gives them no tags.
    const bool ours =
        look.node.backend == Backend::kEflo || HasTagOf(look.node, eni) || HasCreatorTag(eni);
    // Somebody has detached it. The pods get it back.
    return ours ? std::string(has_pod ? kAttaching : kDeleting) : "";
  }
  if (IsFailed(eni.status)) return has_pod ? "" : std::string(kDeleting);
  return eni.status;
}

void TakeKnownEni(const Look& look, Nic& nic, const cloud::Eni& eni) {
  if (look.IsElsewhere(eni)) {
    if (look.IsBusy(eni)) return;
    // The Node has another instance now. Pods of before may still run on this one.
    if (!IsLeftBehind(look.node, eni) || IsUnschedulable(look.node, eni, &nic) ||
        look.pods.HasAnyOf(nic)) {
      return LoseNic(look.status, eni.id, look.pods);
    }
    nic.unschedulable = false;
    nic.status = kDeleting;
    return;
  }
  MergeEni(nic, eni, look.pods);
  MergeVSwitch(nic, look.view.vswitches);
  nic.unschedulable = IsUnschedulable(look.node, eni, &nic);
  if (look.IsBusy(eni)) return;
  if (eni.status != kInUse) {
    const std::string status = StatusBesideUse(look, nic, eni);
    if (status.empty()) return LoseNic(look.status, eni.id, look.pods);
    // Errors of a Nic that was in use say nothing about its attach.
    if (status == kAttaching && nic.status != kAttaching) nic.conditions.clear();
    nic.status = status;
    return;
  }
  if (nic.unschedulable) KeepAll(nic);
  if (nic.status != kDeleting || look.pods.HasAnyOf(nic)) BeginUse(look.status, nic);
}

}  // namespace

void TakeView(const Node& node, NodeStatus& status, const CloudView& view,
              const std::set<std::string>& busy, const PodsView& pods, async::WallTime now) {
  const PodAddresses addresses(pods);
  const Look look{.node = node, .status = status, .view = view, .busy = busy, .pods = addresses};
  for (const cloud::Eni& eni : view.enis) {
    if (!IsShown(eni)) continue;
    const auto known = status.nics.find(eni.id);
    if (known == status.nics.end()) {
      TakeNewEni(look, eni);
    } else {
      TakeKnownEni(look, known->second, eni);
    }
  }
  for (const std::string& id : view.gone) {
    if (status.nics.contains(id) && !busy.contains(id)) LoseNic(status, id, addresses);
  }
  status.last_sync = now;
}

}  // namespace berth::eni
