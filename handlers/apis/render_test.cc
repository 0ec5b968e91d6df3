#include "handlers/apis/render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "handlers/apis/test_gadgets.h"

namespace berth::apis {
namespace {

using Kind = Form::Kind;

// The names of all members, and of theirs, without the values: what two documents must have in
// common.
Json Shape(const Json& value) {
  if (value.is_array()) {
    Json items = Json::Array();
    for (const auto& item : value.array_range()) items.push_back(Shape(item));
    return items;
  }
  if (!value.is_object())
    return value.is_string() ? "text" : value.is_number() ? "number" : "other";
  std::map<std::string, Json> members;
  for (const auto& member : value.object_range()) members[member.key()] = Shape(member.value());
  Json sorted;
  for (auto& [name, shape] : members) sorted[name] = std::move(shape);
  return sorted;
}

// The stand-in server's metadata without what only stored objects have.
Json ShapeOfCaptured(std::string text) {
  const std::string generation = R"("generation":1,)";
  for (auto at = text.find(generation); at != text.npos; at = text.find(generation))
    text.erase(at, generation.size());
  return Shape(Json::parse(text));
}

class Rendered : public testing::Test {
 protected:
  Rendered() {
    auto draft = Gadget("default", "g1", 1, {{"app", "x"}});
    draft.cells[2] = Cell::Age(0);
    draft.content["spec"]["owner"] = "me";
    gadgets_.Put(std::move(draft));
    g1_ = gadgets_.Get("default", "g1");
  }

  std::vector<ObjectPtr> all() const { return {g1_}; }

  LiveCollection gadgets_{GadgetType(), 1000, {}};
  ResourceType type_ = GadgetType();
  ObjectPtr g1_;
};

TEST_F(Rendered, ObjectLooksAsCaptured) {
  EXPECT_EQ(Shape(Json::parse(RenderObject(type_, *g1_, {}))),
            ShapeOfCaptured(
                R"({"apiVersion":"stub.spike.dev/v1alpha1","kind":"Gadget",
                "metadata":{"creationTimestamp":"2026-11-16T00:06:54Z","generation":1,
                "labels":{"app":"x"},"name":"g1","namespace":"default","resourceVersion":"1001",
                "uid":"00000000-0000-4000-8000-5dd38e4cf0a4"},"spec":{"owner":"me","size":1},
                "status":{"phase":"Ready"}})"));
}

TEST_F(Rendered, ListOfObjectsLooksAsCaptured) {
  const Json list = Json::parse(RenderList(type_, all(), {1001, ""}, {}));
  EXPECT_EQ(list["kind"], "GadgetList");
  EXPECT_EQ(list["apiVersion"], kGroupVersion);
  EXPECT_EQ(list["metadata"], Json::parse(R"({"resourceVersion":"1001"})"));
  ASSERT_EQ(list["items"].size(), 1u);
  EXPECT_EQ(list["items"][0], Json::parse(g1_->json));
}

TEST_F(Rendered, ContinueTokenIsInTheMetadata) {
  for (const Kind kind : {Kind::kObject, Kind::kTable, Kind::kPartial}) {
    const Json list = Json::parse(RenderList(type_, all(), {7, "abc"}, {kind}));
    EXPECT_EQ(list["metadata"], Json::parse(R"({"resourceVersion":"7","continue":"abc"})"));
  }
}

TEST_F(Rendered, EmptyListHasItems) {
  EXPECT_EQ(Json::parse(RenderList(type_, {}, {7, ""}, {}))["items"], Json::parse("[]"));
  EXPECT_EQ(Json::parse(RenderList(type_, {}, {1004, ""}, {Kind::kPartial})),
            Json::parse(
                R"({"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1",
                "metadata":{"resourceVersion":"1004"},"items":[]})"));
  const Json table = Json::parse(RenderList(type_, {}, {7, ""}, {Kind::kTable}));
  EXPECT_EQ(table["rows"], Json::parse("[]"));
  EXPECT_EQ(table["columnDefinitions"].size(), 5u);
}

TEST_F(Rendered, TableLooksAsCaptured) {
  const Json table = Json::parse(RenderList(type_, all(), {1001, ""}, {Kind::kTable}));
  EXPECT_EQ(Shape(table),
            ShapeOfCaptured(
                R"({"apiVersion":"meta.k8s.io/v1","columnDefinitions":[{"description":"Name",
                "format":"name","name":"Name","priority":0,"type":"string"},
                {"description":"spec.size","format":"","name":"Size","priority":0,
                "type":"integer"},{"description":"status.phase","format":"","name":"Phase",
                "priority":0,"type":"string"},{"description":"age","format":"","name":"Age",
                "priority":0,"type":"string"},{"description":"wide column","format":"",
                "name":"Owner","priority":1,"type":"string"}],"kind":"Table",
                "metadata":{"resourceVersion":"1001"},"rows":[{"cells":["g1",1,"Ready","0s",
                "default"],"object":{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata",
                "metadata":{"creationTimestamp":"2026-11-16T00:06:54Z","generation":1,
                "labels":{"app":"x"},"name":"g1","namespace":"default","resourceVersion":"1001",
                "uid":"00000000-0000-4000-8000-5dd38e4cf0a4"}}}]})"));
  EXPECT_EQ(table["columnDefinitions"][3]["type"], "string");
  EXPECT_EQ(table["columnDefinitions"][0]["format"], "name");
  EXPECT_EQ(table["rows"][0]["cells"][0], "g1");
  EXPECT_THAT(table["rows"][0]["cells"][3].as_string(), testing::EndsWith("y"));
}

TEST_F(Rendered, TableRowsIncludeWhatWasAskedFor) {
  const auto row = [&](IncludeObject include) {
    return Json::parse(RenderList(type_, all(), {1, ""}, {Kind::kTable, include}))["rows"][0];
  };
  EXPECT_FALSE(row(IncludeObject::kNone).contains("object"));
  EXPECT_EQ(row(IncludeObject::kObject)["object"], Json::parse(g1_->json));
  const Json partial = row(IncludeObject::kMetadata)["object"];
  EXPECT_EQ(partial["kind"], "PartialObjectMetadata");
  EXPECT_EQ(partial["metadata"], Json::parse(g1_->metadata));
}

TEST_F(Rendered, PartialLooksAsCaptured) {
  EXPECT_EQ(Shape(Json::parse(RenderObject(type_, *g1_, {Kind::kPartial}))),
            ShapeOfCaptured(
                R"({"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata",
                "metadata":{"creationTimestamp":"2026-11-16T00:12:53Z","generation":1,
                "labels":{"app":"x"},"name":"own2","namespace":"default","resourceVersion":"1005",
                "uid":"00000000-0000-4000-8000-5e272007dd84"}})"));
}

TEST_F(Rendered, AnAgeThatIsNotKnownIsNull) {
  gadgets_.Put(Gadget("default", "g1", 2));
  const auto object = gadgets_.Get("default", "g1");
  EXPECT_TRUE(
      Json::parse(RenderObject(type_, *object, {Kind::kTable}))["rows"][0]["cells"][3].is_null());
}

TEST_F(Rendered, EventsAreLines) {
  for (const Kind kind : {Kind::kObject, Kind::kTable, Kind::kPartial}) {
    const std::string line = RenderEvent(type_, "ADDED", *g1_, {kind}, true);
    EXPECT_EQ(line.find('\n'), line.size() - 1);
    const Json event = Json::parse(line);
    EXPECT_EQ(event["type"], "ADDED");
    EXPECT_EQ(event["object"], Json::parse(RenderObject(type_, *g1_, {kind})));
  }
  const Json later = Json::parse(RenderEvent(type_, "ADDED", *g1_, {Kind::kTable}, false));
  EXPECT_EQ(later["object"]["columnDefinitions"].size(), 0u);
  EXPECT_EQ(later["object"]["rows"].size(), 1u);
}

TEST_F(Rendered, BookmarkOfTheInitialEventsLooksAsCaptured) {
  const Json captured = Json::parse(
      R"({"object":{"apiVersion":"live.berth.dev/v1alpha1","kind":"Gadget",
                "metadata":{"annotations":{"k8s.io/initial-events-end":"true"},
                "resourceVersion":"1012"}},"type":"BOOKMARK"})");
  const Json bookmark = Json::parse(RenderBookmark(type_, 1012, true, {}));
  EXPECT_EQ(Shape(bookmark), Shape(captured));
  EXPECT_EQ(bookmark["object"]["metadata"]["resourceVersion"], "1012");
  EXPECT_EQ(bookmark["object"]["kind"], "Gadget");
  const Json plain = Json::parse(RenderBookmark(type_, 1012, false, {}));
  EXPECT_EQ(plain["object"]["metadata"], Json::parse(R"({"resourceVersion":"1012"})"));
  const Json table = Json::parse(RenderBookmark(type_, 1012, true, {Kind::kTable}));
  EXPECT_EQ(table["object"]["kind"], "Table");
  EXPECT_EQ(table["object"]["metadata"]["resourceVersion"], "1012");
  EXPECT_EQ(
      table["object"]["rows"][0]["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"],
      "true");
  EXPECT_EQ(Json::parse(RenderBookmark(type_, 1, false, {Kind::kPartial}))["object"]["kind"],
            "PartialObjectMetadata");
}

TEST_F(Rendered, ErrorEventHoldsAStatus) {
  const Json event =
      Json::parse(RenderErrorEvent(kube::Expired("too old resource version: 1 (1000)")));
  EXPECT_EQ(Shape(event), Shape(Json::parse(R"json({"object":{"apiVersion":"v1","code":410,
                "kind":"Status","message":"too old resource version: 1 (1000)","metadata":{},
                "reason":"Expired","status":"Failure"},
                "type":"ERROR"})json")));
  EXPECT_EQ(event["object"]["code"], 410);
}

TEST_F(Rendered, HostileTextStaysText) {
  gadgets_.Put(Gadget("default", "\"g\\2\"\n", 1, {{"a", "</\"x"}}, "Re\"ady"));
  const auto object = gadgets_.Get("default", "\"g\\2\"\n");
  for (const Kind kind : {Kind::kObject, Kind::kTable, Kind::kPartial}) {
    const std::string line =
        RenderEvent(type_, "ADDED", *object, {kind, IncludeObject::kObject}, true);
    EXPECT_EQ(line.find('\n'), line.size() - 1);
    EXPECT_NO_THROW(Json::parse(line));
  }
}

}  // namespace
}  // namespace berth::apis
