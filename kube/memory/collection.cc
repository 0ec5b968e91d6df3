#include "kube/memory/collection.h"

#include <algorithm>
#include <charconv>

namespace berth::kube::memory {
namespace {

std::uint64_t VersionOf(const Value& value) {
  const std::string_view text = TextAt(value, "metadata", "resourceVersion");
  std::uint64_t version = 0;
  std::from_chars(text.data(), text.data() + text.size(), version);
  return version;
}

}  // namespace

std::string EncodeObject(const Value& value) {
  std::string text = "{";
  const auto append = [&](std::string_view key, const Value& member) {
    if (text.size() > 1) text += ',';
    Value(key).AppendTo(text);
    text += ':';
    member.AppendTo(text);
  };
  text.reserve(512);
  for (const std::string_view key : {"apiVersion", "kind"}) {
    if (const Value* member = Find(value, key)) append(key, *member);
  }
  for (const auto& member : value.object_range()) {
    if (member.key() != "apiVersion" && member.key() != "kind")
      append(member.key(), member.value());
  }
  return text += '}';
}

Object::Object(Value object)
    : value(std::move(object)), text(EncodeObject(value)), version(VersionOf(value)) {}

const Json& Object::document() const {
  if (!document_) document_ = Json::parse(text);
  return *document_;
}

std::string KeyOf(std::string_view ns, std::string_view name) {
  std::string key;
  key.reserve(ns.size() + 1 + name.size());
  if (!ns.empty()) key.append(ns).append("/");
  return key.append(name);
}

ObjectPtr Collection::Find(std::string_view key) const {
  const auto found = objects_.find(key);
  return found == objects_.end() ? nullptr : found->second;
}

const Change& Collection::Put(std::string key, ObjectPtr object) {
  ObjectPtr& slot = objects_[key];
  Change change{slot ? ChangeType::kModified : ChangeType::kAdded,
                object->version,
                std::move(key),
                object,
                std::exchange(slot, object),
                {}};
  return Record(std::move(change));
}

const Change& Collection::Remove(const std::string& key, ObjectPtr last) {
  auto node = objects_.extract(key);
  const std::uint64_t version = last->version;
  return Record(
      {ChangeType::kDeleted, version, key, std::move(last), std::move(node.mapped()), {}});
}

const Change& Collection::Record(Change change) {
  history_.push_back(std::move(change));
  while (history_.size() > std::max<std::size_t>(limit_, 1)) {
    first_ = history_.front().version;
    history_.pop_front();
  }
  return history_.back();
}

std::deque<Change>::const_iterator Collection::After(std::uint64_t version) const {
  return std::ranges::upper_bound(history_, version, {}, &Change::version);
}

void Collection::Each(std::string_view prefix, std::string_view start,
                      std::optional<std::uint64_t> version, const Visit& visit) const {
  // Objects that have changed since, as they were then; null for an object that was not there.
  Objects then;
  if (version) {
    for (auto change = After(*version); change != End(); ++change) {
      if (change->key.starts_with(prefix)) then.try_emplace(change->key, change->previous);
    }
  }
  const std::string_view from = std::max(prefix, start);
  auto now = objects_.lower_bound(from);
  auto old = then.lower_bound(from);
  while (true) {
    const bool has_now = now != objects_.end() && now->first.starts_with(prefix);
    const bool has_old = old != then.end();
    if (!has_now && !has_old) return;
    if (has_old && (!has_now || old->first <= now->first)) {
      if (has_now && old->first == now->first) ++now;
      if (old->second && !visit(old->first, old->second)) return;
      ++old;
    } else {
      if (!visit(now->first, now->second)) return;
      ++now;
    }
  }
}

void Collection::Rewrite(const std::function<ObjectPtr(const ObjectPtr& object)>& read) {
  for (auto& [key, object] : objects_) object = read(object);
}

void Collection::Forget(std::uint64_t present) {
  history_.clear();
  first_ = present;
}

}  // namespace berth::kube::memory
