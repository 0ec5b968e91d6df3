#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "async/executor.h"
#include "async/task.h"
#include "cloud/aliyun/answer.h"
#include "cloud/aliyun/credentials.h"
#include "cloud/aliyun/signature.h"
#include "cloud/call_line.h"
#include "cloud/call_log.h"
#include "http/transport.h"

namespace berth::cloud::aliyun {

enum class SignatureVersion { kAcs3, kV1 };

struct ApiOptions {
  std::string endpoint;  // "https://vpc.cn-hangzhou.aliyuncs.com", nothing after it
  std::string version;   // "2016-04-28"
  std::string region;
  SignatureVersion signature = SignatureVersion::kAcs3;
  bool form = false;                           // parameters travel in the body, as EFLO has it
  int calls_per_minute = 600;                  // of every action; see CallLine
  std::map<std::string, int> limits;           // but of these, by action
  std::chrono::milliseconds timeout{10'000};   // from a call's sending to its answer
  std::chrono::milliseconds patience{60'000};  // for its turn
};

// One product of the cloud (Vpc, Ecs) in one region: signed calls of the RPC style.
//
// Calls of an action go in turn, as CallLine says, throttles included. Each is sent once, with a
// nonce and a date of its own and the key of the moment; whoever calls may try again. Errors are as
// ReadAnswer says, with the action and the cloud's code before the message; besides, a call whose
// turn did not come is kThrottled, one without a key, or without a key of its account, kRetry, all
// with the reason "NotSent". A throttle's retry_after is when the action's next call may go.
// No key stands in an error or a record.
//
// Every call is told to the observer, if there is one, unless its task is destroyed before it ends.
// Belongs to the control thread; outlives its tasks.
class ApiClient {
 public:
  // Whether a call may be signed with a key; none when it may, else why not. Errors have the reason
  // "NotSent".
  using KeyCheck = std::function<async::Task<Result<void>>(Credential key)>;

  ApiClient(async::Executor& executor, http::Transport& transport, Credentials& credentials,
            CallObserver* observer, ApiOptions options);

  // The answer's JSON, an object. RegionId is added to the parameters. What describes or lists is
  // known by its name as a read, all else as a write. `check` judges the very key that the call is
  // signed with.
  async::Task<Result<Json>> Call(std::string action, Parameters parameters, KeyCheck check = {});

 private:
  CallLine& LineOf(const std::string& action);
  // The key to sign with, once the call may be sent.
  async::Task<Result<Credential>> WaitToSend(std::string action, KeyCheck check);
  http::Request Signed(const std::string& action, Parameters parameters,
                       const Credential& credential);
  // Keeps what the answer tells of calls to come.
  void Learn(Error& error, const std::string& action, async::TimePoint sent,
             const Credential& credential);
  void Tell(CallRecord record, const Answer& answer) const;

  async::Executor& executor_;
  http::Transport& transport_;
  Credentials& credentials_;
  CallObserver* observer_;
  const ApiOptions options_;
  std::map<std::string, CallLine, std::less<>> lines_;
};

}  // namespace berth::cloud::aliyun
