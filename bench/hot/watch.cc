// A watch: an object changes, its line is rendered once, and handed to the connections of 100
// watchers, half of them of the object and half of a table.
#include <drogon/drogon.h>
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <trantor/net/EventLoop.h>

#include <memory>
#include <string>
#include <vector>

#include "bench/hot/count.h"
#include "handlers/apis/api_server.h"
#include "handlers/apis/live_collection.h"
#include "handlers/apis/watch.h"
#include "handlers/test_connection.h"

namespace {

using namespace berth;

constexpr int kWatchers = 100;
constexpr int kEvents = 200;

apis::ResourceType Ticks() {
  apis::ResourceType type;
  type.plural = "ticks";
  type.singular = "tick";
  type.kind = "Tick";
  type.columns = {{"Adds", "integer", "How many."}, {"Message", "string", "What."}};
  return type;
}

void Publish(apis::LiveCollection& ticks, int number) {
  apis::LiveCollection::Draft draft;
  draft.name = "tick";
  draft.labels = {{"app", "bench"}, {"adds", std::to_string(number)}};
  draft.cells = {apis::Cell::Number(static_cast<std::uint64_t>(number)),
                 apis::Cell::Text("a line of a watch")};
  ticks.Put(std::move(draft));
}

// Everything that is queued.
void Turn(trantor::EventLoop& loop) {
  loop.queueInLoop([&] { loop.quit(); });
  loop.loop();
}

}  // namespace

int main() {
  trantor::EventLoop& loop = *drogon::app().getLoop();  // a thread has one
  prometheus::Gauge watchers;
  prometheus::Counter cut_off;
  apis::LiveCollection ticks(Ticks(), 1, {});
  Publish(ticks, 0);
  prometheus::Gauge unsent_bytes;
  http::UnsentBudget unsent(apis::ApiServer::kMostUnsent);
  apis::WatchHub hub(ticks, {watchers, cut_off, unsent_bytes}, unsent);
  std::vector<std::shared_ptr<http::TestConnection>> connections;
  for (int i = 0; i < kWatchers; ++i) {
    connections.push_back(std::make_shared<http::TestConnection>(loop));
    apis::WatchRequest request{.timeout = std::chrono::hours(1)};
    const bool table = i % 2 == 1;
    if (table) request.selection.form.kind = apis::Form::Kind::kTable;
    request.selection.key = table ? "table" : "object";
    hub.Start(connections.back(), std::move(request));
  }
  Turn(loop);

  int published = 0;
  hot::Count("watch_event_100_watchers", kEvents, [&] {
    for (int i = 0; i < kEvents; ++i) {
      Publish(ticks, ++published);
      Turn(loop);
    }
  });
  for (const auto& connection : connections)
    hot::Require(connection->sends() == published, "a watcher has missed an event");
  hub.Close();
  Turn(loop);
  std::_Exit(0);
}
