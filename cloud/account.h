#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "async/task.h"
#include "http/error.h"

namespace berth::cloud {

using Tags = std::map<std::string, std::string>;

// The reason of an error of a call that never left this process: there was no turn for it
// (kThrottled), no key, only a key of another account, or it was no longer wanted (kConflict).
inline constexpr std::string_view kNotSent = "NotSent";

// Asked when a call's turn has come, which can be much later: without a yes the call is not sent,
// with a kConflict, kNotSent. An empty one says yes.
using Wanted = std::function<async::Task<bool>()>;

// Where a resource is: its ID means nothing in another region or account.
struct Place {
  std::string region;
  std::string account;  // the ID of the cloud account, which is no secret

  friend bool operator==(const Place&, const Place&) = default;
};

// The accounts whose access keys this process has or had, in one region, and a Service of the cloud
// in each. Of the control thread.
template <typename Service>
class Accounts {
 public:
  virtual ~Accounts() = default;

  // The region, and the account of the access key of the moment. Errors are as of a call that
  // reads. Cheap while the key stays the same.
  virtual async::Task<Result<Place>> Here() = 0;
  // Calls of it are signed with keys of this account only. While there is only another account's
  // key they are not sent: kRetry, kNotSent. Lives as long as this.
  virtual Service& In(const std::string& account) = 0;
};

}  // namespace berth::cloud
