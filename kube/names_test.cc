#include "kube/names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::kube {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

TEST(Names, WhatIsWell) {
  for (const char* name : {"a", "a.b", "0", "a-b.c-1"})
    EXPECT_THAT(SubdomainProblems(name), IsEmpty()) << name;
  for (const char* name : {"a", "a-b", "0"}) EXPECT_THAT(DnsLabelProblems(name), IsEmpty()) << name;
  for (const char* name : {"a", "A_b.C-d", "x.dev/a", "x.dev/A_b"})
    EXPECT_THAT(QualifiedNameProblems(name), IsEmpty()) << name;
  for (const char* value : {"", "a", "A_b.C-d"})
    EXPECT_THAT(LabelValueProblems(value), IsEmpty()) << value;
  for (const char* key : {"a", ".a", "_", "A.b-"})
    EXPECT_THAT(ConfigKeyProblems(key), IsEmpty()) << key;
}

TEST(Names, WhatIsNot) {
  for (const char* name : {"", "A", "a_b", "-a", "a-", "a..b", ".a", "a.", "ä"})
    EXPECT_THAT(SubdomainProblems(name), SizeIs(1)) << name;
  for (const char* name : {"", "a.b", "A", "-"})
    EXPECT_THAT(DnsLabelProblems(name), SizeIs(1)) << name;
  for (const char* name : {"-a", "a b", "/a", "A/b", "a/b/c"})
    EXPECT_THAT(QualifiedNameProblems(name), SizeIs(1)) << name;
  for (const char* name : {"", "a/"}) EXPECT_THAT(QualifiedNameProblems(name), SizeIs(2)) << name;
  for (const char* value : {"-", "a b", "a/b"})
    EXPECT_THAT(LabelValueProblems(value), SizeIs(1)) << value;
  for (const char* key : {"", "a b", "..", "a/b"})
    EXPECT_THAT(ConfigKeyProblems(key), SizeIs(1)) << key;
}

TEST(Names, LengthsAreBounded) {
  EXPECT_THAT(SubdomainProblems(std::string(253, 'a')), IsEmpty());
  EXPECT_THAT(SubdomainProblems(std::string(254, 'a')), SizeIs(1));
  EXPECT_THAT(DnsLabelProblems(std::string(64, 'a')), SizeIs(1));
  EXPECT_THAT(QualifiedNameProblems("x/" + std::string(64, 'a')), SizeIs(1));
  EXPECT_THAT(LabelValueProblems(std::string(64, 'a')), SizeIs(1));
}

}  // namespace
}  // namespace berth::kube
