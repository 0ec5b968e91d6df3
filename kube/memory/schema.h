#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kube/memory/value.h"
#include "kube/status.h"

namespace berth::kube::memory {

using Causes = std::vector<StatusCause>;

// A structural OpenAPI v3 schema, as custom resource definitions have it: which members are kept,
// what absent ones are set to, and which values are allowed. Walks are O(size of the object).
class Schema {
 public:
  // Mistakes and unsupported parts are added to `causes`, with where they are below `path`.
  static std::shared_ptr<const Schema> Parse(const Value& schema, const std::string& path,
                                             Causes& causes);
  Schema();
  ~Schema();

  // Removes what the schema does not know, and adds the paths of it to `unknown` when given.
  // apiVersion, kind and metadata are known at the root and in embedded resources.
  void Prune(Value& object, std::vector<std::string>* unknown) const;
  // Sets what is absent, or null where null is not allowed, to its default; a null without a
  // default goes.
  void Default(Value& object) const;
  // Adds what is not allowed to `causes`. After an update, what was there before, in `old`, may
  // stay even where it is not allowed any more.
  void Validate(const Value& object, const Value* old, Causes& causes) const;
  // The same for status alone, as its subresource checks it.
  void ValidateStatus(const Value& object, const Value* old, Causes& causes) const;

  struct Node;

 private:
  void NoteUncheckedRules(std::size_t before, Causes& causes) const;

  std::unique_ptr<Node> root_;
  bool has_rules_ = false;  // x-kubernetes-validations, somewhere
};

}  // namespace berth::kube::memory
