#include "handlers/apis/poolusages.h"

#include <algorithm>
#include <cmath>

#include "log/format.h"

namespace berth::apis {
namespace {

using ipam::Address;
using ipam::Allocator;
using ipam::Cidr;
using ipam::Hold;
using ipam::Space;
using ipam::Use;

constexpr std::size_t kMostRanges = 64;
constexpr std::size_t kMostHolds = 4096;  // that are looked at for the ranges
constexpr std::size_t kMostChildren = 64;
constexpr std::size_t kChildrenShown = 3;
constexpr std::size_t kDeepest = 64;
constexpr const char* kNothing = "<none>";

// Counts of addresses are text: those of IPv6 are beyond what JSON's readers keep exact.
std::string Decimal(Address number) {
  std::string digits;
  do {
    digits += static_cast<char>('0' + static_cast<int>(number % 10));
    number /= 10;
  } while (number != 0);
  std::ranges::reverse(digits);
  return digits;
}

// 2^128 is shown as one less, as by the allocator.
Address SizeOf(const Cidr& block) {
  const Address size = block.Last() - block.First() + 1;
  return size == 0 ? ~Address{0} : size;
}

Address Minus(Address from, Address what) { return from > what ? from - what : 0; }

// Runs of addresses in rising order, those that touch as one.
class Runs {
 public:
  // False when there is no place for it.
  bool Add(Address first, Address last) {
    if (!runs_.empty() && first == runs_.back().second + 1) {
      runs_.back().second = last;
      return true;
    }
    if (runs_.size() == kMostRanges) return false;
    runs_.emplace_back(first, last);
    return true;
  }

  Json ToJson(ipam::Family family) const {
    const auto text = [family](Address address) {
      const std::string host = Cidr(family, address, Width(family)).ToString();
      return host.substr(0, host.find('/'));
    };
    Json list = Json::Array();
    for (const auto& [first, last] : runs_) list.push_back(text(first) + "-" + text(last));
    return list;
  }

 private:
  std::vector<std::pair<Address, Address>> runs_;
};

// The ranges of a pool that are held and that can be given out, from its start on.
class Layout {
 public:
  explicit Layout(const Allocator& space)
      : range_(space.rules().range), next_(range_.First()), excluded_(space.rules().excluded) {
    std::ranges::sort(excluded_, {}, &Cidr::First);
    std::size_t looked_at = 0;
    // By its first address: one may begin before the range.
    space.ForEachOverlapping(range_, [&](const Hold& hold) {
      whole_ = ++looked_at <= kMostHolds && TakeHold(hold.block);
      return whole_;
    });
    if (whole_) whole_ = PassExclusions(range_.Last()) && (ended_ || AddFree(range_.Last()));
  }

  void Show(Json& status) const {
    status["usedRanges"] = used_.ToJson(range_.family());
    status["availableRanges"] = free_.ToJson(range_.family());
    status["truncated"] = !whole_;
  }

 private:
  bool AddFree(Address last) { return free_.Add(next_, last); }

  // A block that cannot be given out; they come by their first address.
  bool Pass(const Cidr& block) {
    if (ended_) return true;
    if (block.First() > next_ && !AddFree(block.First() - 1)) return false;
    ended_ = block.Last() >= range_.Last();
    if (!ended_) next_ = std::max(next_, block.Last() + 1);
    return true;
  }

  bool PassExclusions(Address until) {
    for (; excluded_at_ < excluded_.size(); ++excluded_at_) {
      const Cidr& block = excluded_[excluded_at_];
      if (block.First() > until) return true;
      if (block.Last() >= range_.First() && !Pass(block)) return false;
    }
    return true;
  }

  bool TakeHold(const Cidr& block) {
    return PassExclusions(block.First()) && Pass(block) &&
           used_.Add(std::max(block.First(), range_.First()),
                     std::min(block.Last(), range_.Last()));
  }

  const Cidr range_;
  Address next_;        // the first address that nothing is said of yet
  bool ended_ = false;  // there is none
  bool whole_ = true;
  std::vector<Cidr> excluded_;
  std::size_t excluded_at_ = 0;
  Runs used_;
  Runs free_;
};

struct Figures {
  Address used = 0;  // by Subnets that no child pool stands on
  Address delegated = 0;
  Address reserved = 0;
  Address free = 0;
  Address excluded = 0;  // and held by nobody
  std::optional<int> largest;
  double fragmentation = 0;
};

Figures FiguresOf(const Space::PoolState& state, const Space& space) {
  const Allocator& allocator = *state.space;
  Address stood_on = 0;
  for (const std::string& key : state.children) {
    const Space::PoolState* child = space.Find(key);
    if (!child || !child->rules || !child->placed) continue;
    const auto hold = allocator.At(child->rules->range);
    if (hold && hold->use == Use::kSubnet) stood_on += SizeOf(hold->block);
  }
  Figures figures;
  figures.used = Minus(allocator.HeldAddresses(Use::kSubnet), stood_on);
  figures.delegated =
      allocator.HeldAddresses(Use::kChild) + allocator.HeldAddresses(Use::kForeign) + stood_on;
  figures.reserved = allocator.HeldAddresses(Use::kReserved);
  figures.free = allocator.FreeAddresses();
  const Cidr& range = allocator.rules().range;
  const Address held = figures.used + figures.delegated + figures.reserved;
  figures.excluded = Minus(Minus(SizeOf(range), figures.free), held);
  figures.largest = allocator.LargestFree();
  if (figures.largest && figures.free > 0) {
    const auto share = std::ldexp(1.0L, Width(range.family()) - *figures.largest) /
                       static_cast<long double>(figures.free);
    figures.fragmentation =
        std::round(std::clamp(1.0 - static_cast<double>(share), 0.0, 1.0) * 100) / 100;
  }
  return figures;
}

// From the root down: "world/finance".
std::vector<std::string> PathOf(const std::string& key, const Space& space) {
  std::vector<std::string> path;
  std::string at = key;
  while (path.size() < kDeepest) {
    std::string name(ipam::SplitKey(at).second);
    if (std::ranges::contains(path, name)) break;  // a circle
    path.push_back(std::move(name));
    const Space::PoolState* state = space.Find(at);
    if (!state || state->pool.parent.empty()) break;
    at = ipam::KeyBeside(key, state->pool.parent);
  }
  std::ranges::reverse(path);
  return path;
}

std::string Joined(const std::vector<std::string>& names, std::string_view separator) {
  std::string text;
  for (const std::string& name : names) text.append(text.empty() ? "" : separator).append(name);
  return text;
}

std::vector<std::string> ChildrenOf(const Space::PoolState& state) {
  std::vector<std::string> names;
  for (const std::string& child : state.children) {
    if (names.size() == kMostChildren) break;
    names.emplace_back(ipam::SplitKey(child).second);
  }
  return names;
}

std::string ChildrenShown(const Space::PoolState& state) {
  if (state.children.empty()) return kNothing;
  std::vector<std::string> names = ChildrenOf(state);
  names.resize(std::min(names.size(), kChildrenShown));
  const std::size_t more = state.children.size() - names.size();
  return Joined(names, ",") + (more > 0 ? Format(",+{}", more) : "");
}

std::string Slashed(int prefix) { return Format("/{}", prefix); }

void ShowFigures(Json& status, const Figures& figures, const Allocator& space) {
  status["subnets"] = space.Count(Use::kSubnet);
  status["reserved"] = space.Count(Use::kReserved);
  status["usedAddresses"] = Decimal(figures.used);
  status["freeAddresses"] = Decimal(figures.free);
  status["delegatedAddresses"] = Decimal(figures.delegated);
  status["reservedAddresses"] = Decimal(figures.reserved);
  status["excludedAddresses"] = Decimal(figures.excluded);
  if (figures.largest) status["largestFreeBlock"] = Slashed(*figures.largest);
  status["fragmentation"] = figures.fragmentation;
  Json sizes;
  for (int prefix = space.rules().range.prefix(); prefix <= space.rules().max_block; ++prefix)
    sizes[Slashed(prefix)] = space.Free(prefix);
  status["freeCountBySize"] = std::move(sizes);
  Layout(space).Show(status);
}

// Figures that a pool has even when its spec is not valid.
struct Place {
  std::string path;
  std::size_t depth = 0;
  std::string strategy;
  std::string reason;
};

Place PlaceOf(const std::string& key, const Space::PoolState& state, const Space& space) {
  const auto path = PathOf(key, space);
  return {.path = Joined(path, "/"),
          .depth = path.size() - 1,
          .strategy = state.pool.strategy.empty() ? "Linear" : state.pool.strategy,
          .reason = state.problem ? state.problem->reason : "Ready"};
}

void ShowPlace(Json& status, const Place& place, const Space::PoolState& state) {
  status["cidr"] = state.pool.cidr;
  status["strategy"] = place.strategy;
  if (!state.pool.parent.empty()) status["parent"] = state.pool.parent;
  status["path"] = place.path;
  status["depth"] = place.depth;
  if (!state.children.empty()) status["children"] = Json(ChildrenOf(state));
  status["ready"] = !state.problem;
  status["reason"] = place.reason;
  if (state.problem) status["message"] = state.problem->message;
  status["unplaced"] = state.unplaced.size();
}

// In the order of the type's columns.
std::vector<Cell> CellsOf(const Space::PoolState& state, const Place& place,
                          const std::optional<Figures>& figures) {
  std::vector<Cell> cells = {Cell::Text(state.pool.cidr)};
  if (figures) {
    cells.push_back(Cell::Text(Decimal(figures->used)));
    cells.push_back(Cell::Text(Decimal(figures->free)));
    cells.push_back(Cell::Text(Decimal(figures->delegated)));
    cells.push_back(Cell::Text(figures->largest ? Slashed(*figures->largest) : kNothing));
    cells.push_back(Cell::Text(Format("{:.2f}", figures->fragmentation)));
    cells.push_back(Cell::Number(state.space->Count(Use::kReserved)));
  } else {
    cells.resize(7, Cell::Text(kNothing));
  }
  cells.push_back(Cell::Text(place.path));
  cells.push_back(Cell::Text(ChildrenShown(state)));
  cells.push_back(figures ? Cell::Number(state.space->Count(Use::kSubnet)) : Cell::Text(kNothing));
  cells.push_back(Cell::Text(place.strategy));
  cells.push_back(Cell::Text(place.reason));
  return cells;
}

Json StatusSchema() {
  return ObjectSchema(
      "The pool's present figures.",
      {{"cidr", "string", "The pool's range."},
       {"strategy", "string", "How a block is chosen."},
       {"parent", "string", "The pool that this one is a part of; absent for a root."},
       {"path", "string", "The pool's place in the tree, from the root: world/finance."},
       {"depth", "integer", "How many pools are above it."},
       {"children", "string[]", "The pools below it, at most 64 of them."},
       {"ready", "boolean", "Whether the pool gives out blocks."},
       {"reason", "string", "Ready, or in one word why not."},
       {"message", "string", "Why not, in a sentence."},
       {"subnets", "integer", "Blocks that Subnets hold."},
       {"unplaced", "integer",
        "Subnets that do not hold their block: it is outside the pool, or overlaps another block."},
       {"reserved", "integer", "Blocks held for claims whose Subnet does not exist yet."},
       {"usedAddresses", "string",
        "Addresses of Subnets, without those that a child pool stands on."},
       {"freeAddresses", "string", "Addresses that can be given out now."},
       {"delegatedAddresses", "string", "Addresses of child pools."},
       {"reservedAddresses", "string", "Addresses of reserved blocks."},
       {"excludedAddresses", "string",
        "Addresses that are excluded or kept for a claim, and held by nobody."},
       {"largestFreeBlock", "string", "As in /20; absent when nothing is free."},
       {"fragmentation", "number",
        "What part of the free addresses is outside the largest free block."},
       {"freeCountBySize", "integer{}",
        "How many blocks of each size could still be given out, if no other size were.", "int64"},
       {"usedRanges", "string[]", "What is held, as first-last."},
       {"availableRanges", "string[]", "What can be given out, as first-last."},
       {"truncated", "boolean", "There are more ranges, at higher addresses."}});
}

}  // namespace

ResourceType PoolUsageType() {
  ResourceType type("PoolUsage");
  type.short_names = {"pu"};
  type.categories = {"berth"};
  type.namespaced = true;
  type.description =
      "What a SubnetPool has given out and what is really free: here, other than in the pool's own "
      "status, what child pools hold is not free.";
  type.columns = {{"CIDR", "string", "The pool's range.", 0},
                  {"Used", "string", "Addresses of Subnets.", 0},
                  {"Free", "string", "Addresses that can be given out.", 0},
                  {"Delegated", "string", "Addresses of child pools.", 0},
                  {"Largest", "string", "The largest free block.", 0},
                  {"Fragmentation", "string", "0 when all that is free is one block.", 0},
                  {"Reserved", "integer", "Blocks given out without a Subnet yet.", 0},
                  {"Path", "string", "From the root of the tree.", 1},
                  {"Children", "string", "The pools below it.", 1},
                  {"Subnets", "integer", "Blocks that Subnets hold.", 1},
                  {"Strategy", "string", "How a block is chosen.", 1},
                  {"Ready", "string", "Ready, or why not.", 1}};
  type.selectable_fields = {"status.parent", "status.reason"};
  type.properties = Json::Object();
  type.properties["status"] = StatusSchema();
  return type;
}

void PublishPoolUsage(LiveCollection& collection, const std::string& key,
                      const ipam::Space& space) {
  const auto [ns, name] = ipam::SplitKey(key);
  const Space::PoolState* state = space.Find(key);
  if (!state) {
    collection.Remove(std::string(ns), std::string(name));
    return;
  }
  const Place place = PlaceOf(key, *state, space);
  Json status;
  ShowPlace(status, place, *state);
  std::optional<Figures> figures;
  if (state->rules) {
    figures = FiguresOf(*state, space);
    ShowFigures(status, *figures, *state->space);
  }
  LiveCollection::Draft draft{.ns = std::string(ns), .name = std::string(name)};
  draft.fields = {{"status.parent", state->pool.parent}, {"status.reason", place.reason}};
  draft.cells = CellsOf(*state, place, figures);
  draft.content["status"] = std::move(status);
  collection.Put(std::move(draft));
}

}  // namespace berth::apis
