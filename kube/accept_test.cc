#include "kube/accept.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace berth::kube {
namespace {

using Kind = Form::Kind;

// The Accept headers that a v1.36 control plane and kubectl sent (shared/captures/aggregation).
constexpr const char* kKubectlGet =
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/"
    "json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
constexpr const char* kNamespaceController =
    "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,"
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
constexpr const char* kGarbageCollector =
    "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,"
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
constexpr const char* kClientGo = "application/vnd.kubernetes.protobuf,application/json";
constexpr const char* kAggregator =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";

TEST(NegotiateForm, WhatTheCapturedClientsGet) {
  EXPECT_EQ(NegotiateForm(kKubectlGet), Kind::kTable);
  EXPECT_EQ(NegotiateForm(kNamespaceController), Kind::kPartial);
  EXPECT_EQ(NegotiateForm(kGarbageCollector), Kind::kPartial);
  EXPECT_EQ(NegotiateForm(kClientGo), Kind::kObject);
  EXPECT_EQ(NegotiateForm("application/json"), Kind::kObject);
  EXPECT_EQ(NegotiateForm("*/*"), Kind::kObject);
  EXPECT_EQ(NegotiateForm("application/json, */*"), Kind::kObject);
  EXPECT_EQ(NegotiateForm(""), Kind::kObject);
}

TEST(NegotiateForm, SpacesOrderAndRepeatedHeaders) {
  EXPECT_EQ(NegotiateForm(" application/json ; g=meta.k8s.io ; v=v1 ; as=Table "), Kind::kTable);
  EXPECT_EQ(NegotiateForm("application/json;v=v1;as=Table;g=meta.k8s.io;q=0.9"), Kind::kTable);
  EXPECT_EQ(NegotiateForm("text/html\x1f"
                          "application/json;as=Table;v=v1;g=meta.k8s.io"),
            Kind::kTable);
  EXPECT_EQ(NegotiateForm("application/json;charset=utf-8"), Kind::kObject);
  EXPECT_EQ(NegotiateForm("application/*"), Kind::kObject);
}

TEST(NegotiateForm, WhatIsNotServed) {
  EXPECT_EQ(NegotiateForm("application/yaml"), std::nullopt);
  EXPECT_EQ(NegotiateForm("application/vnd.kubernetes.protobuf"), std::nullopt);
  EXPECT_EQ(NegotiateForm("application/json;as=Table;v=v1beta1;g=meta.k8s.io"), std::nullopt);
  EXPECT_EQ(NegotiateForm("application/json;as=Table;v=v1;g=other.io"), std::nullopt);
  EXPECT_EQ(NegotiateForm("application/json;as=Chair;v=v1;g=meta.k8s.io"), std::nullopt);
  EXPECT_EQ(NegotiateForm("application/jsonx"), std::nullopt);
  EXPECT_EQ(NegotiateForm(","), std::nullopt);
}

TEST(NegotiateForm, SurvivesAnyText) {
  const auto part = rc::gen::element<std::string>("application/json", ";", "=", ",", "as", "Table",
                                                  "\x1f", " ", "q", "");
  EXPECT_TRUE(rc::check([&] {
    std::string accept;
    for (const auto& text : *rc::gen::container<std::vector<std::string>>(part)) accept += text;
    NegotiateForm(accept);
    WantsAggregatedDiscovery(accept);
  }));
}

TEST(WantsAggregatedDiscovery, OnlyVersion2BeforePlainJson) {
  const std::string v2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
  const std::string v2beta1 =
      "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";
  EXPECT_TRUE(WantsAggregatedDiscovery(kAggregator));
  EXPECT_TRUE(WantsAggregatedDiscovery(v2 + "," + v2beta1 + ",application/json"));
  EXPECT_TRUE(WantsAggregatedDiscovery(v2beta1 + "," + v2));
  EXPECT_FALSE(WantsAggregatedDiscovery(v2beta1));
  EXPECT_FALSE(WantsAggregatedDiscovery(v2beta1 + ",application/json"));
  EXPECT_FALSE(WantsAggregatedDiscovery("application/json," + v2));
  EXPECT_FALSE(WantsAggregatedDiscovery("application/json"));
  EXPECT_FALSE(WantsAggregatedDiscovery(""));
}

}  // namespace
}  // namespace berth::kube
