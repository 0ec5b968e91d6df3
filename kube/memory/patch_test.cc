#include "kube/memory/patch.h"

#include <gtest/gtest.h>

#include <string>

#include "log/format.h"

namespace berth::kube::memory {
namespace {

Value Decode(const std::string& text) { return Decoder().Decode(text).value(); }

Value Operations(int count, const std::string& before, const std::string& after) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += (text.empty() ? "[" : ",") + before + std::to_string(i) + after;
  return Decode(text + "]");
}

TEST(JsonPatch, CopiesAreBounded) {
  const std::string copy = R"({"op":"copy","from":"/a","path":"/a/)";
  Value object = Decode(R"({"a":{"b":1}})");
  EXPECT_TRUE(JsonPatch(object, Operations(10, copy, "\"}")));
  EXPECT_EQ(object["a"].size(), 11);
  EXPECT_FALSE(JsonPatch(object, Operations(40, copy, "\"}")));
  EXPECT_LT(object.to_string().size(), std::size_t{16} << 20);
}

TEST(JsonPatch, AnObjectStaysAsShallowAsOneThatIsRead) {
  Value object = Decode(R"({"a":{}})");
  std::string path = "/a";
  const auto add = [&] {
    path += "/b";
    return Decode(Format(R"([{{"op":"add","path":"{}","value":{{}}}}])", path));
  };
  for (std::size_t depth = 3; depth <= Decoder::kMaxDepth; ++depth)
    ASSERT_TRUE(JsonPatch(object, add())) << depth;
  EXPECT_TRUE(Decoder().Decode(object.to_string()));
  EXPECT_FALSE(JsonPatch(object, add()));
  EXPECT_FALSE(JsonPatch(object, Decode(R"([{"op":"copy","from":"/a","path":"/a/c"}])")));
  EXPECT_FALSE(JsonPatch(object, Decode(R"([{"op":"move","from":"/a","path":"/a/c"}])")));
}

TEST(JsonPatch, AMoveTakesItsValueAlong) {
  Value object = Decode(R"({"a":[{"b":1},2]})");
  EXPECT_TRUE(JsonPatch(object, Decode(R"([{"op":"move","from":"/a/0","path":"/c"}])")));
  EXPECT_EQ(object.to_string(), R"({"a":[2],"c":{"b":1}})");
}

// The patches are kubectl's, of a second `kubectl apply`.
TEST(StrategicMergePatch, ChangesOneContainerAndKeepsTheOthers) {
  Value pod = Decode(
      R"({"spec":{"containers":[{"name":"c","image":"nginx:1","env":[{"name":"A","value":"1"}],)"
      R"("ports":[{"containerPort":80},{"containerPort":443}]},{"name":"d","image":"x"}]}})");
  StrategicMergePatch(
      pod,
      Decode(R"({"spec":{"$setElementOrder/containers":[{"name":"c"},{"name":"d"}],)"
             R"("containers":[{"name":"c","image":"nginx:2","$setElementOrder/ports":)"
             R"([{"containerPort":443}],"ports":[{"$patch":"delete","containerPort":80}]}]}})"));
  EXPECT_EQ(pod, Decode(R"({"spec":{"containers":[{"name":"c","image":"nginx:2","env":)"
                        R"([{"name":"A","value":"1"}],"ports":[{"containerPort":443}]},)"
                        R"({"name":"d","image":"x"}]}})"));
}

TEST(StrategicMergePatch, ChangesOnePortOfAServiceAndKeepsTheOthers) {
  Value service = Decode(
      R"({"spec":{"ports":[{"name":"h","port":80,"targetPort":8080},{"name":"s","port":443}]}})");
  StrategicMergePatch(service,
                      Decode(R"({"spec":{"$setElementOrder/ports":[{"port":80},)"
                             R"({"port":443}],"ports":[{"port":80,"targetPort":9090}]}})"));
  EXPECT_EQ(service, Decode(R"({"spec":{"ports":[{"name":"h","port":80,"targetPort":9090},)"
                            R"({"name":"s","port":443}]}})"));
}

TEST(StrategicMergePatch, ReplacesTheListsOfAnEndpointSlice) {
  Value slice = Decode(R"({"addressType":"IPv4","endpoints":[{"addresses":["10.0.0.1"]}],)"
                       R"("ports":[{"name":"h","port":80},{"name":"s","port":443}]})");
  StrategicMergePatch(slice, Decode(R"({"endpoints":[],"ports":[{"port":80}]})"));
  EXPECT_EQ(slice, Decode(R"({"addressType":"IPv4","endpoints":[],"ports":[{"port":80}]})"));
}

TEST(StrategicMergePatch, ItemsWithTheSameKeyAreMergedOneByOne) {
  Value container = Decode(R"({"ports":[{"containerPort":53,"protocol":"TCP","name":"t"},)"
                           R"({"containerPort":53,"protocol":"UDP","name":"u"}]})");
  StrategicMergePatch(container, Decode(R"({"ports":[{"containerPort":53,"protocol":"TCP"},)"
                                        R"({"containerPort":53,"protocol":"UDP"}]})"));
  EXPECT_EQ(container, Decode(R"({"ports":[{"containerPort":53,"protocol":"TCP","name":"t"},)"
                              R"({"containerPort":53,"protocol":"UDP","name":"u"}]})"));
}

// A comparison of each item with each other would take minutes.
TEST(StrategicMergePatch, LongListsAreMergedInLinearTime) {
  Value pod = Value::Object();
  Value containers = Value::Array();
  Value finalizers = Value::Array();
  for (int i = 0; i < 60'000; ++i) {
    Value container = Value::Object();
    container.insert_or_assign("name", std::to_string(i));
    containers.push_back(std::move(container));
  }
  for (int i = 0; i < 60'000; ++i) finalizers.push_back(std::to_string(i));
  pod.insert_or_assign("containers", std::move(containers));
  pod.insert_or_assign("finalizers", std::move(finalizers));
  const Value patch = pod;
  const Value before = pod;
  StrategicMergePatch(pod, patch);
  EXPECT_EQ(pod, before);
}

TEST(StrategicMergePatch, AVolumeBecomesOneOfAnotherKind) {
  Value pod = Decode(R"({"volumes":[{"name":"v","emptyDir":{}},{"name":"w","emptyDir":{}}]})");
  StrategicMergePatch(pod, Decode(R"({"volumes":[{"$retainKeys":["name","hostPath"],)"
                                  R"("name":"v","hostPath":{"path":"/p"}}]})"));
  EXPECT_EQ(pod, Decode(R"({"volumes":[{"name":"v","hostPath":{"path":"/p"}},)"
                        R"({"name":"w","emptyDir":{}}]})"));
}

TEST(StrategicMergePatch, ANewListHasNoDirectives) {
  Value pod = Decode("{}");
  StrategicMergePatch(pod, Decode(R"({"containers":[{"name":"c","$retainKeys":["name"]},)"
                                  R"({"name":"d","$patch":"delete"}]})"));
  EXPECT_EQ(pod, Decode(R"({"containers":[{"name":"c"}]})"));
}

}  // namespace
}  // namespace berth::kube::memory
