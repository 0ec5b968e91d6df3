#include "kube/memory/pattern.h"

#include <gtest/gtest.h>

namespace berth::kube::memory {
namespace {

bool Matches(std::string_view pattern, std::string_view text) {
  const auto parsed = Pattern::Parse(pattern);
  EXPECT_TRUE(parsed) << pattern << ": " << parsed.error();
  return parsed && parsed->Matches(text);
}

TEST(Pattern, MatchesAnywhereUnlessAnchored) {
  EXPECT_TRUE(Matches("b.d", "abide"));
  EXPECT_FALSE(Matches("b.d", "bd"));
  EXPECT_FALSE(Matches("^b", "ab"));
  EXPECT_FALSE(Matches("b$", "ba"));
  EXPECT_TRUE(Matches("^$", ""));
  EXPECT_FALSE(Matches("^$", "a"));
  EXPECT_TRUE(Matches("", "anything"));
  EXPECT_TRUE(Matches("^a|b$", "ax"));
  EXPECT_TRUE(Matches("^a|b$", "xb"));
  EXPECT_FALSE(Matches("^a|b$", "xax"));
  EXPECT_TRUE(Matches("^(a|b)*$", ""));
}

TEST(Pattern, Repetitions) {
  for (const char* text : {"abc-12", "abc", "a-123"})
    EXPECT_TRUE(Matches("^[a-z]+(-[0-9]{2,3})?$", text)) << text;
  for (const char* text : {"abc-1", "-12", "abc-1234", ""})
    EXPECT_FALSE(Matches("^[a-z]+(-[0-9]{2,3})?$", text)) << text;
  EXPECT_TRUE(Matches("^(ab){2}$", "abab"));
  EXPECT_FALSE(Matches("^(ab){2}$", "ab"));
  EXPECT_TRUE(Matches("^a{2,}$", "aaaa"));
  EXPECT_FALSE(Matches("^a{2,}$", "a"));
  EXPECT_TRUE(Matches("^a{0,2}$", ""));
  EXPECT_FALSE(Matches("^a{0,2}$", "aaa"));
  EXPECT_TRUE(Matches("^a{0}b$", "b"));
  EXPECT_TRUE(Matches("^a{,2}$", "a{,2}"));  // no repetition, as in Go
  EXPECT_TRUE(Matches("^a+?b*?$", "aab"));
}

TEST(Pattern, Classes) {
  EXPECT_TRUE(Matches(R"(^[\w.-]+$)", "a_b.c-d"));
  EXPECT_TRUE(Matches(R"(^[]a]+$)", "]a"));
  EXPECT_TRUE(Matches(R"(^[^a-c]$)", "ä"));
  EXPECT_FALSE(Matches(R"(^[^a-c]$)", "b"));
  EXPECT_TRUE(Matches(R"(^\d\D\s\S$)", "1a b"));
  EXPECT_TRUE(Matches("^[[:alpha:]]{3}$", "abC"));
  EXPECT_TRUE(Matches(R"(^\.\/\-$)", "./-"));
  EXPECT_TRUE(Matches("^.$", "€"));
  EXPECT_FALSE(Matches("^.$", "\n"));
  EXPECT_TRUE(Matches(R"(^\p{L}+$)", "äß"));
  EXPECT_TRUE(Matches("(?i)^abc$", "aBC"));
  EXPECT_FALSE(Matches(R"(\bx\b)", "axa"));
}

TEST(Pattern, ErrorsAreGos) {
  EXPECT_EQ(Pattern::Parse("(").error(), "error parsing regexp: missing closing ): `(`");
  EXPECT_EQ(Pattern::Parse("a)").error(), "error parsing regexp: unexpected ): `a)`");
  EXPECT_EQ(Pattern::Parse("*").error(),
            "error parsing regexp: missing argument to repetition operator: `*`");
  EXPECT_EQ(Pattern::Parse("[a").error(), "error parsing regexp: missing closing ]: `[a`");
  EXPECT_EQ(Pattern::Parse("a{2,1}").error(),
            "error parsing regexp: invalid repeat count: `{2,1}`");
  EXPECT_EQ(Pattern::Parse("[b-a]").error(),
            "error parsing regexp: invalid character class range: `b-a`");
  EXPECT_EQ(Pattern::Parse("a**").error(),
            "error parsing regexp: invalid nested repetition operator: `**`");
  EXPECT_EQ(Pattern::Parse("\\y").error(), "error parsing regexp: invalid escape sequence: `\\y`");
  EXPECT_EQ(Pattern::Parse("\\").error(),
            "error parsing regexp: trailing backslash at end of expression: ``");
  EXPECT_EQ(Pattern::Parse("(?=a)").error(),
            "error parsing regexp: invalid or unsupported Perl syntax: `(?=`");
  EXPECT_EQ(Pattern::Parse("(?P<>a)").error(),
            "error parsing regexp: invalid named capture: `(?P<>`");
  EXPECT_EQ(Pattern::Parse("((a{1000}){1000})").error(),
            "error parsing regexp: invalid repeat count: `{1000}`");
  // Within Go's limit, beyond ours.
  EXPECT_EQ(Pattern::Parse("(\\pL{1000}|\\pN{1000}|\\pS{1000})").error(),
            "error parsing regexp: expression too large: ``");
}

TEST(Pattern, LongTextsTakeNoStackAndNoTime) {
  const std::string text(1 << 20, 'a');
  EXPECT_TRUE(Matches("^(a|aa)*$", text));
  EXPECT_FALSE(Matches("^(a|aa)+b$", text));
}

}  // namespace
}  // namespace berth::kube::memory
