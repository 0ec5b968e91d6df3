#include "kube/memory/schema.h"

#include "kube/memory/metadata.h"
#include "kube/memory/schema_node.h"

namespace berth::kube::memory {
namespace {

using Node = Schema::Node;

// Removes what a schema does not know, and remembers it.
class Pruning {
 public:
  explicit Pruning(std::vector<std::string>* unknown) : unknown_(unknown) {}

  void Prune(const Node& node, bool resource, Value& value) {
    if (value.is_object()) {
      PruneMembers(node, resource, value);
    } else if (value.is_array() && node.items) {
      for (std::size_t i = 0; i < value.size(); ++i) Below({{}, i}, *node.items, value[i]);
    }
  }

 private:
  void PruneMembers(const Node& node, bool resource, Value& value) {
    if (node.embedded_resource && value.contains("metadata")) PruneMetadata(value);
    std::vector<std::string> dropped;
    for (auto& member : value.object_range()) {
      const std::string_view key = member.key();
      if (resource && IsMetaMember(key)) continue;
      const auto known = node.properties.find(key);
      if (known != node.properties.end()) {
        Below({key}, *known->second, member.value());
      } else if (node.additional) {
        Below({key}, *node.additional, member.value());
      } else if (!node.preserve_unknown) {
        dropped.emplace_back(key);
        if (unknown_) unknown_->push_back(PathOf(path_, key));
      }
    }
    for (const std::string& key : dropped) value.erase(key);
  }

  void PruneMetadata(Value& resource) {
    std::vector<std::string> unknown;
    NormalizeMetadata(resource, unknown_ ? &unknown : nullptr);
    for (const std::string& path : unknown) unknown_->push_back(PathOf(path_, path));
  }

  void Below(PathStep step, const Node& node, Value& value) {
    if (!value.is_object() && !value.is_array()) return;
    path_.push_back(step);
    Prune(node, node.embedded_resource, value);
    path_.pop_back();
  }

  std::vector<std::string>* unknown_;
  std::vector<PathStep> path_;
};

void DefaultNode(const Node& node, Value& value);

// A member that is null although it must not be: its default, or nothing. True: it is to go.
bool SettleNull(const Node& node, Value& value) {
  if (!value.is_null() || node.nullable) return false;
  if (!node.fallback) return node.type != Node::Type::kAny || node.int_or_string;
  value = *node.fallback;
  return false;
}

void DefaultMembers(const Node& node, Value& value) {
  std::vector<std::string> dropped;
  for (auto& member : value.object_range()) {
    const auto known = node.properties.find(member.key());
    const Node* below =
        known != node.properties.end() ? known->second.get() : node.additional.get();
    if (!below) continue;
    if (SettleNull(*below, member.value())) {
      dropped.emplace_back(member.key());
    } else {
      DefaultNode(*below, member.value());
    }
  }
  for (const std::string& key : dropped) value.erase(key);
  for (const auto& [key, property] : node.properties) {
    if (!property->fallback || value.contains(key)) continue;
    Value fallback = *property->fallback;
    DefaultNode(*property, fallback);
    value.insert_or_assign(key, std::move(fallback));
  }
}

void DefaultNode(const Node& node, Value& value) {
  if (value.is_object()) {
    DefaultMembers(node, value);
  } else if (value.is_array() && node.items) {
    for (Value& item : value.array_range()) {
      if (item.is_null() && node.items->fallback && !node.items->nullable)
        item = *node.items->fallback;
      DefaultNode(*node.items, item);
    }
  }
}

}  // namespace

Schema::Schema() : root_(std::make_unique<Node>()) {}
Schema::~Schema() = default;

void Schema::Prune(Value& object, std::vector<std::string>* unknown) const {
  Pruning(unknown).Prune(*root_, true, object);
}

void Schema::Default(Value& object) const { DefaultNode(*root_, object); }

}  // namespace berth::kube::memory
