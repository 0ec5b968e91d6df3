#include <gmock/gmock.h>

#include "server/apis_fixture_test.h"

// The aggregated API on the wire, but for watches: discovery, OpenAPI, identity, get, list, delete.
namespace berth::server::test {
namespace {

using apis::Gadget;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kAggregatedDiscovery =
    "Accept: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";

class ApisWire : public ApisTest {};

TEST_F(ApisWire, PlainDiscovery) {
  const auto groups = Read("/apis", {"Accept: application/json"});
  ASSERT_EQ(Code(groups), 200);
  EXPECT_EQ(groups->Header("content-type"), "application/json");
  EXPECT_EQ(Json::parse(groups->body)["kind"], "APIGroupList");
  EXPECT_EQ(ReadJson("/apis/live.berth.dev")["kind"], "APIGroup");
  const Json resources = ReadJson(kApi);
  EXPECT_EQ(resources["kind"], "APIResourceList");
  EXPECT_EQ(resources["resources"].size(), 4u);
  EXPECT_EQ(ReadJson(kApi + "/"), resources);
}

TEST_F(ApisWire, AggregatedDiscoveryHasItsExactContentTypeAndItsTag) {
  const auto whole = Read("/apis", {kAggregatedDiscovery});
  ASSERT_EQ(Code(whole), 200);
  EXPECT_EQ(whole->Header("content-type"),
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
  EXPECT_EQ(Json::parse(whole->body)["kind"], "APIGroupDiscoveryList");
  const std::string tag = whole->Header("etag");
  EXPECT_THAT(tag, testing::MatchesRegex("\"[0-9A-F]+\""));
  const auto again = Read("/apis", {kAggregatedDiscovery, "If-None-Match: " + tag});
  ASSERT_EQ(Code(again), 304);
  EXPECT_EQ(again->Header("etag"), tag);
  EXPECT_EQ(Code(Read("/apis", {kAggregatedDiscovery, "If-None-Match: \"0\""})), 200);
  // The plain form is another document.
  const auto plain = Read("/apis", {"Accept: application/json", "If-None-Match: " + tag});
  ASSERT_EQ(Code(plain), 200);
  EXPECT_NE(plain->Header("etag"), tag);
  EXPECT_EQ(plain->Header("vary"), "Accept");
}

TEST_F(ApisWire, AConnectionIsGoodForMoreAfterA304) {
  auto client = live_.Connect();
  const std::string first = Get(kApi, kAdmin);
  const auto whole = client.Exchange(first);
  ASSERT_EQ(Code(whole), 200);
  auto headers = kAdmin;
  headers.push_back("If-None-Match: " + whole->Header("etag"));
  EXPECT_EQ(Code(client.Exchange(Get(kApi, headers))), 304);
  EXPECT_EQ(Body(client.Exchange(first)), whole->body);
}

TEST_F(ApisWire, OpenApi) {
  EXPECT_EQ(ReadJson("/openapi/v2?timeout=32s")["swagger"], "2.0");
  const Json index = ReadJson("/openapi/v3");
  const auto url = index["paths"]["apis/live.berth.dev/v1alpha1"]["serverRelativeURL"].as_string();
  const auto document = Read(url + "&timeout=32s");
  ASSERT_EQ(Code(document), 200);
  EXPECT_EQ(Json::parse(document->body)["openapi"], "3.0.0");
  EXPECT_THAT(url, HasSubstr("?hash=" + document->Header("etag").substr(1, 64)));
  EXPECT_EQ(Code(Read(url, {"If-None-Match: " + document->Header("etag")})), 304);
}

TEST_F(ApisWire, OnlyTheFrontProxyMaySayWhoAsks) {
  const std::string request = Get(kGadgets, kAdmin);
  const auto as = [&](const certs::KeyPair* identity) {
    return TlsClient(live_.port(), TlsOptions{.identity = identity}).Exchange(request);
  };
  ExpectFailure(as(nullptr), 401, "Unauthorized");
  const certs::KeyPair other = live_.pki().NewClient("somebody");
  ExpectFailure(as(&other), 401, "Unauthorized");
  EXPECT_EQ(Code(as(&live_.pki().foreign)), 0);
  EXPECT_EQ(Code(as(&live_.pki().front_proxy)), 200);
}

TEST_F(ApisWire, AnAmbiguousIdentityIsNone) {
  const auto with = [&](HeaderLines headers) {
    return live_.Connect().Exchange(Get(kGadgets, headers));
  };
  ExpectFailure(with({}), 401, "Unauthorized");
  ExpectFailure(with({"X-Remote-Group: system:masters"}), 401, "Unauthorized");
  ExpectFailure(with({"X-Remote-User: a", "X-Remote-User: b", "X-Remote-Group: system:masters"}),
                401, "Unauthorized");
  auto both = kAdmin;
  both.push_back("Authorization: Bearer x");
  ExpectFailure(with(both), 401, "Unauthorized");
  EXPECT_EQ(Code(with({"X-Remote-Group: a", "X-Remote-Group: system:masters", "X-Remote-User: b"})),
            200);
}

TEST_F(ApisWire, WhoMayNotIsToldWhat) {
  const auto answer = live_.Connect().Exchange(
      Get(GadgetsIn("default"), {"X-Remote-User: alice", "X-Remote-Group: staff"}));
  ExpectFailure(answer, 403, "Forbidden");
  EXPECT_THAT(Json::parse(answer->body)["message"].as_string(),
              HasSubstr("User \"alice\" cannot list resource \"gadgets\" in API group "
                        "\"live.berth.dev\" in the namespace \"default\""));
  ExpectFailure(live_.Connect().Exchange(Get("/openapi/v2", {"X-Remote-User: system:aggregator"})),
                403, "Forbidden");
}

TEST_F(ApisWire, Get) {
  live_.gadgets.Put(Gadget("default", "g1", 1, {{"app", "x"}}));
  const auto answer = Read(GadgetsIn("default") + "/g1", {"Audit-Id: a-1"});
  ASSERT_EQ(Code(answer), 200);
  EXPECT_EQ(answer->Header("content-type"), "application/json");
  EXPECT_EQ(answer->Header("audit-id"), "a-1");
  EXPECT_EQ(answer->body, live_.gadgets.Get("default", "g1")->json);
  const Json table = ReadJson(GadgetsIn("default") + "/g1", {kAsTable});
  EXPECT_EQ(table["kind"], "Table");
  EXPECT_EQ(table["columnDefinitions"].size(), 5u);
  EXPECT_EQ(table["rows"][0]["cells"][0], "g1");
  const Json partial = ReadJson(GadgetsIn("default") + "/g1", {kAsPartial});
  EXPECT_EQ(partial["kind"], "PartialObjectMetadata");
  EXPECT_FALSE(partial.contains("spec"));
}

TEST_F(ApisWire, NotFoundLooksAsCaptured) {
  const auto answer = Read(GadgetsIn("default") + "/nope", {kAsTable});
  ASSERT_EQ(Code(answer), 404);
  EXPECT_EQ(Json::parse(answer->body),
            Json::parse(R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",
                "message":"gadgets.live.berth.dev \"nope\" not found","reason":"NotFound",
                "details":{"name":"nope","group":"live.berth.dev","kind":"gadgets"},"code":404})"));
}

TEST_F(ApisWire, PathsThatAreNotServed) {
  for (const std::string& path :
       {std::string("/"), std::string("/api"), std::string("/apis/other.io/v1"), kApi + "/nothing",
        kApi + "/namespaces/default/bigs", kGadgets + "/a/status", kApi + "/namespaces/default"}) {
    ExpectFailure(Read(path), 404, "NotFound");
  }
}

TEST_F(ApisWire, AnActionIsDoneAndNotKept) {
  const auto before = live_.ping.sum.load();
  const std::string body = R"({"apiVersion":"live.berth.dev/v1alpha1","kind":"Ping",
      "metadata":{"name":"p1"},"spec":{"times":3}})";
  const auto answer = Ask("POST", kPings, kJsonBody, body);
  ASSERT_EQ(Code(answer), 201) << Body(answer);
  Json made = Json::parse(answer->body);
  EXPECT_FALSE(made["metadata"]["creationTimestamp"].as_string().empty());
  made["metadata"].erase("creationTimestamp");
  EXPECT_EQ(made, Json::parse(R"({"apiVersion":"live.berth.dev/v1alpha1","kind":"Ping",
      "metadata":{"name":"p1","namespace":"default"},"spec":{"times":3}})"));
  EXPECT_EQ(live_.ping.sum, before + 3);
  EXPECT_EQ(Code(Ask("POST", kPings + "?dryRun=All", kJsonBody, body)), 201);
  EXPECT_EQ(live_.ping.sum, before + 3);
  const auto table = Ask("POST", kPings, {"Content-Type: application/json", kAsTable}, body);
  EXPECT_EQ(Json::parse(Body(table))["rows"][0]["cells"], Json::parse(R"(["p1",3])"));
  for (const std::string& target : {kPings, kPings + "/p1", kApi + "/pings"})
    ExpectFailure(Read(target), 405, "MethodNotAllowed");
  ExpectFailure(Ask("POST", kPings + "/p1", kJsonBody, body), 405, "MethodNotAllowed");
  ExpectFailure(Ask("POST", kApi + "/pings", kJsonBody, body), 405, "MethodNotAllowed");
}

TEST_F(ApisWire, AnActionRefusesWhatAnApiServerWould) {
  ExpectFailure(Ask("POST", kPings, {"Content-Type: application/yaml"}, "a: b"), 415,
                "UnsupportedMediaType");
  for (const char* body : {"", "{", "[]", R"({"kind":"Pong"})", R"({"apiVersion":"v1"})",
                           R"({"metadata":{"namespace":"other"}})"}) {
    ExpectFailure(Ask("POST", kPings, kJsonBody, body), 400, "BadRequest");
  }
  ExpectFailure(Ask("POST", kPings + "?dryRun=Some", kJsonBody, "{}"), 422, "Invalid");
  ExpectFailure(Ask("POST", kPings, kJsonBody, "{}"), 422, "Invalid");
  const std::string large = R"({"x":")" + std::string(3 << 20, 'x') + R"("})";
  ExpectFailure(Ask("POST", kPings, kJsonBody, large), 413, "RequestEntityTooLarge");
  const auto forbidden = live_.Connect().Exchange(
      Request("POST", kPings, {"X-Remote-User: alice", "Content-Type: application/json"}, "{}"));
  ExpectFailure(forbidden, 403, "Forbidden");
  EXPECT_THAT(Json::parse(forbidden->body)["message"].as_string(),
              HasSubstr("cannot create resource \"pings\""));
}

TEST_F(ApisWire, AnActionGetsAGeneratedName) {
  const auto made = [&](const std::string& metadata) {
    const auto answer =
        Ask("POST", kPings, kJsonBody, R"({"metadata":)" + metadata + R"(,"spec":{"times":1}})");
    return Json::parse(Body(answer))["metadata"];
  };
  const Json generated = made(R"({"generateName":"ping-"})");
  EXPECT_EQ(generated["generateName"], "ping-");
  EXPECT_THAT(generated["name"].as_string(),
              testing::MatchesRegex("ping-[bcdfghjklmnpqrstvwxz2456789]+"));
  EXPECT_EQ(generated["name"].as_string().size(), 10u);
  EXPECT_EQ(made(R"({"generateName":"ping-","name":"mine"})")["name"], "mine");
  const std::string longest =
      made(R"({"generateName":")" + std::string(100, 'x') + R"("})")["name"].as_string();
  EXPECT_EQ(longest.size(), 63u);
}

TEST_F(ApisWire, UnknownAndRepeatedMembersAreToldOfOrRefused) {
  const std::string body =
      R"({"metadata":{"name":"p","what":1},"spec":{"times":1,"times":1,"why":2},
      "what":{"x":1}})";
  const auto create = [&](const std::string& query) {
    return Ask("POST", kPings + query, kJsonBody, body);
  };
  const auto strict = create("?fieldValidation=Strict");
  ExpectFailure(strict, 400, "BadRequest");
  EXPECT_EQ(Json::parse(strict->body)["message"],
            "Ping in version \"v1alpha1\" cannot be handled as a Ping: strict decoding error: "
            "duplicate field \"spec.times\", unknown field \"metadata.what\", "
            "unknown field \"spec.why\", unknown field \"what\"");
  for (const char* query : {"", "?fieldValidation=Warn"}) {
    const auto warned = create(query);
    ASSERT_EQ(Code(warned), 201);
    EXPECT_EQ(warned->Header("warning"),
              R"(299 - "duplicate field \"spec.times\"", 299 - "unknown field \"metadata.what\"", )"
              R"(299 - "unknown field \"spec.why\"", 299 - "unknown field \"what\"")");
  }
  EXPECT_EQ(create("?fieldValidation=Ignore")->Header("warning"), "");
  ExpectFailure(create("?fieldValidation=Harsh"), 422, "Invalid");
}

TEST_F(ApisWire, MethodsThatAreNotServed) {
  live_.gadgets.Put(Gadget("default", "g1", 1));
  live_.bigs.Put(Plain("b1", 1));
  const std::string one = GadgetsIn("default") + "/g1";
  ExpectFailure(Ask("POST", GadgetsIn("default"), kJsonBody, "{}"), 405, "MethodNotAllowed");
  ExpectFailure(Ask("PUT", one, kJsonBody, "{}"), 405, "MethodNotAllowed");
  ExpectFailure(Ask("PATCH", one, {"Content-Type: application/merge-patch+json"}, "{}"), 405,
                "MethodNotAllowed");
  ExpectFailure(Ask("DELETE", GadgetsIn("default")), 405, "MethodNotAllowed");
  ExpectFailure(Ask("DELETE", kBigs + "/b1"), 405, "MethodNotAllowed");
  ExpectFailure(Ask("POST", "/apis", kJsonBody, "{}"), 405, "MethodNotAllowed");
  EXPECT_NE(live_.bigs.Get("", "b1"), nullptr);
}

TEST_F(ApisWire, FormsThatAreNotServed) {
  ExpectFailure(Read(kGadgets, {"Accept: application/yaml"}), 406, "NotAcceptable");
  ExpectFailure(Read(kGadgets, {"Accept: application/json;as=Table;v=v1beta1;g=meta.k8s.io"}), 406,
                "NotAcceptable");
  ExpectFailure(Read(kGadgets + "?watch=1", {"Accept: application/vnd.kubernetes.protobuf"}), 406,
                "NotAcceptable");
  ExpectFailure(Read(kGadgets + "?includeObject=Some", {kAsTable}), 400, "BadRequest");
}

TEST_F(ApisWire, ListsInEveryForm) {
  live_.gadgets.Put(Gadget("a", "g1", 1));
  live_.gadgets.Put(Gadget("b", "g2", 2));
  EXPECT_THAT(Names(kGadgets), ElementsAre("a/g1", "b/g2"));
  EXPECT_THAT(Names(GadgetsIn("b")), ElementsAre("b/g2"));
  EXPECT_THAT(Names(GadgetsIn("c")), ElementsAre());
  const Json list = ReadJson(kGadgets);
  EXPECT_EQ(list["kind"], "GadgetList");
  EXPECT_EQ(list["metadata"]["resourceVersion"], Version());
  const Json partial = ReadJson(
      kGadgets, {"Accept: application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;"
                 "g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadataList;g=meta.k8s.io;"
                 "v=v1,application/json"});
  EXPECT_EQ(partial["kind"], "PartialObjectMetadataList");
  EXPECT_EQ(partial["items"][1]["kind"], "PartialObjectMetadata");
  EXPECT_EQ(partial["items"][1]["metadata"], list["items"][1]["metadata"]);
}

TEST_F(ApisWire, TableRowsIncludeWhatWasAskedFor) {
  live_.gadgets.Put(Gadget("a", "g1", 1));
  const auto row = [&](const std::string& query) {
    const Json table = ReadJson(kGadgets + query, {kAsTable});
    EXPECT_EQ(table["kind"], "Table");
    EXPECT_EQ(table["apiVersion"], "meta.k8s.io/v1");
    return table["rows"][0];
  };
  EXPECT_EQ(row("?limit=500")["object"]["kind"], "PartialObjectMetadata");
  EXPECT_EQ(row("?includeObject=Metadata")["object"]["kind"], "PartialObjectMetadata");
  EXPECT_EQ(row("?includeObject=Object")["object"]["spec"]["size"], 1);
  EXPECT_FALSE(row("?includeObject=None").contains("object"));
}

TEST_F(ApisWire, Selectors) {
  live_.gadgets.Put(Gadget("a", "g1", 1, {{"app", "x"}}, "Ready"));
  live_.gadgets.Put(Gadget("a", "g2", 1, {{"app", "y"}}, "Failed"));
  live_.gadgets.Put(Gadget("b", "g3", 1, {}, "Ready"));
  EXPECT_THAT(Names(kGadgets + "?labelSelector=app%3Dx"), ElementsAre("a/g1"));
  EXPECT_THAT(Names(kGadgets + "?labelSelector=app+in+(x,y)"), ElementsAre("a/g1", "a/g2"));
  EXPECT_THAT(Names(kGadgets + "?labelSelector=app%20notin%20%28x%2Cz%29"),
              ElementsAre("a/g2", "b/g3"));
  EXPECT_THAT(Names(kGadgets + "?labelSelector=%21app"), ElementsAre("b/g3"));
  EXPECT_THAT(Names(kGadgets + "?fieldSelector=status.phase%3DReady"), ElementsAre("a/g1", "b/g3"));
  EXPECT_THAT(Names(kGadgets + "?fieldSelector=metadata.namespace!%3Da&labelSelector="),
              ElementsAre("b/g3"));
  EXPECT_THAT(Names(GadgetsIn("a") + "?fieldSelector=metadata.name%3Dg2&labelSelector=app"),
              ElementsAre("a/g2"));
  ExpectFailure(Read(kGadgets + "?labelSelector=a%20b"), 400, "BadRequest");
  ExpectFailure(Read(kGadgets + "?fieldSelector=spec.size%3D1"), 400, "BadRequest");
}

TEST_F(ApisWire, PagesTogetherAreTheWhole) {
  for (int i = 0; i < 23; ++i) {
    live_.gadgets.Put(Gadget("ns" + std::to_string(i % 3), "g" + std::to_string(i), i,
                             i % 2 ? apis::Labels{} : apis::Labels{{"even", "yes"}}));
  }
  for (const std::string& query :
       {kGadgets + "?", GadgetsIn("ns1") + "?", kGadgets + "?labelSelector=even&"}) {
    const auto whole = Names(query);
    for (const int limit : {1, 4, 5, 23, 100}) {
      std::vector<std::string> pieced;
      std::string token, version;
      do {
        const std::string page =
            query + "limit=" + std::to_string(limit) + (token.empty() ? "" : "&continue=" + token);
        const Json list = ReadJson(page);
        for (const auto& item : list["items"].array_range()) {
          pieced.push_back(item["metadata"]["namespace"].as_string() + "/" +
                           item["metadata"]["name"].as_string());
        }
        EXPECT_LE(list["items"].size(), static_cast<std::size_t>(limit));
        if (version.empty()) version = list["metadata"]["resourceVersion"].as_string();
        EXPECT_EQ(list["metadata"]["resourceVersion"], version);
        token = list["metadata"].get_value_or<std::string>("continue", "");
      } while (!token.empty() && pieced.size() <= whole.size());
      EXPECT_EQ(pieced, whole) << query << limit;
    }
  }
}

TEST_F(ApisWire, AContinueTokenExpiresWithTheHistory) {
  for (int i = 0; i < 3; ++i) live_.gadgets.Put(Gadget("a", "g" + std::to_string(i), i));
  const Json first = ReadJson(kGadgets + "?limit=1");
  const std::string next =
      kGadgets + "?limit=1&continue=" + first["metadata"]["continue"].as_string();
  live_.gadgets.Put(Gadget("a", "g1", 100));
  const Json second = ReadJson(next);
  EXPECT_EQ(second["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"]);
  for (int i = 0; i <= 1000; ++i) live_.gadgets.Put(Gadget("a", "g1", i));
  ExpectFailure(Read(next), 410, "Expired");
  ExpectFailure(Read(kGadgets + "?continue=AAAA"), 400, "BadRequest");
  ExpectFailure(Read(kGadgets + "?continue=%00"), 400, "BadRequest");
  ExpectFailure(Read(kGadgets + "?limit=many"), 400, "BadRequest");
  EXPECT_EQ(Code(Read(kGadgets + "?limit=-1")), 200);
}

TEST_F(ApisWire, AContinuedListTakesNoOtherVersion) {
  for (int i = 0; i < 3; ++i) live_.gadgets.Put(Gadget("a", "g" + std::to_string(i), i));
  const std::string next = kGadgets + "?limit=1&continue=" +
                           ReadJson(kGadgets + "?limit=1")["metadata"]["continue"].as_string() +
                           "&resourceVersion=";
  ExpectFailure(Read(next + Version()), 400, "BadRequest");
  EXPECT_EQ(Code(Read(next + "0")), 200);
  EXPECT_EQ(Code(Read(next)), 200);
  ExpectFailure(Read(next + "0&resourceVersionMatch=NotOlderThan"), 422, "Invalid");
}

TEST_F(ApisWire, APageTellsHowManyItemsAreLeftUnlessASelectorIsGiven) {
  for (int i = 0; i < 5; ++i)
    live_.gadgets.Put(Gadget(i < 4 ? "a" : "b", "g" + std::to_string(i), i, {{"app", "x"}}));
  const auto left = [&](const std::string& target) {
    return ReadJson(target)["metadata"].get_value_or<int>("remainingItemCount", -1);
  };
  EXPECT_EQ(left(kGadgets + "?limit=2"), 3);
  EXPECT_EQ(left(GadgetsIn("a") + "?limit=1"), 3);
  EXPECT_EQ(left(kGadgets + "?limit=5"), -1);
  EXPECT_EQ(left(kGadgets), -1);
  EXPECT_EQ(left(kGadgets + "?limit=1&labelSelector=app"), -1);
  EXPECT_EQ(left(kGadgets + "?limit=1&fieldSelector=metadata.namespace%3Da"), -1);
}

TEST_F(ApisWire, AGetOfOneObjectIsNoWatch) {
  live_.gadgets.Put(Gadget("a", "g1", 1));
  EXPECT_EQ(ReadJson(GadgetsIn("a") + "/g1?watch=true")["kind"], "Gadget");
}

TEST_F(ApisWire, ResourceVersionsOfAList) {
  live_.gadgets.Put(Gadget("a", "g1", 1));
  const std::string old = Version();
  live_.gadgets.Put(Gadget("a", "g1", 2));
  const auto with = [&](const std::string& query) { return Read(kGadgets + "?" + query); };
  const std::string at = "resourceVersion=", match = "&resourceVersionMatch=";
  for (const auto& query :
       {std::string(), at, at + "0", at + old, at + Version(), at + "0" + match + "NotOlderThan",
        at + old + match + "NotOlderThan", at + Version() + match + "Exact"}) {
    const auto answer = with(query);
    ASSERT_EQ(Code(answer), 200) << query;
    EXPECT_EQ(Json::parse(answer->body)["metadata"]["resourceVersion"], Version()) << query;
  }
  ExpectFailure(with(at + old + match + "Exact"), 410, "Expired");
  for (const char* malformed : {"abc", "-1", "99999999999999999999", "1.5"}) {
    ExpectFailure(with(at + malformed), 400, "BadRequest");
    EXPECT_EQ(Code(with(at + malformed + "&watch")), 500);
    EXPECT_EQ(Code(Read(GadgetsIn("a") + "/g1?" + at + malformed)), 500);
  }
  ExpectFailure(with(at + "0" + match + "Newest"), 422, "Invalid");
  ExpectFailure(with(at + "0" + match + "Exact"), 422, "Invalid");
  ExpectFailure(with(match.substr(1) + "Exact"), 422, "Invalid");
}

TEST_F(ApisWire, AVersionFromTheFutureIsWorthARetry) {
  const std::string future = std::to_string(live_.gadgets.version() + 1);
  for (const std::string match : {"", "&resourceVersionMatch=NotOlderThan", "&watch=true"}) {
    const auto answer = Read(kGadgets + "?resourceVersion=" + future + match);
    ExpectFailure(answer, 504, "Timeout");
    EXPECT_EQ(answer->Header("retry-after"), "1");
    const Json details = Json::parse(answer->body)["details"];
    EXPECT_EQ(details["causes"][0]["reason"], "ResourceVersionTooLarge");
    EXPECT_EQ(details["retryAfterSeconds"], 1);
  }
}

TEST_F(ApisWire, DeleteAnswersAsCaptured) {
  live_.gadgets.Put(Gadget("a", "g1", 1));
  const std::string uid = live_.gadgets.Get("a", "g1")->uid;
  const auto answer =
      Ask("DELETE", GadgetsIn("a") + "/g1", kJsonBody, R"({"propagationPolicy":"Background"})");
  ASSERT_EQ(Code(answer), 200);
  Json expected =
      Json::parse(R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success",
      "details":{"name":"g1","group":"live.berth.dev","kind":"gadgets"}})");
  expected["details"]["uid"] = uid;
  EXPECT_EQ(Json::parse(answer->body), expected);
  EXPECT_EQ(live_.gadgets.Get("a", "g1"), nullptr);
  ExpectFailure(Ask("DELETE", GadgetsIn("a") + "/g1"), 404, "NotFound");
}

TEST_F(ApisWire, DeleteHoldsToItsPreconditions) {
  live_.gadgets.Put(Gadget("a", "g1", 1));
  const auto object = live_.gadgets.Get("a", "g1");
  const auto remove = [&](const std::string& options) {
    return Ask("DELETE", GadgetsIn("a") + "/g1", kJsonBody, options);
  };
  ExpectFailure(remove(R"({"preconditions":{"uid":"other"}})"), 409, "Conflict");
  ExpectFailure(remove(R"({"preconditions":{"resourceVersion":"1"}})"), 409, "Conflict");
  ExpectFailure(remove("{"), 400, "BadRequest");
  EXPECT_NE(live_.gadgets.Get("a", "g1"), nullptr);
  EXPECT_EQ(Code(remove(R"({"preconditions":{"uid":")" + object->uid + R"(","resourceVersion":")" +
                        std::to_string(object->version) + R"("}})")),
            200);
  EXPECT_EQ(live_.gadgets.Get("a", "g1"), nullptr);
}

TEST_F(ApisWire, ADryRunDeletesNothing) {
  live_.gadgets.Put(Gadget("a", "g1", 1));
  const std::string path = GadgetsIn("a") + "/g1";
  EXPECT_EQ(Code(Ask("DELETE", path + "?dryRun=All")), 200);
  EXPECT_EQ(Code(Ask("DELETE", path, kJsonBody, R"({"dryRun":["All"]})")), 200);
  ExpectFailure(Ask("DELETE", path + "?dryRun=All", kJsonBody, R"({"preconditions":{"uid":"x"}})"),
                409, "Conflict");
  EXPECT_NE(live_.gadgets.Get("a", "g1"), nullptr);
}

}  // namespace
}  // namespace berth::server::test
