#include "kube/status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/json_view.h"

namespace berth::kube {
namespace {

using testing::HasSubstr;
using testing::SizeIs;
using namespace std::chrono_literals;

Error Read(int code, std::string_view body = "", std::chrono::seconds retry_after = 0s) {
  return ErrorFromStatus(code, body, retry_after, /*write=*/false);
}

Error Written(int code, std::string_view body = "") {
  return ErrorFromStatus(code, body, 0s, /*write=*/true);
}

TEST(StatusTest, NotFoundIsWhatKubeApiserverWrites) {
  EXPECT_EQ(ToJson(NotFound("live.berth.dev", "workqueues", "x")),
            R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",)"
            R"("message":"workqueues.live.berth.dev \"x\" not found","reason":"NotFound",)"
            R"("details":{"name":"x","group":"live.berth.dev","kind":"workqueues"},"code":404})");
  EXPECT_EQ(NotFound("", "configmaps", "x").message, R"(configmaps "x" not found)");
}

TEST(StatusTest, InvalidNamesEachFieldOnce) {
  const StatusCause cidr{"FieldValueInvalid", R"(Invalid value: "10/40": too long)", "spec.cidr"};
  const StatusCause size{"FieldValueRequired", "Required value", "spec.size"};
  EXPECT_EQ(
      ToJson(Invalid("SubnetPool", "plexaubnet.io", "x", {cidr})),
      R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",)"
      R"("message":"SubnetPool.plexaubnet.io \"x\" is invalid: spec.cidr: )"
      R"(Invalid value: \"10/40\": too long",)"
      R"("reason":"Invalid","details":{"name":"x","group":"plexaubnet.io","kind":"SubnetPool",)"
      R"("causes":[{"reason":"FieldValueInvalid",)"
      R"("message":"Invalid value: \"10/40\": too long","field":"spec.cidr"}]},)"
      R"("code":422})");
  const Status several = Invalid("SubnetPool", "plexaubnet.io", "x", {cidr, size, size});
  EXPECT_THAT(several.message, HasSubstr(R"( is invalid: [spec.cidr: Invalid value: "10/40": too )"
                                         R"(long, spec.size: Required value])"));
  EXPECT_THAT(several.details.causes, SizeIs(3));
  EXPECT_EQ(Invalid("SubnetPool", "", "x", {}).message, R"(SubnetPool "x" is invalid)");
}

TEST(StatusTest, InvalidTellsAFixedNumberOfCausesAndHowManyMoreThereAre) {
  std::vector<StatusCause> causes;
  for (int i = 0; i < 100'000; ++i)
    causes.push_back({"FieldValueInvalid", "Invalid value", "spec.x" + std::to_string(i)});
  const Status status = Invalid("SubnetPool", "", "x", std::move(causes), 3);
  EXPECT_THAT(status.details.causes, SizeIs(kMaxCauses));
  EXPECT_THAT(status.message, HasSubstr("spec.x63: Invalid value, and 99939 more]"));
}

TEST(StatusTest, SuccessHasNoCode) {
  EXPECT_EQ(
      ToJson(Success({.name = "x", .group = "live.berth.dev", .kind = "workqueues", .uid = "u-1"})),
      R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success",)"
      R"("details":{"name":"x","group":"live.berth.dev","kind":"workqueues","uid":"u-1"}})");
}

TEST(StatusTest, EmptyDetailsAreLeftOut) {
  EXPECT_EQ(ToJson(Unauthorized()),
            R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",)"
            R"("message":"Unauthorized","reason":"Unauthorized","code":401})");
}

TEST(StatusTest, TooManyRequestsSaysWhenToComeBack) {
  const Status status = TooManyRequests(3);
  EXPECT_EQ(status.code, 429);
  EXPECT_THAT(ToJson(status), HasSubstr(R"("details":{"retryAfterSeconds":3},"code":429)"));
}

TEST(StatusTest, ForbiddenNamesWhatItKnows) {
  EXPECT_EQ(Forbidden("g", "things", "x", "no").message, R"(things.g "x" is forbidden: no)");
  EXPECT_EQ(Forbidden("g", "things", "", "no").message, "things.g is forbidden: no");
  EXPECT_EQ(Forbidden("", "", "", "no").message, "forbidden: no");
}

TEST(StatusTest, EachMakerHasItsCodeAndReason) {
  const std::vector<std::tuple<Status, int, std::string>> cases = {
      {BadRequest("m"), 400, "BadRequest"},
      {Forbidden("g", "p", "n", "w"), 403, "Forbidden"},
      {MethodNotAllowed("g", "p", "create"), 405, "MethodNotAllowed"},
      {NotAcceptable("application/json"), 406, "NotAcceptable"},
      {AlreadyExists("g", "p", "n"), 409, "AlreadyExists"},
      {Conflict("g", "p", "n", "w"), 409, "Conflict"},
      {Expired("too old resource version: 1 (2)"), 410, "Expired"},
      {RequestEntityTooLarge(10), 413, "RequestEntityTooLarge"},
      {UnsupportedMediaType("application/json"), 415, "UnsupportedMediaType"},
      {InternalError("w"), 500, "InternalError"},
      {ServiceUnavailable("m"), 503, "ServiceUnavailable"},
  };
  for (const auto& [status, code, reason] : cases) {
    EXPECT_EQ(status.code, code);
    EXPECT_EQ(status.reason, reason);
    EXPECT_FALSE(status.message.empty());
    JsonDocument document;
    const auto json = document.Parse(ToJson(status));
    ASSERT_TRUE(json);
    EXPECT_EQ((*json)["code"].Int(), code);
    EXPECT_EQ((*json)["message"].StringOr(""), status.message);
  }
  EXPECT_EQ(MethodNotAllowed("g", "p", "create").message,
            R"(create is not supported on resources of kind "p.g")");
}

TEST(StatusTest, HostileNamesStayValidJson) {
  const std::string json = ToJson(NotFound("g", "p", "a\"b\\\n\xff"));
  JsonDocument document;
  ASSERT_TRUE(document.Parse(json)) << json;
  EXPECT_EQ(document.Parse(json).value()["details"]["name"].StringOr(""), "a\"b\\\n\uFFFD");
}

TEST(ErrorFromStatusTest, ClassesFollowCodeAndReason) {
  EXPECT_EQ(Read(404).error_class, ErrorClass::kNotFound);
  EXPECT_EQ(Written(409, ToJson(Conflict("g", "p", "n", "w"))).error_class, ErrorClass::kConflict);
  const Error exists = Written(409, ToJson(AlreadyExists("g", "p", "n")));
  EXPECT_EQ(exists.error_class, ErrorClass::kTerminal);
  EXPECT_EQ(exists.reason, "AlreadyExists");
  EXPECT_EQ(Read(429).error_class, ErrorClass::kThrottled);
  EXPECT_EQ(Read(500).error_class, ErrorClass::kRetry);
  EXPECT_EQ(Written(503).error_class, ErrorClass::kRetry);
  for (const int code : {301, 400, 401, 403, 405, 410, 413, 415, 422}) {
    EXPECT_EQ(Written(code).error_class, ErrorClass::kTerminal) << code;
  }
}

TEST(ErrorFromStatusTest, AWriteThatMayHaveHappenedIsAmbiguous) {
  for (const int code : {408, 502, 504}) {
    EXPECT_EQ(Written(code).error_class, ErrorClass::kAmbiguous) << code;
    EXPECT_EQ(Read(code).error_class, ErrorClass::kRetry) << code;
  }
  const std::string etcd = ToJson(InternalError("etcdserver: request timed out"));
  EXPECT_EQ(Written(500, etcd).error_class, ErrorClass::kAmbiguous);
  EXPECT_EQ(Read(500, etcd).error_class, ErrorClass::kRetry);
  Status slow = InternalError("slow");
  slow.reason = "ServerTimeout";
  EXPECT_EQ(Written(500, ToJson(slow)).error_class, ErrorClass::kAmbiguous);
  EXPECT_EQ(Written(500, ToJson(InternalError("x"))).error_class, ErrorClass::kRetry);
}

// A webhook chooses code and reason itself; they say nothing about the object or the API server.
TEST(ErrorFromStatusTest, ADenialIsTerminalWhateverItsCode) {
  for (const int code : {400, 401, 403, 404, 408, 409, 429, 500, 502, 503, 504}) {
    for (const char* reason : {"Timeout", "AlreadyExists", "NotFound", ""}) {
      const Status denial{code,
                          reason,
                          R"(admission webhook "w.example.com" denied the request: etcdserver: no)",
                          {}};
      const Error error = Written(code, ToJson(denial));
      EXPECT_EQ(error.error_class, ErrorClass::kTerminal) << code;
      EXPECT_EQ(error.reason, "Forbidden");
      EXPECT_EQ(error.code, 403);
      EXPECT_EQ(error.message, denial.message);
    }
  }
  // An object's own words.
  EXPECT_EQ(Written(500, ToJson(InternalError("x denied the request"))).error_class,
            ErrorClass::kRetry);
}

TEST(ErrorFromStatusTest, KeepsReasonMessageAndCode) {
  const Error error = Read(404, ToJson(NotFound("g", "p", "n")));
  EXPECT_EQ(error.reason, "NotFound");
  EXPECT_EQ(error.message, R"(p.g "n" not found)");
  EXPECT_EQ(error.code, 404);
}

TEST(ErrorFromStatusTest, WaitsAsLongAsHeaderOrBodyAskWithinReason) {
  EXPECT_EQ(Read(429, ToJson(TooManyRequests(7))).retry_after, 7s);
  EXPECT_EQ(Read(429, ToJson(TooManyRequests(7)), 2s).retry_after, 2s);
  EXPECT_EQ(Read(503, "", 5s).retry_after, 5s);
  EXPECT_EQ(Read(503).retry_after, 0s);
  EXPECT_EQ(Read(429, ToJson(TooManyRequests(2'000'000'000))).retry_after, 1h);
  EXPECT_EQ(Read(429, R"({"kind":"Status","details":{"retryAfterSeconds":-5}})").retry_after, 0s);
  EXPECT_EQ(Read(429, R"({"kind":"Status","details":{"retryAfterSeconds":9223372036854775807}})")
                .retry_after,
            1h);
}

TEST(ErrorFromStatusTest, OtherBodiesAreQuotedInShort) {
  EXPECT_EQ(Read(404, "404 page not found\n").message,
            "the API server answered 404: 404 page not found");
  EXPECT_EQ(Read(502).message, "the API server answered 502 without a reason");
  EXPECT_EQ(Read(503, " \n").message, "the API server answered 503 without a reason");
  EXPECT_THAT(Read(302, "x").message, HasSubstr("redirects are not followed"));
  EXPECT_LT(Read(502, std::string(100'000, 'x')).message.size(), 300u);
  EXPECT_EQ(Read(422, R"({"kind":"Pod","message":"no status"})").reason, "");
}

}  // namespace
}  // namespace berth::kube
