#include "cloud/simulator/azure/operations.h"

#include "log/format.h"

namespace berth::cloud::simulator::azure {

std::string Operations::Begin(std::optional<async::WallTime> ends, std::optional<Refusal> failure,
                              End end) {
  const std::uint64_t number = ++last_;
  std::string id = Format("00000000-0000-4000-8000-{:012x}", number);
  operations_.emplace(id, Operation{.failure = std::move(failure),
                                    .ends = ends.value_or(async::WallTime::max()),
                                    .end = std::move(end)});
  if (ends) agenda_.emplace(std::pair(*ends, number), id);
  return id;
}

void Operations::Supersede(const std::string& id) {
  const auto found = operations_.find(id);
  if (found == operations_.end() || found->second.status != "InProgress") return;
  found->second.status = "Canceled";
  found->second.failure = Refusal{409, "CanceledAndSupersededDueToAnotherOperation",
                                  "Operation was superseded by another one."};
  std::erase_if(agenda_, [&](const auto& entry) { return entry.second == id; });
  Close(id);
}

void Operations::Settle(async::WallTime now) {
  while (!agenda_.empty() && agenda_.begin()->first.first <= now) {
    const std::string id = agenda_.extract(agenda_.begin()).mapped();
    Operation& operation = operations_.at(id);
    const Check done = operation.end(operation.failure);
    if (!operation.failure && !done) operation.failure = done.error();
    operation.status = operation.failure ? "Failed" : "Succeeded";
    Close(id);
  }
}

void Operations::Close(const std::string& id) {
  operations_.at(id).end = nullptr;
  ended_.push_back(id);
  if (ended_.size() <= kKept) return;
  operations_.erase(ended_.front());
  ended_.pop_front();
}

const Operations::Operation* Operations::Find(const std::string& id) const {
  const auto found = operations_.find(id);
  return found == operations_.end() ? nullptr : &found->second;
}

}  // namespace berth::cloud::simulator::azure
