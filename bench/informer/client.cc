// Berth's informer over the sandboxes of bench_informer_server, as a controller would hold them.
//
//   bench_informer URL      prints {"event":"synced","seconds":S,"objects":N}, then obeys
//   "await COUNT" on stdin: prints {"event":"done","seconds":S} once COUNT more changes have been
//   handled, counted from the first of them
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

#include "async/event_loop.h"
#include "kube/client.h"
#include "kube/client_transport.h"
#include "kube/informer.h"
#include "log/format.h"

namespace {

using namespace berth;
using Clock = std::chrono::steady_clock;

// The fields of a sandbox that a controller needs.
struct Sandbox {
  std::string uid;
  std::string version;
  std::string pool;
  std::string owner;
  std::string node;
  std::string address;
  std::string phase;
  std::string shutdown;
  std::int64_t generation = 0;
  std::int64_t observed = 0;
  bool ready = false;
  bool deleting = false;

  static kube::Result<Sandbox> From(kube::JsonView object) {
    const kube::JsonView metadata = object["metadata"];
    const kube::JsonView status = object["status"];
    auto text = [](kube::JsonView view) { return std::string(view.StringOr("")); };
    Sandbox sandbox{.uid = text(metadata["uid"]),
                    .version = text(metadata["resourceVersion"]),
                    .pool = text(metadata["labels"]["pool"]),
                    .owner = text(metadata["ownerReferences"].At(0)["name"]),
                    .node = text(status["nodeName"]),
                    .address = text(status["podInfo"]["podIP"]),
                    .phase = text(status["phase"]),
                    .shutdown = text(object["spec"]["shutdownTime"]),
                    .generation = metadata["generation"].Int().value_or(0),
                    .observed = status["observedGeneration"].Int().value_or(0),
                    .deleting = metadata["deletionTimestamp"].exists()};
    status["conditions"].ForEachItem([&](kube::JsonView condition) {
      if (condition["type"].StringOr("") == "Ready") {
        sandbox.ready = condition["status"].StringOr("") == "True";
      }
    });
    return sandbox;
  }
};

double Seconds(Clock::time_point since) {
  return std::chrono::duration<double>(Clock::now() - since).count();
}

void Say(const std::string& line) { std::cout << line << std::endl; }

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  kube::Client client({.server = argv[1]});
  async::EventLoop loop("control");
  kube::ClientTransport transport(client, loop);
  std::unique_ptr<kube::Informer<Sandbox>> informer;
  std::uint64_t changes = 0;
  std::uint64_t target = 0;
  Clock::time_point first;
  async::Handle poll;
  const auto began = Clock::now();
  std::function<void()> look = [&] {
    if (informer->HasSynced()) {
      return Say(Format(R"({{"event":"synced","seconds":{},"objects":{}}})", Seconds(began),
                        informer->size()));
    }
    poll = loop.RunAfter(std::chrono::milliseconds(1), [&] { look(); });
  };
  loop.Post([&] {
    informer = std::make_unique<kube::Informer<Sandbox>>(
        loop, transport,
        kube::Reflector::Options{.path = "/apis/agents.kruise.io/v1alpha1/sandboxes"});
    informer->AddIndex([](const Sandbox& sandbox) { return std::vector{sandbox.pool}; });
    informer->AddHandler({.on_add = [](const std::string&, const Sandbox&) {},
                          .on_update =
                              [&](const std::string&, const Sandbox&, const Sandbox&) {
                                if (changes++ == 0) first = Clock::now();
                                if (changes == target) {
                                  Say(Format(R"({{"event":"done","seconds":{}}})", Seconds(first)));
                                }
                              },
                          .on_delete = [](const std::string&, const Sandbox&) {}});
    informer->Start();
    look();
  });
  std::string word;
  std::uint64_t count = 0;
  while (std::cin >> word >> count) {
    loop.Run([&] {
      changes = 0;
      target = count;
    });
    Say(R"({"event":"awaiting"})");
  }
  std::_Exit(0);
}
