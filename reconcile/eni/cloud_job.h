#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "async/task.h"
#include "cloud/eni.h"
#include "reconcile/eni/objects.h"
#include "reconcile/eni/pool.h"

namespace berth::eni {

// Work at the cloud beside the pool's own (see Job).
namespace job {
// All ENIs of the node: of its instance, with its tag, and those of status.
struct Sync {
  std::vector<std::string> known;      // IDs of status
  std::set<std::string> vswitches;     // that need no look
  std::optional<async::WallTime> due;  // status.nextSyncOpenAPITime when it began
};
// The ENI of an attempt, by its tag.
struct Find {
  std::string token;
};
struct ReadVSwitches {
  std::vector<std::string> ids;
};
}  // namespace job

// An order for one node. A node has one at a time.
struct JobOrder {
  std::string node_uid;
  std::string instance;
  std::string region;
  std::string account;  // of the node's status; empty before the first sync
  std::variant<job::Sync, job::Find, job::ReadVSwitches, job::Create, job::Assign, job::Unassign>
      work;
  cloud::Wanted wanted;  // of a create
};

// The end of an order. Each of them has its order's work, and the cloud's answer.
namespace outcome {
struct Sync {
  std::string instance;  // that was asked for
  std::optional<async::WallTime> due;
  Result<CloudView> answer;  // `gone` are the IDs that were not listed, nor when asked for alone
};
struct Find {
  std::string token;
  Result<std::optional<cloud::Eni>> answer;
};
struct ReadVSwitches {
  std::vector<std::string> ids;
  Result<std::vector<cloud::VSwitch>> answer;
};
struct Create {
  std::string token;
  Result<cloud::Eni> answer;
};
struct Assign {
  job::Assign job;
  Result<std::vector<std::string>> answer;
};
struct Unassign {
  job::Unassign job;
  Result<void> answer;
};
}  // namespace outcome
using JobResult = std::variant<outcome::Sync, outcome::Find, outcome::ReadVSwitches,
                               outcome::Create, outcome::Assign, outcome::Unassign>;
struct JobOutcome {
  // The place of Berth's access key. Nothing was sent if it is not that of the order, or not known.
  Result<cloud::Place> here;
  std::optional<JobResult> result;  // none when nothing was sent
  bool taken = false;               // once before: the status could not be written then
};

// Carries an order out. Takes as long as the cloud lets it wait, so a reconcile never awaits it.
async::Task<JobOutcome> Perform(cloud::EniAccounts* accounts, JobOrder order);

// The error of an outcome, if it has one.
const Error* ErrorOf(const JobOutcome& outcome);

}  // namespace berth::eni
