#include "cloud/aliyun/eflo_lists.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <iterator>
#include <map>
#include <ranges>
#include <utility>

#include "async/for_each.h"
#include "cloud/aliyun/fields.h"
#include "log/format.h"
#include "log/timestamp.h"

namespace berth::cloud::aliyun {
namespace {

// EFLO calls an ENI without a node Unattached, and one that is in use Available.
std::string StatusOf(const Json& entry) {
  std::string status = Text(entry, "Status");
  return status == "Unattached" ? "Available" : status == "Available" ? "InUse" : status;
}

std::optional<std::int64_t> NumberOf(const Json& object, std::string_view member) {
  const std::string text = Text(object, member);
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (text.empty() || read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return number;
}

// A date, or milliseconds since 1970: EFLO has both.
std::optional<std::chrono::system_clock::time_point> TimeOf(const Json& entry,
                                                            std::string_view member) {
  if (const auto milliseconds = NumberOf(entry, member)) {
    return std::chrono::system_clock::time_point(std::chrono::milliseconds(*milliseconds));
  }
  return ParseTime(Text(entry, member));
}

Eni ReadEni(const Json& entry) {
  Eni eni;
  eni.id = Text(entry, "ElasticNetworkInterfaceId");
  eni.status = StatusOf(entry);
  eni.type = "Secondary";
  eni.traffic_mode = "Standard";
  eni.mac_address = Text(entry, "Mac");
  eni.vswitch_id = Text(entry, "VSwitchId");
  eni.vpc_id = Text(entry, "VpcId");
  eni.zone_id = Text(entry, "ZoneId");
  if (std::string group = Text(entry, "SecurityGroupId"); !group.empty()) {
    eni.security_group_ids.push_back(std::move(group));
  }
  eni.resource_group_id = Text(entry, "ResourceGroupId");
  eni.primary_address = Text(entry, "Ip");
  if (!eni.primary_address.empty()) eni.ipv4.push_back({eni.primary_address, true, {}});
  if (eni.status != "Available") eni.instance_id = Text(entry, "NodeId");
  eni.created_at = TimeOf(entry, "CreateTime");
  const Json& tags = Member(entry, "Tags");
  if (tags.is_array()) {
    for (const Json& tag : tags.array_range()) {
      eni.tags.emplace(Text(tag, "TagKey"), Text(tag, "TagValue"));
    }
  }
  return eni;
}

bool IsSettled(const Eni& eni) { return eni.status == "Available" || eni.status == "InUse"; }

}  // namespace

async::Task<EfloLists::Listed> EfloLists::List(Parameters filter, std::size_t most_pages) {
  filter["Type"] = "CUSTOM";
  auto entries = co_await Entries("ListElasticNetworkInterfaces", std::move(filter), most_pages);
  if (!entries) co_return std::unexpected(std::move(entries.error()));
  if (!*entries) co_return std::nullopt;
  std::map<std::string, Eni> enis;  // an entry that has moved may come twice
  for (const Json& entry : **entries) {
    // Whether the cloud knows the filter or not: ENIs of type DEFAULT are the node's own.
    if (Text(entry, "Type") != "CUSTOM") continue;
    Eni eni = ReadEni(entry);
    if (eni.id.empty() || eni.status.empty()) {
      // The caller concludes from the list that an ENI is gone, so every entry must be whole.
      co_return std::unexpected(Error{.error_class = ErrorClass::kRetry,
                                      .message = "ListElasticNetworkInterfaces: an ENI of the "
                                                 "cloud's answer has no ID or no status",
                                      .code = 200});
    }
    std::string id = eni.id;
    enis.insert_or_assign(std::move(id), std::move(eni));
  }
  co_return std::ranges::to<std::vector>(std::views::values(enis));
}

async::Task<Result<std::vector<Eni>>> EfloLists::ListWithAddresses(Parameters filter) {
  auto enis = co_await List(std::move(filter));
  if (!enis) co_return std::unexpected(std::move(enis.error()));
  if (!*enis) co_return Terminal(Format("there are more than {} ENIs", kMostPages * kPageSize));
  co_return co_await WithAddresses(std::move(**enis));
}

async::Task<Result<std::vector<Eni>>> EfloLists::WithAddresses(std::vector<Eni> enis) {
  std::optional<Error> error;
  co_await async::ForEach(enis.size(), kMostCalls,
                          [&](std::size_t n) { return AddAddresses(&enis[n], &error); });
  if (error) co_return std::unexpected(std::move(*error));
  co_return enis;
}

async::Task<void> EfloLists::AddAddresses(Eni* eni, std::optional<Error>* error) {
  if (!IsSettled(*eni) || *error) co_return;
  auto addresses = co_await Addresses({{"ElasticNetworkInterfaceId", eni->id}});
  if (!addresses) {
    error->emplace(std::move(addresses.error()));
    co_return;
  }
  for (LeniAddress& address : *addresses) {
    if (address.status == "Available") eni->ipv4.push_back(std::move(address.ip));
  }
}

async::Task<Result<std::vector<LeniAddress>>> EfloLists::Addresses(Parameters filter) {
  auto entries = co_await Entries("ListLeniPrivateIpAddresses", std::move(filter), kMostPages);
  if (!entries) co_return std::unexpected(std::move(entries.error()));
  if (!*entries)
    co_return Terminal(Format("there are more than {} addresses", kMostPages * kPageSize));
  std::vector<LeniAddress> addresses;
  for (const Json& entry : **entries) {
    LeniAddress address{{Text(entry, "PrivateIpAddress"), false, Text(entry, "IpName")},
                        Text(entry, "Status")};
    const auto same = [&](const LeniAddress& other) { return other.ip.name == address.ip.name; };
    if (std::ranges::none_of(addresses, same)) addresses.push_back(std::move(address));
  }
  co_return addresses;
}

async::Task<Result<std::optional<std::vector<Json>>>> EfloLists::Entries(std::string action,
                                                                         Parameters filter,
                                                                         std::size_t most_pages) {
  filter["PageSize"] = std::to_string(kPageSize);
  auto first = co_await ReadPage(action, filter, 1);
  if (!first) co_return std::unexpected(std::move(first.error()));
  std::vector<Json> entries = std::move(first->entries);
  // The cloud may give fewer a page than it was asked for.
  const std::size_t size = std::max<std::size_t>(entries.size(), 1);
  const std::size_t total = std::max(entries.empty() ? 0 : first->total, size);
  const std::size_t pages = (total + size - 1) / size;
  if (pages > most_pages) co_return std::nullopt;
  std::vector<Result<Page>> more(pages - 1);
  co_await async::ForEach(more.size(), kMostCalls, [&](std::size_t n) {
    return ReadPageInto(&more[n], action, filter, n + 2);
  });
  for (auto& page : more) {
    if (!page) co_return std::unexpected(std::move(page.error()));
    std::ranges::move(page->entries, std::back_inserter(entries));
  }
  co_return entries;
}

async::Task<void> EfloLists::ReadPageInto(Result<Page>* page, std::string action, Parameters filter,
                                          std::size_t number) {
  *page = co_await ReadPage(std::move(action), std::move(filter), number);
}

async::Task<Result<EfloLists::Page>> EfloLists::ReadPage(std::string action, Parameters filter,
                                                         std::size_t number) {
  filter["PageNumber"] = std::to_string(number);
  const auto answer = co_await eflo_.Call(action, std::move(filter));
  if (!answer) co_return std::unexpected(answer.error());
  const Json& content = Member(*answer, "Content");
  const Json& data = Member(content, "Data");
  const auto total = NumberOf(content, "Total");
  if (!total || *total < 0 || (!data.is_array() && *total > 0)) {
    co_return std::unexpected(Lacks(*answer, "list", ErrorClass::kRetry));
  }
  Page page{.entries = {}, .total = static_cast<std::size_t>(*total)};
  if (data.is_array()) {
    for (const Json& entry : data.array_range()) page.entries.push_back(entry);
  }
  co_return page;
}

}  // namespace berth::cloud::aliyun
