#include "cloud/simulator/agent/agent.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "cloud/answer.h"
#include "log/format.h"

namespace berth::cloud::simulator::agent {
namespace {

constexpr std::size_t kMostClaims = 10'000;  // whose attempts are remembered

std::int64_t Seconds(async::WallTime time) {
  return std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
}

http::Response Success(const std::string& message, const std::string& id,
                       std::optional<async::WallTime> created_at) {
  Json body;
  body["success"] = true;
  body["message"] = message;
  if (created_at) {
    body["sandboxId"] = id;
    body["createdAt"] = Seconds(*created_at);
  }
  return {.code = 200, .body = body.to_string()};
}

std::int64_t AttemptOf(const Json& sandbox) {
  const Json& attempt = Member(sandbox, "attempt");
  return attempt.is_int64() ? attempt.as<std::int64_t>() : 0;
}

}  // namespace

std::string_view Word(Agent::Listed::Phase phase) {
  using enum Agent::Listed::Phase;
  return phase == kCreating ? "creating" : phase == kRunning ? "running" : "terminating";
}

http::Response Failure(int http_code, const std::string& message, const std::string& code) {
  Json body;
  body["success"] = false;
  body["message"] = message;
  if (!code.empty()) body["code"] = code;
  return {.code = http_code, .body = body.to_string()};
}

std::optional<http::Response> Agent::Fence(const Json& sandbox, const std::string& id) const {
  const std::string pod_uid = Text(sandbox, "podUID");
  if (!pod_uid.empty() && !pod_.uid.empty() && pod_uid != pod_.uid) {
    return Failure(409, Format("this is pod {}, not {}", pod_.uid, pod_uid), "StaleAssignment");
  }
  const std::int64_t attempt = AttemptOf(sandbox);
  const auto seen = attempts_.find(Text(sandbox, "claimUid"));
  if (attempt > 0 && seen != attempts_.end()) {
    const auto& [number, deleted] = seen->second;
    if (attempt < number || (attempt == number && deleted)) {
      return Failure(409, Format("attempt {} is over", attempt), "StaleAssignment");
    }
  }
  if (!list_.contains(id) && list_.size() >= pod_.capacity) {
    return Failure(409, Format("all {} slots are taken", pod_.capacity), "CapacityRejected");
  }
  return std::nullopt;
}

std::optional<http::Response> Agent::Create(const Json& sandbox, async::WallTime now) {
  const std::string id = Text(sandbox, "sandboxId");
  const std::string image = Text(sandbox, "image");
  if (id.empty() || image.empty()) return Failure(500, "sandboxId and image are required");
  if (fences_) {
    if (auto refusal = Fence(sandbox, id)) return refusal;
  }
  if (const auto listed = list_.find(id); listed != list_.end()) {
    return Success("sandbox exists", id, listed->second.created_at);
  }
  if (containers_.contains(id)) return Failure(500, Format("container \"{}\": already exists", id));
  const std::string claim = Text(sandbox, "claimUid");
  if (attempts_.size() >= kMostClaims) attempts_.erase(attempts_.begin());
  if (AttemptOf(sandbox) > 0) attempts_[claim] = {AttemptOf(sandbox), false};
  list_[id] = {Listed::Phase::kCreating, claim, image, now};
  return std::nullopt;
}

http::Response Agent::Started(const std::string& id, bool exits) {
  Listed& listed = list_.at(id);
  listed.phase = Listed::Phase::kRunning;
  images_.insert(listed.image);
  containers_[id] = {listed.claim_uid, listed.image, !exits};
  return Success("sandbox created", id, listed.created_at);
}

http::Response Agent::GiveUp(const std::string& id, const std::string& why) {
  list_.erase(id);
  return Failure(500, why);
}

std::optional<http::Response> Agent::Delete(const std::string& id, bool* begins) {
  *begins = false;
  const auto found = list_.find(id);
  if (found == list_.end()) {
    deadlocked_ = true;
    return std::nullopt;
  }
  Listed& listed = found->second;
  if (const auto seen = attempts_.find(listed.claim_uid);
      seen != attempts_.end() && id.ends_with(Format("-{}", seen->second.number))) {
    seen->second.deleted = true;
  }
  *begins = std::exchange(listed.phase, Listed::Phase::kTerminating) != Listed::Phase::kTerminating;
  return Success("sandbox is being deleted", id, std::nullopt);
}

void Agent::Stopped(const std::string& id) {
  list_.erase(id);
  containers_.erase(id);
}

http::Response Agent::Status() const {
  Json body;
  body["agentId"] = pod_.name;
  body["nodeName"] = pod_.node;
  body["capacity"] = pod_.capacity;
  body["allocated"] = list_.size();
  body["images"] = std::vector<std::string>(images_.begin(), images_.end());
  Json sandboxes = list_.empty() ? Json::null() : Json::Array();  // as Go writes an empty list
  for (const auto& [id, listed] : list_) {
    Json entry;
    entry["sandboxId"] = id;
    entry["claimUid"] = listed.claim_uid;
    entry["phase"] = Word(listed.phase);
    if (const auto container = containers_.find(id); container != containers_.end()) {
      entry["message"] = container->second.running ? "running" : "stopped";
    }
    entry["createdAt"] = Seconds(listed.created_at);
    sandboxes.push_back(std::move(entry));
  }
  body["sandboxStatuses"] = std::move(sandboxes);
  return {.code = 200, .body = body.to_string()};
}

void Agent::Restart() {
  list_.clear();
  attempts_.clear();
  deadlocked_ = false;
  ++restarts_;
}

bool Agent::Exit(const std::string& id) {
  const auto found = containers_.find(id);
  if (found == containers_.end()) return false;
  return std::exchange(found->second.running, false);
}

}  // namespace berth::cloud::simulator::agent
