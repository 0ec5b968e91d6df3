#include "reconcile/runtime/entry_table.h"

#include <cassert>
#include <functional>
#include <utility>

namespace berth::runtime::internal {

Entry& EntryTable::At(std::string_view key) {
  const std::size_t hash = std::hash<std::string_view>()(key);
  for (Entry* at = Bucket(hash); at; at = at->chain) {
    if (at->hash == hash && at->key == key) return *at;
  }
  return Insert(key, hash);
}

Entry& EntryTable::Insert(std::string_view key, std::size_t hash) {
  if (size_ == buckets_.size()) Grow();
  Entry& entry = free_ ? *std::exchange(free_, free_->chain) : entries_.emplace_back();
  entry.key.assign(key);
  entry.hash = hash;
  entry.chain = std::exchange(Bucket(hash), &entry);
  ++size_;
  return entry;
}

void EntryTable::Erase(Entry& entry) {
  assert(entry.idle());
  Entry** at = &Bucket(entry.hash);
  while (*at != &entry) at = &(*at)->chain;
  *at = entry.chain;
  entry.chain = std::exchange(free_, &entry);
  --size_;
}

void EntryTable::Grow() {
  std::vector<Entry*> old(buckets_.size() * 2);
  old.swap(buckets_);
  for (Entry* at : old) {
    while (at) {
      Entry* next = at->chain;
      at->chain = std::exchange(Bucket(at->hash), at);
      at = next;
    }
  }
}

}  // namespace berth::runtime::internal
