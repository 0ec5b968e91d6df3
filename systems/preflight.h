#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "async/executor.h"
#include "async/task.h"
#include "json/json.h"
#include "kube/api.h"
#include "reconcile/runtime/preflight.h"

namespace berth::systems {

using Findings = std::vector<runtime::Finding>;

// The surroundings of a system's preflight: a cluster that is read and never written, and the
// chart's values that Berth is installed with, or will be.
struct Survey {
  async::Executor& executor;
  kube::Api api;
  Json values;     // a value that is not given is that of the chart's values.yaml
  std::string ns;  // the release namespace

  // The value at a path, as in {"webhooks", "excludedNamespaces"}; null for none.
  const Json* Value(std::initializer_list<std::string_view> path) const;
  std::string Text(std::initializer_list<std::string_view> path, std::string_view otherwise) const;
  bool IsTrue(std::initializer_list<std::string_view> path) const;
  // The namespaces that the chart's webhooks leave out.
  std::vector<std::string> UncheckedNamespaces() const;
};

struct PreflightReport {
  Findings findings;
  std::vector<std::string> errors;  // what could not be looked at, and why
};

}  // namespace berth::systems
