#include "kube/memory/read.h"

#include <charconv>

#include "http/base64.h"
#include "kube/list_options.h"
#include "kube/memory/render.h"
#include "kube/memory/selection.h"
#include "kube/memory/watch.h"
#include "log/format.h"

namespace berth::kube::memory {
namespace {

constexpr std::uint64_t kLeastWatchSeconds = 1800;  // as kube-apiserver's --min-request-timeout

template <typename Number>
std::optional<Number> ParseNumber(std::string_view text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

Shape ShapeOf(const Cluster& cluster, const Call& call) {
  return {call.resource(), *call.view.version, call.form, cluster.UnixNow()};
}

Status TooOld(std::uint64_t version, std::uint64_t first) {
  return Expired(Format("too old resource version: {} ({})", version, first));
}

// ---- Lists

struct ListOptions {
  std::size_t limit = 0;                 // 0: none
  std::optional<std::uint64_t> version;  // to show the collection at; none: as it is
  std::string start;                     // the first key to show
};

// A place in a list, opaque to clients but in kube-apiserver's own form.
std::string ContinueToken(std::uint64_t version, std::string_view start) {
  Value token = Value::Object();
  token.insert_or_assign("v", "meta.k8s.io/v1");
  token.insert_or_assign("rv", static_cast<std::int64_t>(version));
  token.insert_or_assign("start", start);
  std::string text = EncodeBase64(token.to_string());
  while (text.ends_with('=')) text.pop_back();
  for (char& c : text) c = c == '+' ? '-' : c == '/' ? '_' : c;
  return text;
}

Outcome<void> ReadContinue(std::string_view token, const std::string& prefix,
                           ListOptions& options) {
  const auto bad = [](std::string_view why) {
    return std::unexpected(
        BadRequest(Format("invalid continue token: continue key is not valid: {}", why)));
  };
  const auto text = DecodeBase64(token);
  if (!text) return bad("illegal base64 data");
  const auto value = Decoder().Decode(*text);
  if (!value || !value->is_object()) return bad(value ? "no object" : value.error());
  if (TextAt(*value, "v") != "meta.k8s.io/v1")
    return bad("server does not recognize this encoded version");
  const std::int64_t version = IntAt(*value, "rv");
  if (version == 0) return bad("incorrect encoded start resourceVersion (version meta.k8s.io/v1)");
  if (version > 0) options.version = static_cast<std::uint64_t>(version);
  options.start = prefix + std::string(TextAt(*value, "start"));
  return {};
}

Outcome<ListOptions> ReadListOptions(const Cluster& cluster, const Call& call,
                                     const std::string& prefix) {
  ListOptions options;
  const auto limit = ReadLimit(call.target);
  if (!limit) return std::unexpected(limit.error());
  options.limit = *limit;
  if (auto fine = CheckListMatch(call.target); !fine) return std::unexpected(fine.error());
  if (const auto token = call.target.Parameter("continue"); !token.empty()) {
    if (auto fine = ReadContinue(token, prefix, options); !fine)
      return std::unexpected(fine.error());
    if (auto fine = CheckContinue(call.target); !fine) return std::unexpected(fine.error());
    return options;
  }
  const auto version = ReadVersion(call.target);
  if (!version) return std::unexpected(NotAListVersion(version.error()));
  if (const auto asked = version->value_or(0); asked > cluster.version())
    return std::unexpected(TooLargeVersion(asked, cluster.version()));
  if (call.target.Parameter("resourceVersionMatch") == "Exact") options.version = *version;
  return options;
}

// A page whose version is forgotten. The token goes on with the present state instead.
Status PageTooOld(const ListOptions& options, const std::string& prefix) {
  Status status = Expired(
      "The provided continue parameter is too old to display a consistent list result. You can "
      "start a new list without the continue parameter, or use the continue token in this response "
      "to retrieve the remainder of the results. Continuing with the provided token results in an "
      "inconsistent list - objects that were created, modified, or deleted between the time the "
      "first chunk was returned and now may show up in the list.");
  status.continue_token = ContinueToken(static_cast<std::uint64_t>(-1),
                                        std::string_view(options.start).substr(prefix.size()));
  return status;
}

struct Page {
  std::vector<ObjectPtr> objects;
  std::size_t remaining = 0;  // behind the page, selected or not
};

Page ReadPage(const Resource& resource, const Selection& selection, const ListOptions& options) {
  Page page;
  const auto visit = [&](const std::string& key, const ObjectPtr& object) {
    if (options.limit > 0 && page.objects.size() == options.limit) {
      ++page.remaining;
      return selection.everything();  // only then is anybody told how many
    }
    if (selection.Matches(key, *object)) page.objects.push_back(object);
    return true;
  };
  resource.objects.Each(selection.prefix, options.start, options.version, visit);
  return page;
}

// ---- Watches

struct WatchOptions {
  std::optional<std::uint64_t> after;  // none: the present state comes first
  bool initial_events_end = false;     // and is followed by a bookmark that says so
};

Outcome<WatchOptions> ReadWatchOptions(const Cluster& cluster, const Call& call) {
  if (auto fine = CheckWatchMatch(call.target); !fine) return std::unexpected(fine.error());
  WatchOptions options;
  const auto version = ReadVersion(call.target);
  if (!version) return std::unexpected(NotAVersion(version.error()));
  if (call.target.Flag("sendInitialEvents")) {
    if (const auto asked = version->value_or(0); asked > cluster.version())
      return std::unexpected(TooLargeVersion(asked, cluster.version()));
    options.initial_events_end = call.target.Flag("allowWatchBookmarks");
  } else if (version->value_or(0) != 0) {
    options.after = *version;
  } else if (!call.target.Parameter("sendInitialEvents").empty()) {
    options.after = cluster.version();
  }
  return options;
}

async::Handle HandleOf(const std::shared_ptr<Resource>& resource,
                       const std::shared_ptr<Watch>& watch) {
  return async::Handle([weak = std::weak_ptr(resource), watch] {
    watch->ended = true;
    const auto alive = weak.lock();
    if (alive && !alive->publishing) std::erase(alive->watches, watch);
  });
}

// Begins a watch: the present state, the events that it missed, or the error that they are gone.
void Begin(const Cluster& cluster, Resource& resource, Watch& watch, const WatchOptions& options) {
  const std::int64_t now = cluster.UnixNow();
  const Collection& objects = resource.objects;
  if (!options.after) {
    objects.Each(watch.selection.prefix, "", std::nullopt,
                 [&](const std::string& key, const ObjectPtr& object) {
                   if (watch.selection.Matches(key, *object))
                     TellPresent(resource, watch, *object, now);
                   return !watch.ended;
                 });
    if (options.initial_events_end && !watch.ended)
      TellBookmark(resource, watch, cluster.version(), true, now);
  } else if (*options.after < objects.first()) {
    watch.watcher.on_line(
        std::make_shared<const std::string>(RenderError(TooOld(*options.after, objects.first()))));
    EndWatch(watch);
  } else {
    for (auto change = objects.After(*options.after); change != objects.End() && !watch.ended;
         ++change)
      Tell(resource, watch, *change, now);
  }
  watch.after = options.after.value_or(0);
  watch.told = cluster.version();
}

}  // namespace

Response Get(const Cluster& cluster, const Call& call) {
  const auto version = ReadVersion(call.target);
  if (!version) return Answer(NotAVersion(version.error()));
  if (const auto asked = version->value_or(0); asked > cluster.version())
    return Answer(TooLargeVersion(asked, cluster.version()));
  const ObjectPtr object = call.resource().objects.Find(call.key());
  if (!object) return Answer(NotFoundHere(call));
  return {200, RenderObject(ShapeOf(cluster, call), *object)};
}

std::expected<Listing, Response> List(const Cluster& cluster, const Call& call) {
  const auto refused = [](const Status& status) { return std::unexpected(Answer(status)); };
  const auto selection = ReadSelection(call);
  if (!selection) return refused(selection.error());
  const auto options = ReadListOptions(cluster, call, selection->prefix);
  if (!options) return refused(options.error());
  const Resource& resource = call.resource();
  if (options->version && *options->version < resource.objects.first()) {
    return refused(options->start.empty() ? TooOld(*options->version, resource.objects.first())
                                          : PageTooOld(*options, selection->prefix));
  }
  Page page = ReadPage(resource, *selection, *options);
  ListMetadata metadata{options->version.value_or(cluster.version()), "", std::nullopt};
  if (page.remaining > 0) {
    // The next key after the last one shown.
    std::string next = KeyOf(page.objects.back()->ns(), page.objects.back()->name());
    next += '\0';
    metadata.continue_token =
        ContinueToken(metadata.version, std::string_view(next).substr(selection->prefix.size()));
    if (selection->everything()) metadata.remaining = page.remaining;
  }
  Response response{200, RenderList(ShapeOf(cluster, call), page.objects, metadata)};
  return Listing{std::move(page.objects), std::move(response)};
}

std::expected<async::Handle, Response> StartWatch(Cluster& cluster, const Call& call,
                                                  Server::Watcher watcher) {
  auto selection = ReadSelection(call);
  if (!selection) return std::unexpected(Answer(selection.error()));
  const auto options = ReadWatchOptions(cluster, call);
  if (!options) return std::unexpected(Answer(options.error()));
  std::uint64_t seconds = kLeastWatchSeconds + cluster.Random() % kLeastWatchSeconds;
  const auto asked = ParseNumber<std::uint64_t>(call.target.Parameter("timeoutSeconds"));
  if (asked && *asked > 0) seconds = std::min<std::uint64_t>(*asked, 24 * 3600);
  Resource& resource = *call.view.resource;
  const auto watch =
      std::make_shared<Watch>(Watch{.selection = std::move(*selection),
                                    .watcher = std::move(watcher),
                                    .bookmarks = call.target.Flag("allowWatchBookmarks"),
                                    .end = cluster.Now() + std::chrono::seconds(seconds)});
  async::Handle handle = HandleOf(call.view.resource, watch);
  Begin(cluster, resource, *watch, *options);
  if (!watch->ended) resource.watches.push_back(watch);
  return handle;
}

}  // namespace berth::kube::memory
