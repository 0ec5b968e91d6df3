#include "handlers/memory/server_thread.h"

#include <future>

namespace berth::memory {
namespace {

constexpr std::chrono::seconds kTickEvery{1};

}  // namespace

ServerThread::ServerThread(std::optional<Server::MachineryOptions> machinery) {
  loop_.Run([this, machinery] {
    server_ = std::make_unique<Server>(Server::Options{.now = [this] { return loop_.WallNow(); },
                                                       .random = [this] { return loop_.Random(); },
                                                       .machinery = machinery});
    Tick();
  });
}

ServerThread::~ServerThread() { Stop(); }

void ServerThread::Stop() {
  // Everything on the thread ends there, watches before the server they watch.
  loop_.Post([this] {
    tick_ = {};
    watches_.clear();
    server_.reset();
  });
  loop_.Stop();
}

void ServerThread::Post(std::function<void(Server&)> work) {
  loop_.Post([this, work = std::move(work)] {
    if (server_) work(*server_);
  });
}

void ServerThread::Send(kube::Request request, Server::Done done) {
  Post([this, request = std::move(request), done = std::move(done)](Server& server) {
    const bool write = request.method != kube::Method::kGet;
    server.Handle(request, [this, write, done](kube::memory::Response response) {
      done(std::move(response));
      if (write) StartBackground();
    });
  });
}

ServerThread::WatchId ServerThread::Watch(kube::Request request, Watcher watcher) {
  const WatchId id = ++last_watch_;
  Post([this, id, request = std::move(request), watcher = std::move(watcher)](Server& server) {
    StartWatch(id, server, request, watcher);
  });
  return id;
}

void ServerThread::StartWatch(WatchId id, Server& server, const kube::Request& request,
                              const Watcher& watcher) {
  // Events that come while the watch begins, its end perhaps, are told when it has begun.
  struct Beginning {
    bool over = false;
    bool ended = false;
    std::vector<Line> lines;
  };
  auto beginning = std::make_shared<Beginning>();
  auto handle = server.Watch(request, {.on_line =
                                           [beginning, watcher](const Line& line) {
                                             beginning->over ? watcher.on_line(line)
                                                             : beginning->lines.push_back(line);
                                           },
                                       .on_end =
                                           [this, id, beginning, watcher] {
                                             beginning->ended = true;
                                             if (beginning->over) EndFromServer(id, watcher);
                                           }});
  if (!handle) return watcher.on_start(std::unexpected(std::move(handle.error())));
  watches_.emplace(id, std::move(*handle));
  beginning->over = true;
  watcher.on_start(std::exchange(beginning->lines, {}));
  if (beginning->ended) EndFromServer(id, watcher);
}

// The handle goes later: the server may be walking through its watches now.
void ServerThread::EndFromServer(WatchId id, const Watcher& watcher) {
  watcher.on_end();
  End(id);
}

void ServerThread::End(WatchId id) {
  loop_.Post([this, id] { watches_.erase(id); });
}

kube::Response ServerThread::Ask(kube::Request request) {
  std::promise<kube::Response> answer;
  Send(std::move(request), [&](kube::Response response) { answer.set_value(std::move(response)); });
  return answer.get_future().get();
}

void ServerThread::Run(const std::function<void(Server&)>& work) {
  loop_.Run([&] { work(*server_); });
}

void ServerThread::Tick() {
  server_->Tick();
  StartBackground();
  tick_ = loop_.RunAfter(kTickEvery, [this] { Tick(); });
}

void ServerThread::StartBackground() {
  if (!std::exchange(background_, true)) loop_.Post([this] { RunBackground(); });
}

// A step at a time, with requests in between.
void ServerThread::RunBackground() {
  const bool collected = server_ && server_->CollectGarbage();
  const bool ran = server_ && server_->RunMachinery();
  background_ = collected || ran;
  if (background_) loop_.Post([this] { RunBackground(); });
}

}  // namespace berth::memory
