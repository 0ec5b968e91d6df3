// How an address is made as its spec says.
#include <utility>

#include "log/format.h"
#include "log/log.h"
#include "reconcile/eip/reconciler.h"

namespace berth::eip {
namespace {

// Why an object is not ready while it is being changed.
std::string ChangeReason(const Object& object) {
  if (object.id.deleting != 0) return "Deleting";
  if (object.told_reason == "Creating" || object.told_reason == "Drifted") {
    return object.told_reason;
  }
  return object.ToldReadyNow() ? "Drifted" : "Updating";
}

// So often a change may come too late.
constexpr int kMostLate = 3;
// So often the cloud may accept a change before it shows it: for a minute, by the pauses of Poll.
constexpr int kMostRepeats = 5;

}  // namespace

async::Task<bool> Reconciler::IsUnchanged(const Pass* pass) {
  const Object* now = parts_.latest.Get(pass->object.id.Key());
  co_return now && now->id.uid == pass->object.id.uid&& BasisOf(*now) == BasisOf(pass->object);
}

cloud::Vpc::Wanted Reconciler::IfUnchanged(const Pass* pass) {
  return [this, pass] { return IsUnchanged(pass); };
}

bool Reconciler::IsLate(Pass* pass, const Error& error) {
  const bool late = error.error_class == ErrorClass::kNotFound ||
                    error.reason == "IpInstanceId.AlreadyInBandwidthPackage";
  return late && ++pass->memory.late <= kMostLate;
}

Result<void> Reconciler::CountRepeat(Pass* pass, const std::string& done, bool late) {
  Memory& memory = pass->memory;
  memory.repeats = !late && memory.change == done ? memory.repeats + 1 : 0;
  memory.change = done;
  if (memory.repeats < kMostRepeats) return {};
  return std::unexpected(Error{
      .error_class = ErrorClass::kRetry,
      .reason = "NoEffect",
      .message =
          Format("the cloud accepted this again and again: {}; and shows the EIP without it", done),
      .retry_after = std::chrono::seconds(30)});
}

async::Task<Reconciler::Next> Reconciler::Tag(Pass* pass, cloud::Tags tags) {
  pass->doing = "Update";
  Report report{.synced = true,
                .progressing = true,
                .reason = ChangeReason(pass->object),
                .message = "setting tags"};
  // Not again and again in one pass: the cloud may take its time to show them.
  if (std::exchange(pass->tagged, true)) {
    auto told = co_await Tell(pass, std::move(report));
    if (!told) co_return std::unexpected(std::move(told.error()));
    co_return Poll(pass);
  }
  // Written down first: what is on the address and not known here would never be taken off.
  cloud::Tags applied = pass->object.applied_tags;
  for (const auto& [key, value] : tags) {
    if (key != kOwnerTag) applied.insert_or_assign(key, value);
  }
  Json facts = Json::Object();
  if (!applied.empty()) facts["tags"] = TextsOf(applied);
  auto written = co_await TellTry(pass, std::move(report), std::move(facts));
  if (!written) co_return std::unexpected(std::move(written.error()));
  std::vector<std::string> keys;
  for (const auto& [key, value] : tags) keys.push_back(key);
  auto done = co_await VpcOf(*pass).TagEips({pass->object.allocation_id}, std::move(tags),
                                            IfUnchanged(pass));
  const bool late = !done && IsLate(pass, done.error());
  if (!done && !late) co_return std::unexpected(std::move(done.error()));
  if (auto counted = CountRepeat(pass, "tags set: " + Joined(keys), late); !counted) {
    co_return std::unexpected(std::move(counted.error()));
  }
  pass->sight = {};
  co_return std::nullopt;
}

async::Task<Reconciler::Next> Reconciler::Modify(Pass* pass, cloud::EipChange change) {
  std::string done;
  const auto add = [&done](const std::string& what) { done += (done.empty() ? "" : ", ") + what; };
  if (change.bandwidth) add(Format("bandwidth set to {} Mbps", *change.bandwidth));
  if (change.name) add(Format("name set to {}", *change.name));
  if (change.description) add("description set");
  return Change(
      pass,
      VpcOf(*pass).ModifyEip(pass->object.allocation_id, std::move(change), IfUnchanged(pass)),
      std::move(done));
}

async::Task<Reconciler::Next> Reconciler::Join(Pass* pass) {
  pass->doing = "Update";
  const std::string package = pass->object.spec.package;
  Json facts = Json::Object();
  facts["joinedPackage"] = package;
  auto written = co_await TellTry(pass,
                                  {.synced = true,
                                   .progressing = true,
                                   .reason = ChangeReason(pass->object),
                                   .message = "adding to bandwidth package " + package},
                                  std::move(facts));
  if (!written) co_return std::unexpected(std::move(written.error()));
  // Without a token: the cloud would answer the same step of another day with what it said then.
  auto join = VpcOf(*pass).JoinPackage(pass->object.allocation_id, package, "", IfUnchanged(pass));
  co_return co_await Change(pass, std::move(join), "added to bandwidth package " + package);
}

async::Task<Reconciler::Next> Reconciler::Change(Pass* pass, async::Task<Result<void>> change,
                                                 std::string done) {
  const bool deleting = pass->object.id.deleting != 0;
  pass->doing = deleting ? "Release" : "Update";
  auto changed = co_await std::move(change);
  const bool late = !changed && IsLate(pass, changed.error());
  if (!changed && !late) co_return std::unexpected(std::move(changed.error()));
  Reached();
  Memory& memory = pass->memory;
  if (auto counted = CountRepeat(pass, done, late); !counted) {
    co_return std::unexpected(std::move(counted.error()));
  }
  const std::string reason = ChangeReason(pass->object);
  // Before the status, whose write a user's edit may have forestalled.
  if (!late) {
    memory.late = 0;
    log::Info("eip changed", {{"eip", pass->object.id.Key()}, {"what", done}});
    Record(*pass, kube::EventType::kNormal, "Updated", deleting ? "Release" : "Update",
           reason == "Drifted" ? done + ": it was changed in the cloud" : done);
  }
  auto written = co_await Tell(pass, {.synced = true,
                                      .progressing = true,
                                      .reason = reason,
                                      .message = done + "; the cloud is at work"});
  if (!written) co_return std::unexpected(std::move(written.error()));
  co_return Poll(pass);
}

}  // namespace berth::eip
