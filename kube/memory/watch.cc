#include "kube/memory/watch.h"

#include "kube/memory/render.h"

namespace berth::kube::memory {
namespace {

// An object that has left a selection is shown as it last was in it, at the version of its leaving.
ObjectPtr AtVersion(const Object& object, std::uint64_t version) {
  Value value = object.value;
  value["metadata"].insert_or_assign("resourceVersion", std::to_string(version));
  return std::make_shared<const Object>(std::move(value));
}

std::shared_ptr<const std::string> LineFor(const Resource& resource, const Watch& watch,
                                           const Change& change, ChangeType type,
                                           std::int64_t now) {
  const bool columns = watch.selection.form.kind == Form::Kind::kTable && !watch.columns_told;
  for (const Change::Line& line : change.lines) {
    if (line.type == type && line.version == watch.selection.version &&
        line.form == watch.selection.form && line.columns == columns)
      return line.text;
  }
  const Shape shape{resource, *watch.selection.version, watch.selection.form, now};
  const bool left = type == ChangeType::kDeleted && change.type != ChangeType::kDeleted;
  const ObjectPtr object = left ? AtVersion(*change.previous, change.version) : change.object;
  auto text = std::make_shared<const std::string>(RenderEvent(shape, type, *object, columns));
  change.lines.push_back({type, watch.selection.version, watch.selection.form, columns, text});
  return text;
}

}  // namespace

void Tell(const Resource& resource, Watch& watch, const Change& change, std::int64_t now) {
  if (change.version <= watch.after) return;
  const Selection& selection = watch.selection;
  const bool before = change.previous && selection.Matches(change.key, *change.previous);
  const bool after =
      change.type != ChangeType::kDeleted && selection.Matches(change.key, *change.object);
  if (!before && !after) return;
  const ChangeType type = !after   ? ChangeType::kDeleted
                          : before ? ChangeType::kModified
                                   : ChangeType::kAdded;
  const auto line = LineFor(resource, watch, change, type, now);
  watch.told = change.version;
  watch.columns_told = true;
  watch.watcher.on_line(line);
}

void TellPresent(const Resource& resource, Watch& watch, const Object& object, std::int64_t now) {
  const Shape shape{resource, *watch.selection.version, watch.selection.form, now};
  auto line = std::make_shared<const std::string>(
      RenderEvent(shape, ChangeType::kAdded, object, !watch.columns_told));
  watch.columns_told = true;
  watch.watcher.on_line(line);
}

void TellBookmark(const Resource& resource, Watch& watch, std::uint64_t version,
                  bool initial_events_end, std::int64_t now) {
  const Shape shape{resource, *watch.selection.version, watch.selection.form, now};
  auto line = std::make_shared<const std::string>(
      RenderBookmark(shape, version, initial_events_end, !watch.columns_told));
  watch.columns_told = true;
  watch.told = version;
  watch.watcher.on_line(line);
}

void EndWatch(Watch& watch) {
  if (!std::exchange(watch.ended, true)) watch.watcher.on_end();
}

namespace {

// Visits the watches; one that ends meanwhile, by itself or by its handle, is taken out afterwards.
template <typename Visit>
void ForEachWatch(Resource& resource, Visit visit) {
  resource.publishing = true;
  for (const auto& watch : resource.watches) {
    if (!watch->ended) visit(*watch);
  }
  resource.publishing = false;
  std::erase_if(resource.watches, [](const auto& watch) { return watch->ended; });
}

}  // namespace

void Publish(Resource& resource, const Change& change, std::int64_t now) {
  if (resource.watches.empty()) return;
  ForEachWatch(resource, [&](Watch& watch) { Tell(resource, watch, change, now); });
}

void TickWatches(Resource& resource, std::uint64_t version, async::WallTime now) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count();
  ForEachWatch(resource, [&](Watch& watch) {
    if (now >= watch.end) {
      EndWatch(watch);
    } else if (watch.bookmarks && watch.told < version) {
      TellBookmark(resource, watch, version, false, seconds);
    }
  });
}

void EndWatches(Resource& resource) {
  ForEachWatch(resource, [](Watch& watch) { EndWatch(watch); });
}

}  // namespace berth::kube::memory
