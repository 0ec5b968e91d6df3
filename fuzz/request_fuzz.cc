// Any text as the target of a request, as a selector and as an Accept header. Parameters read as
// they were encoded, and a selector that is taken leaves out nothing of its text.
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/require.h"
#include "kube/accept.h"
#include "kube/list_options.h"
#include "kube/names.h"
#include "kube/selector.h"

namespace {

using namespace berth::kube;

std::string Encode(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    out.append({'%', kDigits[byte >> 4], kDigits[byte & 15]});
  }
  return out;
}

void CheckTarget(const RequestTarget& target) {
  Require(target.path.size() <= RequestTarget::kMaxParts, "segments are bounded");
  Require(target.query.size() <= RequestTarget::kMaxParts, "parameters are bounded");
  std::string written;
  for (const std::string& segment : target.path) written += "/" + Encode(segment);
  written += "?";
  for (const auto& [name, value] : target.query)
    written += Encode(name) + "=" + Encode(value) + "&";
  const auto again = RequestTarget::Parse(written);
  Require(again && again->path == target.path && again->query == target.query,
          "an encoded target reads as the same target");
  static_cast<void>(ReadLimit(target));
  static_cast<void>(ReadVersion(target));
  static_cast<void>(CheckListMatch(target));
  static_cast<void>(CheckWatchMatch(target));
  static_cast<void>(CheckContinue(target));
}

bool SelectsEverything(std::string_view text, std::string_view nothing) {
  return text.find_first_not_of(nothing) == text.npos;
}

// `parse` reads a selector of labels or of fields; `nothing` are the characters that may stand in
// one that selects everything.
void CheckSelector(std::string_view text, std::string_view nothing, auto parse) {
  const auto selector = parse(text);
  if (!selector) return;
  Require(selector->empty() == SelectsEverything(text, nothing), "no requirement is left out");
  if (selector->empty()) return;
  for (const std::string& key : {"a", "metadata.name", "status.phase"}) {
    const std::string* value = selector->ExactValue(key);
    Require(!value || !selector->Matches(Labels{{key, *value + "x"}}), "another value is no match");
    Require(!value || !selector->Matches(Labels{}), "no value is no match");
  }
  const auto twice = parse(std::string(text) + "," + std::string(text));
  if (!twice) return;  // too many requirements
  for (const Labels& labels : {Labels{}, Labels{{"a", "b"}}, Labels{{"metadata.name", "x"}}}) {
    Require(selector->Matches(labels) == twice->Matches(labels),
            "a repeated requirement changes nothing");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto target = RequestTarget::Parse(text)) CheckTarget(*target);
  CheckSelector(text, " \t\r\n", [](std::string_view s) { return Selector::ParseLabels(s); });
  CheckSelector(text, ",",
                [](std::string_view s) { return Selector::ParseFields(s, {"status.phase"}); });
  static_cast<void>(NegotiateForm(text));
  static_cast<void>(WantsAggregatedDiscovery(text));
  Require(size > 63 || !SubdomainProblems(text).empty() || QualifiedNameProblems(text).empty(),
          "a short subdomain is a qualified name");
  return 0;
}
