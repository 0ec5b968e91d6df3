#include "cloud/simulator/agent/console.h"

#include <chrono>
#include <string>
#include <utility>

#include "cloud/simulator/console.h"

namespace berth::cloud::simulator::agent {
namespace {

constexpr FaultName kFaultNames[] = {{"applied-then-timeout", Fault::Kind::kLostAnswer},
                                     {"exits", Fault::Kind::kFallsBack},
                                     {"sticks", Fault::Kind::kSticks}};

Json Show(const std::string& id, const std::string& ip, const Agent& agent) {
  Json json;
  json["sandboxId"] = id;
  json["agent"] = agent.pod().name;
  json["address"] = ip;
  const auto listed = agent.list().find(id);
  const auto container = agent.containers().find(id);
  const bool is_listed = listed != agent.list().end();
  const bool has_container = container != agent.containers().end();
  json["claimUid"] = is_listed ? listed->second.claim_uid : container->second.claim_uid;
  json["image"] = is_listed ? listed->second.image : container->second.image;
  json["listed"] = is_listed ? Word(listed->second.phase) : "none";
  json["container"] = !has_container ? "none" : container->second.running ? "running" : "exited";
  return json;
}

Json ShowSandboxes(const Agents& agents) {
  Json list = Json::Array();
  agents.ForEach([&](const std::string& ip, const Agent& agent) {
    for (const auto& [id, listed] : agent.list()) list.push_back(Show(id, ip, agent));
    for (const auto& [id, container] : agent.containers()) {
      if (!agent.list().contains(id)) list.push_back(Show(id, ip, agent));
    }
  });
  return list;
}

Json ShowAgents(const Agents& agents) {
  Json list = Json::Array();
  agents.ForEach([&](const std::string& ip, const Agent& agent) {
    Json json;
    json["address"] = ip;
    json["pod"] = agent.pod().name;
    json["podUID"] = agent.pod().uid;
    json["node"] = agent.pod().node;
    json["capacity"] = agent.pod().capacity;
    json["listed"] = agent.list().size();
    json["restarts"] = agent.restarts();
    json["deadlocked"] = agent.deadlocked();
    json["hung"] = agents.IsHung(ip);
    list.push_back(std::move(json));
  });
  return list;
}

http::Response OnAgent(Agents& agents, const http::Request& request, const std::string& rest,
                       async::WallTime now) {
  const auto slash = rest.find('/');
  const std::string ip = rest.substr(0, slash);
  const std::string control = slash == rest.npos ? "" : rest.substr(slash + 1);
  bool found = true;
  if (request.method == "DELETE") {
    found = agents.Find(ip) != nullptr;
    agents.Remove(ip);
  } else if (control == "restart") {
    found = agents.Restart(ip);
  } else if (control == "hang") {
    const double seconds = Json::parse(request.body).at("seconds").as<double>();
    found = agents.Hang(ip, now + std::chrono::duration_cast<async::Duration>(
                                      std::chrono::duration<double>(seconds)));
  } else if (control.empty()) {
    const Json body = Json::parse(request.body);
    agents.Put(ip, {.name = body.at("name").as<std::string>(),
                    .uid = body.get_value_or<std::string>("uid", ""),
                    .node = body.get_value_or<std::string>("node", ""),
                    .capacity = body.get_value_or<std::uint64_t>("capacity", 5)});
  } else {
    return ConsoleError(404, "there is no such control: restart, hang");
  }
  if (!found) return ConsoleError(404, "there is no agent at " + ip);
  return ConsoleAnswer(200, ShowAgents(agents));
}

http::Response OnExit(Agents& agents, const std::string& id) {
  std::string at;
  agents.ForEach([&](const std::string& ip, const Agent& agent) {
    if (agent.containers().contains(id)) at = ip;
  });
  if (!agents.Exit(at, id)) return ConsoleError(404, "no container of " + id + " runs");
  return ConsoleAnswer(200, ShowSandboxes(agents));
}

}  // namespace

http::Response Console(Agents& agents, const http::Request& request, std::string_view path,
                       async::WallTime now) {
  const auto slash = path.find('/', 1);
  const std::string_view what = path.substr(1, slash == path.npos ? path.npos : slash - 1);
  const std::string rest(slash == path.npos ? "" : path.substr(slash + 1));
  const bool changes = request.method == "PUT" || request.method == "DELETE";
  try {
    if (what == "faults") return ConsoleFaults(agents.faults(), request, kFaultNames);
    if (what == "agents" && changes) return OnAgent(agents, request, rest, now);
    if (what == "fences" && request.method == "PUT") {
      agents.SetFences(Json::parse(request.body).at("enabled").as<bool>());
      return ConsoleAnswer(200, Json());
    }
  } catch (const JsonError& error) {
    return ConsoleError(400, error.what());
  }
  if (what == "sandboxes" && request.method == "DELETE") return OnExit(agents, rest);
  if (what == "sandboxes") return ConsoleAnswer(200, ShowSandboxes(agents));
  if (what == "agents") return ConsoleAnswer(200, ShowAgents(agents));
  if (what == "ledger") {
    Json ledger;
    for (const auto& [action, count] : agents.calls()) ledger["calls"][action] = count;
    return ConsoleAnswer(200, ledger);
  }
  return ConsoleError(404, "there is nothing here");
}

}  // namespace berth::cloud::simulator::agent
