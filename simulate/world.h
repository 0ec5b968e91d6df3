#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "json/json.h"
#include "kube/memory/server.h"
#include "log/format.h"
#include "simulate/documents.h"
#include "simulate/faults.h"
#include "simulate/network.h"
#include "simulate/process.h"
#include "simulate/refusals.h"
#include "simulate/scenario.h"
#include "simulate/scheduler.h"
#include "simulate/write_watch.h"

namespace berth::simulate {

// One run.
class World {
 public:
  struct Options {
    std::uint64_t seed = 0;
    async::Duration chaos = std::chrono::minutes(2);
    bool faults = true;
    std::function<void(const std::string& line)> trace;  // told everything that happens, if set
  };

  World(Options options, Scenario& scenario);
  ~World();

  // Returns the violation; none when all went well.
  std::optional<std::string> Run();

  // For scenarios and for the other parts.
  Scheduler& scheduler() { return scheduler_; }
  Dice& random() { return random_; }
  const Faults& faults() const { return faults_; }
  kube::memory::Server& server() { return *server_; }
  async::Duration chaos() const { return options_.chaos; }
  std::uint64_t seed() const { return options_.seed; }
  // By whom the request is that is being carried out: see Scenario::Check.
  const std::string& writer() const { return writer_; }

  // A user's request, carried out at once.
  class Answer {
   public:
    int code = 0;
    std::string text;

    // As JSON, which is read when it is asked for first; an empty object when there is no text.
    const Json& body() const {
      if (!read_) read_ = text.empty() ? Json() : Json::parse(text);
      return *read_;
    }

   private:
    mutable std::optional<Json> read_;
  };
  Answer Ask(kube::Request request);
  // A user's merge patch.
  Answer Merge(std::string path, std::string patch);
  // For a user's request that has to succeed.
  Answer Must(kube::Request request);
  // Creates the chart's CustomResourceDefinitions.
  void InstallDefinitions();
  // The objects of a collection.
  Documents List(const std::string& path) const;

  // A replica's request, carried out now.
  void Handle(const kube::Request& request, const std::string& writer,
              std::function<void(kube::Response)> done);
  // Somebody else touches the object that a request is about.
  void Interfere(const kube::Request& request);
  bool Partitioned(const Process& process) const;

  void Violate(std::string what);
  // Crashes, pauses and partitions so far.
  std::uint64_t disruptions() const { return disruptions_; }

  bool tracing() const { return options_.trace != nullptr; }
  template <typename... Args>
  void Trace(std::format_string<Args...> format, Args&&... args) {
    if (tracing()) Print(Format(format, std::forward<Args>(args)...));
  }

 private:
  struct Replica {
    std::unique_ptr<Process> process;
    std::unique_ptr<Network> network;
    async::TimePoint partitioned_until{};
  };

  void Boot(Replica& replica);
  void BeforeTurn(Replica& replica);
  void RunBackground();
  void RunMachinery(async::Duration most);
  void Heal();
  void Watched(const std::string& writer, const kube::Request& request, WriteWatch::Effect effect);
  void CheckLease(const kube::Request& request);
  void Checked(const std::string& writer, const kube::Request& request);
  using Judge = std::optional<std::string> (Scenario::*)(World&);
  std::optional<std::string> Settle(Judge judge);
  void Print(const std::string& line) const;

  const Options options_;
  Scenario& scenario_;
  Scheduler scheduler_;
  Dice random_;
  Faults faults_;
  std::unique_ptr<kube::memory::Server> server_;
  std::vector<Replica> replicas_;
  Refusals refusals_;
  WriteWatch write_watch_;
  std::string writer_;
  async::TimePoint healed_{};
  std::map<std::string, std::string> holders_;  // of leases, by path
  std::optional<std::string> violation_;
  std::uint64_t touches_ = 0;
  std::uint64_t disruptions_ = 0;
};

}  // namespace berth::simulate
