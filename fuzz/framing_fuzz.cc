// Whatever the bytes and however they arrive: no crash, and what passes is one plainly framed
// request.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "server/framing.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using berth::server::RequestFramer;
  if (size < 1) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t step = data[0] % 64 + 1;
  RequestFramer framer;
  auto verdict = RequestFramer::Verdict::kNeedMore;
  for (std::size_t seen = 0; verdict == RequestFramer::Verdict::kNeedMore && seen < input.size();) {
    seen = std::min(input.size(), seen + step);
    verdict = framer.Feed(input.substr(0, seen));
  }
  if (verdict == RequestFramer::Verdict::kComplete) {
    if (framer.length() > input.size()) std::abort();
    const std::string passed = framer.rewritten().empty()
                                   ? std::string(input.substr(0, framer.length()))
                                   : framer.rewritten();
    RequestFramer again;
    if (again.Feed(passed) != RequestFramer::Verdict::kComplete || again.length() != passed.size())
      std::abort();
  }
  return 0;
}
