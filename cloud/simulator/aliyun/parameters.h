#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cloud/simulator/aliyun/product.h"
#include "cloud/vpc.h"

// A call's parameters, read as the cloud reads them.
namespace berth::cloud::simulator {

// Refuses a call to another region, and one that names none where it must.
Check CheckRegion(const Call& call, const std::string& region, bool mandatory);
// At most so many characters, and no URL.
bool IsText(std::string_view text, std::size_t most);
// "ResourceId.1", "ResourceId.2", … up to the first that is absent.
std::vector<std::string> Numbered(const Call& call, const std::string& name);
// "Tag.1.Key", "Tag.1.Value", …; a refusal when the cloud would not take them as tags.
std::expected<Tags, Refusal> NumberedTags(const Call& call);
// True or false, as any SDK spells it: "true", "True", "1". None where it is not given, a refusal
// when it is neither.
std::expected<std::optional<bool>, Refusal> Flag(const Call& call, const std::string& name);
// The last check of an action that has DryRun: with it, a call that could be carried out is refused
// for that reason.
Check CheckDryRun(const Call& call);
// "a,b,c".
std::vector<std::string> CommaSeparated(const std::string& text);
// A whole number; `otherwise` where the parameter is not given. None when it is no number.
std::optional<std::size_t> Count(const std::string& text, std::size_t otherwise);
// PageNumber and PageSize.
struct Page {
  std::size_t number = 1;
  std::size_t size = 0;

  // Whether the item at `index`, counted from 0, is on it.
  bool Has(std::size_t index) const { return index / size == number - 1; }
};
// Products differ in the size of a page that the call does not give.
std::expected<Page, Refusal> PageOf(const Call& call, std::size_t largest,
                                    std::size_t otherwise = 10);
// The answer of a list, still without the items.
Json PagedAnswer(const Page& page, std::size_t total);
// Whether a type of resource, in whatever case, is the one wanted.
bool IsResource(std::string_view type, std::string_view wanted);

}  // namespace berth::cloud::simulator
