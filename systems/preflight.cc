#include "systems/preflight.h"

#include <cstdlib>

#include "log/format.h"
#include "systems/systems.h"

namespace berth::systems {
namespace {

// Passes reads on. A preflight that tries to write is a bug, and ends the process.
class ReadOnlyTransport : public kube::Transport {
 public:
  explicit ReadOnlyTransport(kube::Transport& transport) : transport_(transport) {}

  async::Handle Send(kube::Request request, Done done) override {
    if (request.method != kube::Method::kGet) std::abort();
    return transport_.Send(std::move(request), std::move(done));
  }
  async::Handle Watch(kube::Request request, Stream stream) override {
    return transport_.Watch(std::move(request), std::move(stream));
  }

 private:
  kube::Transport& transport_;
};

}  // namespace

const Json* Survey::Value(std::initializer_list<std::string_view> path) const {
  const Json* at = &values;
  for (const std::string_view key : path) {
    at = at && at->is_object() ? at->find(key) : nullptr;
  }
  return at;
}

std::string Survey::Text(std::initializer_list<std::string_view> path,
                         std::string_view otherwise) const {
  const Json* value = Value(path);
  return value && value->is_string() ? value->as_string() : std::string(otherwise);
}

bool Survey::IsTrue(std::initializer_list<std::string_view> path) const {
  const Json* value = Value(path);
  return value && *value == Json(true);
}

std::vector<std::string> Survey::UncheckedNamespaces() const {
  std::vector<std::string> namespaces = {ns};
  const Json* excluded = Value({"webhooks", "excludedNamespaces"});
  if (!excluded || !excluded->is_array()) {
    namespaces.emplace_back("kube-system");
    return namespaces;
  }
  for (const Json& name : excluded->array_range()) {
    if (name.is_string()) namespaces.push_back(name.as_string());
  }
  return namespaces;
}

async::Task<PreflightReport> Preflight(const Systems* systems, async::Executor* executor,
                                       kube::Transport* transport, Json values, std::string ns) {
  ReadOnlyTransport reads(*transport);
  const Survey survey{*executor, kube::Api(reads), std::move(values), std::move(ns)};
  PreflightReport report;
  for (const auto& system : *systems) {
    auto found = co_await system->Preflight(&survey);
    if (found) {
      report.findings.append_range(std::move(*found));
    } else {
      report.errors.push_back(Format("{}: {}", system->name(), found.error().message));
    }
  }
  co_return report;
}

}  // namespace berth::systems
