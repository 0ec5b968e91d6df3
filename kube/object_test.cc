#include "kube/object.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::kube {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

constexpr std::string_view kPool = R"({
  "apiVersion": "plexaubnet.io/v1alpha1", "kind": "SubnetPool",
  "metadata": {
    "name": "office", "namespace": "net", "uid": "u-1", "resourceVersion": "42", "generation": 7,
    "deletionTimestamp": "2026-01-01T00:00:00Z",
    "labels": {"b": "2", "a": "1", "odd": 3}, "annotations": {"note": "long"},
    "finalizers": ["berth.dev/pool", "x"],
    "ownerReferences": [
      {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "u-2"},
      {"apiVersion": "v1", "kind": "Zone", "name": "z1", "uid": "u-3", "controller": true}]},
  "spec": {"cidr": "10.0.0.0/8"}})";

struct Pool {
  Metadata meta;
  std::string cidr;

  static Result<Pool> From(JsonView object) {
    const auto cidr = object["spec"]["cidr"].String();
    if (!cidr) return Terminal("spec.cidr is missing");
    return Pool{ReadMetadata(object), std::string(*cidr)};
  }
};

struct JustMeta {
  Metadata meta;
  static JustMeta From(JsonView object) { return {ReadMetadata(object, Annotations::kRead)}; }
};

TEST(ObjectTest, MetadataIsRead) {
  const auto pool = Decode<Pool>(kPool);
  ASSERT_TRUE(pool) << pool.error().message;
  EXPECT_EQ(pool->cidr, "10.0.0.0/8");
  const Metadata& meta = pool->meta;
  EXPECT_EQ(meta.ns, "net");
  EXPECT_EQ(meta.name, "office");
  EXPECT_EQ(meta.uid, "u-1");
  EXPECT_EQ(meta.resource_version, "42");
  EXPECT_EQ(meta.generation, 7);
  EXPECT_TRUE(meta.deleting);
  EXPECT_THAT(meta.labels, ElementsAre(Pair("a", "1"), Pair("b", "2")));
  EXPECT_THAT(meta.annotations, IsEmpty()) << "nobody asked";
  EXPECT_THAT(meta.finalizers, ElementsAre("berth.dev/pool", "x"));
  ASSERT_EQ(meta.owners.size(), 2u);
  EXPECT_EQ(meta.owners[0].kind, "Node");
  EXPECT_EQ(meta.owners[0].name, "n1");
  EXPECT_EQ(meta.owners[0].uid, "u-2");
  EXPECT_FALSE(meta.owners[0].controller);
  EXPECT_TRUE(meta.owners[1].controller);
}

TEST(ObjectTest, FromMayReturnAPlainValueAndADocumentServesMany) {
  JsonDocument document;
  EXPECT_THAT(Decode<JustMeta>(document, kPool)->meta.annotations,
              ElementsAre(Pair("note", "long")));
  EXPECT_EQ(Decode<JustMeta>(document, R"({"metadata":{"name":"other"}})")->meta.name, "other");
}

TEST(ObjectTest, WhatIsAbsentIsEmpty) {
  for (const char* json : {"{}", R"({"metadata":null})", R"({"metadata":{"labels":[],
         "finalizers":"x","ownerReferences":{},"generation":"7","deletionTimestamp":null}})"}) {
    const auto object = Decode<JustMeta>(json);
    ASSERT_TRUE(object);
    EXPECT_EQ(object->meta.name, "");
    EXPECT_EQ(object->meta.generation, 0);
    EXPECT_FALSE(object->meta.deleting);
    EXPECT_THAT(object->meta.labels, IsEmpty());
    EXPECT_THAT(object->meta.finalizers, IsEmpty());
    EXPECT_THAT(object->meta.owners, IsEmpty());
  }
}

TEST(ObjectTest, ErrorsComeThrough) {
  EXPECT_EQ(Decode<Pool>("{}").error().message, "spec.cidr is missing");
  EXPECT_FALSE(Decode<Pool>("{"));
}

}  // namespace
}  // namespace berth::kube
