#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "log/format.h"
#include "reconcile/eni/pool_fixture_test.h"

namespace berth::eni::pool_test {

class Dice {
 public:
  explicit Dice(unsigned seed) : engine_(seed) {}

  int Below(int bound) { return static_cast<int>(engine_() % static_cast<unsigned>(bound)); }
  double Fraction() { return std::uniform_real_distribution<>(0, 1)(engine_); }
  bool Chance(double chance) { return Fraction() < chance; }
  // Numbers for names, each once.
  int Next() { return ++last_; }

 private:
  std::mt19937 engine_;
  int last_ = 0;
};

// A cloud of one instance. No address is given out twice.
class ModelCloud {
 public:
  static constexpr const char* kForeign = "foreign";  // the tag of ENIs that are not Berth's
  static constexpr const char* kElsewhere = "i-other";

  ModelCloud(Dice& dice, Backend backend) : dice_(dice), backend_(backend) {}

  std::map<std::string, cloud::Eni> enis;
  std::map<std::string, cloud::VSwitch> vswitches;

  void AddVSwitch(const std::string& id, const std::string& zone, int free) {
    vswitches[id] = SampleVSwitch(id, static_cast<std::size_t>(free));
    vswitches[id].zone_id = zone;
  }

  const cloud::Eni* Find(const std::string& id) const {
    const auto eni = enis.find(id);
    return eni == enis.end() ? nullptr : &eni->second;
  }
  bool IsForeign(const std::string& id) const {
    return Find(id) && Find(id)->tags.contains(kForeign);
  }

  // The ENI of the token; null when the vSwitch is full or the ENI is gone.
  const cloud::Eni* Create(const std::string& token, const std::string& node,
                           const cloud::EniRequest& request) {
    if (const auto made = made_.find(token); made != made_.end()) return Find(made->second);
    if (!TakeFree(request.vswitch_id, request.ipv4_addresses)) return nullptr;
    cloud::Eni eni = NewEni(request.vswitch_id);
    if (request.trunk) eni.type = kTrunkType;
    if (!request.traffic_mode.empty()) eni.traffic_mode = request.traffic_mode;
    AddIpv4(eni, request.ipv4_addresses - 1);
    for (int i = 0; i < request.ipv6_addresses; ++i) eni.ipv6.push_back(NewIpv6());
    for (int i = 0; i < request.ipv4_prefixes; ++i) eni.ipv4_prefixes.push_back(NewIpv4Prefix());
    for (int i = 0; i < request.ipv6_prefixes; ++i) eni.ipv6_prefixes.push_back(NewIpv6Prefix());
    if (backend_ == Backend::kEcs) {
      eni.tags = {{std::string(kCreatorTag), std::string(kCreator)},
                  {std::string(kNodeTag), node},
                  {std::string(kAttemptTag), token}};
    }
    made_[token] = eni.id;
    return &(enis[eni.id] = eni);
  }

  std::vector<std::string> Assign(const job::Assign& job) {
    std::vector<std::string> assigned;
    const auto found = enis.find(job.eni);
    if (found == enis.end()) return assigned;
    cloud::Eni& eni = found->second;
    if (!TakeFree(eni.vswitch_id, job.ipv4)) return assigned;
    AddIpv4(eni, job.ipv4);
    for (std::size_t i = eni.ipv4.size() - static_cast<std::size_t>(job.ipv4); i < eni.ipv4.size();
         ++i)
      assigned.push_back(eni.ipv4[i].address);
    for (int i = 0; i < job.ipv6; ++i) assigned.push_back(eni.ipv6.emplace_back(NewIpv6()));
    for (int i = 0; i < job.ipv4_prefixes; ++i)
      assigned.push_back(eni.ipv4_prefixes.emplace_back(NewIpv4Prefix()));
    for (int i = 0; i < job.ipv6_prefixes; ++i)
      assigned.push_back(eni.ipv6_prefixes.emplace_back(NewIpv6Prefix()));
    return assigned;
  }

  void Unassign(const job::Unassign& job) {
    const auto found = enis.find(job.eni);
    if (found == enis.end()) return;
    cloud::Eni& eni = found->second;
    const auto remove = [](auto& from, const std::vector<std::string>& values) {
      std::erase_if(from,
                    [&](const std::string& value) { return std::ranges::contains(values, value); });
    };
    std::erase_if(eni.ipv4, [&](const cloud::EniAddress& address) {
      return std::ranges::contains(job.ipv4, address.address);
    });
    vswitches.at(eni.vswitch_id).free_addresses += job.ipv4.size();
    remove(eni.ipv6, job.ipv6);
    remove(eni.ipv4_prefixes, job.ipv4_prefixes);
    remove(eni.ipv6_prefixes, job.ipv6_prefixes);
  }

  // False if there is no such ENI, or another instance has it.
  bool Attach(const std::string& id) {
    const auto eni = enis.find(id);
    if (eni == enis.end() || eni->second.instance_id == kElsewhere) return false;
    eni->second.status = kInUse;
    eni->second.instance_id = kInstance;
    return true;
  }

  void Delete(const std::string& id) {
    const auto eni = enis.find(id);
    if (eni == enis.end() || eni->second.instance_id == kElsewhere) return;
    EXPECT_FALSE(IsForeign(id)) << id << " is another's, and is deleted";
    vswitches.at(eni->second.vswitch_id).free_addresses += eni->second.ipv4.size();
    enis.erase(eni);
  }

  // Somebody attaches an ENI of theirs.
  void AttachForeign() {
    cloud::Eni eni = NewEni(vswitches.begin()->first);
    eni.tags = {{kForeign, "true"}};
    if (backend_ == Backend::kEflo || dice_.Chance(0.5))
      eni.tags["terway.alibabacloud.com/excluded"] = "true";
    eni.status = kInUse;
    eni.instance_id = kInstance;
    AddIpv4(eni, 2);
    enis[eni.id] = eni;
  }

  // Somebody does something to one of the ENIs.
  void Meddle() {
    if (enis.empty()) return;
    const auto at = std::next(enis.begin(), dice_.Below(static_cast<int>(enis.size())));
    cloud::Eni& eni = at->second;
    switch (dice_.Below(5)) {
      case 0:
        eni.status = "Available";
        eni.instance_id.clear();
        break;
      case 1:
        eni.instance_id = kElsewhere;
        eni.status = kInUse;
        break;
      case 2:
        enis.erase(at);
        break;
      case 3:
        if (eni.ipv4.size() > 1) eni.ipv4.pop_back();
        break;
      default:
        eni.status = "Detaching";
    }
  }

  void EndDetaching() {
    for (auto& [id, eni] : enis) {
      if (eni.status != "Detaching") continue;
      eni.status = "Available";
      eni.instance_id.clear();
    }
  }

 private:
  cloud::Eni NewEni(const std::string& vswitch) {
    cloud::Eni eni;
    eni.id = Format("eni-{}", dice_.Next());
    eni.status = "Available";
    eni.type = kSecondaryType;
    eni.traffic_mode = kStandard;
    eni.vswitch_id = vswitch;
    AddIpv4(eni, 1);
    eni.ipv4[0].primary = true;
    eni.primary_address = eni.ipv4[0].address;
    return eni;
  }

  bool TakeFree(const std::string& vswitch, int count) {
    std::size_t& free = vswitches.at(vswitch).free_addresses;
    if (free < static_cast<std::size_t>(count)) return false;
    free -= static_cast<std::size_t>(count);
    return true;
  }

  void AddIpv4(cloud::Eni& eni, int count) {
    for (int i = 0; i < count; ++i) {
      const int at = dice_.Next();
      eni.ipv4.push_back({.address = Format("10.{}.{}.{}", at / 65536, at / 256 % 256, at % 256),
                          .primary = false,
                          .name = {}});
    }
  }
  std::string NewIpv4Prefix() {
    const int at = dice_.Next();
    return Format("172.{}.{}.0/28", at / 256, at % 256);
  }
  std::string NewIpv6() { return Format("2001:db8::{:x}", dice_.Next()); }
  std::string NewIpv6Prefix() { return Format("2001:db8:{:x}::/80", dice_.Next()); }

  Dice& dice_;
  const Backend backend_;
  std::map<std::string, std::string> made_;  // ENIs by token
};

}  // namespace berth::eni::pool_test
