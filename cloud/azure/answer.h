#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "cloud/answer.h"
#include "http/transport.h"

namespace berth::cloud::azure {

// The result of one exchange with Azure Resource Manager, and where to follow what it began.
struct ArmAnswer {
  Answer answer;
  int status = 0;               // of HTTP; 0 without an answer
  std::string async_operation;  // addresses, empty for none
  std::string location;
  std::chrono::milliseconds retry_after{};
};

// Reads what came back of a call. An error has an HTTP status above 299, a body with an error and
// its code, or the status Failed or Canceled of a long-running operation. Its reason is the cloud's
// code, its class that of error_table.h, and its message the cloud's, cut at kMaxMessage, with the
// request ID at its end. An answer without a body is an empty object. Without an answer, or with
// one that is no JSON object, the error is that of NoAnswer and Unreadable. `secrets` are blotted
// out of messages, codes and request IDs.
ArmAnswer ReadArmAnswer(const Result<http::Response>& response, bool writes, Secrets secrets);

// The state of a long-running operation.
enum class OperationState { kUnderWay, kSucceeded, kFailed };

// By the member `status`, or `properties.provisioningState`; by the HTTP status where there is
// neither. Unknown states are under way: Azure has many names for these.
OperationState StateOf(const ArmAnswer& answer);

}  // namespace berth::cloud::azure
