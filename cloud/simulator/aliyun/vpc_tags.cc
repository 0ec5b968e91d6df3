// The calls of VpcProduct about tags.
#include <utility>

#include "cloud/simulator/aliyun/eip_list.h"
#include "cloud/simulator/aliyun/parameters.h"
#include "cloud/simulator/aliyun/vpc.h"

namespace berth::cloud::simulator {
namespace {

constexpr std::size_t kMostTags = 20;
constexpr std::size_t kMostTagged = 50;  // resources of one TagResources
constexpr std::size_t kTagPage = 50;

}  // namespace

Outcome VpcProduct::TagResources(const Call& call) {
  const auto records = ToTag(call);
  if (!records) return std::unexpected(records.error());
  const auto tags = NumberedTags(call);
  if (!tags) return std::unexpected(tags.error());
  if (tags->empty()) {
    return Refuse(400, "MissingParameter.TagKey", "You must specify Tag.N.Key.");
  }
  // All or none.
  for (const EipRecord* record : *records) {
    Tags merged = *tags;
    merged.insert(record->eip.tags.begin(), record->eip.tags.end());
    if (merged.size() > kMostTags) {
      return Refuse(400, "QuotaExceed.TagsPerResource",
                    "The maximum number of tags for each resource is exceeded.");
    }
  }
  for (const EipRecord* record : *records) {
    Tags merged = *tags;
    merged.insert(record->eip.tags.begin(), record->eip.tags.end());
    SetTags(record->eip.allocation_id, std::move(merged));
  }
  return Json::Object();
}

Outcome VpcProduct::UntagResources(const Call& call) {
  const auto records = ToTag(call);
  if (!records) return std::unexpected(records.error());
  const auto keys = Numbered(call, "TagKey");
  const auto all_keys = Flag(call, "All");
  if (!all_keys) return std::unexpected(all_keys.error());
  const bool all = keys.empty() && all_keys->value_or(false);
  if (keys.empty() && !all) {
    return Refuse(400, "MissingParameter.TagKey", "You must specify TagKey.");
  }
  for (const EipRecord* record : *records) {
    Tags left = all ? Tags() : record->eip.tags;
    for (const std::string& key : keys) left.erase(key);
    SetTags(record->eip.allocation_id, std::move(left));
  }
  return Json::Object();
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

std::expected<std::vector<const EipRecord*>, Refusal> VpcProduct::ToTag(const Call& call) const {
  if (const auto good = CheckRegion(call, true); !good) return std::unexpected(good.error());
  if (!IsResource(call["ResourceType"], "EIP")) {
    return Refuse(404, "InvalidResourceType.NotFound",
                  "The ResourceType provided does not exist in our records.");
  }
  const auto ids = Numbered(call, "ResourceId");
  if (ids.empty()) {
    return Refuse(400, "MissingParameter.ResourceId", "You must specify ResourceId.N.");
  }
  if (ids.size() > kMostTagged) {
    return Refuse(400, "NumberExceed.ResourceIds",
                  "The maximum number of ResourceIds is exceeded.");
  }
  std::vector<const EipRecord*> records;
  for (const std::string& id : ids) {
    const EipRecord* record = store_.Find(id);
    if (!record || record->eip.status == "Releasing") {
      return Refuse(404, "InvalidResourceId.NotFound",
                    "The specified ResourceIds are not found in our records.");
    }
    records.push_back(record);
  }
  return records;
}

}  // namespace berth::cloud::simulator
