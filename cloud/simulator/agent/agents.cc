#include "cloud/simulator/agent/agents.h"

#include <algorithm>
#include <charconv>
#include <ranges>
#include <utility>

#include "cloud/answer.h"
#include "cloud/simulator/received.h"
#include "log/format.h"

namespace berth::cloud::simulator::agent {
namespace {

constexpr std::string_view kCreate = "CreateSandbox";
constexpr std::string_view kDelete = "DeleteSandbox";
constexpr std::string_view kStatus = "GetAgentStatus";

std::string ActionOf(const ReceivedRequest& request) {
  if (request.path == "/api/v1/agent/create") return std::string(kCreate);
  if (request.path == "/api/v1/agent/delete") return std::string(kDelete);
  if (request.path == "/api/v1/agent/status") return std::string(kStatus);
  return {};
}

// "10.0.0.1" of "10.0.0.1:5758", "fd00::1" of "[fd00::1]:5758".
std::string IpOf(const std::string& host) {
  if (host.starts_with('[')) return host.substr(1, host.find(']') - 1);
  return host.substr(0, host.find(':'));
}

// The response that a fault's code asks for: an HTTP status, or the code of a refusal.
http::Response RefusalWith(const std::string& code) {
  int status = 0;
  const auto read = std::from_chars(code.data(), code.data() + code.size(), status);
  if (read.ec == std::errc() && status >= 300 && status < 600) {
    return Failure(status, "a fault asked for it");
  }
  return Failure(409, "a fault asked for it", code);
}

std::optional<Json> Body(const http::Request& request) { return ParseObject(request.body); }

}  // namespace

std::string Agents::ActionOf(const http::Request& request) {
  return agent::ActionOf(ReceivedRequest(request));
}

Agents::Host* Agents::HostOf(const std::string& ip) {
  const auto found = hosts_.find(ip);
  if (found != hosts_.end()) return &found->second;
  if (!options_.unknown) return nullptr;
  AgentPod pod = *options_.unknown;
  if (!hosts_.empty()) {
    pod.name += "-" + ip;
    pod.uid.clear();
  }
  Put(ip, std::move(pod));
  return &hosts_.at(ip);
}

Agents::Arrival Agents::Take(const http::Request& request, async::WallTime now) {
  Settle(now);
  const ReceivedRequest received(request);
  const std::string action = agent::ActionOf(received);
  const std::string ip = IpOf(received.host);
  const Host* host = HostOf(ip);
  if (!host) return {.response = http::Response{.code = 0}};
  const bool is_known = !action.empty() && received.method == (action == kStatus ? "GET" : "POST");
  if (!is_known) return {.response = http::Response{.code = 404, .body = "404 page not found\n"}};
  ++calls_[action];

  const CallId id{++last_call_};
  Call& call = under_way_[id];
  call = {.ip = ip, .action = action, .request = request};
  call.fault =
      faults_.Take(action, {Fault::Kind::kRefused, Fault::Kind::kLostAnswer, Fault::Kind::kDelayed,
                            Fault::Kind::kFallsBack, Fault::Kind::kSticks});
  Carry(id, now);
  const auto answered = std::ranges::find(ended_, id, &Ended::call);
  if (answered == ended_.end()) return {.call = id};
  Arrival arrival{.response = std::move(answered->response)};
  ended_.erase(answered);
  return arrival;
}

void Agents::Carry(CallId id, async::WallTime now) {
  Call& call = under_way_.at(id);
  Host& host = hosts_.at(call.ip);
  if (host.agent.deadlocked()) {
    if (call.hung_up) under_way_.erase(id);
    return;
  }
  call.waits = host.hung_until.has_value();
  if (call.waits) return;
  if (call.fault) {
    call.delay = call.fault->delay;
    if (call.fault->kind == Fault::Kind::kRefused) {
      return Answer(id, RefusalWith(call.fault->code), now);
    }
    if (call.fault->kind == Fault::Kind::kSticks && call.action != kCreate) return;
  }
  std::optional<http::Response> response;
  if (call.action == kStatus) response = host.agent.Status();
  if (call.action == kCreate) response = Create(id, call, host, now);
  if (call.action == kDelete) response = Delete(call, host, now);
  if (response) Answer(id, *std::move(response), now);
}

std::optional<http::Response> Agents::Create(CallId id, Call& call, Host& host,
                                             async::WallTime now) {
  const auto body = Body(call.request);
  if (!body || call.hung_up) return Failure(400, "the body is no JSON object");
  const Json& sandbox = Member(*body, "sandbox");
  if (auto response = host.agent.Create(sandbox, now)) return response;
  call.creates = Text(sandbox, "sandboxId");
  const bool is_pulled = host.agent.images().contains(Text(sandbox, "image"));
  const bool sticks = call.fault && call.fault->kind == Fault::Kind::kSticks;
  const async::Duration takes = options_.start + (is_pulled ? async::Duration{} : options_.pull);
  const bool fails = sticks || takes > kLongestCreate;
  agenda_.Add(now + (fails ? kLongestCreate : takes),
              {.kind = fails ? Event::Kind::kCreateFails : Event::Kind::kCreateEnds,
               .ip = call.ip,
               .incarnation = host.incarnation,
               .sandbox = call.creates,
               .call = id});
  return std::nullopt;
}

std::optional<http::Response> Agents::Delete(const Call& call, Host& host, async::WallTime now) {
  const auto body = Body(call.request);
  if (!body) return Failure(400, "the body is no JSON object");
  const std::string sandbox = Text(*body, "sandboxId");
  bool begins = false;
  auto response = host.agent.Delete(sandbox, &begins);
  if (begins) {
    const auto container = host.agent.containers().find(sandbox);
    const bool runs = container != host.agent.containers().end() && container->second.running;
    const async::Duration takes = !runs                     ? async::Duration{}
                                  : Draw(options_.stubborn) ? async::Duration(kGrace)
                                                            : options_.stop;
    agenda_.Add(now + takes, {.kind = Event::Kind::kStopped,
                              .ip = call.ip,
                              .incarnation = host.incarnation,
                              .sandbox = sandbox});
  }
  return response;
}

void Agents::Answer(CallId id, http::Response response, async::WallTime now) {
  const auto found = under_way_.find(id);
  if (found == under_way_.end()) return;
  Call& call = found->second;
  call.creates.clear();
  if (call.fault && call.fault->kind == Fault::Kind::kLostAnswer) return;
  if (call.delay > call.delay.zero()) {
    agenda_.Add(
        now + std::exchange(call.delay, {}),
        {.kind = Event::Kind::kAnswer, .ip = call.ip, .call = id, .response = std::move(response)});
    return;
  }
  if (!call.hung_up) ended_.push_back({id, std::move(response)});
  under_way_.erase(found);
}

void Agents::HangUp(CallId id, async::WallTime now) {
  Settle(now);
  const auto found = under_way_.find(id);
  if (found == under_way_.end()) return;
  Call& call = found->second;
  call.hung_up = true;
  if (call.waits) return;  // the agent finds out when it reads the request
  const std::string creates = call.creates;
  const auto host = hosts_.find(call.ip);
  under_way_.erase(found);
  if (!creates.empty() && host != hosts_.end()) {
    host->second.agent.GiveUp(creates, "context canceled");
  }
}

void Agents::Settle(async::WallTime now) {
  while (true) {
    const auto at = agenda_.NextTime();
    auto event = agenda_.Next(now);
    if (!event) return;
    Happen(*std::move(event), at.value_or(now));
  }
}

void Agents::Happen(Event event, async::WallTime now) {
  using enum Event::Kind;
  if (event.kind == kAnswer) return Answer(event.call, std::move(event.response), now);
  const auto found = hosts_.find(event.ip);
  if (found == hosts_.end()) return;
  if (found->second.incarnation != event.incarnation) {
    // The agent forgot the sandbox, whose container has had its SIGTERM.
    if (event.kind == kStopped) found->second.agent.Exit(event.sandbox);
    return;
  }
  Host& host = found->second;
  Agent& agent = host.agent;
  const auto call = under_way_.find(event.call);
  const bool creates = call != under_way_.end() && call->second.creates == event.sandbox;
  if (event.kind == kStopped) agent.Stopped(event.sandbox);
  if (event.kind == kCreateFails && creates) {
    Answer(event.call, agent.GiveUp(event.sandbox, "context deadline exceeded"), now);
  }
  const auto listed = agent.list().find(event.sandbox);
  const bool is_creating =
      listed != agent.list().end() && listed->second.phase == Agent::Listed::Phase::kCreating;
  if (event.kind == kCreateEnds && creates && !is_creating) {
    Answer(event.call, agent.GiveUp(event.sandbox, "deleted while it was created"), now);
  } else if (event.kind == kCreateEnds && creates) {
    const auto& fault = call->second.fault;
    Answer(event.call,
           agent.Started(event.sandbox, fault && fault->kind == Fault::Kind::kFallsBack), now);
  }
  if (event.kind != kWakes || !host.hung_until || *host.hung_until > now) return;
  host.hung_until.reset();
  std::vector<CallId> waiting;
  for (const auto& [id, waits] : under_way_) {
    if (waits.ip == event.ip && waits.waits) waiting.push_back(id);
  }
  for (const CallId id : waiting) Carry(id, now);
}

void Agents::Put(const std::string& ip, AgentPod pod) {
  const auto found = hosts_.find(ip);
  if (found != hosts_.end() && found->second.agent.pod().uid == pod.uid) {
    found->second.agent.set_pod(std::move(pod));
    return;
  }
  Remove(ip);
  hosts_.insert_or_assign(ip, Host{.agent = Agent(std::move(pod), options_.fences),
                                   .incarnation = ++last_incarnation_});
}

void Agents::ResetCalls(const std::string& ip) {
  std::erase_if(under_way_, [&](const auto& entry) {
    const auto& [id, call] = entry;
    if (call.ip != ip) return false;
    if (!call.hung_up) ended_.push_back({id, {.code = 0}});
    return true;
  });
}

void Agents::Remove(const std::string& ip) {
  if (hosts_.erase(ip) != 0) ResetCalls(ip);
}

bool Agents::Restart(const std::string& ip) {
  const auto found = hosts_.find(ip);
  if (found == hosts_.end()) return false;
  found->second.agent.Restart();
  found->second.incarnation = ++last_incarnation_;
  found->second.hung_until.reset();
  ResetCalls(ip);
  return true;
}

bool Agents::Hang(const std::string& ip, async::WallTime until) {
  const auto found = hosts_.find(ip);
  if (found == hosts_.end()) return false;
  found->second.hung_until = until;
  agenda_.Add(until,
              {.kind = Event::Kind::kWakes, .ip = ip, .incarnation = found->second.incarnation});
  return true;
}

bool Agents::Exit(const std::string& ip, const std::string& sandbox_id) {
  const auto found = hosts_.find(ip);
  return found != hosts_.end() && found->second.agent.Exit(sandbox_id);
}

void Agents::SetFences(bool fences) {
  options_.fences = fences;
  for (auto& [ip, host] : hosts_) host.agent.set_fences(fences);
}

const Agent* Agents::Find(const std::string& ip) const {
  const auto found = hosts_.find(ip);
  return found == hosts_.end() ? nullptr : &found->second.agent;
}

bool Agents::IsHung(const std::string& ip) const {
  const auto found = hosts_.find(ip);
  return found != hosts_.end() && found->second.hung_until.has_value();
}

}  // namespace berth::cloud::simulator::agent
