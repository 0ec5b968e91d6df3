#include "handlers/apis/live_collection.h"

#include <drogon/utils/Utilities.h>

#include <algorithm>
#include <chrono>
#include <functional>

#include "kube/age.h"

namespace berth::apis {
namespace {

std::uint64_t MicrosecondsNow() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                        std::chrono::system_clock::now().time_since_epoch())
                                        .count());
}

std::size_t Weight(const Event& event) {
  return sizeof(Event) + event.object->json.size() + event.object->metadata.size();
}

// Cells and selectable fields are not part of the content but are shown or selected by, so a change
// of theirs is one.
std::size_t Fingerprint(const LiveCollection::Draft& draft) {
  std::string text = draft.content.to_string();
  for (const auto& [key, value] : draft.labels)
    text.append("\n").append(key).append("=").append(value);
  for (const auto& [key, value] : draft.fields)
    text.append("\n").append(key).append("=").append(value);
  return std::hash<std::string>()(text.append("\n").append(Row(draft.cells).text()));
}

}  // namespace

const std::string* FieldOf(const Object& object, const std::string& field) {
  if (field == "metadata.name") return &object.name;
  if (field == "metadata.namespace") return &object.ns;
  const auto found = object.fields.find(field);
  return found == object.fields.end() ? nullptr : &found->second;
}

Object AtVersion(const Object& object, std::uint64_t version) {
  const std::string before = "\"resourceVersion\":\"" + std::to_string(object.version) + "\"";
  const std::string after = "\"resourceVersion\":\"" + std::to_string(version) + "\"";
  Object copy = object;
  // The first occurrence is the metadata's own: it stands before anything a client has a word in
  // but the name, which has no quotes.
  for (std::string* text : {&copy.metadata, &copy.json})
    text->replace(text->find(before), before.size(), after);
  copy.version = version;
  return copy;
}

LiveCollection::LiveCollection(ResourceType type, std::uint64_t first_version, Limits limits)
    : type_(std::move(type)), limits_(limits), version_(first_version), oldest_(first_version) {}

LiveCollection::LiveCollection(ResourceType type, Limits limits)
    : LiveCollection(std::move(type), MicrosecondsNow(), limits) {}

ObjectPtr LiveCollection::Build(const Draft& draft, const std::string& uid, std::int64_t created,
                                std::uint64_t version) const {
  auto object = std::make_shared<Object>();
  object->ns = draft.ns;
  object->name = draft.name;
  object->uid = uid;
  object->version = version;
  object->labels = draft.labels;
  object->fields = draft.fields;
  object->cells = draft.cells;

  Json metadata;
  metadata["name"] = draft.name;
  if (!draft.ns.empty()) metadata["namespace"] = draft.ns;
  metadata["uid"] = uid;
  metadata["resourceVersion"] = std::to_string(version);
  metadata["creationTimestamp"] = kube::Timestamp(created);
  if (!draft.labels.empty()) {
    Json labels;
    for (const auto& [key, value] : draft.labels) labels[key] = value;
    metadata["labels"] = std::move(labels);
  }
  object->metadata = metadata.to_string();

  Json whole;
  whole["apiVersion"] = kGroupVersion;
  whole["kind"] = type_.kind;
  whole["metadata"] = std::move(metadata);
  for (const auto& member : draft.content.object_range()) whole[member.key()] = member.value();
  object->json = whole.to_string();
  for (std::string* text : {&object->metadata, &object->json}) text->shrink_to_fit();
  return object;
}

void LiveCollection::Put(Draft draft) {
  const std::size_t fingerprint = Fingerprint(draft);
  {
    const std::lock_guard lock(mutex_);
    const auto [found, added] = entries_.try_emplace({draft.ns, draft.name});
    Entry& entry = found->second;
    if (!added && entry.fingerprint == fingerprint) return;
    if (added) {
      entry.created = std::chrono::duration_cast<std::chrono::seconds>(
                          std::chrono::system_clock::now().time_since_epoch())
                          .count();
    }
    const std::string uid = added ? drogon::utils::getUuid() : entry.object->uid;
    auto object = Build(draft, uid, entry.created, ++version_);
    Record({added ? EventType::kAdded : EventType::kModified, version_, object, entry.object});
    entry.object = std::move(object);
    entry.fingerprint = fingerprint;
  }
  Notify();
}

bool LiveCollection::Remove(const std::string& ns, const std::string& name) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find({ns, name});
    if (found == entries_.end()) return false;
    RecordEnd(found->second);
    entries_.erase(found);
  }
  Notify();
  return true;
}

void LiveCollection::Clear() {
  {
    const std::lock_guard lock(mutex_);
    if (entries_.empty()) return;
    for (const auto& [key, entry] : entries_) RecordEnd(entry);
    entries_.clear();
  }
  Notify();
}

void LiveCollection::RecordEnd(const Entry& entry) {
  auto last = std::make_shared<const Object>(AtVersion(*entry.object, ++version_));
  Record({EventType::kDeleted, version_, std::move(last), nullptr});
}

void LiveCollection::Record(Event event) {
  history_bytes_ += Weight(event);
  history_.push_back(std::move(event));
  while (history_.size() > limits_.events ||
         (history_bytes_ > limits_.bytes && history_.size() > 1)) {
    oldest_ = history_.front().version;
    history_bytes_ -= Weight(history_.front());
    history_.pop_front();
  }
}

void LiveCollection::Notify() const {
  for (const auto& listener : listeners_) listener();
}

ObjectPtr LiveCollection::Get(const std::string& ns, const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find({ns, name});
  return found == entries_.end() ? nullptr : found->second.object;
}

Page LiveCollection::List(const std::string& ns, const Filter& filter,
                          const std::optional<ListKey>& start, std::size_t limit) const {
  Page page;
  const std::lock_guard lock(mutex_);
  page.version = version_;
  auto it = entries_.lower_bound(std::max(start.value_or(ListKey{}), ListKey{ns, ""}));
  for (; it != entries_.end() && (ns.empty() || it->first.ns == ns); ++it) {
    if (!filter(*it->second.object)) continue;
    if (limit > 0 && page.objects.size() == limit) {
      if (!page.next) page.next = it->first;
      ++page.remaining;
      continue;
    }
    page.objects.push_back(it->second.object);
  }
  return page;
}

std::uint64_t LiveCollection::version() const {
  const std::lock_guard lock(mutex_);
  return version_;
}

std::optional<std::vector<Event>> LiveCollection::Since(std::uint64_t version) const {
  const std::lock_guard lock(mutex_);
  if (version < oldest_) return std::nullopt;
  const auto first = std::ranges::upper_bound(history_, version, {}, &Event::version);
  return std::vector<Event>(first, history_.end());
}

void LiveCollection::Delete(const Deletion& deletion, async::Executor& home, Deleted answer) {
  if (deleter_) return deleter_(deletion, home, std::move(answer));
  answer(std::unexpected(kube::MethodNotAllowed(kGroup, type_.plural, "delete")));
}

}  // namespace berth::apis
