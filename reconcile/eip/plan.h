#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cloud/vpc.h"
#include "reconcile/eip/objects.h"

namespace berth::eip {

// Knowledge of an object's address besides its status.
struct Sight {
  // No request for the object can have come to an address that its status lacks.
  bool accounted = false;
  // Where Berth's access key works; without an account when that was not asked in this pass.
  cloud::Place here;
  // The cloud was asked for an address with its tag: there is none but that of the status.
  bool searched = false;
  bool owned = false;             // and that of the status has it
  bool asked = false;             // the cloud was asked for its address in this pass
  std::optional<cloud::Eip> eip;  // then: none when it is not to be seen
  bool vanished = false;          // and has not been for long enough to tell people
  bool gone = false;              // the cloud has said that there is no such address
  bool unlisted = false;          // this leader allocated it, and the cloud has never listed it
  std::string tagged_for;         // the object of this cluster that its owner's tag names
  std::string taken_by;           // another object, the older one, has this address
  std::string wanted_by;          // another object, which is to stay, names this address too
  bool fresh_attempt = false;     // the attempt was written by us, and nobody was asked yet
  bool refused = false;           // the cloud has refused every request of the attempt
  bool doubt_over = false;        // a request of the attempt would have had its effect by now
  bool released = false;          // the cloud has taken the request to release the address
  bool doubted_release = false;   // a request to release it may have been sent, with no answer
  // A deleted object's attempt came to this address, of which nobody was told: it goes, always.
  bool unclaimed = false;
};

// The one next step for an object. Each can be interrupted by a crash after it, and found again
// from the object and the cloud alone: the finalizer before anything, the attempt before the cloud
// is asked, the address in status before anything is done to it.
namespace step {
// It is as it should be, or gone.
struct Nothing {
  std::string unlike = {};  // what differs and cannot be changed
};
struct Locate {};     // find out in which region and account Berth's access key works
struct Look {};       // ask the cloud for the address
struct NotePlace {};  // write down where the address, or the attempt, is: here
struct AddFinalizer {};
struct Begin {
  Attempt attempt;  // to be written down
};
struct Find {};      // by its owner's tag: it may have an address already
struct Allocate {};  // as the attempt says
// Write down that the address of the spec is ours to look after.
struct Import {
  std::string address;
  Origin origin = Origin::kImported;  // kCreated: it is our own by its tag
  std::string warning = {};           // for people; empty for none
};
// Ask for something that only an address which exists can be given.
struct Probe {};
struct WriteSpec {};  // spec.allocationID
struct Tag {
  cloud::Tags tags;
};
struct Untag {
  std::vector<std::string> keys;
};
struct Modify {
  cloud::EipChange change;
};
struct Move {};  // to the resource group of the spec
struct Join {};  // the package of the spec
struct Leave {
  std::string package;  // that it is in
};
struct Unassociate {};
struct Release {};
struct Finish {
  std::string reason;  // of the event that tells how it ended
  std::string message;
};
// Nothing can be done now. The cloud is at work (then soon again), or somebody else must act.
struct Wait {
  std::string reason;  // of the condition
  std::string message;
  bool soon = false;
  bool misplaced = false;  // until Berth has another key: nobody tells when that is
  bool settles = false;    // the attempt has come to nothing, and ends
  bool quiet = false;      // nothing is written yet: it may pass before anybody has to know
};
}  // namespace step

using Step =
    std::variant<step::Nothing, step::Locate, step::Look, step::NotePlace, step::AddFinalizer,
                 step::Begin, step::Find, step::Allocate, step::Import, step::Probe,
                 step::WriteSpec, step::Tag, step::Untag, step::Modify, step::Move, step::Join,
                 step::Leave, step::Unassociate, step::Release, step::Finish, step::Wait>;

// Plain: no clock, no I/O. O(tags).
Step Decide(const Object& object, const Sight& sight);

// Why an EIP carries no traffic, or may not be changed, and what to do about it; empty when the
// cloud has not locked it.
std::string LockOf(const cloud::Eip& eip);

// Whether its tag says that it was allocated for another object.
bool IsForeign(const Object& object, const cloud::Eip& eip);

// The tags an address of the object must have: those of the spec, and the owner's.
cloud::Tags WantedTags(const Object& object);

}  // namespace berth::eip
