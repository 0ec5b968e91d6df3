#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "kube/json_view.h"
#include "server/framing.h"
#include "server/serve_fixture_test.h"

// Thousands of broken requests against the running program: it must answer each that is one, in
// HTTP and JSON, and live.
namespace berth::server::test {
namespace {

constexpr int kRequests = 10'000;
constexpr std::uint64_t kSeed = 20'261'116;
constexpr std::size_t kLongestSlice = 64;

struct Seed {
  std::string head;  // request line and headers, without the length and the empty line
  std::string body;
};

const std::vector<std::string> kHttpWords = {
    "\r\n",
    "\r\n\r\n",
    ":",
    " ",
    "\t",
    std::string(1, '\0'),
    "\x1f",
    "\xff",
    "%00",
    "%",
    "-1",
    "//",
    "?",
    "\r\nTransfer-Encoding: chunked",
    "\r\nContent-Length: 5",
    "\r\nContent-Length: -1",
    "\r\nUpgrade: h2c",
    "\r\nExpect: 100-continue",
    "\r\nConnection: close",
    "\r\nX-Remote-User: mallory",
    "\r\nHost: x",
    "\r\nAccept: application/json;as=Table;v=v1;g=meta.k8s.io",
    "\r\nCookie: a=b; c",
    "\r\nRange: bytes=0-1",
    "\r\nContent-Encoding: gzip",
    "\r\nAccept-Encoding: br",
    "&watch=true&timeoutSeconds=1",
    "HEAD ",
    "OPTIONS ",
    "\r\n0\r\n\r\n",
    "\r\n-2\r\n",
    "\r\nContent-Type: multipart/form-data; boundary=x",
    "\r\nContent-Type: application/x-www-form-urlencoded"};
const std::vector<std::string> kJsonWords = {"{",         "}",
                                             "[",         "]",
                                             "null",      "\"",
                                             "\\",        "\\u0000",
                                             "\\ud800",   "1e999",
                                             "-",         ",",
                                             ":",         "true",
                                             "\xff",      "\xc3",
                                             "\"kind\":", "0",
                                             "[[[[",      "/",
                                             "::/0",      "18446744073709551616"};

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  std::size_t Below(std::size_t bound) { return bound == 0 ? 0 : random_() % bound; }
  template <typename T>
  const T& Pick(const std::vector<T>& from) {
    return from[Below(from.size())];
  }

  std::string Mutate(std::string text, const std::vector<std::string>& words,
                     const std::string& other) {
    for (std::size_t times = 1 + Below(3); times > 0; --times) {
      const std::size_t at = Below(text.size() + 1);
      const std::string slice = text.substr(at, Below(kLongestSlice));
      switch (Below(7)) {
        case 0:
          if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << Below(8)));
          break;
        case 1:
          text.erase(at, slice.size());
          break;
        case 2:
          text.insert(at, Pick(words));
          break;
        case 3:
          text.insert(Below(text.size() + 1), slice);
          break;
        case 4:
          text.insert(at, other.substr(Below(other.size() + 1), slice.size()));
          break;
        case 5:
          text.insert(at, 1, static_cast<char>(Below(256)));
          break;
        case 6:
          if (Below(3) == 0) text.resize(at);
          break;
      }
    }
    return text;
  }

 private:
  std::mt19937_64 random_;
};

std::string Whole(const Seed& seed) {
  const std::string length =
      seed.body.empty() ? "" : "\r\nContent-Length: " + std::to_string(seed.body.size());
  return seed.head + length + "\r\n\r\n" + seed.body;
}

std::vector<Seed> WebhookSeeds() {
  std::vector<Seed> seeds;
  for (const char* name : {"create-mutating", "create", "update", "delete", "dryrun", "status"}) {
    for (const std::string& path : {kMutate, kValidate}) {
      seeds.push_back({"POST " + path +
                           "?timeout=5s HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n"
                           "Content-Type: application/json",
                       ReadTestData(std::string("admission/") + name + ".json")});
    }
  }
  return seeds;
}

std::vector<Seed> ApiSeeds() {
  const std::string rest =
      " HTTP/1.1\r\nHost: localhost\r\nX-Remote-User: admin\r\nX-Remote-Group: "
      "dev\r\nX-Remote-Group: system:masters\r\n"
      "X-Remote-Extra-Scopes%2fa: b\r\nAudit-Id: 1\r\nAccept: application/json";
  std::vector<Seed> seeds;
  for (const std::string& target :
       {std::string("/apis"), std::string("/apis/live.berth.dev/v1alpha1"),
        std::string("/openapi/v2"), std::string("/openapi/v3/apis/live.berth.dev/v1alpha1?hash=x"),
        kWorkQueues,
        kWorkQueues + "?limit=1&labelSelector=a%3Db,c&fieldSelector=metadata.name%3Dhousekeeping",
        kWorkQueues + "?resourceVersion=1&resourceVersionMatch=Exact&continue=MQBhAGI",
        kWorkQueues + "/housekeeping",
        kWorkQueues +
            "?watch=true&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
            "&allowWatchBookmarks=true"}) {
    seeds.push_back({"GET " + target + rest, ""});
  }
  const std::string options = R"({"kind":"DeleteOptions","apiVersion":"v1","preconditions":)"
                              R"({"uid":"x","resourceVersion":"1"},"dryRun":["All"]})";
  seeds.push_back(
      {"DELETE " + kWorkQueues + "/housekeeping" + rest + "\r\nContent-Type: application/json",
       options});
  seeds.push_back({"POST " + kWorkQueues + rest + "\r\nContent-Type: application/json",
                   R"({"metadata":{"name":"x"}})"});
  return seeds;
}

// The answer that the server owes for these bytes.
struct Owed {
  std::vector<std::string> methods;  // of the answers, in order
  bool reusable = true;              // the connection is at the start of a request afterwards
};

Owed Owes(std::string_view input) {
  Owed owed;
  RequestFramer framer;
  while (!input.empty()) {
    const auto verdict = framer.Feed(input);
    if (verdict == RequestFramer::Verdict::kNeedMore) return owed.reusable = false, owed;
    owed.methods.emplace_back(input.substr(0, input.find(' ')));
    if (verdict == RequestFramer::Verdict::kRefused) {
      owed.methods.back() = "refused";
      return owed.reusable = false, owed;
    }
    input.remove_prefix(framer.length());
    framer.Reset();
  }
  return owed;
}

// "" or what is wrong with an answer.
std::string Fault(const HttpResponse& response, bool to_head) {
  if (response.code >= 300 && response.code < 400 && response.code != 304) return "a redirect";
  if (to_head || response.code == 304) return "";
  kube::JsonDocument document;
  const auto json = document.Parse(response.body);
  if (!json) return "the body is not JSON: " + json.error().message;
  if (!json->is_object()) return "the body is no object";
  if ((*json)["kind"].StringOr("") != "Status") return "";
  return (*json)["code"].Int().value_or(200) == response.code ? "" : "the Status has another code";
}

class Target {
 public:
  Target(std::uint16_t port, const TlsOptions& options, std::vector<Seed> seeds)
      : seeds_(std::move(seeds)), port_(port), context_(options) {}

  std::string NextRequest(Mutator& mutator) const {
    const Seed& seed = mutator.Pick(seeds_);
    const Seed& other = mutator.Pick(seeds_);
    if (!seed.body.empty() && mutator.Below(2) == 0) {
      return Whole({seed.head, mutator.Mutate(seed.body, kJsonWords, other.body)});
    }
    if (mutator.Below(2) == 0)
      return Whole({mutator.Mutate(seed.head, kHttpWords, other.head), seed.body});
    return mutator.Mutate(Whole(seed), kHttpWords, Whole(other));
  }

  // Sends the request, in two pieces split at `split`; "" or what is wrong with what came back.
  std::string Try(const std::string& request, std::size_t split) {
    if (!client_) client_.emplace(port_, context_);
    if (!client_->connected()) return "no connection: " + client_->error();
    const Owed owed = Owes(request);
    // Refused after the first piece, the server may hang up before it has the second.
    if (client_->Send(request.substr(0, split))) client_->Send(request.substr(split));
    for (const std::string& method : owed.methods) {
      auto response = client_->ReadHead();
      while (response && response->code == 100) response = client_->ReadHead();
      if (!response) return "no answer: " + client_->error();
      ++answers_[response->code];
      if (response->Header("transfer-encoding") == "chunked")
        return client_.reset(), "";  // a watch
      const bool bodiless = method == "HEAD" || response->code == 304;
      if (!bodiless && !client_->ReadBody(*response)) return "half an answer: " + client_->error();
      if (const std::string fault = Fault(*response, bodiless); !fault.empty()) {
        return fault + ": " + std::to_string(response->code) + " " + response->body;
      }
      if (response->Header("connection") == "close") return client_.reset(), "";
    }
    if (!owed.reusable) client_.reset();
    return "";
  }

  const std::map<int, int>& answers() const { return answers_; }

 private:
  std::vector<Seed> seeds_;
  std::uint16_t port_;
  TlsContext context_;
  std::optional<TlsClient> client_;
  std::map<int, int> answers_;
};

class Mutation : public ServeTest {};

TEST_F(Mutation, TenThousandBrokenRequestsAreAnsweredAndSurvived) {
  const char* given = std::getenv("BERTH_SEED");
  const std::uint64_t seed = given == nullptr ? kSeed : std::strtoull(given, nullptr, 10);
  SCOPED_TRACE("BERTH_SEED=" + std::to_string(seed));
  Start();
  Mutator mutator(seed);
  Target webhook(berth_->port("webhook"), {}, WebhookSeeds());
  Target api(berth_->port("api"), {.identity = &pki_.front_proxy}, ApiSeeds());
  for (int i = 0; i < kRequests; ++i) {
    Target& target = mutator.Below(2) == 0 ? webhook : api;
    const std::string request = target.NextRequest(mutator);
    const std::string fault =
        target.Try(request, mutator.Below(2) == 0 ? 0 : mutator.Below(request.size()));
    ASSERT_EQ(fault, "") << "request " << i << ": " << testing::PrintToString(request);
    ASSERT_TRUE(berth_->Running())
        << "after request " << i << ": " << testing::PrintToString(request);
  }
  for (const auto& [code, count] : webhook.answers())
    RecordProperty("webhook" + std::to_string(code), count);
  for (const auto& [code, count] : api.answers())
    RecordProperty("api" + std::to_string(code), count);
  // The requests have reached what is behind the framing, too.
  EXPECT_GT(webhook.answers().at(200), kRequests / 50);
  EXPECT_GT(api.answers().at(200), kRequests / 50);
  EXPECT_GT(webhook.answers().at(400), kRequests / 50);
  EXPECT_EQ(Code(FrontProxy().Exchange(Get(kWorkQueues, kAdmin))), 200);
}

}  // namespace
}  // namespace berth::server::test
