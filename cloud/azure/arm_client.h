#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "async/executor.h"
#include "async/task.h"
#include "cloud/account.h"
#include "cloud/azure/answer.h"
#include "cloud/azure/token_source.h"
#include "cloud/call_line.h"
#include "cloud/call_log.h"
#include "http/transport.h"

namespace berth::cloud::azure {

struct ArmOptions {
  std::string endpoint;  // "https://management.azure.com", nothing after it
  std::string api_version = "2025-05-01";
  // Azure's limits are token buckets of 200, 200 and 250 calls, and in any 5 minutes 1,000 writes
  // and deletes of Microsoft.Network. The client keeps a little below: calls that were sent apart
  // may arrive together.
  int write_burst = 190;
  int delete_burst = 190;
  int read_burst = 240;
  double writes_per_second = 10;
  double deletes_per_second = 10;
  double reads_per_second = 25;
  std::size_t changes_per_window = 1'000;
  std::chrono::seconds window{305};
  std::chrono::milliseconds timeout{30'000};       // from a call's sending to its answer
  std::chrono::milliseconds patience{60'000};      // for its turn
  std::chrono::milliseconds first_poll{1'000};     // without a Retry-After; then twice as long
  std::chrono::milliseconds longest_poll{10'000};  // each time, up to this
  std::chrono::minutes operation{10};              // of a long-running operation
  int poll_failures = 5;                           // in a row, until the operation is lost
};

// One call, before it has its turn.
struct ArmCall {
  std::string action;  // as people and records name it: "PutLoadBalancer"
  std::string method = "GET";
  std::string target;    // a resource ID or what is below it, or a whole address of the cloud's
  std::string resource;  // what it is about, for people
  std::string body = {};
  std::vector<http::Header> headers = {};
  Wanted wanted = {};
};

// Azure Resource Manager: calls with a token, long-running operations and lists of pages.
//
// Calls of a kind (reads, writes, deletes) go in turn, as often as Azure takes them, throttles
// included. Each is sent once, or twice when Azure did not take the token: then with another one.
// Errors are as ReadArmAnswer says, with the action, the resource and the code before the message;
// besides, a call whose turn did not come is kThrottled, one no longer wanted kConflict, and one
// without a token has the class that Tokens gave, all with the reason "NotSent". A throttle's
// retry_after is when the next call of the kind may go. A token is sent to the endpoint only,
// whatever address an answer names. Neither token nor secret stands in an error or a record.
//
// Every call is told to the observer, if there is one, unless its task is destroyed before it ends.
// Belongs to the control thread; outlives its tasks.
class ArmClient {
 public:
  ArmClient(async::Executor& executor, http::Transport& transport, Tokens& tokens,
            CallObserver* observer, ArmOptions options);

  async::Task<Result<Json>> Get(ArmCall call);
  // The items of all pages, at most kMostPages.
  async::Task<Result<std::vector<Json>>> List(ArmCall call);
  // Returns when the long-running operation, if the call begins one, has ended. The answer of a PUT
  // is the resource, read anew when it was not ready at once. kAmbiguous when the end is not known.
  async::Task<Result<Json>> Write(ArmCall call);

  static constexpr std::size_t kMostPages = 5'000;

 private:
  // The parts of a call that Azure has answered, or refused to.
  async::Task<ArmAnswer> Send(ArmCall call);
  async::Task<ArmAnswer> SendOnce(const ArmCall* call, std::string* token);
  async::Task<Result<std::string>> WaitToSend(const ArmCall* call);
  http::Request RequestOf(const ArmCall& call, const std::string& token) const;
  // Follows the operation that `began` tells of to its end.
  async::Task<Result<void>> Follow(const ArmCall* call, ArmAnswer began);
  CallLine& LineOf(const std::string& method);
  std::string AddressOf(const std::string& target) const;
  void Tell(CallRecord record, const Answer& answer) const;

  async::Executor& executor_;
  http::Transport& transport_;
  Tokens& tokens_;
  CallObserver* observer_;
  const ArmOptions options_;
  CallWindow changes_;
  CallLine reads_;
  CallLine writes_;
  CallLine deletes_;
};

}  // namespace berth::cloud::azure
