#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "async/task.h"
#include "cloud/aliyun/account_clients.h"
#include "cloud/eni.h"
#include "json/json.h"

namespace berth::cloud::aliyun {

// A secondary address of a Lingjun ENI.
struct LeniAddress {
  EniAddress ip;
  std::string status;  // Available once it can be used
};

// The lists of EFLO, page by page, pages of one list side by side. A page tells how many entries
// there are in all. Pages are numbered, so an entry that moves from one page to another between two
// calls may be missing. `eflo` outlives this, which outlives its tasks.
class EfloLists {
 public:
  static constexpr std::size_t kPageSize = 20;  // EFLO's default; its documents name no maximum
  static constexpr std::size_t kMostPages = 5'000;
  static constexpr std::size_t kMostCalls = 16;  // of one list at a time

  explicit EfloLists(AccountApi& eflo) : eflo_(eflo) {}

  // The CUSTOM ENIs that match the filter, as Eni has them; of the addresses only the primary one.
  // None if they take more than `most_pages`, which one call tells.
  using Listed = Result<std::optional<std::vector<Eni>>>;
  async::Task<Listed> List(Parameters filter, std::size_t most_pages = kMostPages);
  // The same with the secondary addresses that can be used, of ENIs that are Available or InUse: a
  // call for each ENI. Those on their way to another status have their primary address only.
  async::Task<Result<std::vector<Eni>>> ListWithAddresses(Parameters filter);
  async::Task<Result<std::vector<Eni>>> WithAddresses(std::vector<Eni> enis);
  // The secondary addresses that match the filter, in whatever status.
  async::Task<Result<std::vector<LeniAddress>>> Addresses(Parameters filter);

 private:
  struct Page {
    std::vector<Json> entries;
    std::size_t total = 0;
  };
  async::Task<Result<Page>> ReadPage(std::string action, Parameters filter, std::size_t number);
  async::Task<void> ReadPageInto(Result<Page>* page, std::string action, Parameters filter,
                                 std::size_t number);
  // The entries of all pages; none if there are more than `most_pages`.
  async::Task<Result<std::optional<std::vector<Json>>>> Entries(std::string action,
                                                                Parameters filter,
                                                                std::size_t most_pages);
  async::Task<void> AddAddresses(Eni* eni, std::optional<Error>* error);

  AccountApi& eflo_;
};

}  // namespace berth::cloud::aliyun
