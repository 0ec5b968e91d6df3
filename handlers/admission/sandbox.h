#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "handlers/admission/webhooks.h"
#include "reconcile/sandbox/desk.h"

namespace berth::admission {

// How long a create may wait for the control thread. The webhook's own limit is 2 s, and what
// exceeds that fails the create; a Sandbox without a stamp is only assigned a little later.
inline constexpr std::chrono::milliseconds kStampWithin{500};

// Berth's own user name at the API server, once that is known. Thread-safe.
class OwnAccount {
 public:
  void Set(std::string name) {
    const std::lock_guard lock(mutex_);
    name_ = std::move(name);
  }
  // False while the name is not known.
  bool Is(std::string_view name) const {
    const std::lock_guard lock(mutex_);
    return !name_.empty() && name_ == name;
  }

 private:
  mutable std::mutex mutex_;
  std::string name_;
};

// The webhooks of sandbox.fast.io; the rules are in reconcile/sandbox/admission.h.
//
// A create of a Sandbox gets the finalizer, loses whatever allocation annotation it brings, and
// gets one of Berth's if there is a slot: a reservation that is asked of the control thread. A dry
// run, an object that the rules refuse, and a create that the control thread has no answer for in
// time get none. No create fails for want of a slot.
//
// The desk's answers come within kStampWithin. Desk and account outlive the webhooks' last review.
// While `enabled` is false every object is allowed as it is: fast-sandbox looks after it.
void RegisterSandbox(Webhooks& webhooks, sandbox::Desk& desk, const OwnAccount& account,
                     bool enabled);

}  // namespace berth::admission
