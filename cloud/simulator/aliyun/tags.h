#pragma once

#include <array>
#include <expected>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cloud/account.h"
#include "cloud/simulator/aliyun/product.h"

// Tags of resources, which all products keep alike.
namespace berth::cloud::simulator {

// The IDs of resources by their tags. O(log n) for a tag.
class TagIndex {
 public:
  void Add(const std::string& id, const Tags& tags);
  void Remove(const std::string& id, const Tags& tags);
  // Resources with the tag, any value if `value` is empty. By value, then by ID.
  std::vector<std::string> With(const std::string& key, const std::string& value) const;

 private:
  std::set<std::array<std::string, 3>> tags_;  // key, value, ID
};

// True if there is every tag that the call's Tag.N filters by.
bool HasEveryTag(const Tags& tags, const Call& call);
// {"Tag": [...]}, with the names that the product gives to key and value.
Json DescribeTags(const Tags& tags, const char* key_name = "Key", const char* value_name = "Value");

// The tags of a resource after TagResources, and after UntagResources.
using TagChange = std::expected<Tags, Refusal> (*)(const Tags& tags, const Call& call);
std::expected<Tags, Refusal> TagsAdded(const Tags& tags, const Call& call);
std::expected<Tags, Refusal> TagsRemoved(const Tags& tags, const Call& call);
// Carries out either for resources of a type, all or none. `find` has the tags of a resource, null
// for none; `set` replaces them.
Outcome ChangeTags(const Call& call, std::string_view type, TagChange change,
                   const std::function<const Tags*(const std::string& id)>& find,
                   const std::function<void(const std::string& id, Tags)>& set);

}  // namespace berth::cloud::simulator
