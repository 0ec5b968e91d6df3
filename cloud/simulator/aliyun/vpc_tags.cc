// The calls of VpcProduct about tags.
#include <utility>

#include "cloud/simulator/aliyun/eip_list.h"
#include "cloud/simulator/aliyun/parameters.h"
#include "cloud/simulator/aliyun/tags.h"
#include "cloud/simulator/aliyun/vpc.h"

namespace berth::cloud::simulator {
namespace {

constexpr std::size_t kTagPage = 50;

}  // namespace

Outcome VpcProduct::TagResources(const Call& call) { return Retag(call, TagsAdded); }
Outcome VpcProduct::UntagResources(const Call& call) { return Retag(call, TagsRemoved); }

Outcome VpcProduct::Retag(const Call& call, TagChange change) {
  if (const auto good = CheckRegion(call, true); !good) return std::unexpected(good.error());
  return ChangeTags(
      call, "EIP", change,
      [this](const std::string& id) {
        const EipRecord* record = store_.Find(id);
        return record && record->eip.status != "Releasing" ? &record->eip.tags : nullptr;
      },
      [this](const std::string& id, Tags tags) { SetTags(id, std::move(tags)); });
}

Outcome VpcProduct::ListTagResources(const Call& call) {
  if (const auto good = CheckRegion(call, true); !good) return std::unexpected(good.error());
  const auto begin = Count(call["NextToken"], 0);
  const auto most = Count(call["MaxResults"], kTagPage);
  if (!begin) return Invalid("NextToken");
  if (!most || *most < 1 || *most > kTagPage) return Invalid("MaxResults");
  const auto records = SelectEips(store_, Numbered(call, "ResourceId"), {}, call);
  if (!records) return std::unexpected(records.error());
  std::size_t total = 0;
  Json list = Json::Array();
  for (const EipRecord* record : *records) {
    for (const auto& [key, value] : record->eip.tags) {
      if (total >= *begin && list.size() < *most) {
        Json entry = Json::Object();
        entry["ResourceType"] = "EIP";
        entry["ResourceId"] = record->eip.allocation_id;
        entry["TagKey"] = key;
        entry["TagValue"] = value;
        list.push_back(std::move(entry));
      }
      ++total;
    }
  }
  Json answer = Json::Object();
  const std::size_t end = *begin + list.size();
  answer["NextToken"] = end < total ? std::to_string(end) : "";
  answer["TagResources"]["TagResource"] = std::move(list);
  return answer;
}

}  // namespace berth::cloud::simulator
