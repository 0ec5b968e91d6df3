#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "reconcile/ipam/cidr.h"

namespace berth::ipam {

// Blocks of both families, each with a name and a value, found by overlap. Blocks may overlap each
// other, and several may be the same one under different names. n is the number of entries, L that
// of the prefix lengths among them (at most 162). Values are not owned.
template <typename T>
class BlockIndex {
 public:
  struct Entry {
    Cidr block;
    T* value;
  };

  // False when there is one of this block and name. O(log n).
  bool Insert(const Cidr& block, const std::string& name, T* value) {
    const bool inserted = entries_.try_emplace(KeyOf(block, name), value).second;
    if (inserted) ++CountOf(block.family(), block.prefix());
    return inserted;
  }
  // False when there is none. O(log n).
  bool Erase(const Cidr& block, const std::string& name) {
    const bool erased = entries_.erase(KeyOf(block, name)) > 0;
    if (erased) --CountOf(block.family(), block.prefix());
    return erased;
  }
  bool empty() const { return entries_.empty(); }

  // All that share an address with the block: first those that contain it, the largest first, then
  // those inside it by address; of one block by name. O(L log n + found).
  std::vector<Entry> Overlapping(const Cidr& block) const {
    std::vector<Entry> found;
    for (int prefix = 0; prefix <= block.prefix(); ++prefix) {
      if (CountOf(block.family(), prefix) == 0) continue;
      const Cidr outer(block.family(), Cidr(block.family(), block.First(), prefix).First(), prefix);
      for (auto at = entries_.lower_bound(KeyOf(outer, ""));
           at != entries_.end() && BlockOf(at->first) == outer; ++at) {
        found.push_back({outer, at->second});
      }
    }
    for (auto at = entries_.lower_bound({block.family(), block.First(), block.prefix() + 1, ""});
         at != entries_.end() && std::get<0>(at->first) == block.family() &&
         std::get<1>(at->first) <= block.Last();
         ++at) {
      if (std::get<2>(at->first) > block.prefix())
        found.push_back({BlockOf(at->first), at->second});
    }
    return found;
  }

 private:
  using Key = std::tuple<Family, Address, int, std::string>;

  static Key KeyOf(const Cidr& block, const std::string& name) {
    return {block.family(), block.First(), block.prefix(), name};
  }
  static Cidr BlockOf(const Key& key) {
    return Cidr(std::get<0>(key), std::get<1>(key), std::get<2>(key));
  }
  std::size_t& CountOf(Family family, int prefix) {
    return counts_[family == Family::kIpv4 ? 0 : 1][static_cast<std::size_t>(prefix)];
  }
  std::size_t CountOf(Family family, int prefix) const {
    return counts_[family == Family::kIpv4 ? 0 : 1][static_cast<std::size_t>(prefix)];
  }

  std::map<Key, T*> entries_;
  std::array<std::array<std::size_t, 129>, 2> counts_{};
};

}  // namespace berth::ipam
