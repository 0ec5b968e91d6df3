#include "cloud/simulator/aliyun/tags.h"

#include <map>
#include <utility>

#include "cloud/simulator/aliyun/parameters.h"
#include "log/format.h"

namespace berth::cloud::simulator {
namespace {

constexpr std::size_t kMostTags = 20;
constexpr std::size_t kMostTagged = 50;  // resources of one TagResources

bool HasTag(const Tags& tags, const std::string& key, const std::string& value) {
  const auto found = tags.find(key);
  return found != tags.end() && (value.empty() || found->second == value);
}

// The resources that ResourceId.N name.
std::expected<std::vector<std::string>, Refusal> ResourcesToTag(const Call& call,
                                                                std::string_view type) {
  if (!IsResource(call["ResourceType"], type)) {
    return Refuse(404, "InvalidResourceType.NotFound",
                  "The ResourceType provided does not exist in our records.");
  }
  auto ids = Numbered(call, "ResourceId");
  if (ids.empty()) {
    return Refuse(400, "MissingParameter.ResourceId", "You must specify ResourceId.N.");
  }
  if (ids.size() > kMostTagged) {
    return Refuse(400, "NumberExceed.ResourceIds",
                  "The maximum number of ResourceIds is exceeded.");
  }
  return ids;
}

}  // namespace

void TagIndex::Add(const std::string& id, const Tags& tags) {
  for (const auto& [key, value] : tags) tags_.insert({key, value, id});
}

void TagIndex::Remove(const std::string& id, const Tags& tags) {
  for (const auto& [key, value] : tags) tags_.erase({key, value, id});
}

std::vector<std::string> TagIndex::With(const std::string& key, const std::string& value) const {
  std::vector<std::string> ids;
  for (auto tag = tags_.lower_bound({key, value, ""}); tag != tags_.end(); ++tag) {
    if ((*tag)[0] != key || (!value.empty() && (*tag)[1] != value)) break;
    ids.push_back((*tag)[2]);
  }
  return ids;
}

bool HasEveryTag(const Tags& tags, const Call& call) {
  for (int n = 1; call.Has(Format("Tag.{}.Key", n)); ++n) {
    if (!HasTag(tags, call[Format("Tag.{}.Key", n)], call[Format("Tag.{}.Value", n)])) return false;
  }
  return true;
}

Json DescribeTags(const Tags& tags, const char* key_name, const char* value_name) {
  Json list = Json::Array();
  for (const auto& [key, value] : tags) {
    Json tag;
    tag[key_name] = key;
    tag[value_name] = value;
    list.push_back(std::move(tag));
  }
  Json described;
  described["Tag"] = std::move(list);
  return described;
}

std::expected<Tags, Refusal> TagsAdded(const Tags& tags, const Call& call) {
  auto merged = NumberedTags(call);
  if (!merged) return merged;
  if (merged->empty()) {
    return Refuse(400, "MissingParameter.TagKey", "You must specify Tag.N.Key.");
  }
  merged->insert(tags.begin(), tags.end());
  if (merged->size() > kMostTags) {
    return Refuse(400, "QuotaExceed.TagsPerResource",
                  "The maximum number of tags for each resource is exceeded.");
  }
  return merged;
}

std::expected<Tags, Refusal> TagsRemoved(const Tags& tags, const Call& call) {
  const auto keys = Numbered(call, "TagKey");
  const auto all_keys = Flag(call, "All");
  if (!all_keys) return std::unexpected(all_keys.error());
  const bool all = keys.empty() && all_keys->value_or(false);
  if (keys.empty() && !all) {
    return Refuse(400, "MissingParameter.TagKey", "You must specify TagKey.");
  }
  Tags left = all ? Tags() : tags;
  for (const std::string& key : keys) left.erase(key);
  return left;
}

Outcome ChangeTags(const Call& call, std::string_view type, TagChange change,
                   const std::function<const Tags*(const std::string& id)>& find,
                   const std::function<void(const std::string& id, Tags)>& set) {
  const auto ids = ResourcesToTag(call, type);
  if (!ids) return std::unexpected(ids.error());
  std::map<std::string, Tags> changed;
  for (const std::string& id : *ids) {
    const Tags* tags = find(id);
    if (!tags) {
      return Refuse(404, "InvalidResourceId.NotFound",
                    "The specified ResourceIds are not found in our records.");
    }
    auto after = change(*tags, call);
    if (!after) return std::unexpected(after.error());
    changed.emplace(id, std::move(*after));
  }
  for (auto& [id, tags] : changed) set(id, std::move(tags));
  return Json::Object();
}

}  // namespace berth::cloud::simulator
