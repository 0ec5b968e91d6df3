#pragma once

#include <string>

#include "simulate/scheduler.h"

namespace berth::simulate {

// How often what goes wrong in a run. A chance is per message, per delivered line or per turn of a
// replica; 0 means never.
struct Faults {
  // Calls.
  double refused = 0;       // answered 429, 500 or 503, and not carried out
  double lost_request = 0;  // never arrives; the caller times out
  double lost_answer = 0;   // carried out; the caller times out
  double slow = 0;          // takes seconds, to arrive or to be carried out
  double interference = 0;  // somebody else writes the object just before
  double forbidden = 0;     // above 0: quotas, policies and permissions refuse, for a while each
  // Watches.
  double cut = 0;        // the stream breaks, and what was on its way is gone
  double stale = 0;      // the stream stands still for a while: the cache is old
  double repeated = 0;   // a line comes again, perhaps much later
  double forgotten = 0;  // the history is compacted: 410
  // Replicas.
  double crash = 0;      // everything in memory is gone; it starts anew after a while
  double pause = 0;      // stands still for up to a minute
  double partition = 0;  // nothing gets through, in neither direction, for a while

  // The faults of a seed: some kinds, each rare or frequent.
  static Faults Draw(Dice& random);
  std::string Describe() const;
};

}  // namespace berth::simulate
