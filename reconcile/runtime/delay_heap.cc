#include "reconcile/runtime/delay_heap.h"

namespace berth::runtime::internal {

void DelayHeap::Add(Entry& entry, async::TimePoint due) {
  const Node node{due, ++last_order_, &entry};
  if (!entry.delayed()) {
    nodes_.emplace_back();
    MoveUp(nodes_.size() - 1, node);
  } else if (due < nodes_[entry.heap_position].due) {
    MoveUp(entry.heap_position, node);
  }
}

Entry& DelayHeap::Pop() {
  Entry& first = *nodes_.front().entry;
  const Node last = nodes_.back();
  nodes_.pop_back();
  if (!nodes_.empty()) MoveDown(last);
  first.heap_position = Entry::kNotDelayed;
  return first;
}

void DelayHeap::Place(std::size_t position, const Node& node) {
  nodes_[position] = node;
  node.entry->heap_position = static_cast<std::uint32_t>(position);
}

// Puts `node` at `position`, which is free, or above it.
void DelayHeap::MoveUp(std::size_t position, const Node& node) {
  while (position > 0) {
    const std::size_t parent = (position - 1) / 2;
    if (!(node < nodes_[parent])) break;
    Place(position, nodes_[parent]);
    position = parent;
  }
  Place(position, node);
}

// Puts `node` at the top, which is free, or below it.
void DelayHeap::MoveDown(const Node& node) {
  std::size_t position = 0;
  while (true) {
    std::size_t child = 2 * position + 1;
    if (child >= nodes_.size()) break;
    if (child + 1 < nodes_.size() && nodes_[child + 1] < nodes_[child]) ++child;
    if (!(nodes_[child] < node)) break;
    Place(position, nodes_[child]);
    position = child;
  }
  Place(position, node);
}

}  // namespace berth::runtime::internal
