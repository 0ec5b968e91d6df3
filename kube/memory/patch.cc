#include "kube/memory/patch.h"

#include <algorithm>
#include <charconv>
#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "log/format.h"

namespace berth::kube::memory {
namespace {

constexpr std::string_view kJson = "application/json-patch+json";
constexpr std::string_view kMerge = "application/merge-patch+json";
constexpr std::string_view kStrategic = "application/strategic-merge-patch+json";
constexpr std::size_t kMostOperations = 10'000;  // as in kube-apiserver
// Bytes that the copies of a JSON patch may add, as in kube-apiserver. Each may double an object.
constexpr std::size_t kMostCopied = std::size_t{3} << 20;
constexpr std::string_view kTakenByCustom =
    "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";

// ---- JSON patch

std::optional<std::vector<std::string>> ReadPointer(std::string_view text) {
  std::vector<std::string> steps;
  while (!text.empty()) {
    if (text.front() != '/') return std::nullopt;
    text.remove_prefix(1);
    std::string& step = steps.emplace_back();
    while (!text.empty() && text.front() != '/') {
      if (text.starts_with("~1")) {
        step += '/';
        text.remove_prefix(2);
      } else if (text.starts_with("~0")) {
        step += '~';
        text.remove_prefix(2);
      } else {
        step += text.front();
        text.remove_prefix(1);
      }
    }
  }
  return steps;
}

std::optional<std::size_t> ReadIndex(const std::string& step, std::size_t limit) {
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(step.data(), step.data() + step.size(), index);
  if (error != std::errc{} || end != step.data() + step.size() || index >= limit)
    return std::nullopt;
  return index;
}

// Arrays and objects in each other.
std::size_t DepthOf(const Value& value) {
  if (!value.is_array() && !value.is_object()) return 0;
  std::size_t deepest = 0;
  for (const Value& item : value.array_range()) deepest = std::max(deepest, DepthOf(item));
  for (const auto& member : value.object_range())
    deepest = std::max(deepest, DepthOf(member.value()));
  return deepest + 1;
}

// The place of one operation: what holds it, and its name there.
struct Place {
  Value* holder = nullptr;
  std::string name;
  std::size_t depth = 0;  // arrays and objects around the place

  static std::optional<Place> Find(Value& object, std::string_view pointer) {
    auto steps = ReadPointer(pointer);
    if (!steps || steps->empty()) return std::nullopt;
    Place place{&object, std::move(steps->back()), steps->size()};
    steps->pop_back();
    for (std::string& step : *steps) {
      place.holder = Place{place.holder, std::move(step)}.Get();
      if (!place.holder) return std::nullopt;
    }
    return place;
  }

  Value* Get() const {
    if (holder->is_object()) return holder->find(name);
    if (!holder->is_array()) return nullptr;
    const auto index = ReadIndex(name, holder->size());
    return index ? &(*holder)[*index] : nullptr;
  }

  // Whether an object with the value here can still be read.
  bool HasRoomFor(const Value& value) const { return depth + DepthOf(value) <= Decoder::kMaxDepth; }

  bool Add(Value value) const {
    if (!HasRoomFor(value)) return false;
    if (holder->is_object()) {
      holder->insert_or_assign(name, std::move(value));
      return true;
    }
    if (!holder->is_array()) return false;
    const auto index =
        name == "-" ? std::optional(holder->size()) : ReadIndex(name, holder->size() + 1);
    if (!index) return false;
    holder->Insert(*index, std::move(value));
    return true;
  }

  bool Remove() const {
    if (!Get()) return false;
    if (holder->is_object()) {
      holder->erase(name);
      return true;
    }
    const auto index = ReadIndex(name, holder->size());
    if (!index) return false;
    holder->EraseAt(*index);
    return true;
  }

  bool Replace(Value value) const {
    if (holder->is_object()) return Add(std::move(value));
    Value* there = Get();
    if (!there || !HasRoomFor(value)) return false;
    *there = std::move(value);
    return true;
  }
};

// `copied` counts the bytes of copies.
bool ApplyOperation(Value& object, const Value& operation, std::size_t& copied) {
  const std::string_view op = TextAt(operation, "op");
  const auto place = Place::Find(object, TextAt(operation, "path"));
  if (!place) return false;
  const Value* given = Find(operation, "value");
  if (op == "remove") return place->Remove();
  if (op == "add") return given && place->Add(*given);
  if (op == "replace") return given && place->Replace(*given);
  if (op == "test") {
    const Value* there = place->Get();
    return there && given && *there == *given;
  }
  if (op != "move" && op != "copy") return false;
  const auto from = Place::Find(object, TextAt(operation, "from"));
  if (!from) return false;
  Value* source = from->Get();
  if (!source) return false;
  if (op == "copy" && (copied += source->to_string().size()) > kMostCopied) return false;
  Value moved = op == "move" ? std::move(*source) : *source;
  if (op == "move" && !from->Remove()) return false;
  // The removal may have moved what holds the place.
  const auto to = Place::Find(object, TextAt(operation, "path"));
  return to && to->Add(std::move(moved));
}

// ---- Strategic merge patch

constexpr std::string_view kDirective = "$patch";
constexpr std::string_view kDeleteFromList = "$deleteFromPrimitiveList/";
constexpr std::string_view kRetainKeys = "$retainKeys";

// The texts of a list's items.
std::unordered_set<std::string> TextsOf(const Value& list) {
  std::unordered_set<std::string> texts;
  for (const Value& item : list.array_range()) texts.insert(item.to_string());
  return texts;
}

// The places of a list's items by the text of the items' key.
using Places = std::unordered_map<std::string, std::deque<std::size_t>>;

Places PlacesOf(const Value& list, const auto& text_of) {
  Places places;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (std::string text = text_of(list[i]); !text.empty()) places[text].push_back(i);
  }
  return places;
}

// The patch's items first, unless one that only the server has stood before the next of them.
Value InOrder(const Value& patched, const Value& server_only, const Places& server,
              const auto& text_of) {
  const auto place = [&](const Value& item) {
    const auto found = server.find(text_of(item));
    return found == server.end() ? std::string::npos : found->second.front();
  };
  Value merged = Value::Array();
  std::size_t i = 0, j = 0;
  while (i < patched.size() || j < server_only.size()) {
    bool server_next = i == patched.size();
    if (!server_next && j < server_only.size()) {
      const std::size_t next = place(patched[i]);
      server_next = next != std::string::npos && place(server_only[j]) < next;
    }
    merged.push_back(server_next ? server_only[j++] : patched[i++]);
  }
  return merged;
}

void MergeSet(Value& list, const Value& patch) {
  const auto text_of = [](const Value& item) { return item.to_string(); };
  const auto named = TextsOf(patch);
  Value rest = Value::Array();
  for (const Value& item : list.array_range()) {
    if (!named.contains(item.to_string())) rest.push_back(item);
  }
  list = InOrder(patch, rest, PlacesOf(list, text_of), text_of);
}

void MergeByKey(Value& list, const Value& patch, std::string_view key) {
  const auto text_of = [key](const Value& item) {
    const Value* value = Find(item, key);
    return value ? value->to_string() : std::string();
  };
  const Places places = PlacesOf(list, text_of);
  Places left = places;
  std::vector<bool> taken(list.size());
  Value patched = Value::Array();
  for (const Value& change : patch.array_range()) {
    Value item = Value::Object();
    if (const auto found = left.find(text_of(change)); found != left.end()) {
      item = list[found->second.front()];
      taken[found->second.front()] = true;
      found->second.pop_front();
      if (found->second.empty()) left.erase(found);
    }
    if (TextAt(change, kDirective) == "delete") continue;
    StrategicMergePatch(item, change);
    patched.push_back(std::move(item));
  }
  Value rest = Value::Array();
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!taken[i]) rest.push_back(list[i]);
  }
  list = InOrder(patched, rest, places, text_of);
}

void DeleteFromList(Value& object, std::string_view member, const Value& items) {
  if (!object.contains(member) || !object[member].is_array() || !items.is_array()) return;
  const auto named = TextsOf(items);
  Value rest = Value::Array();
  for (const Value& item : object[member].array_range()) {
    if (!named.contains(item.to_string())) rest.push_back(item);
  }
  object.insert_or_assign(member, std::move(rest));
}

// The member by which kube-apiserver merges the items of a list, where it does not replace the
// list.
std::string_view MergeKeyOf(std::string_view list, const Value& patch) {
  static const std::map<std::string_view, std::string_view> kKeys = {
      {"addresses", "type"},
      {"conditions", "type"},
      {"containers", "name"},
      {"env", "name"},
      {"ephemeralContainers", "name"},
      {"hostAliases", "ip"},
      {"hostIPs", "ip"},
      {"imagePullSecrets", "name"},
      {"initContainers", "name"},
      {"ownerReferences", "uid"},
      {"podIPs", "ip"},
      {"secrets", "name"},
      {"volumeDevices", "devicePath"},
      {"volumeMounts", "mountPath"},
      {"volumes", "name"},
  };
  if (list == "ports") {
    const bool of_container = std::ranges::any_of(
        patch.array_range(), [](const Value& port) { return Find(port, "containerPort"); });
    return of_container ? "containerPort" : "port";
  }
  const auto found = kKeys.find(list);
  return found == kKeys.end() ? "" : found->second;
}

// A union, as a volume is one, keeps the members that the patch names, and no others.
void Retain(Value& object, const Value& names) {
  const auto named = TextsOf(names);
  std::vector<std::string> others;
  for (const auto& member : object.object_range()) {
    if (!named.contains(Value(std::string(member.key())).to_string()))
      others.emplace_back(member.key());
  }
  for (const std::string& other : others) object.erase(other);
}

void MergeMember(Value& object, std::string_view key, const Value& patch) {
  if (key == kDirective || key == kRetainKeys || key.starts_with("$setElementOrder/")) return;
  if (key.starts_with(kDeleteFromList))
    return DeleteFromList(object, key.substr(kDeleteFromList.size()), patch);
  if (patch.is_null()) {
    object.erase(key);
    return;
  }
  // An EndpointSlice's own lists are replaced.
  const bool merges = patch.is_array() && !object.contains("addressType");
  const std::string_view merge_key = merges ? MergeKeyOf(key, patch) : "";
  Value& member = object[key];
  if (patch.is_array() && member.is_array() && key == "finalizers") return MergeSet(member, patch);
  if (merge_key.empty()) return StrategicMergePatch(member, patch);
  if (!member.is_array()) member = Value::Array();
  MergeByKey(member, patch, merge_key);
}

Status TooManyOperations(std::size_t count) {
  return {413,
          "RequestEntityTooLarge",
          Format("Request entity too large: The allowed maximum operations in a JSON patch is {}, "
                 "got {}",
                 kMostOperations, count),
          {},
          {}};
}

}  // namespace

void MergePatch(Value& object, const Value& patch) {
  if (!patch.is_object()) {
    object = patch;
    return;
  }
  if (!object.is_object()) object = Value::Object();
  for (const auto& member : patch.object_range()) {
    if (member.value().is_null()) {
      object.erase(member.key());
    } else {
      MergePatch(object[member.key()], member.value());
    }
  }
}

bool JsonPatch(Value& object, const Value& patch) {
  std::size_t copied = 0;
  return std::ranges::all_of(patch.array_range(), [&](const Value& operation) {
    return ApplyOperation(object, operation, copied);
  });
}

void StrategicMergePatch(Value& object, const Value& patch) {
  if (!patch.is_object()) {
    object = patch;
    return;
  }
  const std::string_view directive = TextAt(patch, kDirective);
  if (!object.is_object() || directive == "replace" || directive == "delete")
    object = Value::Object();
  if (directive == "delete") return;
  for (const auto& member : patch.object_range()) MergeMember(object, member.key(), member.value());
  if (const Value* names = Find(patch, kRetainKeys); names && names->is_array())
    Retain(object, *names);
}

Outcome<Value> ApplyPatch(const Call& call, Decoder& decoder, Value object) {
  const bool strategic = call.content_type == kStrategic && !call.resource().custom;
  if (call.content_type != kJson && call.content_type != kMerge && !strategic) {
    if (call.resource().custom) return std::unexpected(UnsupportedMediaType(kTakenByCustom));
    return std::unexpected(
        Status{415, "UnsupportedMediaType", "415: Unsupported Media Type", {}, {}});
  }
  const auto patch = decoder.Decode(call.body);
  if (!patch) return std::unexpected(BadRequest("error decoding patch: " + patch.error()));
  if (call.content_type == kJson) {
    if (!patch->is_array()) {
      return std::unexpected(
          BadRequest("error decoding patch: json: cannot unmarshal object into Go value of type "
                     "[]handlers.jsonPatchOp"));
    }
    if (patch->size() > kMostOperations) return std::unexpected(TooManyOperations(patch->size()));
    if (!JsonPatch(object, *patch)) {
      return std::unexpected(
          Status{422,
                 "Invalid",
                 "the server rejected our request due to an error in our request",
                 {},
                 {}});
    }
  } else if (!patch->is_object()) {
    return std::unexpected(BadRequest("error decoding patch: the patch is not an object"));
  } else if (strategic) {
    StrategicMergePatch(object, *patch);
  } else {
    MergePatch(object, *patch);
  }
  return object;
}

}  // namespace berth::kube::memory
