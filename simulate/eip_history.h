#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "async/executor.h"
#include "cloud/simulator/aliyun/cloud.h"

namespace berth::simulate {

// The states that every EIP of the cloud has had of late: what a status says was so when the cloud
// was asked, not when the status is written.
class EipHistory {
 public:
  using State = std::optional<cloud::simulator::EipRecord>;  // none: there was no such EIP

  explicit EipHistory(const cloud::simulator::Cloud& cloud) : cloud_(cloud) {}

  // Before each call arrives, and before anybody else changes something. O(EIPs).
  void Note(async::TimePoint now);
  // Whether a state that the EIP has had at `since` or later is like this.
  bool HasBeen(const std::string& id, async::TimePoint since,
               const std::function<bool(const State&)>& like) const;

 private:
  struct Entry {
    async::TimePoint until;  // when it was last seen
    State state;
  };

  void Put(const std::string& id, State state, async::TimePoint now);

  const cloud::simulator::Cloud& cloud_;
  std::map<std::string, std::deque<Entry>> entries_;  // by ID
};

}  // namespace berth::simulate
