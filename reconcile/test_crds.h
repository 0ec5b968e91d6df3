#pragma once

#include <stdexcept>
#include <string_view>

#include "json/json.h"
#include "kube/memory/server.h"
#include "kube/yaml.h"
#include "reconcile/crds.h"

namespace berth {

// For tests and benchmarks only: the chart's kinds, on an API server in memory. `eip_scope` is what
// the chart has a value for.
inline void InstallCrds(kube::memory::Server& server, std::string_view eip_scope = "Cluster") {
  for (const std::string_view yaml : CustomResourceDefinitions()) {
    Json crd = kube::YamlToJson(yaml).value();
    if (crd["metadata"]["name"] == "eips.eip.alibabacloud.com") crd["spec"]["scope"] = eip_scope;
    server.Handle({.method = kube::Method::kPost,
                   .path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                   .body = crd.to_string()},
                  [](const kube::Response& answer) {
                    if (answer.code != 201) throw std::runtime_error(answer.body);
                  });
  }
}

}  // namespace berth
