#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "async/executor.h"
#include "http/transport.h"
#include "json/json.h"

namespace berth::cloud::simulator::agent {

// The pod that an agent runs in: its environment.
struct AgentPod {
  std::string name;
  std::string uid;  // without it a create for any pod passes the fence
  std::string node;
  std::size_t capacity = 5;
};

// A sandbox's container on the node. It outlives its agent's process.
struct Container {
  std::string claim_uid;
  std::string image;
  bool running = true;  // else it has exited by itself
};

// One agent as it answers. The list is in its memory; the containers are not. It decides at once or
// says that time has to pass; Agents has the time. One thread at a time.
class Agent {
 public:
  struct Listed {
    enum class Phase : std::uint8_t { kCreating, kRunning, kTerminating } phase = Phase::kCreating;
    std::string claim_uid;
    std::string image;
    async::WallTime created_at{};
  };

  // `fences`: refuses a create for another pod, of an old attempt or beyond the capacity, as
  // fast-sandbox's agent does not.
  Agent(AgentPod pod, bool fences) : pod_(std::move(pod)), fences_(fences) {}

  const AgentPod& pod() const { return pod_; }
  void set_pod(AgentPod pod) { pod_ = std::move(pod); }
  void set_fences(bool fences) { fences_ = fences; }
  const std::map<std::string, Listed>& list() const { return list_; }
  const std::map<std::string, Container>& containers() const { return containers_; }
  const std::set<std::string>& images() const { return images_; }
  void AddImage(const std::string& image) { images_.insert(image); }
  // Answers nothing until a restart.
  bool deadlocked() const { return deadlocked_; }
  std::uint64_t restarts() const { return restarts_; }

  // Answers a create; none: the sandbox is listed as creating, until Started or GiveUp.
  std::optional<http::Response> Create(const Json& sandbox, async::WallTime now);
  // The container runs; it has exited at once if `exits`.
  http::Response Started(const std::string& id, bool exits);
  // The create has failed: the sandbox is not listed any more.
  http::Response GiveUp(const std::string& id, const std::string& why);
  // Answers a delete; none: the ID is not listed, and the agent is deadlocked. `begins` tells that
  // the container begins to stop.
  std::optional<http::Response> Delete(const std::string& id, bool* begins);
  // The container has stopped, and leaves the list.
  void Stopped(const std::string& id);
  http::Response Status() const;

  // The process starts anew: its list is empty, its containers are as they were.
  void Restart();
  // A container exits by itself; false when none runs under this ID.
  bool Exit(const std::string& id);
  void SetDeadlocked() { deadlocked_ = true; }

 private:
  // The newest attempt that was created of a claim, and whether it was deleted.
  struct Attempt {
    std::int64_t number = 0;
    bool deleted = false;
  };

  std::optional<http::Response> Fence(const Json& sandbox, const std::string& id) const;

  AgentPod pod_;
  bool fences_;
  bool deadlocked_ = false;
  std::uint64_t restarts_ = 0;
  std::map<std::string, Listed> list_;
  std::map<std::string, Container> containers_;
  std::map<std::string, Attempt> attempts_;  // by claim UID
  std::set<std::string> images_;             // on the node
};

std::string_view Word(Agent::Listed::Phase phase);  // "creating"

// {success: false, message}; with a `code`, that too.
http::Response Failure(int http_code, const std::string& message, const std::string& code = {});

}  // namespace berth::cloud::simulator::agent
