#pragma once

#include <memory>
#include <optional>
#include <string>

#include "kube/accept.h"
#include "kube/memory/call.h"
#include "kube/memory/resource.h"
#include "kube/selector.h"

namespace berth::kube::memory {

// The objects that a list or a watch shows, in which version and form.
struct Selection {
  std::shared_ptr<const Version> version;
  std::string prefix;  // of the keys: "namespace/", or "" for all
  Selector labels;
  Selector fields;
  Form form;

  // O(requirements).
  bool Matches(const std::string& key, const Object& object) const;
  // Whether all objects below the prefix do.
  bool everything() const { return labels.empty() && fields.empty(); }
};

// From the call's labelSelector and fieldSelector.
Outcome<Selection> ReadSelection(const Call& call);

}  // namespace berth::kube::memory
