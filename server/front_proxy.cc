#include "server/front_proxy.h"

#include <utility>

#include "log/log.h"

namespace berth::server {
namespace {

constexpr const char* kPath = "/api/v1/namespaces/kube-system/configmaps";
constexpr const char* kQuery = "fieldSelector=metadata.name%3Dextension-apiserver-authentication";

}  // namespace

kube::Result<FrontProxy::Published> FrontProxy::Published::From(kube::JsonView config_map) {
  auto config = apis::RequestHeaderConfig::FromConfigMap(config_map);
  if (!config) return std::unexpected(config.error());
  if (config->client_ca_pem.empty())
    return kube::Terminal("the API server has no request-header CA: its aggregation layer is off");
  return Published{std::move(*config)};
}

FrontProxy::FrontProxy(async::Executor& executor, kube::Transport& transport, Taken taken)
    : informer_(executor, transport, {.path = kPath, .query = kQuery}) {
  informer_.AddHandler(
      {.on_add =
           [this, taken](const std::string&, const Published& now) {
             known_ = true;
             taken(now.config);
           },
       .on_update = [taken](const std::string&, const Published&,
                            const Published& now) { taken(now.config); },
       .on_delete =
           [](const std::string& key, const Published&) {
             log::Warn("request-header CA no longer published; the last one stays in force",
                       {{"configMap", key}});
           },
       .on_whole =
           [this] {
             if (known_) return;
             log::Warn("request-header CA not found; not ready until the API server publishes it",
                       {{"configMap", "kube-system/extension-apiserver-authentication"}});
           }});
  informer_.Start();
}

}  // namespace berth::server
