#include "handlers/apis/enitasks.h"

#include "handlers/apis/calendar.h"
#include "log/format.h"

namespace berth::apis {
namespace {

using eni::Task;
using eni::TaskChange;
using eni::Withdrawal;

// Objects are small and many.
constexpr LiveCollection::Limits kLimits{.events = 2048, .bytes = 4 * 1024 * 1024};

void SetGiven(Json& object, const char* name, const std::string& value) {
  if (!value.empty()) object[name] = value;
}

void SetGiven(Json& object, const char* name, int count) {
  if (count > 0) object[name] = count;
}

Json SpecOf(const Task& task) {
  Json spec;
  spec["operation"] = eni::Name(task.operation);
  spec["nodeName"] = task.node;
  spec["instanceID"] = task.instance;
  SetGiven(spec, "trunkENIID", task.trunk);
  spec["backend"] = eni::Name(task.backend);
  SetGiven(spec, "account", task.account);
  SetGiven(spec, "requestedIPv4Count", task.ipv4_addresses);
  SetGiven(spec, "requestedIPv6Count", task.ipv6_addresses);
  SetGiven(spec, "requestedIPv4PrefixCount", task.ipv4_prefixes);
  SetGiven(spec, "requestedIPv6PrefixCount", task.ipv6_prefixes);
  return spec;
}

Json StatusOf(const Task& task, const Calendar& calendar) {
  Json status;
  status["state"] = eni::Name(task.state);
  SetGiven(status, "cloudStatus", task.cloud_status);
  status["attempt"] = task.attempt;
  status["createdAt"] = calendar.Text(task.created_at);
  const auto set = [&](const char* name, const std::optional<async::TimePoint>& time) {
    if (time) status[name] = calendar.Text(*time);
  };
  set("startedAt", task.started_at);
  set("completedAt", task.completed_at);
  set("nextPollAt", task.next_look_at);
  set("deadline", task.deadline);
  SetGiven(status, "reason", task.reason);
  SetGiven(status, "lastError", task.error);
  SetGiven(status, "requestID", task.request_id);
  return status;
}

// In the order of the type's columns.
std::vector<Cell> CellsOf(const Task& task, const Calendar& calendar) {
  const auto text = [](std::string_view given) {
    return Cell::Text(given.empty() ? kNothing : given);
  };
  return {text(task.node),
          text(task.instance),
          Cell::Text(eni::Name(task.operation)),
          Cell::Text(eni::Name(task.state)),
          text(task.cloud_status),
          Cell::Number(static_cast<std::uint64_t>(task.attempt)),
          Cell::Text(calendar.Clock(task.next_look_at)),
          Cell::Age(calendar.Seconds(task.created_at)),
          text(task.reason),
          Cell::Text(eni::Name(task.backend)),
          text(task.request_id),
          Cell::Text(calendar.Clock(task.deadline)),
          text(task.error)};
}

LiveCollection::Draft DraftOf(const Task& task, const Calendar& calendar) {
  LiveCollection::Draft draft{.ns = {}, .name = task.eni};
  draft.fields["spec.nodeName"] = task.node;
  draft.cells = CellsOf(task, calendar);
  draft.content["spec"] = SpecOf(task);
  draft.content["status"] = StatusOf(task, calendar);
  return draft;
}

kube::Status NotNow() {
  kube::Status status = kube::ServiceUnavailable("this replica runs no ENI tasks now; try again");
  status.details.retry_after_seconds = 1;
  return status;
}

// The reason why a task cannot be withdrawn, for the user.
std::string Refusal(const std::string& eni, const Task* task, Withdrawal withdrawal) {
  switch (withdrawal) {
    case Withdrawal::kAccepted:
      return Format(
          "the cloud was asked to attach {}, which cannot be called back: the task ends once it is "
          "InUse, or at its deadline",
          eni);
    case Withdrawal::kReleasing:
      return Format(
          "Node {} has given {} up and would submit the {} again: the task ends once the cloud has "
          "carried it out",
          task->node, eni, eni::Name(task->operation));
    case Withdrawal::kNeeded:
      return Format("pods have addresses of {}: Node {} would attach it again", eni, task->node);
    default:
      return Format("it has ended, and goes once the status of Node {} has its result", task->node);
  }
}

}  // namespace

ResourceType EniTaskType() {
  ResourceType type("EniTask");
  type.short_names = {"et"};
  type.categories = {"berth"};
  type.deletable = true;
  type.selectable_fields = {"spec.nodeName"};
  type.description =
      "An operation on an ENI that the server waits for, or that ended less than 10 minutes ago. "
      "Deleting it cancels an attach that was not sent yet; what the cloud has accepted goes on.";
  type.columns = {{"Node", "string", "The Node that the ENI is for.", 0},
                  {"Instance", "string", "The node's server in the cloud.", 0},
                  {"Op", "string", "Attach, Detach or Delete.", 0},
                  {"Status", "string", "Pending, Running, Completed, Failed or Timeout.", 0},
                  {"Cloud-Status", "string", "The ENI's status when the cloud was last asked.", 0},
                  {"Attempt", "integer", "Requests that the cloud accepted.", 0},
                  {"Next", "string", "When the cloud is asked for the ENI again.", 0},
                  {"Age", "date", "Since it was submitted.", 0},
                  {"Reason", "string", "Why it waits or has ended so, in one word.", 0},
                  {"Backend", "string", "ECS or EFLO.", 1},
                  {"Request-ID", "string", "The cloud's, of the last call that failed.", 1},
                  {"Deadline", "string", "When an attach times out.", 1},
                  {"Last-Error", "string", "The last error.", 1}};
  type.properties = Json::Object();
  type.properties["spec"] = ObjectSchema(
      "What is to be done.",
      {{"operation", "string", "Attach, Detach or Delete."},
       {"nodeName", "string", "The Node that the ENI is for."},
       {"instanceID", "string", "The node's server in the cloud."},
       {"trunkENIID", "string", "The trunk ENI that a member is attached to."},
       {"backend", "string", "ECS or EFLO."},
       {"account", "string", "The cloud account that the ENI is in."},
       {"requestedIPv4Count", "integer", "IPv4 addresses that the ENI was made with.", "int32"},
       {"requestedIPv6Count", "integer", "IPv6 addresses that the ENI was made with.", "int32"},
       {"requestedIPv4PrefixCount", "integer", "IPv4 prefixes that it was made with.", "int32"},
       {"requestedIPv6PrefixCount", "integer", "IPv6 prefixes that it was made with.", "int32"}});
  type.properties["status"] = ObjectSchema(
      "How far it is.",
      {{"state", "string", "Pending, Running, Completed, Failed or Timeout."},
       {"cloudStatus", "string",
        "The ENI's status when the cloud was last asked; absent when the "
        "cloud did not list it."},
       {"attempt", "integer", "Requests that the cloud accepted.", "int32"},
       {"createdAt", "string", "When it was submitted.", "date-time"},
       {"startedAt", "string", "When the cloud accepted the first request.", "date-time"},
       {"completedAt", "string", "When it ended.", "date-time"},
       {"nextPollAt", "string",
        "When the cloud is asked for the ENI again; absent while it waits "
        "for a turn and once it has ended.",
        "date-time"},
       {"deadline", "string", "When an attach times out.", "date-time"},
       {"reason", "string", "Why it waits or has ended so: the cloud's code, or a word of ours."},
       {"lastError", "string", "The last error."},
       {"requestID", "string", "The cloud's, of the last call that failed."}});
  return type;
}

EniTasks::EniTasks(async::Executor& control)
    : control_(control), tasks_(EniTaskType(), kLimits), desk_(control) {
  tasks_.OnDelete(
      [this](const Deletion& deletion, async::Executor& home, ResourceStore::Deleted answer) {
        Delete(deletion, home, std::move(answer));
      });
}

void EniTasks::Publish(eni::TaskRunner* runner) {
  desk_.Open(&shown_);
  if (shown_.get() != runner) tasks_.Clear();
  shown_ = {runner, runner ? runner->alive() : std::weak_ptr<const void>()};
  if (!runner) return;
  const Calendar calendar(control_);
  for (const TaskChange& change : runner->TakeChanges()) {
    if (!change.task || change.replaced) tasks_.Remove("", change.eni);
    if (change.task) tasks_.Put(DraftOf(*change.task, calendar));
  }
}

void EniTasks::Delete(const Deletion& deletion, async::Executor& home,
                      ResourceStore::Deleted answer) {
  using Answered = std::expected<void, kube::Status>;
  desk_.AskWithDeadline(
      home,
      [eni = deletion.name, dry_run = deletion.dry_run](Shown* shown) -> Answered {
        eni::TaskRunner* runner = shown ? shown->get() : nullptr;
        if (!runner) return std::unexpected(NotNow());
        const Withdrawal withdrawal =
            dry_run ? runner->queue().MayWithdraw(eni) : runner->Withdraw(eni);
        if (withdrawal == Withdrawal::kWithdrawn) return {};
        const std::string plural = "enitasks";
        if (withdrawal == Withdrawal::kNoTask)
          return std::unexpected(kube::NotFound(kGroup, plural, eni));
        return std::unexpected(kube::Conflict(kGroup, plural, eni,
                                              Refusal(eni, runner->queue().Find(eni), withdrawal)));
      },
      std::move(answer));
}

}  // namespace berth::apis
