#include "handlers/apis/api_server.h"

#include <algorithm>
#include <utility>

#include "handlers/apis/creation.h"
#include "handlers/loop_executor.h"
#include "kube/list_options.h"
#include "log/escape.h"
#include "log/log.h"

namespace berth::apis {
namespace {

kube::Status ForbiddenTo(const User& user, const Attributes& attributes,
                         const std::string& reason) {
  const std::string resource = log::Excerpt(attributes.resource);
  const std::string group = log::Excerpt(attributes.group);
  std::string why = "User \"" + log::Excerpt(user.name) + "\" cannot " + attributes.verb + " ";
  if (resource.empty()) {
    why += "path \"" + log::Excerpt(attributes.path) + "\"";
  } else {
    why += "resource \"" + resource + "\" in API group \"" + group + "\"";
    why += attributes.ns.empty() ? " at the cluster scope"
                                 : " in the namespace \"" + log::Excerpt(attributes.ns) + "\"";
  }
  if (!reason.empty()) why += ": " + reason;
  return kube::Forbidden(group, resource, log::Excerpt(attributes.name), why);
}

void Complete(Object& object, const ResourceType& type, Action::Outcome& outcome) {
  Json whole;
  whole["apiVersion"] = kGroupVersion;
  whole["kind"] = type.kind;
  whole["metadata"] = Json::parse(object.metadata);
  for (auto& member : outcome.content.object_range())
    whole[member.key()] = std::move(member.value());
  object.json = whole.to_string();
  object.cells = outcome.cells;
}

}  // namespace

// One request on its way; answering it counts and logs it.
struct ApiServer::Exchange {
  drogon::HttpRequestPtr request;
  http::Callback callback;
  std::expected<kube::RequestTarget, kube::Status> target;
  Attributes attributes;
  User user;
  std::string id;
  prometheus::Family<prometheus::Counter>* requests = nullptr;
  bool known =
      false;  // the resource is one of ours: only words we know become labels, never a client's

  void Answer(const drogon::HttpResponsePtr& response) const {
    response->addHeader("Audit-Id", id);
    response->addHeader("Cache-Control", "no-cache, private");
    Count(response->statusCode());
    callback(response);
  }
  void Answer(const kube::Status& status) const { Answer(http::Respond(status)); }

  void Count(int code) const {
    requests
        ->Add({{"verb", attributes.verb},
               {"resource", known ? attributes.resource : ""},
               {"code", std::to_string(code)}})
        .Increment();
    const bool refused = code == 401 || code == 403 || code >= 500;
    log::Write(refused ? log::Level::kWarn : log::Level::kDebug, "api request",
               {{"requestId", id},
                {"verb", attributes.verb},
                {"path", attributes.path},
                {"user", user.name},
                {"code", code},
                {"peer", request->peerAddr().toIp()}});
  }
};

ApiServer::ApiServer(Authenticator& authenticator, Authorizer& authorizer,
                     prometheus::Registry& registry, std::size_t most_unsent)
    : authenticator_(authenticator),
      authorizer_(authorizer),
      requests_(prometheus::BuildCounter()
                    .Name("berth_api_requests_total")
                    .Help("Requests to the aggregated API, by verb, resource and HTTP code.")
                    .Register(registry)),
      watchers_(prometheus::BuildGauge()
                    .Name("berth_api_watchers")
                    .Help("Watches being served, by resource.")
                    .Register(registry)),
      cut_off_(prometheus::BuildCounter()
                   .Name("berth_api_watchers_cut_off_total")
                   .Help("Watchers cut off because they stopped reading, by resource.")
                   .Register(registry)),
      unsent_bytes_(prometheus::BuildGauge()
                        .Name("berth_api_watch_unsent_bytes")
                        .Help("Bytes that watchers have not taken yet.")
                        .Register(registry)
                        .Add({})),
      unsent_(most_unsent) {}

ApiServer::~ApiServer() = default;

void ApiServer::Add(ResourceStore& store) {
  const std::string& plural = store.type().plural;
  const WatchMetrics metrics{watchers_.Add({{"resource", plural}}),
                             cut_off_.Add({{"resource", plural}}), unsent_bytes_};
  resources_.emplace(plural, Resource{&store, std::make_unique<WatchHub>(store, metrics, unsent_)});
}

void ApiServer::Add(Action& action) { actions_.emplace(action.type().plural, &action); }

ResourceStore* ApiServer::store(std::string_view plural) const {
  const auto found = resources_.find(plural);
  return found == resources_.end() ? nullptr : found->second.store;
}

std::vector<const ResourceType*> ApiServer::types() const {
  std::vector<const ResourceType*> all;
  all.reserve(resources_.size() + actions_.size());
  for (const auto& [plural, resource] : resources_) all.push_back(&resource.store->type());
  for (const auto& [plural, action] : actions_) all.push_back(&action->type());
  std::ranges::sort(all, {}, &ResourceType::plural);
  return all;
}

void ApiServer::Start() {
  const auto types = this->types();
  const std::string group = std::string("/apis/") + kGroup;
  const std::string version = std::string("/apis/") + kGroupVersion;
  aggregated_ = AggregatedGroupList(types);
  Document openapi = OpenApiV3(types);
  documents_.emplace("/apis", GroupList());
  documents_.emplace(group, Group());
  documents_.emplace(version, ResourceList(types));
  documents_.emplace("/openapi/v2", OpenApiV2(types));
  documents_.emplace("/openapi/v3", OpenApiV3Index(openapi));
  documents_.emplace("/openapi/v3" + version, std::move(openapi));
}

const ResourceType* ApiServer::TypeOf(const std::string& plural) const {
  if (const auto found = resources_.find(plural); found != resources_.end())
    return &found->second.store->type();
  const auto action = actions_.find(plural);
  return action == actions_.end() ? nullptr : &action->second->type();
}

ApiServer::Exchange ApiServer::Begin(const drogon::HttpRequestPtr& request,
                                     http::Callback callback) {
  Exchange exchange{.request = request,
                    .callback = std::move(callback),
                    .target = ReadTarget(request),
                    .attributes = {},
                    .user = {},
                    .id = http::RequestId(request),
                    .requests = &requests_};
  Attributes& attributes = exchange.attributes;
  attributes = ReadAttributes(request, exchange.target.value_or(kube::RequestTarget()));
  const ResourceType* type = TypeOf(attributes.resource);
  exchange.known = type != nullptr;
  if (exchange.target && type && (attributes.verb == "list" || attributes.verb == "watch"))
    attributes.name = SelectedName(*exchange.target, *type);
  return exchange;
}

void ApiServer::Serve(const drogon::HttpRequestPtr& request, http::Callback callback) {
  authenticator_.Authenticate(request, [this, exchange = Begin(request, std::move(callback))](
                                           std::expected<User, kube::Status> user) mutable {
    if (!user) return exchange.Answer(user.error());
    exchange.user = std::move(*user);
    Authorize(exchange);
  });
}

std::string ApiServer::DiscoveredResources() const {
  return Json::parse(aggregated_.body)["items"][0]["versions"][0]["resources"].to_string();
}

void ApiServer::ServeAs(User user, const drogon::HttpRequestPtr& request, http::Callback callback) {
  Exchange exchange = Begin(request, std::move(callback));
  exchange.user = std::move(user);
  Authorize(exchange);
}

void ApiServer::Authorize(const Exchange& exchange) {
  if (!exchange.target) return exchange.Answer(exchange.target.error());
  authorizer_.Authorize(
      exchange.user, exchange.attributes,
      [this, exchange](std::expected<Authorizer::Verdict, kube::Status> verdict) {
        if (!verdict) return exchange.Answer(verdict.error());
        if (!verdict->allowed)
          return exchange.Answer(ForbiddenTo(exchange.user, exchange.attributes, verdict->reason));
        Dispatch(exchange);
      });
}

void ApiServer::Dispatch(Exchange exchange) {
  if (exchange.attributes.resource.empty()) return ServeDocument(exchange);
  if (const auto action = actions_.find(exchange.attributes.resource); action != actions_.end())
    return Create(exchange, *action->second);
  const auto found = resources_.find(exchange.attributes.resource);
  const bool scoped = !exchange.attributes.ns.empty();
  if (found == resources_.end() || (scoped && !found->second.store->type().namespaced)) {
    return exchange.Answer(http::NoSuchPath());
  }
  ServeResource(exchange, found->second);
}

void ApiServer::ServeDocument(const Exchange& exchange) {
  std::string_view path = exchange.attributes.path;
  if (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  const auto found = documents_.find(path);
  if (found == documents_.end()) return exchange.Answer(http::NoSuchPath());
  if (exchange.request->method() != drogon::Get) {
    return exchange.Answer(kube::MethodNotAllowed("", std::string(path), exchange.attributes.verb));
  }
  const bool aggregated =
      path == "/apis" && kube::WantsAggregatedDiscovery(exchange.request->getHeader("accept"));
  const Document& document = aggregated ? aggregated_ : found->second;
  const bool fresh = exchange.request->getHeader("if-none-match").contains(document.etag);
  const auto response = fresh ? http::Respond(304, "", document.content_type)
                              : http::Respond(200, document.body, document.content_type);
  response->addHeader("ETag", document.etag);
  response->addHeader("Vary", "Accept");
  exchange.Answer(response);
}

void ApiServer::ServeResource(const Exchange& exchange, Resource& resource) {
  const Attributes& asked = exchange.attributes;
  const ResourceType& type = resource.store->type();
  if (asked.verb == "watch") return Watch(exchange, resource);
  if (asked.verb == "list") return List(exchange, *resource.store);
  if (asked.verb == "get") return Get(exchange, *resource.store);
  if (asked.verb == "delete" && type.deletable) return Delete(exchange, *resource.store);
  exchange.Answer(kube::MethodNotAllowed(kGroup, type.plural, asked.verb));
}

void ApiServer::Get(const Exchange& exchange, ResourceStore& store) {
  const auto form = ReadForm(exchange.request, *exchange.target);
  if (!form) return exchange.Answer(form.error());
  const auto version = kube::ReadVersion(*exchange.target);
  if (!version) return exchange.Answer(kube::NotAVersion(version.error()));
  const auto wanted = version->value_or(0);
  if (const auto current = store.version(); wanted > current)
    return exchange.Answer(kube::TooLargeVersion(wanted, current));
  const auto object = store.Get(exchange.attributes.ns, exchange.attributes.name);
  if (!object)
    return exchange.Answer(kube::NotFound(kGroup, store.type().plural, exchange.attributes.name));
  exchange.Answer(http::Respond(200, RenderObject(store.type(), *object, *form)));
}

void ApiServer::List(const Exchange& exchange, ResourceStore& store) {
  const auto form = ReadForm(exchange.request, *exchange.target);
  if (!form) return exchange.Answer(form.error());
  const auto selection =
      ReadSelection(*exchange.target, store.type(), exchange.attributes.ns, *form);
  if (!selection) return exchange.Answer(selection.error());
  const auto options = ReadListOptions(*exchange.target);
  if (!options) return exchange.Answer(options.error());

  const std::uint64_t current = store.version();
  const std::uint64_t asked = options->version.value_or(0);
  if (asked > current) return exchange.Answer(kube::TooLargeVersion(asked, current));
  if (options->start_version && !store.Since(*options->start_version)) {
    return exchange.Answer(
        kube::Expired("the continue token has expired; list again from the beginning"));
  }

  const Page page = store.List(
      exchange.attributes.ns, [&](const Object& object) { return selection->Matches(object); },
      options->start, options->limit);
  if (options->exact && page.version != asked) {
    return exchange.Answer(
        kube::Expired("the resourceVersion " + std::to_string(asked) + " is no longer held"));
  }
  ListMetadata metadata{.version = options->start_version.value_or(page.version),
                        .continue_token = {}};
  if (page.next) metadata.continue_token = ContinueToken(*page.next, metadata.version);
  // As kube-apiserver: it does not count behind a selector.
  if (selection->labels.empty() && selection->fields.empty()) metadata.remaining = page.remaining;
  exchange.Answer(http::Respond(200, RenderList(store.type(), page.objects, metadata, *form)));
}

void ApiServer::Watch(const Exchange& exchange, Resource& resource) {
  ResourceStore& store = *resource.store;
  const auto form = ReadForm(exchange.request, *exchange.target);
  if (!form) return exchange.Answer(form.error());
  auto selection = ReadSelection(*exchange.target, store.type(), exchange.attributes.ns, *form);
  if (!selection) return exchange.Answer(selection.error());
  auto watch = ReadWatchRequest(*exchange.target, std::move(*selection));
  if (!watch) return exchange.Answer(watch.error());
  if (exchange.request->version() != drogon::Version::kHttp11) {
    return exchange.Answer(kube::BadRequest("a watch needs HTTP/1.1"));
  }
  const std::uint64_t current = store.version();
  if (watch->after == std::numeric_limits<std::uint64_t>::max()) watch->after = current;
  if (const auto after = watch->after.value_or(0); after > current)
    return exchange.Answer(kube::TooLargeVersion(after, current));
  const auto connection = exchange.request->getConnectionPtr().lock();
  // A client that left while access was reviewed has been forgotten already.
  if (!connection || !connection->connected()) return;
  exchange.Count(200);
  resource.watches->Start(connection, std::move(*watch));
}

void ApiServer::Delete(const Exchange& exchange, ResourceStore& store) {
  const auto& [verb, path, group, version, plural, ns, name] = exchange.attributes;
  const auto object = store.Get(ns, name);
  if (!object) return exchange.Answer(kube::NotFound(kGroup, plural, name));
  const std::string_view body = exchange.request->body();
  kube::JsonDocument document;
  const auto options =
      body.empty() ? kube::Result<kube::JsonView>(kube::JsonView()) : document.Parse(body);
  if (!options) return exchange.Answer(kube::BadRequest(options.error().message));
  const kube::JsonView preconditions = (*options)["preconditions"];
  const auto wanted_uid = preconditions["uid"].String();
  const auto at = preconditions["resourceVersion"].String();
  if ((wanted_uid && *wanted_uid != object->uid) ||
      (at && *at != std::to_string(object->version))) {
    return exchange.Answer(kube::Conflict(kGroup, plural, name, "the precondition does not hold"));
  }
  const bool dry_run =
      (*options)["dryRun"].size() > 0 || !exchange.target->Parameter("dryRun").empty();
  store.Delete({.ns = ns, .name = name, .dry_run = dry_run}, LoopExecutor::OfThisThread(),
               [exchange, uid = object->uid](std::expected<void, kube::Status> deleted) {
                 if (!deleted) return exchange.Answer(deleted.error());
                 const auto& asked = exchange.attributes;
                 exchange.Answer(kube::Success({.name = asked.name,
                                                .group = kGroup,
                                                .kind = asked.resource,
                                                .uid = uid,
                                                .causes = {}}));
               });
}

void ApiServer::Create(const Exchange& exchange, Action& action) {
  const ResourceType& type = action.type();
  const auto& [verb, path, group, version, plural, ns, name] = exchange.attributes;
  if (!ns.empty() && !type.namespaced) return exchange.Answer(http::NoSuchPath());
  if (verb != "create" || !name.empty() || ns.empty() == type.namespaced)
    return exchange.Answer(kube::MethodNotAllowed(kGroup, plural, verb));
  const auto form = ReadForm(exchange.request, *exchange.target);
  if (!form) return exchange.Answer(form.error());
  kube::JsonDocument document;
  const auto creation = ReadCreation(exchange.request, *exchange.target, type, ns, document);
  if (!creation) return exchange.Answer(creation.error());
  action.Create(creation->call, LoopExecutor::OfThisThread(),
                [exchange, &type, form = *form, made = NewObject(*creation),
                 warning = WarningHeader(creation->warnings)](
                    std::expected<Action::Outcome, kube::Status> outcome) mutable {
                  if (!outcome) return exchange.Answer(outcome.error());
                  Complete(made, type, *outcome);
                  const auto response = http::Respond(201, RenderObject(type, made, form));
                  if (!warning.empty()) response->addHeader("Warning", warning);
                  exchange.Answer(response);
                });
}

void ApiServer::Forget(const trantor::TcpConnection* connection) {
  for (auto& [plural, resource] : resources_) resource.watches->Forget(connection);
}

void ApiServer::CloseWatches() {
  for (auto& [plural, resource] : resources_) resource.watches->Close();
}

}  // namespace berth::apis
