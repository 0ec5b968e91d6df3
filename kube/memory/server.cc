#include "kube/memory/server.h"

#include <map>

#include "async/task.h"
#include "kube/memory/admission.h"
#include "kube/memory/builtin.h"
#include "kube/memory/definition.h"
#include "kube/memory/discovery.h"
#include "kube/memory/garbage.h"
#include "kube/memory/machinery.h"
#include "kube/memory/openapi.h"
#include "kube/memory/read.h"
#include "kube/memory/reviews.h"
#include "kube/memory/watch.h"
#include "kube/memory/write.h"

namespace berth::kube::memory {
namespace {

// {"swagger": "2.0"} in protobuf, and nothing else: kubectl reads it for a kind that OpenAPI v3
// shows no PATCH of, and leaves the validation to the server when it finds nothing.
constexpr std::string_view kEmptyOpenApiV2 =
    "\x0a\x03"
    "2.0";

constexpr std::size_t kMaxBody = std::size_t{3} << 20;  // as kube-apiserver's

constexpr std::string_view kVersion =
    R"({"major":"1","minor":"36","gitVersion":"v1.36.0+berth","gitCommit":"","gitTreeState":"clean",)"
    R"("buildDate":"1970-01-01T00:00:00Z","goVersion":"none","compiler":"none","platform":"berth"})";

Response Shown(const Value& document) {
  return document.is_null() ? NoSuchPage() : Response{200, document.to_string()};
}

Response Aggregated(const Value& document) {
  Response response = Shown(document);
  response.content_type = kAggregatedDiscovery;
  return response;
}

// A path such as /api/v1//namespaces names no resource.
bool HasEmptyPart(std::string_view path) {
  return path.starts_with("/api/") && path.substr(0, path.find('?')).contains("//");
}

}  // namespace

class Server::Impl {
 public:
  explicit Impl(const Options& options)
      : cluster_(options),
        admission_(cluster_),
        writer_(cluster_, admission_),
        garbage_(cluster_, Sender()) {
    AddBuiltinResources(cluster_);
    if (options.machinery) machinery_.emplace(cluster_, Sender(), *options.machinery);
    definitions_ = cluster_.registry().Find(kDefinitionsGroup, kDefinitions);
    cluster_.AddListener([this](Resource& resource, const Change& change) {
      if (&resource == definitions_.get() && change.type != ChangeType::kDeleted)
        changed_definitions_.push_back(change.object);
    });
  }

  void Handle(const Request& request, Done done) {
    if (request.body.size() > kMaxBody) return done(Answer(RequestEntityTooLarge(kMaxBody)));
    auto target = RequestTarget::Parse(request.path);
    if (!target) return done(Answer(BadRequest("the request's target is malformed")));
    if (HasEmptyPart(request.path)) return done(NoSuchResource());
    if (auto document = Document(request, *target)) return done(std::move(*document));
    auto call = Read(request, std::move(*target));
    if (!call) return done(std::move(call.error()));
    if (call->method != Method::kGet) return Run(std::move(*call), std::move(done));
    if (!call->name.empty()) return done(Get(cluster_, *call));
    auto listed = List(cluster_, *call);
    done(listed ? std::move(listed->response) : std::move(listed.error()));
  }

  std::optional<Objects> Look(const std::string& path) const {
    if (path.contains('?')) return std::nullopt;
    const auto target = RequestTarget::Parse(path);
    const auto place = target ? ReadPath(*target) : std::nullopt;
    if (!place) return std::nullopt;
    const View view = cluster_.registry().Find(place->group, place->version, place->plural);
    if (!view) return std::nullopt;
    const Collection& collection = view.resource->objects;
    Objects objects;
    if (!place->name.empty()) {
      if (auto object = collection.Find(KeyOf(place->ns, place->name)))
        objects.push_back(std::move(object));
      return objects;
    }
    const std::string prefix = place->ns.empty() ? "" : place->ns + "/";
    collection.Each(prefix, "", std::nullopt, [&](const std::string&, const ObjectPtr& object) {
      objects.push_back(object);
      return true;
    });
    return objects;
  }

  std::expected<async::Handle, Response> Watch(const Request& request, Watcher watcher) {
    auto target = RequestTarget::Parse(request.path);
    if (!target) return std::unexpected(Answer(BadRequest("the request's target is malformed")));
    auto call = Read(request, std::move(*target));
    if (!call) return std::unexpected(std::move(call.error()));
    return StartWatch(cluster_, *call, std::move(watcher));
  }

  void Tick() {
    garbage_.Retry();
    if (machinery_) machinery_->Retry();
    for (const auto& [key, resource] : cluster_.registry().all())
      TickWatches(*resource, cluster_.version(), cluster_.Now());
  }

  void Compact() {
    for (const auto& [key, resource] : cluster_.registry().all())
      resource->objects.Forget(cluster_.version());
  }

  bool CollectGarbage() {
    const bool done = garbage_.Step();
    Settle();
    return done;
  }

  bool RunMachinery() { return machinery_ && machinery_->Step(); }

  void AddWebhook(Webhook webhook) { admission_.Add(std::move(webhook)); }
  void AddAggregatedGroup(std::string group, std::string version, std::string_view resources) {
    auto list = decoder_.Decode(resources);
    aggregated_[std::move(group)] = {std::move(version),
                                     list && list->is_array() ? std::move(*list) : Value::null()};
  }
  std::uint64_t version() const { return cluster_.version(); }

 private:
  // Sends the requests of the garbage collector and of the machinery.
  Garbage::Send Sender() {
    return [this](const Request& request, std::function<void(int)> done) {
      Handle(request, [done = std::move(done)](const Response& answer) { done(answer.code); });
    };
  }

  // Documents that are not resources: discovery, schemas, health.
  std::optional<Response> Document(const Request& request, const RequestTarget& target) {
    const auto& path = target.path;
    const Registry& registry = cluster_.registry();
    if (path.empty()) return NoSuchPage();
    const std::string& root = path.front();
    if (root == "healthz" || root == "livez" || root == "readyz") return Plain("ok");
    if (root == "version") return Response{200, std::string(kVersion)};
    if (root == "openapi") return OpenApi(request, path);
    if (path.size() == 1) {
      if (auto document = AggregatedDocument(request, root)) return document;
    }
    if (root == "api" && path.size() == 1) return Shown(CoreVersions());
    if (root == "api" && path.size() == 2)
      return path[1] == "v1" ? Shown(Resources(registry, "", "v1")) : NoSuchResource();
    if (root != "apis") return root == "api" ? std::nullopt : std::optional(NoSuchPage());
    if (path.size() == 1) return Shown(Groups(registry, aggregated_));
    if (path.size() == 2) return Shown(Group(registry, aggregated_, path[1]));
    if (path.size() == 3) return Shown(Resources(registry, path[1], path[2]));
    return AnswerReview(request, target, decoder_);
  }

  std::optional<Response> AggregatedDocument(const Request& request, std::string_view root) const {
    if ((root != "api" && root != "apis") || !WantsAggregatedDiscovery(request.accept))
      return std::nullopt;
    const Value list = root == "api" ? AggregatedCore(cluster_.registry())
                                     : AggregatedGroupList(cluster_.registry(), aggregated_);
    return list.is_null() ? std::nullopt : std::optional(Aggregated(list));
  }

  Response OpenApi(const Request& request, const std::vector<std::string>& path) {
    const Registry& registry = cluster_.registry();
    if (path.size() == 2 && path[1] == "v2") {
      if (request.accept.contains("proto-openapi")) return {200, std::string(kEmptyOpenApiV2)};
      return Shown(OpenApiV2(registry));
    }
    if (path.size() < 2 || path[1] != "v3") return NoSuchPage();
    if (path.size() == 2) return Shown(OpenApiV3Index(registry, aggregated_));
    if (path.size() == 4 && path[2] == "api") return Shown(OpenApiV3(registry, "", path[3]));
    if (path.size() == 5 && path[2] == "apis") return Shown(OpenApiV3(registry, path[3], path[4]));
    return NoSuchPage();
  }

  std::expected<Call, Response> Read(const Request& request, RequestTarget target) {
    auto path = ReadPath(target);
    if (!path) return std::unexpected(NoSuchPage());
    View view = cluster_.registry().Find(path->group, path->version, path->plural);
    if (!view) return std::unexpected(Unserved(path->group));
    return ReadCall(request, std::move(target), std::move(view), std::move(*path));
  }

  // Custom groups are served by other code than built-in ones, which answers otherwise.
  Response Unserved(const std::string& group) const {
    for (const auto& [key, resource] : cluster_.registry().all()) {
      for (const auto& version : resource->versions) {
        if (version->group == group) return resource->custom ? NoSuchPage() : NoSuchResource();
      }
    }
    return NoSuchPage();
  }

  async::Task<Response> Write(Call call) {
    switch (call.method) {
      case Method::kPost:
        return writer_.Create(std::move(call));
      case Method::kPut:
      case Method::kPatch:
        return writer_.Update(std::move(call));
      default:
        return call.name.empty() ? writer_.DeleteCollection(std::move(call))
                                 : writer_.Delete(std::move(call));
    }
  }

  // Runs a write to its end, or until it waits for a webhook; then it is kept until it has ended.
  void Run(Call call, Done done) {
    const std::uint64_t id = ++last_run_;
    auto running =
        async::Start(Finish(std::move(call), std::move(done)), [this, id] { running_.erase(id); });
    if (running) running_.emplace(id, std::move(running));
  }

  async::Task<void> Finish(Call call, Done done) {
    Warnings warnings;
    call.warnings = &warnings;
    Response response = co_await Write(std::move(call));
    if (!warnings.empty()) response.warnings = warnings.Headers();
    Settle();
    done(std::move(response));
  }

  // Acts on definitions that have changed.
  void Settle() {
    while (!changed_definitions_.empty()) {
      for (const ObjectPtr& definition : std::exchange(changed_definitions_, {})) {
        if (definitions_->objects.Find(definition->name()) == definition)
          ServeDefinition(cluster_, *definition);
      }
    }
  }

  Cluster cluster_;
  Admission admission_;
  Writer writer_;
  Garbage garbage_;
  std::optional<Machinery> machinery_;
  Decoder decoder_;
  AggregatedGroups aggregated_;
  std::shared_ptr<Resource> definitions_;
  std::vector<ObjectPtr> changed_definitions_;
  std::uint64_t last_run_ = 0;
  std::map<std::uint64_t, async::Running> running_;
};

Server::Server(const Options& options) : impl_(std::make_unique<Impl>(options)) {}
Server::~Server() = default;

void Server::Handle(const Request& request, Done done) { impl_->Handle(request, std::move(done)); }

std::optional<Server::Objects> Server::Look(const std::string& path) const {
  return impl_->Look(path);
}

std::expected<async::Handle, Response> Server::Watch(const Request& request, Watcher watcher) {
  return impl_->Watch(request, std::move(watcher));
}

// A watch of one item is not served: kube-apiserver takes it for a get.
bool Server::IsWatch(const Request& request) {
  if (request.method != Method::kGet || !request.path.contains("watch=")) return false;
  const auto target = RequestTarget::Parse(request.path);
  if (!target || !target->Flag("watch")) return false;
  const auto path = ReadPath(*target);
  return path && path->name.empty();
}

bool Server::IsResource(const Request& request) {
  const auto target = RequestTarget::Parse(request.path);
  return target && ReadPath(*target);
}

void Server::Tick() { impl_->Tick(); }
void Server::Compact() { impl_->Compact(); }
bool Server::RunMachinery() { return impl_->RunMachinery(); }
bool Server::CollectGarbage() { return impl_->CollectGarbage(); }
void Server::AddWebhook(Webhook webhook) { impl_->AddWebhook(std::move(webhook)); }
void Server::AddAggregatedGroup(std::string group, std::string version, std::string resources) {
  impl_->AddAggregatedGroup(std::move(group), std::move(version), resources);
}
std::uint64_t Server::version() const { return impl_->version(); }

}  // namespace berth::kube::memory
