#include "simulate/leadership.h"

#include <utility>

#include "async/task.h"
#include "kube/leader_election.h"
#include "log/format.h"
#include "simulate/world.h"

namespace berth::simulate {
namespace {

using namespace std::chrono_literals;

constexpr const char* kLease = "/apis/coordination.k8s.io/v1/namespaces/default/leases/writer";
constexpr const char* kTarget = "/api/v1/namespaces/default/configmaps/target";

// A replica: while it leads it writes without a pause, several writes at a time.
class Writer : public Program {
 public:
  Writer(Process& process, kube::Transport& transport, bool fenced)
      : process_(process),
        elector_(process, transport,
                 {.ns = "default",
                  .name = "writer",
                  .identity = Format("{}.{}", process.name(), process.life())}),
        fence_(process, transport, elector_),
        transport_(fenced ? static_cast<kube::Transport&>(fence_) : transport) {
    elector_.Start({.on_elected =
                        [this] {
                          for (auto& writing : writing_) writing = async::Start(Write());
                        },
                    .on_deposed =
                        [this] {
                          for (auto& writing : writing_) writing = {};
                        }});
  }

 private:
  async::Task<void> Write() {
    while (true) {
      kube::Request request{
          .method = kube::Method::kPatch,
          .path = kTarget,
          .body = Format(R"({{"data":{{"{}":"{}"}}}})", elector_.options().identity, ++writes_),
          .content_type = "application/merge-patch+json"};
      co_await async::Callback<kube::Result<kube::Response>>(
          [&](auto done) { return transport_.Send(std::move(request), std::move(done)); });
      co_await async::Sleep(process_, 500ms);
    }
  }

  Process& process_;
  kube::LeaderElector elector_;
  kube::FencedTransport fence_;
  kube::Transport& transport_;
  std::uint64_t writes_ = 0;
  async::Running writing_[3];
};

}  // namespace

// Pauses and partitions above all.
void Leadership::Adjust(Faults& faults, Dice& random) {
  faults.pause = 0.002 + 0.01 * random.Fraction();
  faults.partition = 0.002 + 0.01 * random.Fraction();
}

void Leadership::SetUp(World& world) {
  world.Must({.method = kube::Method::kPost,
              .path = "/api/v1/namespaces/default/configmaps",
              .body = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"target"}})"});
}

std::unique_ptr<Program> Leadership::Boot(World&, Process& process, kube::Transport& transport) {
  return std::make_unique<Writer>(process, transport, fenced_);
}

std::optional<std::string> Leadership::Check(World& world, const std::string& writer,
                                             const kube::Request& request) {
  if (writer == "user" || !request.path.starts_with(kTarget)) return std::nullopt;
  ++writes_;
  const auto lease = world.Ask({.path = kLease});
  const std::string holder = lease.body()["spec"]["holderIdentity"].as<std::string>();
  if (holder == writer) return std::nullopt;
  return Format("{} wrote while {} held the lease", writer, holder);
}

std::optional<std::string> Leadership::Unsettled(World&) {
  if (std::exchange(writes_before_, writes_) == writes_) return "nobody writes";
  return std::nullopt;
}

}  // namespace berth::simulate
