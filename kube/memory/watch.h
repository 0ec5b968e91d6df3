#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "async/executor.h"
#include "kube/memory/selection.h"
#include "kube/memory/server.h"

namespace berth::kube::memory {

// One who follows a resource.
struct Watch {
  Selection selection;
  Server::Watcher watcher;
  bool bookmarks = false;
  async::WallTime end;        // when it is over
  std::uint64_t after = 0;    // it asked for what is later, which may lie in the future
  std::uint64_t told = 0;     // the last version it knows of
  bool columns_told = false;  // the columns of a table are told once
  bool ended = false;         // to be taken out, by whoever walks the list
};

// Tells the watch of a change if it concerns it. A line is made once for all watches that see the
// same.
void Tell(const Resource& resource, Watch& watch, const Change& change, std::int64_t now);
// Tells of an object as if it had just been added.
void TellPresent(const Resource& resource, Watch& watch, const Object& object, std::int64_t now);
void TellBookmark(const Resource& resource, Watch& watch, std::uint64_t version,
                  bool initial_events_end, std::int64_t now);
void EndWatch(Watch& watch);

// Tells all watches of the resource of a change. O(watches).
void Publish(Resource& resource, const Change& change, std::int64_t now);
// Bookmarks, and the end of those whose time is over. O(watches).
void TickWatches(Resource& resource, std::uint64_t version, async::WallTime now);
// The end of all: the resource is no longer served.
void EndWatches(Resource& resource);

}  // namespace berth::kube::memory
