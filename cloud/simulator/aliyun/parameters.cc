#include "cloud/simulator/aliyun/parameters.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <ranges>
#include <string_view>

#include "log/format.h"

namespace berth::cloud::simulator {
namespace {

constexpr std::size_t kMostTags = 20;
constexpr std::size_t kLongestTag = 128;

// As people count, not bytes.
std::size_t Characters(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace

Check CheckRegion(const Call& call, const std::string& region, bool mandatory) {
  const std::string& named = call["RegionId"];
  if (named.empty() && mandatory) return Missing("RegionId");
  if (named.empty() || named == region) return {};
  return Refuse(404, "InvalidRegionId.NotFound",
                "The specified RegionId does not exist in our records.");
}

bool IsText(std::string_view text, std::size_t most) {
  return Characters(text) <= most && !text.starts_with("http://") && !text.starts_with("https://");
}

std::vector<std::string> Numbered(const Call& call, const std::string& name) {
  std::vector<std::string> values;
  for (int n = 1;; ++n) {
    const std::string& value = call[Format("{}.{}", name, n)];
    if (value.empty()) return values;
    values.push_back(value);
  }
}

std::expected<Tags, Refusal> NumberedTags(const Call& call) {
  Tags tags;
  for (std::size_t n = 1; call.Has(Format("Tag.{}.Key", n)); ++n) {
    if (n > kMostTags) {
      return Refuse(400, "NumberExceed.Tags", "The maximum number of Tags is exceeded.");
    }
    const std::string& key = call[Format("Tag.{}.Key", n)];
    const std::string& value = call[Format("Tag.{}.Value", n)];
    if (key.empty() || !IsText(key, kLongestTag) || key.starts_with("aliyun") ||
        key.starts_with("acs:")) {
      return Refuse(400, "InvalidTagKey.Malformed", "The specified Tag.n.Key is not valid.");
    }
    if (!IsText(value, kLongestTag)) {
      return Refuse(400, "InvalidTagValue.Malformed", "The specified Tag.n.Value is not valid.");
    }
    if (!tags.emplace(key, value).second) {
      return Refuse(400, "Duplicate.TagKey", "The Tag.N.Key contains duplicate keys.");
    }
  }
  return tags;
}

std::expected<std::optional<bool>, Refusal> Flag(const Call& call, const std::string& name) {
  std::string value = call[name];
  std::ranges::transform(value, value.begin(), [](unsigned char c) { return std::tolower(c); });
  if (value.empty()) return std::nullopt;
  if (value == "true" || value == "1") return true;
  if (value == "false" || value == "0") return false;
  return Invalid(name);
}

Check CheckDryRun(const Call& call) {
  const auto dry_run = Flag(call, "DryRun");
  if (!dry_run) return std::unexpected(dry_run.error());
  if (!dry_run->value_or(false)) return {};
  return Refuse(400, "DryRunOperation", "Request validation has been passed with DryRun flag set.");
}

std::vector<std::string> CommaSeparated(const std::string& text) {
  std::vector<std::string> parts;
  for (const auto part : std::views::split(text, ',')) {
    if (!part.empty()) parts.emplace_back(part.begin(), part.end());
  }
  return parts;
}

std::optional<std::size_t> Count(const std::string& text, std::size_t otherwise) {
  if (text.empty()) return otherwise;
  std::size_t number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number).ptr;
  if (end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::expected<Page, Refusal> PageOf(const Call& call, std::size_t largest, std::size_t otherwise) {
  const auto size = Count(call["PageSize"], otherwise);
  const auto number = Count(call["PageNumber"], 1);
  if (!size || *size < 1 || *size > largest) return Invalid("PageSize");
  if (!number || *number < 1) return Invalid("PageNumber");
  return Page{.number = *number, .size = *size};
}

Json PagedAnswer(const Page& page, std::size_t total) {
  Json answer;
  answer["TotalCount"] = total;
  answer["PageNumber"] = page.number;
  answer["PageSize"] = page.size;
  return answer;
}

bool IsResource(std::string_view type, std::string_view wanted) {
  return std::ranges::equal(type, wanted, [](char a, char b) { return (a | 0x20) == (b | 0x20); });
}

}  // namespace berth::cloud::simulator
