#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "async/executor.h"
#include "cloud/simulator/azure/wire.h"

namespace berth::cloud::simulator::azure {

// Long-running operations: each takes effect at its end, unless it fails. O(log n); the last kKept
// that have ended are remembered.
class Operations {
 public:
  static constexpr std::size_t kKept = 10'000;
  // Carries the operation out, or with a failure undoes its beginning; a refusal fails it.
  using End = std::function<Check(const std::optional<Refusal>& failure)>;

  struct Operation {
    std::string status = "InProgress";
    std::optional<Refusal> failure;  // of one that failed, or that will
    async::WallTime ends;
    End end;
  };

  // Operations of a later Begin with the same end come after. Without an end it never ends.
  std::string Begin(std::optional<async::WallTime> ends, std::optional<Refusal> failure, End end);
  // Ends at once, as canceled: another write has taken its place.
  void Supersede(const std::string& id);
  void Settle(async::WallTime now);
  const Operation* Find(const std::string& id) const;
  std::size_t under_way() const { return agenda_.size(); }

 private:
  void Close(const std::string& id);

  std::map<std::string, Operation> operations_;
  std::map<std::pair<async::WallTime, std::uint64_t>, std::string> agenda_;
  std::deque<std::string> ended_;
  std::uint64_t last_ = 0;
};

}  // namespace berth::cloud::simulator::azure
