#include "kube/object.h"

#include <gtest/gtest.h>

namespace berth::kube {
namespace {

struct Pool {
  std::string cidr;

  static Result<Pool> From(JsonView object) {
    const auto cidr = object["spec"]["cidr"].String();
    if (!cidr) return Terminal("spec.cidr is missing");
    return Pool{std::string(*cidr)};
  }
};

struct JustName {
  std::string name;
  static JustName From(JsonView object) {
    return {std::string(object["metadata"]["name"].StringOr(""))};
  }
};

TEST(ObjectTest, FromPicksWhatItNeeds) {
  EXPECT_EQ(Decode<Pool>(R"({"spec":{"cidr":"10.0.0.0/8"}})")->cidr, "10.0.0.0/8");
}

TEST(ObjectTest, FromMayReturnAPlainValueAndADocumentServesMany) {
  JsonDocument document;
  EXPECT_EQ(Decode<JustName>(document, R"({"metadata":{"name":"one"}})")->name, "one");
  EXPECT_EQ(Decode<JustName>(document, R"({"metadata":{"name":"other"}})")->name, "other");
}

TEST(ObjectTest, ErrorsComeThrough) {
  EXPECT_EQ(Decode<Pool>("{}").error().message, "spec.cidr is missing");
  EXPECT_FALSE(Decode<Pool>("{"));
}

}  // namespace
}  // namespace berth::kube
