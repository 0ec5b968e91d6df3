#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "async/executor.h"
#include "async/task.h"
#include "kube/error.h"
#include "kube/json_view.h"
#include "kube/transport.h"

namespace berth::kube {

// Keeps a Sink the same as a collection of the API server: the present state first, then every
// change, in order, for as long as Run() runs. It asks for the state as a stream
// (sendInitialEvents) and lists page by page where a server refuses that. It resumes a watch that
// ended from where it was, asks for the whole state again when that version is gone (410), and
// waits longer after each failure in a row, with jitter. An event that is not after what was seen
// already (a repetition) is dropped. On one executor's thread.
class Reflector {
 public:
  struct Options {
    std::string path;   // of the collection: "/apis/g/v/things", or of one namespace's
    std::string query;  // selectors, percent-encoded: "labelSelector=a%3Db"; may be empty
    std::size_t page = 500;
    bool stream_list = true;
    async::Duration first_wait = std::chrono::milliseconds(800);
    async::Duration longest_wait = std::chrono::seconds(30);
  };

  class Sink {
   public:
    virtual ~Sink() = default;
    // The whole state follows as Puts. It may begin again before it has ended.
    virtual void BeginReplace() = 0;
    // Objects that were not put since BeginReplace are gone.
    virtual void EndReplace() = 0;
    virtual void Put(JsonView object) = 0;
    virtual void Remove(JsonView object) = 0;
  };

  struct Status {
    bool synced = false;        // the whole state was seen once
    bool watching = false;      // a watch is open, as far as is known
    std::string version;        // seen last
    std::uint64_t relists = 0;  // how often the whole state was asked for
    std::uint64_t watches = 0;
    std::uint64_t events = 0;
    int failures = 0;        // in a row
    std::string last_error;  // of the last failure, kept until there is another
  };

  Reflector(async::Executor& executor, Transport& transport, Options options, Sink& sink);

  // Never ends by itself; destroying the task ends it.
  async::Task<void> Run();

  // Asks for the whole state again, now. fresh() is true once the sink has a state that the server
  // had after this call: what others wrote before it is in there, however far behind the watch was.
  void Refresh();
  bool fresh() const { return status_.synced && renewal_ == Renewal::kNone; }

  const Status& status() const { return status_; }

 private:
  enum class Phase { kInitial, kFollowing, kExpired };
  enum class Renewal { kNone, kWanted, kUnderWay };

  async::Task<bool> Relist();
  async::Task<bool> StreamList();
  async::Task<bool> ListPages();
  async::Task<void> Follow();
  async::Task<Result<void>> OpenWatch(std::string query);
  async::Task<void> Rest(async::TimePoint began, Result<void> ended);
  async::Task<void> WaitAfter(Error error);

  Result<void> TakePage(std::string_view body, std::string& continue_token);
  void TakeLines(std::string_view lines);
  void TakeEvent(JsonView event);
  void TakeChange(std::string_view type, JsonView object);
  void TakeBookmark(JsonView object);
  void TakeError(JsonView status);
  void TakeWhole();
  void Fail(Error error);

  std::string Query(std::string more) const;

  async::Executor& executor_;
  Transport& transport_;
  const Options options_;
  Sink& sink_;
  Status status_;
  JsonDocument document_;

  // The state of the present watch.
  Phase phase_ = Phase::kInitial;
  std::function<void(Result<void>)> end_;
  async::Handle ending_;
  bool stream_refused_ = false;
  Renewal renewal_ = Renewal::kNone;
};

}  // namespace berth::kube
