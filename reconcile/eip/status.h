#pragma once

#include <optional>
#include <string>

#include "async/executor.h"
#include "cloud/vpc.h"
#include "json/json.h"
#include "reconcile/eip/objects.h"

namespace berth::eip {

// How it stands with an address: what all three conditions say, each in its way. The message is
// Ready's alone: nobody has to read it three times.
struct Report {
  bool ready = false;
  bool synced = false;
  bool progressing = false;
  std::string reason;
  std::string message;

  // As the status says of the spec as it is now.
  static Report Of(const Object& object);
};

// The members of an object's status that have to change, as a merge patch of the status; none when
// nothing is new. `facts` are members to be set besides, null for those to be taken away; `eip` is
// the address as the cloud has just told of it. lastSyncTime alone is never a reason to write, and
// it is when the cloud was last `synced`. O(size of the status).
std::optional<Json> StatusPatch(const Object& object, Json facts, const cloud::Eip* eip,
                                const Report& report, async::WallTime now);

// Tags as a member of a status.
Json TextsOf(const cloud::Tags& tags);

}  // namespace berth::eip
