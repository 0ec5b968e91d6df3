#include "server/framing.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace berth::server {
namespace {

using Verdict = RequestFramer::Verdict;

const std::string kChunked = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
const std::string kGet = "GET / HTTP/1.1\r\nHost: x\r\n";

struct Outcome {
  Verdict verdict;
  int code;
  std::size_t length;
  std::string passed_on;
};

Outcome Frame(std::string_view input, FramingLimits limits = {}) {
  RequestFramer framer(limits);
  const Verdict verdict = framer.Feed(input);
  return {verdict, framer.refusal_code(), framer.length(),
          framer.rewritten().empty() ? std::string(input.substr(0, framer.length()))
                                     : framer.rewritten()};
}

TEST(Framing, PassesAPlainRequestAsItIs) {
  const std::string request = "POST /validate HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi";
  const Outcome outcome = Frame(request + "GET /next");
  EXPECT_EQ(outcome.verdict, Verdict::kComplete);
  EXPECT_EQ(outcome.length, request.size());
  EXPECT_EQ(outcome.passed_on, request);
}

TEST(Framing, AJsonPostCanBeAnsweredFromItsParts) {
  const std::string request =
      "POST /validate?timeout=5s HTTP/1.1\r\nHost: x\r\nAudit-ID: a-1\r\n"
      "content-type: application/json; charset=utf-8\r\nContent-Length: 2\r\n\r\n{}";
  const std::string input = request + "GET /next";
  RequestFramer framer;
  ASSERT_EQ(framer.Feed(input), Verdict::kComplete);
  const auto posted = framer.posted_json(input);
  ASSERT_TRUE(posted);
  EXPECT_EQ(posted->path, "/validate");
  EXPECT_EQ(posted->body, "{}");
  EXPECT_EQ(posted->audit_id, "a-1");
  framer.Reset();
  const std::string plain = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}";
  ASSERT_EQ(framer.Feed(plain), Verdict::kComplete);
  EXPECT_FALSE(framer.posted_json(plain)) << "what the request before was counts no more";
}

TEST(Framing, OtherRequestsAreLeftToDrogon) {
  const std::string json = "Host: x\r\nContent-Type: application/json\r\n";
  const std::string body = "Content-Length: 2\r\n\r\n{}";
  const std::string post = "POST / HTTP/1.1\r\n";
  for (const std::string& request : {
           "PUT / HTTP/1.1\r\n" + json + body,
           "POST / HTTP/1.0\r\n" + json + body,
           post + json + "Connection: close\r\n" + body,
           post + json + "Content-Type: text/plain\r\n" + body,
           post + json + "Expect: 100-continue\r\n" + body,
           post + json + "X-Remote-Group: a\r\nX-Remote-Group: b\r\n" + body,
           post + json + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
           post + "Host: x\r\nContent-Type: text/plain\r\n" + body,
           post + "Host: x\r\nContent-Type: application/jsonx\r\n" + body,
           post + "Host: x\r\n" + body,
       }) {
    RequestFramer framer;
    ASSERT_EQ(framer.Feed(request), Verdict::kComplete) << request;
    EXPECT_FALSE(framer.posted_json(request)) << request;
  }
}

TEST(Framing, JoinsRepeatedHeaders) {
  const Outcome outcome = Frame(
      "GET / HTTP/1.1\r\nHost: x\r\nX-Remote-Group: a\r\nx-remote-GROUP: b\r\nY: "
      "1\r\nX-Remote-Group: c\r\n\r\n");
  EXPECT_EQ(outcome.passed_on,
            "GET / HTTP/1.1\r\nHost: x\r\nX-Remote-Group: a\x1f"
            "b\x1f"
            "c\r\nY: 1\r\n\r\n");
}

// The name has the FNV-1a hash of "x-remote-group".
TEST(Framing, HeadersWhoseNamesHaveOneHashStayApart) {
  const std::string request =
      "GET / HTTP/1.1\r\nHost: x\r\nX-Remote-Group: staff\r\n17dr62mrvlcl4llmg2xz581e: "
      "system:masters\r\n\r\n";
  const Outcome outcome = Frame(request);
  EXPECT_EQ(outcome.verdict, Verdict::kComplete);
  EXPECT_EQ(outcome.passed_on, request);
}

TEST(Framing, ABlankMayStandBetweenAChunkSizeAndItsExtension) {
  const Outcome outcome = Frame(kChunked + "2 \t; x=\"y z\"\r\nhi\r\n0\r\n\r\n");
  EXPECT_EQ(outcome.verdict, Verdict::kComplete);
}

TEST(Framing, AChunkLineOfTheLimitMayBeCutAnywhere) {
  const std::string request = kChunked + "2;" + std::string(254, 'x') + "\r\nhi\r\n0\r\n\r\n";
  EXPECT_EQ(Frame(request).verdict, Verdict::kComplete);
  RequestFramer framer;
  const std::size_t inside_line_end = request.find("\nhi");
  EXPECT_EQ(framer.Feed(std::string_view(request).substr(0, inside_line_end)), Verdict::kNeedMore);
  EXPECT_EQ(framer.Feed(request), Verdict::kComplete);
}

TEST(Framing, TurnsChunksIntoAPlainBody) {
  const Outcome outcome = Frame(
      "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n3;x=y\r\n "
      "ho\r\n0\r\n\r\n");
  EXPECT_EQ(outcome.verdict, Verdict::kComplete);
  EXPECT_EQ(outcome.passed_on, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhi ho");
}

TEST(Framing, TellsWhoWaitsForContinueOnce) {
  RequestFramer framer;
  std::string input =
      "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";
  EXPECT_EQ(framer.Feed(input), Verdict::kNeedMore);
  EXPECT_TRUE(framer.TakeExpectContinue());
  EXPECT_FALSE(framer.TakeExpectContinue());
  input += "hi";
  ASSERT_EQ(framer.Feed(input), Verdict::kComplete);
  EXPECT_EQ(framer.rewritten(), "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi");
}

struct BadCase {
  const char* name;
  std::string input;
  int code;
};

class BadFraming : public testing::TestWithParam<BadCase> {};

TEST_P(BadFraming, IsRefused) {
  const Outcome outcome = Frame(GetParam().input);
  EXPECT_EQ(outcome.verdict, Verdict::kRefused);
  EXPECT_EQ(outcome.code, GetParam().code);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, BadFraming,
    testing::Values(
        BadCase{"NegativeChunk", kChunked + "2\r\nhi\r\n-2\r\n", 400},  // aborts Drogon 1.9.13
        BadCase{"PlusChunk", kChunked + "+2\r\nhi\r\n", 400},
        BadCase{"HexPrefixChunk", kChunked + "0x2\r\nhi\r\n", 400},
        BadCase{"EmptyChunkSize", kChunked + "\r\n", 400},
        BadCase{"OverflowChunk", kChunked + "fffffffff\r\n", 400},
        BadCase{"HugeChunk", kChunked + "7fffffff\r\n", 413},
        BadCase{"ChunkWithoutEnd", kChunked + "2\r\nhiXX", 400},
        BadCase{"BlankBeforeChunkSize", kChunked + " 2\r\nhi\r\n0\r\n\r\n", 400},
        BadCase{"TabBeforeChunkSize", kChunked + "\t2\r\nhi\r\n0\r\n\r\n", 400},
        BadCase{"BlankAfterChunkSize", kChunked + "2 \r\nhi\r\n0\r\n\r\n", 400},
        BadCase{"BareNewlineInExtension", kChunked + "2;a\nb\r\nhi\r\n0\r\n\r\n", 400},
        BadCase{"BareReturnInExtension", kChunked + "2;a\rb\r\nhi\r\n0\r\n\r\n", 400},
        BadCase{"NulInExtension", kChunked + std::string("2;a\0b\r\nhi\r\n0\r\n\r\n", 16), 400},
        BadCase{"Trailer", kChunked + "0\r\nX: y\r\n\r\n", 400},
        BadCase{"LongChunkLine", kChunked + "2;" + std::string(400, 'x'), 400},
        BadCase{
            "LengthAndChunked",
            "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n",
            400},
        BadCase{"TwoLengths", kGet + "Content-Length: 2\r\nContent-Length: 2\r\n\r\n", 400},
        BadCase{"NegativeLength", kGet + "Content-Length: -2\r\n\r\n", 400},
        BadCase{"WordLength", kGet + "Content-Length: two\r\n\r\n", 400},
        BadCase{"HugeLength", kGet + "Content-Length: 99999999\r\n\r\n", 413},
        BadCase{"OtherEncoding", kGet + "Transfer-Encoding: gzip, chunked\r\n\r\n", 400},
        BadCase{"TwoHosts", kGet + "Host: y\r\n\r\n", 400},
        BadCase{"NoHost", "GET / HTTP/1.1\r\n\r\n", 400},
        BadCase{"SpaceBeforeColon", kGet + "X : y\r\n\r\n", 400},
        BadCase{"Folded", kGet + "X: y\r\n z\r\n\r\n", 400},
        BadCase{"ControlInValue",
                kGet + "X: a\x1f"
                       "b\r\n\r\n",
                400},
        BadCase{"BareNewline", kGet + "X: a\nY: b\r\n\r\n", 400},
        BadCase{"Upgrade", kGet + "Upgrade: websocket\r\n\r\n", 400},
        BadCase{"AbsoluteTarget", "GET http://x/ HTTP/1.1\r\nHost: x\r\n\r\n", 400},
        BadCase{"Asterisk", "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", 400},
        BadCase{"Http2Preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
        BadCase{"UnknownMethod", "BREW / HTTP/1.1\r\nHost: x\r\n\r\n", 501},
        BadCase{"Garbage", std::string("\x16\x03\x01\x02\r\n\r\n", 8), 400},
        BadCase{"LongTarget", "GET /" + std::string(20'000, 'a') + " HTTP/1.1\r\nHost: x\r\n\r\n",
                414},
        BadCase{"EndlessHeader", "GET / HTTP/1.1\r\nX: " + std::string(70'000, 'a'), 431}),
    [](const auto& test) { return test.param.name; });

TEST(Framing, RefusesTooManyHeaders) {
  std::string input = "GET / HTTP/1.1\r\nHost: x\r\n";
  for (int i = 0; i < 600; ++i) input += "X" + std::to_string(i) + ": y\r\n";
  EXPECT_EQ(Frame(input + "\r\n").code, 431);
}

// However the bytes arrive, the verdict is the same.
TEST(Framing, DoesNotDependOnHowTheBytesArrive) {
  const std::vector<std::string> requests = {
      "GET /a HTTP/1.1\r\nHost: x\r\nA: 1\r\nA: 2\r\n\r\n", kChunked + "2\r\nhi\r\n0\r\n\r\n",
      kChunked + "2\r\nhi\r\n-2\r\n",
      "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello",
      kGet + "Content-Length: x\r\n\r\n"};
  EXPECT_TRUE(rc::check([&](std::vector<std::uint8_t> cuts) {
    const std::string& request = requests[*rc::gen::inRange<std::size_t>(0, requests.size())];
    const Outcome whole = Frame(request);
    RequestFramer framer;
    std::size_t seen = 0;
    Verdict verdict = Verdict::kNeedMore;
    for (const std::uint8_t cut : cuts) {
      seen = std::min(request.size(), seen + cut % 8);
      verdict = framer.Feed(std::string_view(request).substr(0, seen));
      if (verdict != Verdict::kNeedMore) break;
    }
    if (verdict == Verdict::kNeedMore) verdict = framer.Feed(request);
    RC_ASSERT(verdict == whole.verdict);
    RC_ASSERT(framer.refusal_code() == whole.code);
    if (verdict == Verdict::kComplete && !framer.rewritten().empty())
      RC_ASSERT(framer.rewritten() == whole.passed_on);
  }));
}

}  // namespace
}  // namespace berth::server
