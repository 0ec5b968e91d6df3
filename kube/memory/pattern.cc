#include "kube/memory/pattern.h"

#include <re2/re2.h>

#include "log/format.h"

namespace berth::kube::memory {
namespace {

// The words of Go's regexp/syntax.
std::string_view Words(RE2::ErrorCode code) {
  switch (code) {
    case RE2::ErrorBadEscape:
      return "invalid escape sequence";
    case RE2::ErrorBadCharClass:
      return "invalid character class";
    case RE2::ErrorBadCharRange:
      return "invalid character class range";
    case RE2::ErrorMissingBracket:
      return "missing closing ]";
    case RE2::ErrorMissingParen:
      return "missing closing )";
    case RE2::ErrorUnexpectedParen:
      return "unexpected )";
    case RE2::ErrorTrailingBackslash:
      return "trailing backslash at end of expression";
    case RE2::ErrorRepeatArgument:
      return "missing argument to repetition operator";
    case RE2::ErrorRepeatSize:
      return "invalid repeat count";
    case RE2::ErrorRepeatOp:
      return "invalid nested repetition operator";
    case RE2::ErrorBadPerlOp:
      return "invalid or unsupported Perl syntax";
    case RE2::ErrorBadUTF8:
      return "invalid UTF-8";
    case RE2::ErrorBadNamedCapture:
      return "invalid named capture";
    default:
      return "expression too large";
  }
}

}  // namespace

std::expected<Pattern, std::string> Pattern::Parse(std::string_view text) {
  RE2::Options options;
  options.set_max_mem(kMaxBytes);
  options.set_log_errors(false);
  auto compiled = std::make_shared<const RE2>(text, options);
  if (compiled->ok()) return Pattern(std::move(compiled));
  return std::unexpected(Format("error parsing regexp: {}: `{}`", Words(compiled->error_code()),
                                compiled->error_arg()));
}

bool Pattern::Matches(std::string_view text) const { return RE2::PartialMatch(text, *compiled_); }

}  // namespace berth::kube::memory
