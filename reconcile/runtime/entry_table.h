#pragma once

#include <deque>
#include <string_view>
#include <vector>

#include "reconcile/runtime/queue_entry.h"

namespace berth::runtime::internal {

// The entries of a work queue by their keys. An entry stays where it is until it is erased, and is
// then used again for another key, with the memory its key has: no more entries are ever made than
// were known at one time, and once warm nothing allocates.
class EntryTable {
 public:
  // The key's entry, a new one if there was none. O(1) amortised; the one place that hashes.
  Entry& At(std::string_view key);
  // O(1). The entry must be idle.
  void Erase(Entry& entry);
  std::size_t size() const { return size_; }

 private:
  Entry*& Bucket(std::size_t hash) { return buckets_[hash & (buckets_.size() - 1)]; }
  Entry& Insert(std::string_view key, std::size_t hash);
  void Grow();

  std::deque<Entry> entries_;
  std::vector<Entry*> buckets_ = std::vector<Entry*>(64);  // a power of two, never fewer than keys
  Entry* free_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace berth::runtime::internal
