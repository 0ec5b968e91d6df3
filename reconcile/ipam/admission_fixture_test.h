#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "async/test_executor.h"
#include "kube/object.h"
#include "reconcile/ipam/admission.h"

// Objects as they are proposed, and a real Space that they are judged against.
namespace berth::ipam::test {

struct Proposed {
  std::string name;
  std::string spec;           // JSON, without the braces
  std::string label = {};     // the parent's
  std::string status = {};    // JSON, without the braces
  std::string metadata = {};  // more of it, with a comma at the end

  std::string ToJson() const {
    return R"({"metadata":{)" + metadata + R"("namespace":"ns","name":")" + name + R"(","uid":")" +
           name + R"(-uid","labels":{)" +
           (label.empty() ? "" : R"("plexaubnet.io/parent":")" + label + "\"") + R"(}},"spec":{)" +
           spec + R"(},"status":{)" + status + "}}";
  }
  template <typename T>
  T As() const {
    return kube::Decode<T>(ToJson()).value();
  }
};

inline std::string Range(const std::string& cidr) { return R"("cidr":")" + cidr + "\""; }

// "field: message" of each cause; a refusal's message.
inline std::vector<std::string> Faults(const Verdict& verdict) {
  std::vector<std::string> faults;
  if (verdict.refusal) faults.push_back(verdict.refusal->message);
  for (const auto& cause : verdict.causes) faults.push_back(cause.field + ": " + cause.message);
  return faults;
}

class AdmissionTest : public testing::Test {
 protected:
  void AddPool(const Proposed& pool) { space_.PutPool(pool.As<Pool>()); }
  void AddSubnet(const Proposed& subnet) {
    const auto made = subnet.As<Subnet>();
    space_.PutSubnet(made);
    subnets_[made.PoolKey()].push_back(made);
  }

  Verdict Create(const Proposed& pool) {
    return JudgePool(pool.As<PoolProposal>(), nullptr, known_);
  }
  Verdict Update(const Proposed& before, const Proposed& now) {
    const auto was = before.As<PoolProposal>();
    return JudgePool(now.As<PoolProposal>(), &was, known_);
  }
  Verdict Delete(const Proposed& pool) { return JudgePoolDeletion(pool.As<Pool>(), known_); }

  bool Holds(const Subnet& subnet) const {
    return space_.PlacementOf(subnet).phase == SubnetPhase::kAllocated;
  }

  async::TestExecutor executor_;
  Space space_{executor_,
               {.on_figures = [](const std::string&) {},
                .on_room = [](const std::string&) {},
                .on_placement = [](const std::string&) {}}};
  std::map<std::string, std::vector<Subnet>> subnets_;
  const Knowledge known_{.space = &space_,
                         .subnets_of = [this](const std::string& pool, std::size_t most) {
                           std::vector<const Subnet*> some;
                           for (const Subnet& subnet : subnets_[pool]) {
                             if (some.size() < most && Holds(subnet)) some.push_back(&subnet);
                           }
                           return some;
                         }};
};

}  // namespace berth::ipam::test
