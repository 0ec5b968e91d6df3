#pragma once

#include <prometheus/registry.h>
#include <trantor/net/TcpConnection.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "handlers/apis/authenticator.h"
#include "handlers/apis/authorizer.h"
#include "handlers/apis/discovery.h"
#include "handlers/apis/request_info.h"
#include "handlers/apis/resource.h"
#include "handlers/apis/watch.h"
#include "handlers/http.h"

namespace berth::apis {

// The aggregated API: every request is authenticated, authorised and then answered from discovery,
// OpenAPI or a store. Thread-safe once Start() was called.
class ApiServer {
 public:
  // Bytes that all watches together may have unsent. A buffer that grows takes up to twice that.
  static constexpr std::size_t kMostUnsent = std::size_t{32} << 20;

  ApiServer(Authenticator& authenticator, Authorizer& authorizer, prometheus::Registry& registry,
            std::size_t most_unsent = kMostUnsent);
  ~ApiServer();

  // Before Start() only. What is added outlives the server.
  void Add(ResourceStore& store);
  void Add(Action& action);
  void Start();

  // By name.
  std::vector<const ResourceType*> types() const;
  // The store of a resource, by its plural name; null for none.
  ResourceStore* store(std::string_view plural) const;

  void Serve(const drogon::HttpRequestPtr& request, http::Callback callback);
  // The same for a caller that was authenticated already.
  void ServeAs(User user, const drogon::HttpRequestPtr& request, http::Callback callback);

  // The resources as aggregated discovery lists them, a JSON array; after Start().
  std::string DiscoveredResources() const;

  // On the connection's loop, when it has ended.
  void Forget(const trantor::TcpConnection* connection);
  // Ends every watch properly; from any thread.
  void CloseWatches();

 private:
  struct Exchange;
  struct Resource {
    ResourceStore* store;
    std::unique_ptr<WatchHub> watches;
  };

  Exchange Begin(const drogon::HttpRequestPtr& request, http::Callback callback);
  void Authorize(const Exchange& exchange);
  void Dispatch(Exchange exchange);
  void ServeDocument(const Exchange& exchange);
  void ServeResource(const Exchange& exchange, Resource& resource);
  void Get(const Exchange& exchange, ResourceStore& store);
  void List(const Exchange& exchange, ResourceStore& store);
  void Watch(const Exchange& exchange, Resource& resource);
  void Delete(const Exchange& exchange, ResourceStore& store);
  void Create(const Exchange& exchange, Action& action);
  const ResourceType* TypeOf(const std::string& plural) const;

  Authenticator& authenticator_;
  Authorizer& authorizer_;
  prometheus::Family<prometheus::Counter>& requests_;
  prometheus::Family<prometheus::Gauge>& watchers_;
  prometheus::Family<prometheus::Counter>& cut_off_;
  prometheus::Gauge& unsent_bytes_;
  http::UnsentBudget unsent_;
  std::map<std::string, Resource, std::less<>> resources_;
  std::map<std::string, Action*, std::less<>> actions_;
  std::map<std::string, Document, std::less<>> documents_;
  Document aggregated_;
};

}  // namespace berth::apis
