#include "handlers/apis/watch.h"

#include <algorithm>

namespace berth::apis {
namespace {

using Clock = std::chrono::steady_clock;
using trantor::TcpConnectionPtr;

constexpr std::chrono::seconds kBookmarkEvery{60};
// A burst goes out in slices, so that a reader who keeps up is not taken for one that stopped.
constexpr std::size_t kSlice = 64 * 1024;
constexpr double kSlicePause = 0.001;
// A reader with less unsent is not slow, whatever the others have.
constexpr std::size_t kLeastOfSlow = 16 * 1024;
// Unsent bytes are counted each time a loop's watchers were given this part of the budget, and
// every second.
constexpr std::size_t kLooksPerBudget = 16;

// Shows an event to a selection's watchers; a change may bring an object into view or out of it.
void AppendEvent(std::string& out, const ResourceType& type, const Selection& selection,
                 const Event& event, bool& first) {
  const bool now = event.type != EventType::kDeleted && selection.Matches(*event.object);
  const bool before = event.type == EventType::kDeleted
                          ? selection.Matches(*event.object)
                          : event.previous && selection.Matches(*event.previous);
  if (!now && !before) return;
  const EventType seen = !now     ? EventType::kDeleted
                         : before ? EventType::kModified
                                  : EventType::kAdded;
  if (seen == EventType::kDeleted && event.previous) {
    // An object that has left a selection is shown as it was when it was last in it.
    const Object last = AtVersion(*event.previous, event.version);
    out += RenderEvent(type, Name(seen), last, selection.form, first);
  } else {
    out += RenderEvent(type, Name(seen), *event.object, selection.form, first);
  }
  first = false;
}

kube::Status TooOld(std::uint64_t asked) {
  return kube::Expired("too old resource version: " + std::to_string(asked) + "; list again");
}

// The present state and what came after it, rendered as the socket takes it: however large, little
// of it is in memory twice.
class Backlog {
 public:
  Backlog(const ResourceType& type, std::shared_ptr<const Selection> selection)
      : type_(type), selection_(std::move(selection)) {}

  void Add(ObjectPtr object) {
    entries_.push_back({EventType::kAdded, 0, std::move(object), nullptr});
  }
  void Add(Event event) { entries_.push_back(std::move(event)); }
  void MarkInitialEnd(std::uint64_t version) { bookmark_ = {entries_.size(), version}; }

  bool first() const { return first_; }

  // The next few lines as a chunk; empty at the end.
  std::string Next(std::size_t about) {
    std::string out;
    while (out.size() < about && !done_) {
      if (bookmark_ && bookmark_->position == position_) {
        out += RenderBookmark(type_, bookmark_->version, true, selection_->form);
        bookmark_.reset();
      }
      done_ = position_ == entries_.size();
      if (!done_) AppendEvent(out, type_, *selection_, entries_[position_++], first_);
    }
    if (done_) entries_ = {};
    return out.empty() ? out : http::Chunk(out);
  }

 private:
  struct Bookmark {
    std::size_t position;
    std::uint64_t version;
  };

  const ResourceType& type_;
  std::shared_ptr<const Selection> selection_;
  std::vector<Event> entries_;
  std::size_t position_ = 0;
  bool done_ = false;
  std::optional<Bookmark> bookmark_;
  bool first_ = true;
};

}  // namespace

struct WatchHub::Shard {
  struct Watcher {
    TcpConnectionPtr connection;
    std::unique_ptr<http::UnsentBudget::Share> unsent;
    std::shared_ptr<const Selection> selection;
    std::shared_ptr<Backlog> backlog;  // while it may still owe a table its columns
    bool first = true;                 // no event sent yet
    bool bookmarks = false;
    Clock::time_point ends;
    Clock::time_point next_bookmark;
  };

  trantor::EventLoop* loop = nullptr;
  std::unordered_map<const trantor::TcpConnection*, Watcher> watchers;
  std::uint64_t cursor = 0;  // every watcher has been sent everything up to here
  std::size_t given = 0;     // bytes, to all watchers since unsent ones were counted
  bool walking = false;  // a send may end a connection, and with it a watcher, while watchers are
                         // walked through
  std::vector<const trantor::TcpConnection*> gone;
  std::atomic<bool> scheduled = false;
  std::atomic<bool> occupied = false;

  // Calls `visit` for each watcher; the ones it returns true for are over.
  template <typename Visit>
  std::size_t Walk(Visit visit) {
    walking = true;
    for (auto& [key, watcher] : watchers) {
      if (visit(watcher)) gone.push_back(key);
    }
    walking = false;
    std::size_t left = 0;
    for (const auto* key : gone) left += watchers.erase(key);
    gone.clear();
    if (watchers.empty()) occupied = false;
    return left;
  }
};

WatchHub::WatchHub(ResourceStore& store, WatchMetrics metrics, http::UnsentBudget& unsent)
    : store_(store), metrics_(metrics), unsent_(unsent) {
  store_.Subscribe([this] { Wake(); });
}

WatchHub::~WatchHub() = default;

WatchHub::Shard& WatchHub::ShardOf(trantor::EventLoop* loop) {
  const std::lock_guard lock(mutex_);
  auto& shard = shards_[loop];
  if (!shard) {
    shard = std::make_unique<Shard>();
    shard->loop = loop;
    loop->runEvery(1.0, [this, &made = *shard] { Sweep(made); });
  }
  return *shard;
}

void WatchHub::Wake() {
  const std::lock_guard lock(mutex_);
  for (const auto& [loop, shard] : shards_) {
    if (!shard->occupied || shard->scheduled.exchange(true)) continue;
    Schedule(*shard);
  }
}

void WatchHub::Schedule(Shard& shard) {
  shard.loop->queueInLoop([this, &shard] { Drain(shard); });
}

void WatchHub::Start(const TcpConnectionPtr& connection, WatchRequest request) {
  Shard& shard = ShardOf(connection->getLoop());
  shard.occupied = true;
  auto selection = std::make_shared<const Selection>(std::move(request.selection));
  auto backlog = std::make_shared<Backlog>(store_.type(), selection);

  std::uint64_t version = request.after.value_or(0);
  if (!request.after) {
    const Page page = store_.List(
        selection->ns, [&](const Object& object) { return selection->Matches(object); }, {}, 0);
    for (const auto& object : page.objects) backlog->Add(object);
    version = page.version;
    if (request.initial_events_end) backlog->MarkInitialEnd(version);
  }
  // The newcomer catches up with the others of this loop, or they with it: from then on all go
  // together.
  if (shard.watchers.empty()) shard.cursor = std::max(version, store_.version());
  while (shard.cursor < version) Drain(shard);
  const auto missed = store_.Since(version);
  if (!missed) {
    return http::EndStream(connection, std::string(http::kStreamHead) +
                                           http::Chunk(RenderErrorEvent(TooOld(version))));
  }
  for (const Event& event : *missed) {
    if (event.version <= shard.cursor) backlog->Add(event);
  }

  http::TakeOver(connection, kMostUnsent, [this] { metrics_.cut_off.Increment(); });
  const auto now = Clock::now();
  std::string opening = std::string(http::kStreamHead) + backlog->Next(kSlice);
  shard.watchers.insert_or_assign(
      connection.get(),
      Shard::Watcher{.connection = connection,
                     .unsent = std::make_unique<http::UnsentBudget::Share>(unsent_),
                     .selection = std::move(selection),
                     .backlog = backlog,
                     .first = backlog->first(),
                     .bookmarks = request.bookmarks,
                     .ends = now + request.timeout,
                     .next_bookmark = now + kBookmarkEvery});
  metrics_.watchers.Increment();
  // Catching up may have ended the last of the others, and with it the wake-ups.
  shard.occupied = true;
  if (store_.version() > shard.cursor && !shard.scheduled.exchange(true)) {
    Schedule(shard);
  }
  http::SendAsTaken(connection, std::move(opening),
                    [backlog = std::move(backlog)] { return backlog->Next(kSlice); });
}

void WatchHub::Drain(Shard& shard) {
  shard.scheduled = false;
  const auto events = store_.Since(shard.cursor);
  if (!events) {
    const std::string error = http::Chunk(RenderErrorEvent(TooOld(shard.cursor)));
    shard.cursor = store_.version();
    metrics_.watchers.Decrement(static_cast<double>(shard.Walk([&](Shard::Watcher& watcher) {
      http::EndStream(watcher.connection, error);
      return true;
    })));
    return;
  }
  if (events->empty()) return;

  std::size_t taken = 0;
  for (std::size_t bytes = 0; taken < events->size() && bytes < kSlice; ++taken)
    bytes += (*events)[taken].object->json.size();
  const std::span<const Event> slice = std::span(*events).first(taken);
  shard.cursor = slice.back().version;
  Send(shard, slice);
  if (taken < events->size() && !shard.scheduled.exchange(true)) {
    shard.loop->runAfter(kSlicePause, [this, &shard] { Drain(shard); });
  }
}

// Renders once for all watchers that want to see the same.
void WatchHub::Send(Shard& shard, std::span<const Event> events) {
  struct Rendered {
    std::shared_ptr<std::string> chunk;
    bool first = true;
  };
  std::unordered_map<std::string, Rendered> rendered;
  const std::size_t left = shard.Walk([&](Shard::Watcher& watcher) {
    if (watcher.first && watcher.backlog) watcher.first = watcher.backlog->first();
    auto [found, fresh] =
        rendered.try_emplace(watcher.selection->key + (watcher.first ? "1" : "0"));
    if (fresh) {
      bool first = watcher.first;
      std::string out;
      for (const Event& event : events)
        AppendEvent(out, store_.type(), *watcher.selection, event, first);
      found->second = {out.empty() ? nullptr : std::make_shared<std::string>(http::Chunk(out)),
                       first};
    }
    if (!found->second.chunk) return false;
    watcher.first = found->second.first;
    watcher.backlog.reset();
    watcher.connection->send(found->second.chunk);
    watcher.unsent->Give(found->second.chunk->size());
    shard.given += found->second.chunk->size();
    return false;
  });
  metrics_.watchers.Decrement(static_cast<double>(left));
  if (shard.given > unsent_.limit() / kLooksPerBudget) CutOffSlowest(shard);
}

// O(watchers), and O(watchers log watchers) while there is too much.
void WatchHub::CutOffSlowest(Shard& shard) {
  shard.given = 0;
  std::vector<Shard::Watcher*> slow;
  for (auto& [key, watcher] : shard.watchers) {
    watcher.unsent->Look(*watcher.connection);
    if (watcher.unsent->unsent() >= kLeastOfSlow) slow.push_back(&watcher);
  }
  metrics_.unsent.Set(static_cast<double>(unsent_.bytes()));
  if (unsent_.excess() == 0) return;
  std::ranges::sort(slow, std::greater(),
                    [](const Shard::Watcher* w) { return w->unsent->unsent(); });
  std::size_t ended = 0;
  for (const std::size_t excess = unsent_.excess(); const Shard::Watcher* watcher : slow) {
    if (ended >= excess) return;
    ended += watcher->unsent->unsent();
    metrics_.cut_off.Increment();
    http::CutOff(watcher->connection);
  }
}

void WatchHub::Sweep(Shard& shard) {
  const auto now = Clock::now();
  const std::size_t left = shard.Walk([&](Shard::Watcher& watcher) {
    const bool over = now >= watcher.ends;
    std::string bookmark;
    if (watcher.bookmarks && (over || now >= watcher.next_bookmark)) {
      watcher.next_bookmark = now + kBookmarkEvery;
      bookmark =
          http::Chunk(RenderBookmark(store_.type(), shard.cursor, false, watcher.selection->form));
    }
    if (over) {
      http::EndStream(watcher.connection, bookmark);
    } else if (!bookmark.empty()) {
      watcher.connection->send(std::move(bookmark));
    }
    return over;
  });
  metrics_.watchers.Decrement(static_cast<double>(left));
  CutOffSlowest(shard);
}

void WatchHub::Forget(const trantor::TcpConnection* connection) {
  Shard& shard = ShardOf(trantor::EventLoop::getEventLoopOfCurrentThread());
  if (!shard.watchers.contains(connection)) return;
  if (shard.walking) {
    shard.gone.push_back(connection);
    return;
  }
  shard.watchers.erase(connection);
  metrics_.watchers.Decrement();
  if (shard.watchers.empty()) shard.occupied = false;
}

void WatchHub::Close() {
  const std::lock_guard lock(mutex_);
  for (const auto& [loop, shard] : shards_) {
    loop->queueInLoop([this, &closing = *shard] {
      metrics_.watchers.Decrement(static_cast<double>(closing.Walk([](Shard::Watcher& watcher) {
        http::EndStream(watcher.connection, "");
        return true;
      })));
    });
  }
}

}  // namespace berth::apis
