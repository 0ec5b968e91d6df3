#include "kube/list_options.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "log/format.h"

namespace berth::kube {
namespace {

// The number, or Go's words for what is wrong with it.
template <typename Number>
std::expected<Number, std::string> ParseAsGo(std::string_view text, std::string_view function) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = !text.empty() && end == text.data() + text.size();
  if (whole && error == std::errc{}) return number;
  return std::unexpected(Format(
      "strconv.{}: parsing \"{}\": {}", function, text,
      whole && error == std::errc::result_out_of_range ? "value out of range" : "invalid syntax"));
}

StatusCause ForbiddenMatch(std::string_view why) {
  return {"FieldValueForbidden", Format("Forbidden: {}", why), "resourceVersionMatch"};
}

StatusCause UnsupportedMatch(std::string_view match, std::string_view supported) {
  return {"FieldValueNotSupported",
          Format("Unsupported value: \"{}\": supported values: {}", match, supported),
          "resourceVersionMatch"};
}

std::expected<void, Status> Checked(std::vector<StatusCause> causes) {
  if (causes.empty()) return {};
  return std::unexpected(Invalid("ListOptions", "meta.k8s.io", "", std::move(causes)));
}

}  // namespace

std::expected<std::size_t, Status> ReadLimit(const RequestTarget& target) {
  const std::string_view text = target.Parameter("limit");
  if (text.empty()) return 0;
  const auto limit = ParseAsGo<std::int64_t>(text, "ParseInt");
  if (!limit) return std::unexpected(BadRequest(limit.error()));
  return static_cast<std::size_t>(std::max<std::int64_t>(*limit, 0));
}

std::expected<std::optional<std::uint64_t>, std::string> ReadVersion(const RequestTarget& target) {
  const std::string_view text = target.Parameter("resourceVersion");
  if (text.empty()) return std::nullopt;
  const auto version = ParseAsGo<std::uint64_t>(text, "ParseUint");
  if (!version)
    return std::unexpected(
        Format("resourceVersion: Invalid value: \"{}\": {}", text, version.error()));
  return *version;
}

Status NotAListVersion(const std::string& problem) {
  return BadRequest("invalid resource version: " + problem);
}

// Without a reason, as kube-apiserver's unexpected errors are.
Status NotAVersion(const std::string& problem) { return {500, "", problem, {}, {}}; }

Status TooLargeVersion(std::uint64_t asked, std::uint64_t current) {
  Status status{504,
                "Timeout",
                Format("Timeout: Too large resource version: {}, current: {}", asked, current),
                {},
                {}};
  status.details.causes.push_back({"ResourceVersionTooLarge", "Too large resource version", {}});
  status.details.retry_after_seconds = 1;
  return status;
}

std::expected<void, Status> CheckListMatch(const RequestTarget& target) {
  const std::string_view match = target.Parameter("resourceVersionMatch");
  const std::string_view version = target.Parameter("resourceVersion");
  std::vector<StatusCause> causes;
  if (!target.Parameter("sendInitialEvents").empty()) {
    causes.push_back({"FieldValueForbidden", "Forbidden: sendInitialEvents is forbidden for list",
                      "sendInitialEvents"});
  }
  if (match.empty()) return Checked(std::move(causes));
  if (version.empty()) {
    causes.push_back(
        ForbiddenMatch("resourceVersionMatch is forbidden unless resourceVersion is provided"));
  }
  if (!target.Parameter("continue").empty()) {
    causes.push_back(ForbiddenMatch("resourceVersionMatch is forbidden when continue is provided"));
  }
  if (match != "Exact" && match != "NotOlderThan")
    causes.push_back(UnsupportedMatch(match, R"("Exact", "NotOlderThan", "")"));
  if (match == "Exact" && version == "0") {
    causes.push_back(
        ForbiddenMatch(R"(resourceVersionMatch "exact" is forbidden for resourceVersion "0")"));
  }
  return Checked(std::move(causes));
}

std::expected<void, Status> CheckWatchMatch(const RequestTarget& target) {
  const std::string_view match = target.Parameter("resourceVersionMatch");
  const std::string_view initial = target.Parameter("sendInitialEvents");
  std::vector<StatusCause> causes;
  if (initial.empty() && !match.empty()) {
    causes.push_back(ForbiddenMatch(
        "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"));
  }
  if (!initial.empty() && match != "NotOlderThan") {
    causes.push_back(
        ForbiddenMatch("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"));
    if (!match.empty()) causes.push_back(UnsupportedMatch(match, R"("NotOlderThan")"));
  }
  return Checked(std::move(causes));
}

std::expected<void, Status> CheckContinue(const RequestTarget& target) {
  const std::string_view version = target.Parameter("resourceVersion");
  if (target.Parameter("continue").empty() || version.empty() || version == "0") return {};
  return std::unexpected(
      BadRequest("specifying resource version is not allowed when using continue"));
}

}  // namespace berth::kube
