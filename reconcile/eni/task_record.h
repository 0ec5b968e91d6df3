#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cloud/eni.h"
#include "reconcile/eni/heap_optional.h"
#include "reconcile/eni/task.h"

namespace berth::eni {

struct TaskRequest {
  std::string eni;
  Operation operation = Operation::kAttach;
  std::string node;
  std::string instance;
  std::string trunk;    // the trunk ENI that a member goes to; empty for none
  std::string account;  // the cloud account that the ENI is in
  Backend backend = Backend::kEcs;
  async::TimePoint born{};  // when the ENI was made, or earlier
  // The counts that it was made with, for who counts addresses that are on their way.
  int ipv4_addresses = 0;
  int ipv6_addresses = 0;
  int ipv4_prefixes = 0;
  int ipv6_prefixes = 0;
  bool has_pods = false;  // pods have addresses of it: an attach is not to be withdrawn
};

// A task's name: a later task of the same ENI has another generation.
struct TaskId {
  std::string eni;
  std::uint64_t generation = 0;
  friend bool operator==(const TaskId&, const TaskId&) = default;
};

struct Task : TaskRequest {
  std::uint64_t generation = 0;
  State state = State::kPending;
  std::string cloud_status;  // as last seen; empty before the first look, or when it is not listed
  int attempt = 0;           // requests that the cloud accepted
  async::TimePoint created_at{};
  std::optional<async::TimePoint> started_at;  // the first accepted request
  std::optional<async::TimePoint> completed_at;
  // None while it waits in line, a call of it is under way, or it has ended.
  std::optional<async::TimePoint> next_look_at;
  std::optional<async::TimePoint> deadline;
  HeapOptional<cloud::Eni> result;  // of a task that completed, unless the ENI is gone
  // One word for why it waits or has ended so: the cloud's code, or one of ours (see reason::).
  // Empty for a task that is as it should be.
  std::string reason;
  std::string error;       // the last one, as a sentence
  std::string request_id;  // of the last call that the cloud answered with an error

  bool ended() const { return state != State::kPending && state != State::kRunning; }
  TaskId id() const { return {eni, generation}; }
};

// Reasons of a task beside the cloud's codes.
namespace reason {
inline constexpr std::string_view kNodeBusy = "NodeBusy";    // its node attaches as many as it may
inline constexpr std::string_view kNoTurn = "WaitsForTurn";  // as many requests are under way
inline constexpr std::string_view kUnreachable = "Unreachable";  // a look or request had no answer
inline constexpr std::string_view kInUseElsewhere = "InUseElsewhere";
inline constexpr std::string_view kInUse = "InUse";      // which is not deleted
inline constexpr std::string_view kNotOurs = "NotOurs";  // its tags say that
inline constexpr std::string_view kGone = "Gone";
inline constexpr std::string_view kBroken = "Broken";    // Deleting, or a status ending in Failed
inline constexpr std::string_view kGivenUp = "GivenUp";  // by the cloud, kMostAttaches times
inline constexpr std::string_view kDeadline = "DeadlineExceeded";
}  // namespace reason

}  // namespace berth::eni
