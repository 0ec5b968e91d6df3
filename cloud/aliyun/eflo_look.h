#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "async/task.h"
#include "cloud/aliyun/eflo_lists.h"
#include "cloud/eni.h"

namespace berth::cloud::aliyun {

// Looks up ENIs by ID for all who ask. EFLO's list filters by one ID, one node or one tag, not by
// many IDs. So those who ask while a look is under way wait for the next one, which is for all of
// them together and costs the fewer of two: a call for each ID, or the pages of the whole region,
// of which the first one tells how many there are. A look that is answered began after it was asked
// for. A filter by node is not used: of a node at most two ENIs are being attached at a time.
//
// With n ENIs in the region, of which k are asked for, a look is min(k, n / 20) calls, one more
// where the first page was in vain, and one for the addresses of each ENI that is found Available
// or InUse. `lists` outlives this, which outlives its tasks.
class EfloLook {
 public:
  using Seen = Result<std::vector<Eni>>;
  // IDs from which on the first page of the region is worth a call.
  static constexpr std::size_t kMany = 4;

  explicit EfloLook(EfloLists& lists) : lists_(lists) {}

  // The ENIs that exist among these and are listed.
  async::Task<Seen> See(std::vector<std::string> ids);

 private:
  struct Waiter {
    std::vector<std::string> ids;
    std::function<void(Seen)> done;  // gone when nobody waits any more
  };
  using Found = std::map<std::string, Eni>;

  // Looks as long as somebody waits.
  async::Task<void> Run();
  async::Task<Result<Found>> Look(std::set<std::string> ids);
  async::Task<Seen> List(std::set<std::string> ids);
  async::Task<void> ListOne(std::string id, std::vector<Eni>* enis, std::optional<Error>* error);

  EfloLists& lists_;
  std::vector<std::shared_ptr<Waiter>> waiting_;
  bool is_looking_ = false;
  async::Running looking_;
};

}  // namespace berth::cloud::aliyun
