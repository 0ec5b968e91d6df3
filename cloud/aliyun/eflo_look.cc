#include "cloud/aliyun/eflo_look.h"

#include <iterator>
#include <ranges>
#include <utility>

#include "async/for_each.h"

namespace berth::cloud::aliyun {

async::Task<EfloLook::Seen> EfloLook::See(std::vector<std::string> ids) {
  co_return co_await async::Callback<Seen>([&](auto done) {
    auto waiter = std::make_shared<Waiter>(std::move(ids), std::move(done));
    waiting_.push_back(waiter);
    if (!std::exchange(is_looking_, true)) looking_ = async::Start(Run());
    return async::Handle([waiter] { waiter->done = nullptr; });
  });
}

async::Task<void> EfloLook::Run() {
  while (!waiting_.empty()) {
    const auto waiters = std::exchange(waiting_, {});
    std::set<std::string> ids;
    for (const auto& waiter : waiters) {
      if (waiter->done) ids.insert(waiter->ids.begin(), waiter->ids.end());
    }
    const auto found = co_await Look(std::move(ids));
    for (const auto& waiter : waiters) {
      if (!waiter->done) continue;
      Seen seen = std::vector<Eni>();
      if (!found) seen = std::unexpected(found.error());
      for (const std::string& id : found ? waiter->ids : std::vector<std::string>()) {
        if (const auto eni = found->find(id); eni != found->end()) seen->push_back(eni->second);
      }
      std::exchange(waiter->done, nullptr)(std::move(seen));
    }
  }
  is_looking_ = false;
}

async::Task<Result<EfloLook::Found>> EfloLook::Look(std::set<std::string> ids) {
  auto listed = co_await List(std::move(ids));
  if (listed) listed = co_await lists_.WithAddresses(std::move(*listed));
  if (!listed) co_return std::unexpected(std::move(listed.error()));
  Found found;
  for (Eni& eni : *listed) {
    std::string id = eni.id;
    found.emplace(std::move(id), std::move(eni));
  }
  co_return found;
}

async::Task<EfloLook::Seen> EfloLook::List(std::set<std::string> ids) {
  if (ids.size() >= kMany) {
    auto all = co_await lists_.List({}, ids.size());
    if (!all) co_return std::unexpected(std::move(all.error()));
    if (*all) {
      std::erase_if(**all, [&](const Eni& eni) { return !ids.contains(eni.id); });
      co_return std::move(**all);
    }
  }
  std::vector<Eni> enis;
  std::optional<Error> error;
  const auto each = std::ranges::to<std::vector>(ids);
  co_await async::ForEach(each.size(), EfloLists::kMostCalls,
                          [&](std::size_t n) { return ListOne(each[n], &enis, &error); });
  if (error) co_return std::unexpected(std::move(*error));
  co_return enis;
}

async::Task<void> EfloLook::ListOne(std::string id, std::vector<Eni>* enis,
                                    std::optional<Error>* error) {
  if (*error) co_return;
  auto listed = co_await lists_.List({{"ElasticNetworkInterfaceId", std::move(id)}});
  if (!listed) {
    error->emplace(std::move(listed.error()));
  } else if (*listed) {
    std::ranges::move(**listed, std::back_inserter(*enis));
  }
}

}  // namespace berth::cloud::aliyun
