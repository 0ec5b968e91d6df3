#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "async/executor.h"
#include "async/task.h"
#include "kube/error.h"
#include "kube/json_view.h"
#include "kube/transport.h"

namespace berth::kube {

// One of several replicas leads, agreed on through a Lease as client-go does it: who holds the
// lease renews it; who sees that it has not changed for its whole duration, by their own clock,
// takes it. Clocks need not agree, only run at about the same speed.
//
// Fencing: a leader's writes go through FencedTransport, which sends a write only when it will have
// been carried out, refused or lost before anybody else can lead. So at every write that the API
// server carries out, the lease names the writer.
class LeaderElector {
 public:
  struct Options {
    std::string ns;
    std::string name;
    std::string identity;  // of this process and no other, not of an earlier one either
    async::Duration lease = std::chrono::seconds(30);
    // Without a renewal for this long the leader resigns, though it could not be replaced yet.
    async::Duration renew_deadline = std::chrono::seconds(20);
    async::Duration retry = std::chrono::seconds(3);
  };
  struct Callbacks {
    std::function<void()> on_elected;
    // The leader's work must have ended when it returns.
    std::function<void()> on_deposed;
  };

  LeaderElector(async::Executor& executor, Transport& transport, Options options);

  // Stands for election until the elector is destroyed or Release() is called.
  void Start(Callbacks callbacks);

  // Resigns and gives the lease back, so that another need not wait for its end. `quiet` is when
  // the last of this leader's writes will have been settled; see FencedTransport::QuietAt. Keeps
  // the lease until its end when it would be over by then.
  async::Task<void> Release(async::TimePoint quiet);

  bool leading() const { return leading_; }
  // Whether nobody else can lead before `when`: what is begun now and over by then is safe.
  bool Covers(async::TimePoint when) const { return leading_ && when <= fence(); }
  // Whether somebody leads: this replica, or another that has renewed the lease within its
  // duration.
  bool led() const;
  // Why the lease could not be read or claimed at the last try; empty when it could.
  const std::string& trouble() const { return trouble_; }
  // The holder of the lease, as last seen; empty when nobody holds it or it is not known.
  const std::string& holder() const { return seen_.holder; }
  const Options& options() const { return options_; }

 private:
  struct Record {
    std::string version;
    std::string holder;
    async::Duration duration{};
    std::int64_t transitions = 0;
    bool exists = false;
    bool known = false;
  };

  async::TimePoint fence() const;
  async::Task<void> Run();
  async::Task<Result<void>> Read();
  async::Task<Result<void>> Claim();
  async::Task<Result<Response>> Call(Request request);
  std::string ClaimBody() const;
  bool MayClaim() const;
  void See(std::string_view lease);
  void Elect(async::TimePoint sent);
  void Depose(const std::string& why);

  async::Executor& executor_;
  Transport& transport_;
  const Options options_;
  const std::string path_;
  Callbacks callbacks_;
  Record seen_;
  async::TimePoint seen_at_{};     // when seen_ last changed
  async::TimePoint renewed_at_{};  // when the last renewal that succeeded was sent
  bool leading_ = false;
  std::string trouble_;
  async::Handle deadline_;
  async::Running running_;
};

// The way to the API server for a leader. Reads pass; a write that could outlive the leadership is
// refused with kRetry. The bound of a write: it is sent within its time-out, delivered within
// kDelivery or never, and the server gives it up after the
// time-out that it is told in the query.
class FencedTransport : public Transport {
 public:
  static constexpr auto kLongestWrite = std::chrono::seconds(8);

  FencedTransport(async::Executor& executor, Transport& inner, const LeaderElector& elector)
      : executor_(executor), inner_(inner), elector_(elector) {}

  async::Handle Send(Request request, Done done) override;
  async::Handle Watch(Request request, Stream stream) override {
    return inner_.Watch(std::move(request), std::move(stream));
  }

  // When every write sent so far is settled: now, unless some have no outcome yet.
  async::TimePoint QuietAt() const;

 private:
  async::Executor& executor_;
  Transport& inner_;
  const LeaderElector& elector_;
  // Until when each write without a known outcome may still be carried out. Calls may outlive this.
  using Unsettled = std::map<std::uint64_t, async::TimePoint>;
  std::shared_ptr<Unsettled> unsettled_ = std::make_shared<Unsettled>();
  std::uint64_t last_ = 0;
};

}  // namespace berth::kube
