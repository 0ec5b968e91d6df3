// Any bytes as HTTP requests, cut into reads of any size. The cuts change nothing, and a request
// that passes is plainly framed: it passes again as it is.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/require.h"
#include "server/framing.h"

namespace {

using berth::server::RequestFramer;
using Verdict = RequestFramer::Verdict;

Verdict FeedInSteps(RequestFramer& framer, std::string_view input, std::size_t step) {
  Verdict verdict = Verdict::kNeedMore;
  for (std::size_t seen = 0; verdict == Verdict::kNeedMore && seen < input.size();) {
    seen = std::min(input.size(), seen + step);
    verdict = framer.Feed(input.substr(0, seen));
  }
  return verdict;
}

void CheckPassed(std::string_view input, const RequestFramer& framer) {
  Require(framer.length() <= input.size(), "a request is no longer than what was read");
  std::string passed = framer.rewritten().empty() ? std::string(input.substr(0, framer.length()))
                                                  : framer.rewritten();
  // Clients may not send the byte that joins repeated headers.
  std::ranges::replace(passed, berth::server::kHeaderSeparator, ' ');
  RequestFramer again;
  Require(again.Feed(passed) == Verdict::kComplete, "a passed request passes again");
  Require(again.length() == passed.size(), "a passed request is one request");
  Require(again.rewritten().empty(), "a passed request is plainly framed");
}

void CheckPosted(std::string_view input, const RequestFramer& framer) {
  const auto posted = framer.posted_json(input);
  if (!posted) return;
  Require(framer.rewritten().empty(),
          "only a request that is passed on as it came goes past Drogon");
  const std::string_view request = input.substr(0, framer.length());
  const std::size_t head = request.find("\r\n\r\n") + 4;
  Require(posted->body == request.substr(head), "the body is all that follows the head");
  Require(request.starts_with("POST " + std::string(posted->path)), "the path is the target's");
  Require(request.substr(0, head).contains(posted->audit_id), "the audit ID is in the head");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  RequestFramer framer, at_once;
  const Verdict verdict = FeedInSteps(framer, input, data[0] % 64 + 1);
  Require(FeedInSteps(at_once, input, input.size()) == verdict, "cuts do not change the verdict");
  Require(framer.refusal_code() == at_once.refusal_code(), "cuts do not change the refusal");
  Require(framer.rewritten() == at_once.rewritten(), "cuts do not change what is passed on");
  if (verdict != Verdict::kComplete) return 0;
  CheckPassed(input, framer);
  CheckPosted(input, framer);
  return 0;
}
