#include "reconcile/ipam/block_tree.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace berth::ipam {

namespace {

// Members that both kinds of node have.

// How many keys are at or before the address. All are looked at, without a branch: so their cache
// misses overlap.
template <typename Node>
std::size_t CountUpTo(const Node& node, auto address) {
  std::size_t before = 0;
  for (std::size_t i = 0; i < node.count; ++i) before += node.keys[i] <= address ? 1 : 0;
  return before;
}

template <typename Node>
void OpenAt(Node& node, std::size_t at) {
  for (std::size_t i = node.count; i > at; --i) node.Move(i - 1, node, i);
  ++node.count;
}

template <typename Node>
void EraseAt(Node& node, std::size_t at) {
  for (std::size_t i = at + 1; i < node.count; ++i) node.Move(i, node, i - 1);
  --node.count;
}

// Appends what is in one node from `from` on to another.
template <typename Node>
void MoveTail(Node& node, std::size_t from, Node& to) {
  for (std::size_t i = from; i < node.count; ++i) node.Move(i, to, to.count++);
  node.count = static_cast<std::uint8_t>(from);
}

constexpr Address kLastNarrow = std::numeric_limits<std::uint32_t>::max();

template <typename Key>
Key Narrowed(Address address) {
  assert(address <= std::numeric_limits<Key>::max() || sizeof(Key) == sizeof(Address));
  return static_cast<Key>(address);
}

// Nodes of one kind. A large tree is in huge pages: with small ones the processor has to look up
// the address of nearly every node it visits.
template <typename Node>
class Slab {
 public:
  Node* New() {
    if (!spare_) Grow();
    return new (std::exchange(spare_, spare_->next)) Node;
  }
  void Delete(Node* node) {
    static_assert(std::is_trivially_destructible_v<Node>);  // those that are left go with the slab
    spare_ = new (node) Spare{spare_};
  }

 private:
  struct Spare {
    Spare* next;
  };
  struct Free {
    void operator()(std::byte* chunk) const { std::free(chunk); }
  };
  static constexpr std::size_t kHuge = std::size_t{1} << 21;

  void Grow() {
    bytes_ = std::min(2 * bytes_, kHuge);
    void* memory = std::aligned_alloc(bytes_ == kHuge ? kHuge : alignof(Node), bytes_);
    if (!memory) throw std::bad_alloc();
    if (bytes_ == kHuge) madvise(memory, kHuge, MADV_HUGEPAGE);  // may be refused
    auto* chunk = chunks_.emplace_back(static_cast<std::byte*>(memory)).get();
    for (std::size_t at = 0; at + sizeof(Node) <= bytes_; at += sizeof(Node)) {
      spare_ = new (chunk + at) Spare{spare_};
    }
  }

  std::vector<std::unique_ptr<std::byte, Free>> chunks_;
  std::size_t bytes_ = 1024;  // of the last chunk
  Spare* spare_ = nullptr;
};

}  // namespace

// Keys of type Key, which is as wide as an address: what a set of sizes needs too.
template <typename Key>
struct BlockTree::Tree {
  using Sizes = Key;
  static Sizes SizeBit(int prefix) { return static_cast<Sizes>(BlockTree::SizeBit(prefix)); }

  static constexpr std::size_t kCapacity = 26;
  static constexpr std::size_t kMost = 24;  // a node with as many is split
  static constexpr std::size_t kFew = 3;    // a node with fewer, unless it is the root, is merged
  static_assert((kFew - 1) + (kMost - 1) <= kCapacity);
  static constexpr std::size_t kHighest = 40;  // kFew^40 is more than 2^63

  struct alignas(64) Node {
    explicit Node(bool leaf) : is_leaf(leaf) {}

    bool is_leaf;
    std::uint8_t count = 0;
  };

  // All but the keys and owners is in the first cache line, with the count.
  struct Leaf : Node {
    Leaf() : Node(true) {}

    void Set(std::size_t at, Key key, const Block& block) {
      keys[at] = key;
      prefixes[at] = static_cast<std::uint8_t>(block.prefix);
      marks[at] = block.mark;
      owners[at] = block.owner;
    }
    void Move(std::size_t at, Leaf& to, std::size_t to_at) {
      to.Set(to_at, keys[at], {prefixes[at], marks[at], owners[at]});
    }
    std::array<std::uint8_t, kCapacity> prefixes;
    std::array<std::uint8_t, kCapacity> marks;
    Leaf* previous = nullptr;
    Leaf* next = nullptr;
    std::array<Key, kCapacity> keys;
    std::array<std::uint64_t, kCapacity> owners;
  };

  // A key is at or before all keys below its child, and after those below the child before it. The
  // first one of the tree is 0.
  struct Inner : Node {
    Inner() : Node(false) {}

    void Set(std::size_t at, Key key, Node* child) {
      keys[at] = key;
      children[at] = child;
      free[at] = FreeBelow(*child);
    }
    void Move(std::size_t at, Inner& to, std::size_t to_at) {
      to.keys[to_at] = keys[at];
      to.children[to_at] = children[at];
      to.free[to_at] = free[at];
    }

    // Sums up the free sizes below the child. True if they have changed.
    bool Summarize(std::size_t child) {
      const Sizes now = FreeBelow(*children[child]);
      return std::exchange(free[child], now) != now;
    }

    // The sizes that are free below no child.
    Sizes Missing(Sizes sizes) const {
      for (std::size_t i = 0; sizes != 0 && i < this->count; ++i) sizes &= ~free[i];
      return sizes;
    }

    std::array<Node*, kCapacity> children;
    std::array<Key, kCapacity> keys;
    std::array<Sizes, kCapacity> free;  // below each child
  };

  struct Memory {
    void Delete(Node* node) {
      if (node->is_leaf) {
        leaves.Delete(static_cast<Leaf*>(node));
      } else {
        inners.Delete(static_cast<Inner*>(node));
      }
    }

    Slab<Leaf> leaves;
    Slab<Inner> inners;
  };

  // From the root down.
  struct Path {
    struct Step {
      Inner* inner;
      std::size_t child;
    };
    std::array<Step, kHighest> steps;
    std::size_t length = 0;
  };

  // A block as the caller sees it; none when there is no leaf.
  static Cursor At(const Leaf* leaf, std::size_t at) {
    Cursor cursor;
    cursor.leaf_ = leaf;
    cursor.at_ = static_cast<std::uint32_t>(at);
    cursor.narrow_ = sizeof(Key) < sizeof(Address);
    return cursor;
  }

  Cursor Floor(Key address) const {
    const Leaf& leaf = Descend(address);
    const std::size_t before = CountUpTo(leaf, address);
    if (before > 0) return At(&leaf, before - 1);
    return leaf.previous ? At(leaf.previous, leaf.previous->count - 1) : Cursor();
  }

  Cursor Ceiling(Key address) const {
    const Leaf& leaf = Descend(address);
    const std::size_t before = CountUpTo(leaf, address);
    if (before > 0 && leaf.keys[before - 1] == address) return At(&leaf, before - 1);
    return before < leaf.count ? At(&leaf, before) : At(leaf.next, 0);
  }

  Cursor FirstFree(Sizes sizes) const {
    const Node* node = root;
    if ((FreeBelow(*node) & sizes) == 0) return Cursor();
    while (!node->is_leaf) {
      const Inner& inner = static_cast<const Inner&>(*node);
      std::size_t child = 0;
      while ((inner.free[child] & sizes) == 0) ++child;
      node = inner.children[child];
    }
    const Leaf& leaf = static_cast<const Leaf&>(*node);
    std::size_t at = 0;
    while (leaf.marks[at] != 0 || (SizeBit(leaf.prefixes[at]) & sizes) == 0) ++at;
    assert(at < leaf.count);
    return At(&leaf, at);
  }

  void Insert(Key address, const Block& block) {
    Path path;
    Leaf& leaf = Descend(address, &path);
    const std::size_t at = CountUpTo(leaf, address);
    OpenAt(leaf, at);
    leaf.Set(at, address, block);
    if (leaf.count < kMost) return Announce(path, FreeBelow(leaf));
    Node* right = Split(leaf);
    while (path.length > 0) {
      const auto [inner, child] = path.steps[--path.length];
      const bool changed = inner->Summarize(child);
      if (!right && !changed) return;
      if (right) {
        OpenAt(*inner, child + 1);
        inner->Set(child + 1, FirstKey(*right), right);
        right = inner->count == kMost ? Split(*inner) : nullptr;
      }
    }
    if (!right) return;
    Inner* top = memory.inners.New();
    top->Set(0, 0, root);
    top->Set(1, FirstKey(*right), right);
    top->count = 2;
    root = top;
  }

  void Assign(Key address, const Block& block) {
    Path path;
    Leaf& leaf = Descend(address, &path);
    const std::size_t at = CountUpTo(leaf, address) - 1;
    assert(at < leaf.count && leaf.keys[at] == address);
    leaf.Set(at, address, block);
    Announce(path, FreeBelow(leaf));
  }

  void Erase(Key address) {
    Path path;
    Leaf& leaf = Descend(address, &path);
    const std::size_t at = CountUpTo(leaf, address) - 1;
    assert(at < leaf.count && leaf.keys[at] == address);
    EraseAt(leaf, at);
    if (leaf.count >= kFew) return Announce(path, FreeBelow(leaf));
    while (path.length > 0) {
      const auto [inner, child] = path.steps[--path.length];
      if (!Merge(*inner, child) && !inner->Summarize(child)) return;
    }
    if (!root->is_leaf && root->count == 1) {
      Node* only = static_cast<Inner&>(*root).children[0];
      memory.Delete(std::exchange(root, only));
    }
  }

  // The leaf where the address belongs, and the way there.
  Leaf& Descend(Key address, Path* path = nullptr) const {
    Node* node = root;
    while (!node->is_leaf) {
      Inner& inner = static_cast<Inner&>(*node);
      const std::size_t child = CountUpTo(inner, address) - 1;
      if (path) {
        assert(path->length < kHighest);
        path->steps[path->length++] = {&inner, child};
      }
      node = inner.children[child];
    }
    return static_cast<Leaf&>(*node);
  }

  // Tells the nodes on the way up what is free in the leaf now, as far as it is news to them.
  static void Announce(Path& path, Sizes now) {
    while (path.length > 0) {
      const auto [inner, child] = path.steps[--path.length];
      const Sizes was = std::exchange(inner->free[child], now);
      if (was == now || path.length == 0) return;
      const auto [above, self] = path.steps[path.length - 1];
      now = (above->free[self] | now) & ~inner->Missing(was & ~now);
    }
  }

  static Sizes FreeBelow(const Node& node) {
    Sizes free = 0;
    if (node.is_leaf) {
      const Leaf& leaf = static_cast<const Leaf&>(node);
      for (std::size_t i = 0; i < leaf.count; ++i) {
        free |= leaf.marks[i] == 0 ? SizeBit(leaf.prefixes[i]) : 0;
      }
    } else {
      const Inner& inner = static_cast<const Inner&>(node);
      for (std::size_t i = 0; i < inner.count; ++i) free |= inner.free[i];
    }
    return free;
  }

  static Key FirstKey(const Node& node) {
    return node.is_leaf ? static_cast<const Leaf&>(node).keys[0]
                        : static_cast<const Inner&>(node).keys[0];
  }

  // Moves the second half into a new node, which it returns.
  Node* Split(Node& node) {
    if (!node.is_leaf) {
      Inner* right = memory.inners.New();
      MoveTail(static_cast<Inner&>(node), node.count / 2, *right);
      return right;
    }
    Leaf& leaf = static_cast<Leaf&>(node);
    Leaf* right = memory.leaves.New();
    MoveTail(leaf, leaf.count / 2, *right);
    right->previous = &leaf;
    right->next = leaf.next;
    if (leaf.next) leaf.next->previous = right;
    leaf.next = right;
    return right;
  }

  // Merges a child that has become small with the one beside it; what is too large then is split
  // again, in halves. Whether it did.
  bool Merge(Inner& parent, std::size_t child) {
    if (parent.children[child]->count >= kFew) return false;
    const std::size_t left = child > 0 ? child - 1 : child;
    Node& into = *parent.children[left];
    Node& from = *parent.children[left + 1];
    if (into.is_leaf) {
      Leaf& leaf = static_cast<Leaf&>(into);
      MoveTail(static_cast<Leaf&>(from), 0, leaf);
      leaf.next = static_cast<Leaf&>(from).next;
      if (leaf.next) leaf.next->previous = &leaf;
    } else {
      MoveTail(static_cast<Inner&>(from), 0, static_cast<Inner&>(into));
    }
    EraseAt(parent, left + 1);
    memory.Delete(&from);
    if (into.count >= kMost) {
      Node* right = Split(into);
      OpenAt(parent, left + 1);
      parent.Set(left + 1, FirstKey(*right), right);
    }
    parent.Summarize(left);
    return true;
  }

  Memory memory;
  Node* root = memory.leaves.New();
};

template <typename Visit>
auto BlockTree::In(Visit&& visit) const {
  return narrow_ ? visit(*narrow_) : visit(*wide_);
}

template <typename Visit>
auto BlockTree::Cursor::InLeaf(Visit&& visit) const {
  return narrow_ ? visit(*static_cast<const Tree<std::uint32_t>::Leaf*>(leaf_))
                 : visit(*static_cast<const Tree<Address>::Leaf*>(leaf_));
}

BlockTree::BlockTree(Family family) {
  if (family == Family::kIpv4) {
    narrow_ = std::make_unique<Tree<std::uint32_t>>();
  } else {
    wide_ = std::make_unique<Tree<Address>>();
  }
}
BlockTree::BlockTree(BlockTree&&) noexcept = default;
BlockTree& BlockTree::operator=(BlockTree&&) noexcept = default;
BlockTree::~BlockTree() = default;

Address BlockTree::Cursor::address() const {
  return InLeaf([this](const auto& leaf) -> Address { return leaf.keys[at_]; });
}
int BlockTree::Cursor::prefix() const {
  return InLeaf([this](const auto& leaf) -> int { return leaf.prefixes[at_]; });
}
std::uint8_t BlockTree::Cursor::mark() const {
  return InLeaf([this](const auto& leaf) { return leaf.marks[at_]; });
}
std::uint64_t BlockTree::Cursor::owner() const {
  return InLeaf([this](const auto& leaf) { return leaf.owners[at_]; });
}

BlockTree::Cursor BlockTree::Cursor::Next() const {
  Cursor next = *this;
  InLeaf([&](const auto& leaf) {
    const bool inside = at_ + 1 < leaf.count;
    next.leaf_ = inside ? leaf_ : leaf.next;
    next.at_ = inside ? at_ + 1 : 0;
  });
  return next;
}

BlockTree::Cursor BlockTree::Floor(Address address) const {
  return narrow_ ? narrow_->Floor(static_cast<std::uint32_t>(std::min(address, kLastNarrow)))
                 : wide_->Floor(address);
}

BlockTree::Cursor BlockTree::Ceiling(Address address) const {
  if (!narrow_) return wide_->Ceiling(address);
  return address > kLastNarrow ? Cursor() : narrow_->Ceiling(static_cast<std::uint32_t>(address));
}

BlockTree::Cursor BlockTree::FirstFree(Sizes sizes) const {
  return In(
      [&]<typename Key>(const Tree<Key>& tree) { return tree.FirstFree(static_cast<Key>(sizes)); });
}

void BlockTree::Insert(Address address, const Block& block) {
  In([&]<typename Key>(Tree<Key>& tree) { tree.Insert(Narrowed<Key>(address), block); });
}

void BlockTree::Assign(Address address, const Block& block) {
  In([&]<typename Key>(Tree<Key>& tree) { tree.Assign(Narrowed<Key>(address), block); });
}

void BlockTree::Erase(Address address) {
  In([&]<typename Key>(Tree<Key>& tree) { tree.Erase(Narrowed<Key>(address)); });
}

}  // namespace berth::ipam
