#include "bench/watch/stream.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

namespace berth::bench {
namespace {

constexpr size_t kMaxHead = 16 << 10;
constexpr size_t kMaxLine = 1 << 20;
constexpr size_t kMaxSizeLine = 64;

using Result = std::expected<void, std::string>;

std::unexpected<std::string> Fail(std::string_view what, std::string_view got) {
  return std::unexpected(std::string(what) + ": " + std::string(got.substr(0, 200)));
}

// The integer after `"key":`, quoted or not. The lines are machine-made and small, and the client
// must not be what limits the server: looking for the key is enough.
std::optional<int64_t> IntegerField(std::string_view line, std::string_view quoted_key) {
  size_t at = line.find(quoted_key);
  if (at == std::string_view::npos) return std::nullopt;
  at = line.find_first_not_of(": \"", at + quoted_key.size());
  if (at == std::string_view::npos) return std::nullopt;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(line.data() + at, line.data() + line.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
}

std::string_view EventType(std::string_view line) {
  constexpr std::string_view kKey = "\"type\"";
  size_t at = line.find(kKey);
  if (at == std::string_view::npos) return {};
  at = line.find_first_not_of(": \"", at + kKey.size());
  if (at == std::string_view::npos) return {};
  return line.substr(at, line.find('"', at) - at);
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower;
}

// Moves bytes into `kept` up to and including `end`; true when `end` has come.
bool TakeUntil(std::string_view end, std::string& kept, std::string_view& bytes) {
  if (kept.empty()) {  // Nearly always: it all lies in one piece, and nothing but the found part is
                       // copied.
    const size_t at = bytes.find(end);
    kept.assign(bytes.substr(0, at));
    bytes.remove_prefix(at == std::string_view::npos ? bytes.size() : at + end.size());
    return at != std::string_view::npos;
  }
  const size_t before = kept.size();
  kept.append(bytes);
  const size_t from = before < end.size() ? 0 : before - end.size() + 1;
  const size_t at = kept.find(end, from);
  if (at == std::string::npos) {
    bytes = {};
    return false;
  }
  bytes.remove_prefix(at + end.size() - before);
  kept.resize(at);
  return true;
}

}  // namespace

Result Sequence::Add(std::string_view line) {
  if (line.front() != '{' || line.back() != '}') return Fail("not an event", line);
  const std::string_view type = EventType(line);
  if (type == "BOOKMARK") return {};
  if (type != (started() ? "MODIFIED" : "ADDED")) return Fail("unexpected event type", line);
  const auto adds = IntegerField(line, "\"adds\"");
  const auto version = IntegerField(line, "\"resourceVersion\"");
  if (!adds || !version) return Fail("no status.adds or metadata.resourceVersion", line);
  if (started() && *adds != adds_ + 1) {
    return Fail(*adds <= adds_ ? "duplicate or out of order" : "gap",
                std::to_string(adds_) + " then " + std::to_string(*adds));
  }
  if (*version <= resource_version_) return Fail("resourceVersion did not grow", line);
  adds_ = *adds;
  resource_version_ = *version;
  return {};
}

Result Stream::Feed(std::string_view bytes) {
  Result result;
  while (!bytes.empty() && result) {
    switch (state_) {
      case State::kHead:
        result = Head(bytes);
        break;
      case State::kSize:
        result = Size(bytes);
        break;
      case State::kData:
        result = Data(bytes);
        break;
      case State::kDataEnd:
        result = DataEnd(bytes);
        break;
      case State::kEnded:
        return Fail("bytes after the last chunk", bytes);
    }
  }
  return result;
}

Result Stream::Head(std::string_view& bytes) {
  if (!TakeUntil("\r\n\r\n", framing_, bytes)) {
    if (framing_.size() > kMaxHead) return Fail("response head too long", framing_);
    return {};
  }
  if (!framing_.starts_with("HTTP/1.1 200 "))
    return Fail("not 200", framing_ + " " + std::string(bytes));
  if (Lower(framing_).find("\r\ntransfer-encoding: chunked") == std::string::npos) {
    return Fail("not chunked", framing_);
  }
  framing_.clear();
  state_ = State::kSize;
  return {};
}

Result Stream::Size(std::string_view& bytes) {
  if (!TakeUntil("\r\n", framing_, bytes)) {
    if (framing_.size() > kMaxSizeLine) return Fail("chunk size line too long", framing_);
    return {};
  }
  const char* end = framing_.data() + framing_.size();
  const auto [at, error] = std::from_chars(framing_.data(), end, chunk_left_, 16);
  if (error != std::errc() || at != end) return Fail("bad chunk size", framing_);
  framing_.clear();
  state_ = chunk_left_ == 0 ? State::kEnded : State::kData;
  if (state_ == State::kEnded) {
    if (!partial_.empty()) return Fail("ended inside a line", partial_);
    bytes = {};  // The empty trailer.
  }
  return {};
}

Result Stream::Data(std::string_view& bytes) {
  std::string_view data = bytes.substr(0, chunk_left_);
  bytes.remove_prefix(data.size());
  chunk_left_ -= data.size();
  if (chunk_left_ == 0) state_ = State::kDataEnd;
  for (size_t end; (end = data.find('\n')) != std::string_view::npos; data.remove_prefix(end + 1)) {
    Result result;
    if (partial_.empty()) {
      result = Line(data.substr(0, end));
    } else {
      partial_.append(data.substr(0, end));
      result = Line(partial_);
      partial_.clear();
    }
    if (!result) return result;
  }
  partial_.append(data);
  if (partial_.size() > kMaxLine) return Fail("line too long", partial_);
  return {};
}

Result Stream::DataEnd(std::string_view& bytes) {
  const size_t missing = 2 - framing_.size();
  framing_.append(bytes.substr(0, missing));
  bytes.remove_prefix(std::min(missing, bytes.size()));
  if (framing_.size() < 2) return {};
  if (framing_ != "\r\n") return Fail("no CRLF after a chunk", framing_);
  framing_.clear();
  state_ = State::kSize;
  return {};
}

Result Stream::Line(std::string_view line) {
  if (line.empty()) return Fail("empty line", line);
  ++lines_;
  line_bytes_ += line.size() + 1;
  return sequence_.Add(line);
}

}  // namespace berth::bench
