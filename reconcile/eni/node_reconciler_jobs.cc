#include <algorithm>
#include <utility>

#include "log/format.h"
#include "reconcile/eni/node_reconciler.h"

namespace berth::eni {

using namespace std::chrono_literals;

namespace {

constexpr auto kFirstPause = 1s;
constexpr int kMostDoublings = 7;
// Index of outcome::Create in JobResult.
constexpr std::size_t kCreateResult = 3;
static_assert(
    std::is_same_v<std::variant_alternative_t<kCreateResult, JobResult>, outcome::Create>);
constexpr std::size_t kSyncResult = 0;
static_assert(std::is_same_v<std::variant_alternative_t<kSyncResult, JobResult>, outcome::Sync>);

std::string NewToken(async::Executor& executor) {
  return Format("{:016x}{:016x}", executor.Random(), executor.Random());
}

}  // namespace

// Whether a job that succeeded shows that the failure of an earlier one is over. That a vSwitch can
// be read says nothing about a create that is refused, nor does a sync while the create is wanted:
// one beyond the cloud's quota leads to a sync, which would end its back-off.
bool NodeReconciler::EndsFailure(const Memory& memory, const JobResult& result) {
  return memory.failed_job == std::variant_npos || memory.failed_job == result.index() ||
         (memory.sync_settles && std::holds_alternative<outcome::Sync>(result));
}

bool NodeReconciler::IsSyncFailing(const Memory& memory) {
  return memory.elsewhere || (memory.failure && (memory.failed_job == kSyncResult ||
                                                 memory.failed_job == std::variant_npos));
}

void NodeReconciler::TakeOutcome(Pass& pass) {
  Memory& memory = pass.memory;
  if (!memory.outcome) return;
  JobOutcome& outcome = *memory.outcome;
  const bool is_news = !std::exchange(outcome.taken, true);
  pass.took = true;
  const Error* error = ErrorOf(outcome);
  if (is_news) {
    memory.elsewhere.reset();
    if (outcome.here) memory.placed = outcome.result.has_value();
    if (outcome.here && !outcome.result) memory.elsewhere = *outcome.here;
    if (error || memory.elsewhere) {
      NoteError(memory, error);
      memory.failed_job = outcome.result ? outcome.result->index() : std::variant_npos;
    } else if (outcome.result && EndsFailure(memory, *outcome.result)) {
      memory.failures = 0;
      memory.failure.reset();
      memory.not_before = {};
    }
  }
  if (outcome.here && pass.to.nics.empty() && pass.to.attempts.empty() && outcome.result)
    pass.to.account = outcome.here->account;  // where the first ENI will be
  if (!outcome.result) return DropAttempts(pass);
  pass.news = is_news;
  std::visit([&](auto& end) { Take(pass, end, *outcome.here); }, *outcome.result);
}

// Attempts that the present key cannot carry on. One that was never sent leaves nothing behind. One
// that was may have made an ENI in the account of another key: that has the cluster's tag, and is
// collected once Berth has the key again. A Node that has ENIs there waits for it.
void NodeReconciler::DropAttempts(Pass& pass) {
  Memory& memory = pass.memory;
  const auto now = parts_.executor.Now();
  const bool is_abandoned = memory.elsewhere && pass.to.nics.empty();
  std::erase_if(pass.to.attempts, [&](const auto& entry) {
    Sends& sends = memory.sends.try_emplace(entry.first, Sends{.last = now}).first->second;
    if (!sends.barred) sends.barred = now;
    return sends.certain || (is_abandoned && now - *sends.barred >= kMissingFor);
  });
}

void NodeReconciler::NoteError(Memory& memory, const Error* error) {
  const auto pause = kFirstPause * (1 << std::min(memory.failures++, kMostDoublings));
  async::Duration wait = std::min<async::Duration>(pause, kLongestPause);
  if (error) wait = std::max<async::Duration>(wait, error->retry_after);
  memory.not_before = parts_.executor.Now() + wait;
  memory.failure = error ? std::optional(*error) : std::nullopt;
}

void NodeReconciler::Take(Pass& pass, outcome::Sync& end, const cloud::Place& here) {
  Memory& memory = pass.memory;
  if (!end.answer) {
    pass.notes.push_back({false, "SyncOpenAPI", end.answer.error().message});
    return;
  }
  // It says nothing about the ENIs of the instance that spec names since.
  if (end.instance != pass.node.spec.instance) {
    memory.sync_again = true;
    memory.sync_wanted = true;
    return;
  }
  const auto now = parts_.executor.WallNow();
  CloudView view = *end.answer;
  pass.to.account = here.account;
  for (cloud::Eni& eni : view.enis) {
    if (IsForeign(pass.node, eni)) eni.tags[std::string(kExcludedTag)] = "true";
  }
  for (const auto& [id, vswitch] : view.vswitches) NoteVSwitch(vswitch);
  for (const cloud::Eni& eni : view.enis) {
    const auto token = eni.tags.find(std::string(kAttemptTag));
    if (token != eni.tags.end() && pass.to.attempts.contains(token->second))
      Adopt(pass, token->second, eni);
    if (const auto known = vswitches_.known.find(eni.vswitch_id); known != vswitches_.known.end())
      view.vswitches.insert(*known);
  }
  // A list may be late: an ENI is gone when it is missed a second time.
  if (pass.news) {
    std::map<std::string, async::TimePoint> missing;
    for (const std::string& id : view.gone) {
      const auto since = memory.missing.find(id);
      missing[id] = since == memory.missing.end() ? parts_.executor.Now() : since->second;
    }
    memory.missing = std::move(missing);
    memory.sync_wanted = memory.sync_again;
  }
  std::erase_if(view.gone, [&](const std::string& id) {
    return parts_.executor.Now() - memory.missing[id] < kMissingFor;
  });
  std::set<std::string> busy;
  for (const Task* task : parts_.tasks.queue().OfNode(pass.key)) busy.insert(task->eni);
  // The view may be older than the end of a task.
  busy.insert(memory.settled.begin(), memory.settled.end());
  TakeView(pass.node, pass.to, view, busy, pass.pods, now);
  for (const std::string& id : view.gone) memory.missing.erase(id);
  memory.instance = end.instance;
  memory.left.clear();
  for (const cloud::Eni& eni : view.enis) {
    if (!eni.instance_id.empty() && eni.instance_id != end.instance)
      memory.left.emplace(eni.id, eni.instance_id);
  }
  memory.instance_seen =
      std::ranges::contains(view.enis, pass.node.spec.instance, &cloud::Eni::instance_id);
  memory.moving = std::ranges::any_of(view.enis, [&](const cloud::Eni& eni) {
    // One of others on EFLO that could not be made stays so.
    return eni.instance_id == pass.node.spec.instance && eni.status != kInUse &&
           !eni.status.ends_with("Failed") && !pass.to.nics.contains(eni.id);
  });
  if (pass.node.id.deleting != 0) MarkOwn(pass, view);
  pass.to.last_sync = now;
  // Somebody may have asked for another one since this one began.
  if (pass.node.status.next_sync == end.due) pass.to.next_sync = now + kSyncEach;
}

void NodeReconciler::Adopt(Pass& pass, const std::string& token, const cloud::Eni& eni) {
  TakeCreated(pass.node, pass.to, token, eni, vswitches_);
  pass.memory.sends.erase(token);
  pass.memory.born.try_emplace(eni.id, parts_.executor.Now());
}

void NodeReconciler::Take(Pass& pass, outcome::Find& end, const cloud::Place&) {
  const auto attempt = pass.to.attempts.find(end.token);
  if (!end.answer || attempt == pass.to.attempts.end()) return;
  if (*end.answer) return Adopt(pass, end.token, **end.answer);
  pass.to.attempts.erase(attempt);
  pass.memory.sends.erase(end.token);
}

void NodeReconciler::Take(Pass&, outcome::ReadVSwitches& end, const cloud::Place&) {
  if (!end.answer) return;
  // A vSwitch that does not exist is not asked for again for a while, either.
  for (const std::string& id : end.ids) {
    vswitches_.known.erase(id);
    vswitches_read_[id] = parts_.executor.Now();
  }
  for (const cloud::VSwitch& vswitch : *end.answer) NoteVSwitch(vswitch);
}

void NodeReconciler::NoteVSwitch(const cloud::VSwitch& vswitch) {
  vswitches_.known[vswitch.id] = vswitch;
  vswitches_read_[vswitch.id] = parts_.executor.Now();
}

void NodeReconciler::ForgetVSwitches() {
  const auto now = parts_.executor.Now();
  std::erase_if(vswitches_read_,
                [&](const auto& entry) { return now - entry.second >= kVSwitchKnown; });
  std::erase_if(vswitches_.known,
                [&](const auto& entry) { return !vswitches_read_.contains(entry.first); });
  std::erase_if(vswitches_.full_until,
                [&](const auto& entry) { return entry.second <= parts_.executor.WallNow(); });
}

void NodeReconciler::Take(Pass& pass, outcome::Create& end, const cloud::Place&) {
  const auto attempt = pass.to.attempts.find(end.token);
  if (attempt == pass.to.attempts.end()) return;
  if (end.answer) {
    pass.notes.push_back({true, "CreateENI", end.answer->id});
    return Adopt(pass, end.token, *end.answer);
  }
  const Error& error = end.answer.error();
  Sends& sends = pass.memory.sends[end.token];
  sends.barred.reset();
  const std::string vswitch = attempt->second.request.vswitch_id;
  switch (error.error_class) {
    case ErrorClass::kRetry:
      // A cloud that reports an internal error may have made the ENI all the same.
      if (error.reason != cloud::kNotSent) sends.certain = false;
      sends.doubted = true;
      return;  // again, with the same token
    case ErrorClass::kThrottled:
      return;  // likewise
    case ErrorClass::kAmbiguous:
      sends.certain = false;
      return;
    case ErrorClass::kConflict:
    case ErrorClass::kNotFound:
    case ErrorClass::kTerminal:
      break;
  }
  sends.refused = true;
  if (cloud::IsVSwitchFull(error)) {
    vswitches_.full_until[vswitch] = parts_.executor.WallNow() + kVSwitchFull;
    pass.memory.not_before = {};  // another one may have addresses
  }
  if (pass.news && cloud::IsCapacityExceeded(error)) WantSync(pass.memory);
  if (error.reason != cloud::kNotSent) pass.notes.push_back({false, "CreateENI", error.message});
  // A request before may have been carried out: then the ENI is searched for first.
  if (sends.certain) {
    pass.to.attempts.erase(attempt);
    pass.memory.sends.erase(end.token);
  }
}

void NodeReconciler::Take(Pass& pass, outcome::Assign& end, const cloud::Place&) {
  const auto found = pass.to.nics.find(end.job.eni);
  if (found == pass.to.nics.end()) return;
  Nic& nic = found->second;
  if (end.answer) {
    nic.conditions.clear();
    return TakeAssigned(pass.node, pass.to, end.job, *end.answer);
  }
  const Error& error = end.answer.error();
  pass.notes.push_back({false, "AllocIP", Format("{}: {}", nic.id, error.message)});
  if (cloud::IsVSwitchFull(error)) {
    vswitches_.full_until[nic.vswitch] = parts_.executor.WallNow() + kVSwitchFull;
    pass.memory.not_before = {};
    SetNicCondition(nic, "InsufficientIP", error);
  } else if (error.error_class == ErrorClass::kTerminal) {
    SetNicCondition(nic, "OperationErr", error);
  }
  const bool passing =
      error.error_class == ErrorClass::kRetry || error.error_class == ErrorClass::kThrottled;
  if (pass.news && !passing && !cloud::IsVSwitchFull(error)) WantSync(pass.memory);
}

// The time of a condition is when it came to be so: the same message again is no news.
void NodeReconciler::SetNicCondition(Nic& nic, const std::string& type, const Error& error) {
  NicCondition& condition = nic.conditions[type];
  const std::string message = error.message;
  if (condition.message == message) return;
  condition = {message, parts_.executor.WallNow()};
}

void NodeReconciler::Take(Pass& pass, outcome::Unassign& end, const cloud::Place&) {
  if (end.answer) return TakeUnassigned(pass.to, end.job, parts_.executor.WallNow());
  const ErrorClass error = end.answer.error().error_class;
  if (pass.news && error != ErrorClass::kRetry && error != ErrorClass::kThrottled)
    WantSync(pass.memory);
}

void NodeReconciler::ChooseJob(Pass& pass) {
  if (pass.memory.job || parts_.executor.Now() < pass.memory.not_before) return;
  if (!AccountsOf(pass.node)) return;
  pass.order = OrderFor(pass);
}

std::optional<JobOrder> NodeReconciler::OrderFor(Pass& pass) {
  pass.memory.sync_settles = !pass.wanted.job && pass.to.attempts.empty();
  if (IsSyncDue(pass)) return SyncOrder(pass);
  auto& job = pass.wanted.job;
  // While the cloud refuses a create, the ENIs that there are get their addresses.
  const bool is_refused = pass.memory.failure && pass.memory.failed_job == kCreateResult;
  const bool is_beside = job && !std::holds_alternative<job::Create>(*job) && is_refused;
  if (!is_beside) {
    if (auto order = OrderForAttempt(pass)) return order;
  }
  const bool creates = job && std::holds_alternative<job::Create>(*job);
  const bool needs_vswitch = job ? creates : pass.wanted.refused;
  pass.held_back = creates && parts_.executor.Now() < pass.memory.no_create_before;
  if (pass.held_back) return std::nullopt;
  // Nothing is made in an account that does not have the instance. EFLO does not tell.
  if (creates && pass.node.backend == Backend::kEcs && !pass.memory.instance_seen.value_or(false)) {
    const auto last = pass.to.last_sync.value_or(async::WallTime{});
    const bool is_asked =
        pass.memory.instance_seen && parts_.executor.WallNow() - last < kLongestPause;
    return is_asked ? std::nullopt : std::optional(SyncOrder(pass));
  }
  if (needs_vswitch) {
    if (auto stale = StaleVSwitches(pass.node); !stale.empty())
      return Order(pass, job::ReadVSwitches{std::move(stale)});
  }
  // A failure is told until the cloud answers again, also when its job is not wanted any more.
  const bool is_failing = pass.memory.failure || pass.memory.elsewhere;
  if (!job) return is_failing ? std::optional(SyncOrder(pass)) : std::nullopt;
  if (auto* create = std::get_if<job::Create>(&*job)) {
    Attempt attempt{std::move(create->request), parts_.executor.WallNow()};
    attempt.request.client_token = NewToken(parts_.executor);
    cloud::Tags& tags = attempt.request.tags;
    tags[std::string(kCreatorTag)] = kCreator;
    tags[std::string(kClusterTag)] = parts_.cluster;
    tags[std::string(kNodeTag)] = pass.node.id.uid;
    tags[std::string(kInstanceTag)] = pass.node.spec.instance;
    tags[std::string(kAttemptTag)] = attempt.request.client_token;
    pass.to.attempts[attempt.request.client_token] = attempt;
    return CreateOrder(pass, attempt);
  }
  return std::visit([&](auto& work) { return Order(pass, std::move(work)); }, *job);
}

JobOrder NodeReconciler::SyncOrder(const Pass& pass) const {
  job::Sync sync;
  sync.due = pass.to.next_sync;
  for (const auto& [id, nic] : pass.to.nics) sync.known.push_back(id);
  for (const auto& [id, vswitch] : vswitches_.known) sync.vswitches.insert(id);
  return Order(pass, std::move(sync));
}

// An attempt that was not settled: repeated with its token, or searched for by its tag.
std::optional<JobOrder> NodeReconciler::OrderForAttempt(Pass& pass) {
  const auto now = parts_.executor.Now();
  for (const auto& [token, attempt] : pass.to.attempts) {
    const auto sends = pass.memory.sends.find(token);
    const bool is_old = parts_.executor.WallNow() - attempt.begun >= kTokenLife;
    const bool is_known = sends != pass.memory.sends.end();
    const bool is_over = is_old || (is_known && sends->second.refused);
    if (!is_over && pass.node.id.deleting == 0) return CreateOrder(pass, attempt);
    if (!is_known) {
      pass.memory.sends[token] = {.last = now, .refused = true};
    } else if (now - sends->second.last >= kMissingFor) {
      return Order(pass, job::Find{token});
    }
  }
  return std::nullopt;
}

JobOrder NodeReconciler::Order(const Pass& pass, decltype(JobOrder::work) work) const {
  return {.node_uid = pass.node.id.uid,
          .instance = pass.node.spec.instance,
          .region = pass.node.spec.region,
          // A Node without ENIs is bound to no account.
          .account = pass.to.nics.empty() && pass.to.attempts.empty() ? "" : pass.to.account,
          .work = std::move(work),
          .wanted = {}};
}

JobOrder NodeReconciler::CreateOrder(const Pass& pass, const Attempt& attempt) {
  JobOrder order = Order(pass, job::Create{attempt.request});
  order.wanted = [this, key = pass.key, uid = pass.node.id.uid,
                  token = attempt.request.client_token]() -> async::Task<bool> {
    return IsStillWanted(key, uid, token);
  };
  return order;
}

async::Task<bool> NodeReconciler::IsStillWanted(std::string key, std::string uid,
                                                std::string token) {
  const Node* node = parts_.caches.nodes.Get(key);
  co_return node && node->id.uid == uid && node->id.deleting == 0 && node->IsOurs() &&
      node->status.attempts.contains(token);
}

std::vector<std::string> NodeReconciler::StaleVSwitches(const Node& node) const {
  std::vector<std::string> stale;
  for (const std::string& id : node.spec.vswitches) {
    const auto read = vswitches_read_.find(id);
    if (read == vswitches_read_.end() || parts_.executor.Now() - read->second >= kVSwitchFresh)
      stale.push_back(id);
  }
  return stale;
}

void NodeReconciler::StartJob(Pass& pass) {
  if (!pass.order) return;
  ForgetVSwitches();
  if (std::holds_alternative<job::Sync>(pass.order->work)) {
    pass.memory.syncing = true;
    pass.memory.sync_again = false;
    pass.memory.settled.clear();
  }
  if (const auto* create = std::get_if<job::Create>(&pass.order->work)) {
    const std::string& token = create->request.client_token;
    const bool is_new = !pass.node.status.attempts.contains(token);
    auto& sends = pass.memory.sends.try_emplace(token, Sends{.certain = is_new}).first->second;
    sends.last = parts_.executor.Now();
  }
  pass.memory.job = async::Start(RunJob(pass.key, std::move(*pass.order), AccountsOf(pass.node)));
}

async::Task<void> NodeReconciler::RunJob(std::string key, JobOrder order,
                                         cloud::EniAccounts* accounts) {
  JobOutcome outcome = co_await Perform(accounts, std::move(order));
  // The memory has this task: it is there for as long as the task is.
  memories_.at(key).outcome = std::move(outcome);
  parts_.again(key);
}

}  // namespace berth::eni
