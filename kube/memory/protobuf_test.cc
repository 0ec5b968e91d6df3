#include "kube/memory/protobuf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/memory/conformance/body_text.h"
#include "kube/memory/protobuf_schema.h"

// Objects that kube-apiserver takes are in conformance/bodies.scenario; here is the rest.
namespace berth::kube::memory {
namespace {

using conformance::ProtobufText;
using testing::HasSubstr;

std::string Decoded(const std::string& body) {
  const auto read = ReadProtobuf(body);
  if (!read) return read.error();
  const auto object = DecodeProtobuf(*read);
  return object ? object->to_string() : object.error();
}

std::string DecodedText(std::string_view text) { return Decoded(ProtobufText::Encode(text)); }

TEST(Protobuf, EveryKindOfTheTablesIsRead) {
  for (const auto& [api_version, kind] :
       {std::pair("v1", "ConfigMap"), std::pair("v1", "Secret"), std::pair("v1", "Namespace"),
        std::pair("v1", "ServiceAccount"), std::pair("v1", "Event"), std::pair("v1", "Pod"),
        std::pair("v1", "Service"), std::pair("v1", "Node"), std::pair("events.k8s.io/v1", "Event"),
        std::pair("coordination.k8s.io/v1", "Lease"),
        std::pair("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
        std::pair("authorization.k8s.io/v1", "SelfSubjectAccessReview"),
        std::pair("authentication.k8s.io/v1", "TokenReview"),
        std::pair("policy/v1", "DeleteOptions")}) {
    EXPECT_TRUE(FindProtobufKind(api_version, kind)) << kind;
  }
  EXPECT_FALSE(FindProtobufKind("v1", "ObjectMeta/"));
  EXPECT_THAT(DecodedText("apps/v1 Deployment { }"), HasSubstr("as JSON only"));
}

TEST(Protobuf, APodKeepsWhatIsInlineAndWhatIsOneOfTwoTypes) {
  EXPECT_EQ(DecodedText(R"(v1 Pod { 1 { 1 "p" } 2 {
    1 { 1 "config" 2 { 19 { 1 { 1 "map" } 3 420 } } }
    2 { 1 "main" 2 "image" 6 { 1 "" 2 0 3 80 4 "TCP" } 8 { 1 { 1 "cpu" 2 { 1 "500m" } } }
        10 { 1 { 2 { 1 "/" 2 { 1 1 2 0 3 "http" } } } 2 5 } 11 { 1 { 3 { 1 { 1 0 2 8080 3 "" } } } }
        15 { 4 0 5 1 } }
    4 30 14 { 4 1000 4 2000 } } })"),
            R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[)"
            R"({"image":"image","livenessProbe":{"httpGet":{"path":"/","port":"http"},)"
            R"("initialDelaySeconds":5},"name":"main","ports":[{"containerPort":80,)"
            R"("protocol":"TCP"}],"readinessProbe":{"tcpSocket":{"port":8080}},)"
            R"("resources":{"limits":{"cpu":"500m"}},"securityContext":{"runAsNonRoot":true,)"
            R"("runAsUser":0}}],"securityContext":{"supplementalGroups":[1000,2000]},)"
            R"("terminationGracePeriodSeconds":30,"volumes":[{"configMap":{"defaultMode":420,)"
            R"("name":"map"},"name":"config"}]}})");
}

TEST(Protobuf, FieldsThatTheTablesLackAreLeftOut) {
  EXPECT_EQ(DecodedText(R"(v1 ConfigMap { 1 { 1 "a" 17 { 1 "kubectl" } 99 7 } 77 "x" })"),
            R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}})");
}

TEST(Protobuf, OfAKeyThatIsThereTwiceTheLastCounts) {
  EXPECT_THAT(DecodedText(R"(v1 ConfigMap { 2 { 1 "k" 2 "a" } 2 { 1 "j" } 2 { 1 "k" 2 "b" } })"),
              HasSubstr(R"("data":{"j":"","k":"b"})"));
}

TEST(Protobuf, MalformedBytesAreRefused) {
  const std::string good = ProtobufText::Encode(R"(v1 ConfigMap { 1 { 1 "name" } })");
  for (std::size_t cut = 1; cut < 10; ++cut)
    EXPECT_EQ(Decoded(good.substr(0, good.size() - cut)), "unexpected EOF") << cut;
  EXPECT_THAT(DecodedText(R"(v1 ConfigMap { 1 7 })"), HasSubstr("wrong wireType"));
  EXPECT_THAT(DecodedText("v1 ConfigMap { 1 { 1 \"\xff\" } }"), HasSubstr("invalid UTF-8"));
  EXPECT_THAT(DecodedText(R"(v1 ConfigMap { 1 { 8 { 1 999999999999 } } })"),
              HasSubstr("no such time"));
  EXPECT_THAT(DecodedText(R"(v1 ConfigMap { 2 "nothing" })"), HasSubstr("malformed"));
}

TEST(Protobuf, SchemasNestOnlySoDeep) {
  std::string schema = "{ }";
  for (int i = 0; i < 100; ++i) schema = "{ 28 " + schema + " }";
  EXPECT_THAT(DecodedText("apiextensions.k8s.io/v1 CustomResourceDefinition { 2 { 7 { 4 { 1 " +
                          schema + " } } } }"),
              HasSubstr("nested too deeply"));
}

}  // namespace
}  // namespace berth::kube::memory
