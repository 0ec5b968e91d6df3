#pragma once

#include <map>
#include <memory>
#include <string>

#include "handlers/apis/live_collection.h"
#include "reconcile/sandbox/slots.h"

namespace berth::apis {

// The resource `reservations`: one object a slot that the webhook has reserved for a Sandbox that
// is being created, of the reservation's ID, in the Sandbox's namespace. It answers "which slots
// are held for objects that have not come". Only the leading replica has any.
class Reservations {
 public:
  Reservations();

  ResourceStore& store() { return reservations_; }

  // Shows the reservations that changed since the last time. On the control thread, now and then.
  // Null while this replica does not lead: then there are none. Costs what the changes come to.
  void Publish(sandbox::Slots* slots);

 private:
  void Show(const sandbox::Registry& registry, const std::string& id);

  LiveCollection reservations_;
  std::weak_ptr<const void> shown_;                // the slots that the objects are of
  std::map<std::string, std::string> namespaces_;  // by ID
};

ResourceType ReservationType();

}  // namespace berth::apis
