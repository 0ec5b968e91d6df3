#include "server/framing.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "http/media_type.h"

namespace berth::server {
namespace {

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::size_t kMaxChunkLine = 256;

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

bool EqualsIgnoreCase(std::string_view a, std::string_view lower) {
  return a.size() == lower.size() && std::equal(a.begin(), a.end(), lower.begin(),
                                                [](char x, char y) { return Lower(x) == y; });
}

template <typename Predicate>
constexpr std::array<bool, 256> BytesThat(Predicate holds) {
  std::array<bool, 256> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = holds(static_cast<unsigned char>(i));
  return bytes;
}

constexpr std::array<bool, 256> kTokenBytes = BytesThat([](unsigned char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("!#$%&'*+-.^_`|~").contains(static_cast<char>(c));
});

// Any byte but control characters, of which only the tab is allowed.
constexpr std::array<bool, 256> kValueBytes =
    BytesThat([](unsigned char c) { return c == '\t' || (c >= 0x20 && c != 0x7f); });

bool AllAmong(const std::array<bool, 256>& bytes, std::string_view text) {
  return std::ranges::all_of(text, [&](char c) { return bytes[static_cast<unsigned char>(c)]; });
}

bool IsToken(std::string_view text) { return !text.empty() && AllAmong(kTokenBytes, text); }
bool IsHeaderValue(std::string_view text) { return AllAmong(kValueBytes, text); }

bool IsVisible(char c) { return c > 0x20 && c < 0x7f; }

std::string_view Trim(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// A letter differs from its other case in one bit, which is set here.
std::uint64_t HashIgnoreCase(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c | 0x20)) * 0x100000001b3ULL;
  return hash;
}

bool IsKnownMethod(std::string_view method) {
  constexpr std::array<std::string_view, 7> kMethods = {"GET",    "POST",    "PUT", "PATCH",
                                                        "DELETE", "OPTIONS", "HEAD"};
  return std::ranges::find(kMethods, method) != kMethods.end();
}

}  // namespace

// Keeps what it has allocated: a connection's requests are much alike.
void RequestFramer::Reset() {
  phase_ = Phase::kHeader;
  scanned_ = header_end_ = content_length_ = chunk_left_ = length_ = 0;
  http_1_0_ = has_host_ = has_length_ = chunked_ = must_rewrite_ = expect_continue_ = false;
  json_ = has_connection_ = false;
  audit_id_ = audit_id_size_ = 0;
  names_.clear();
  body_ = {};
  rewritten_ = {};
  refusal_code_ = 0;
  refusal_ = {};
}

bool RequestFramer::TakeExpectContinue() { return std::exchange(expect_continue_, false); }

RequestFramer::Verdict RequestFramer::Refuse(int code, std::string_view why) {
  refusal_code_ = code;
  refusal_ = why;
  return Verdict::kRefused;
}

RequestFramer::Verdict RequestFramer::Feed(std::string_view input) {
  if (refusal_code_ != 0) return Verdict::kRefused;
  if (phase_ == Phase::kHeader) {
    if (const Verdict verdict = ReadHeader(input); phase_ == Phase::kHeader) return verdict;
  }
  return chunked_ ? ReadChunks(input) : ReadBody(input);
}

RequestFramer::Verdict RequestFramer::ReadHeader(std::string_view input) {
  // A terminator may straddle two reads.
  const std::size_t from = scanned_ < 3 ? 0 : scanned_ - 3;
  const std::size_t end = input.find("\r\n\r\n", from);
  scanned_ = input.size();
  if (end == std::string_view::npos) {
    if (input.size() > limits_.header_bytes)
      return Refuse(431, "the request's headers are too large");
    return Verdict::kNeedMore;
  }
  header_end_ = end + 4;
  if (header_end_ > limits_.header_bytes) return Refuse(431, "the request's headers are too large");

  std::string_view rest = input.substr(0, end + kLineEnd.size());
  bool first = true;
  while (!rest.empty()) {
    const std::size_t line_end = rest.find(kLineEnd);
    const std::string_view line = rest.substr(0, line_end);
    rest.remove_prefix(line_end + kLineEnd.size());
    if (!(first ? ReadRequestLine(line) : ReadHeaderLine(input, line))) return Verdict::kRefused;
    first = false;
  }
  if (!CheckSemantics()) return Verdict::kRefused;
  phase_ = chunked_ ? Phase::kChunkSize : Phase::kBody;
  scanned_ = header_end_;
  return Verdict::kNeedMore;
}

bool RequestFramer::ReadRequestLine(std::string_view line) {
  const auto bad = [this](int code, std::string_view why) { return Refuse(code, why), false; };
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last)
    return bad(400, "the request line is malformed");
  const std::string_view method = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, last - first - 1);
  const std::string_view version = line.substr(last + 1);
  if (!IsToken(method)) return bad(400, "the request line is malformed");
  if (version != "HTTP/1.1" && version != "HTTP/1.0")
    return bad(505, "only HTTP/1.1 is spoken here");
  if (!IsKnownMethod(method)) return bad(501, "the method is not known");
  if (target.size() > limits_.target_bytes) return bad(414, "the request target is too long");
  if (target.empty() || target.front() != '/' || !std::ranges::all_of(target, IsVisible)) {
    return bad(400, "the request target is malformed");
  }
  http_1_0_ = version == "HTTP/1.0";
  return true;
}

bool RequestFramer::SameName(std::string_view input, const Name& a, const Name& b) const {
  if (a.hash != b.hash || a.size != b.size) return false;
  return std::ranges::equal(input.substr(a.offset, a.size), input.substr(b.offset, b.size), {},
                            Lower, Lower);
}

bool RequestFramer::ReadHeaderLine(std::string_view input, std::string_view line) {
  const auto bad = [this](int code, std::string_view why) { return Refuse(code, why), false; };
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return bad(400, "a header has no colon");
  const std::string_view name = line.substr(0, colon);
  const std::string_view value = Trim(line.substr(colon + 1));
  if (!IsToken(name)) return bad(400, "a header's name is malformed");
  if (!IsHeaderValue(value)) return bad(400, "a header's value has a control character");

  const Name key{.hash = HashIgnoreCase(name),
                 .offset = static_cast<std::uint32_t>(name.data() - input.data()),
                 .size = static_cast<std::uint32_t>(name.size())};
  const bool repeated =
      std::ranges::any_of(names_, [&](const Name& seen) { return SameName(input, seen, key); });
  if (names_.size() >= limits_.headers) return bad(431, "the request has too many headers");
  names_.push_back(key);

  if (EqualsIgnoreCase(name, "content-length")) {
    if (repeated) return bad(400, "Content-Length is given twice");
    const auto [end, error] =
        std::from_chars(value.data(), value.data() + value.size(), content_length_);
    if (value.empty() || value.size() > 15 || error != std::errc{} ||
        end != value.data() + value.size()) {
      return bad(400, "Content-Length is not a number");
    }
    if (content_length_ > limits_.body_bytes) return bad(413, "the body is too large");
    has_length_ = true;
  } else if (EqualsIgnoreCase(name, "transfer-encoding")) {
    if (repeated || !EqualsIgnoreCase(value, "chunked")) {
      return bad(400, "the only Transfer-Encoding taken is chunked");
    }
    chunked_ = true;
  } else if (EqualsIgnoreCase(name, "host")) {
    if (repeated) return bad(400, "Host is given twice");
    has_host_ = true;
  } else if (EqualsIgnoreCase(name, "upgrade")) {
    return bad(400, "protocol upgrades are not served");
  } else if (EqualsIgnoreCase(name, "expect")) {
    if (!EqualsIgnoreCase(value, "100-continue")) return bad(417, "the expectation is not known");
    expect_continue_ = true;
    must_rewrite_ = true;
  } else if (repeated) {
    must_rewrite_ = true;
  } else {
    NoteHeader(input, name, value);
  }
  return true;
}

// The headers that decide whether a request is a PostedJson.
void RequestFramer::NoteHeader(std::string_view input, std::string_view name,
                               std::string_view value) {
  if (EqualsIgnoreCase(name, "content-type")) {
    json_ = http::IsMediaType(value, "application/json");
  } else if (EqualsIgnoreCase(name, "connection")) {
    has_connection_ = true;
  } else if (EqualsIgnoreCase(name, "audit-id")) {
    audit_id_ = static_cast<std::size_t>(value.data() - input.data());
    audit_id_size_ = value.size();
  }
}

bool RequestFramer::CheckSemantics() {
  if (chunked_ && has_length_)
    return Refuse(400, "Content-Length and Transfer-Encoding together"), false;
  if (chunked_ && http_1_0_) return Refuse(400, "Transfer-Encoding in an HTTP/1.0 request"), false;
  if (!has_host_ && !http_1_0_) return Refuse(400, "the Host header is missing"), false;
  if (!chunked_ && content_length_ == 0) expect_continue_ = false;
  return true;
}

RequestFramer::Verdict RequestFramer::ReadBody(std::string_view input) {
  const std::size_t length = header_end_ + content_length_;
  if (input.size() < length) return Verdict::kNeedMore;
  return Complete(input, length);
}

bool RequestFramer::ReadChunkSize(std::string_view line) {
  const std::size_t semicolon = line.find(';');
  std::string_view digits = line.substr(0, semicolon);
  // Blanks before the semicolon are allowed; before the digits they are not.
  if (semicolon != std::string_view::npos)
    digits = digits.substr(0, digits.find_last_not_of(" \t") + 1);
  // Somebody who ends lines at a bare LF would see another request in an extension.
  if (!IsHeaderValue(line)) return Refuse(400, "a chunk's extension is malformed"), false;
  std::size_t size = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), size, 16);
  if (digits.empty() || digits.size() > 8 || error != std::errc{} ||
      end != digits.data() + digits.size()) {
    return Refuse(400, "a chunk's size is malformed"), false;
  }
  if (body_.size() + size > limits_.body_bytes) return Refuse(413, "the body is too large"), false;
  chunk_left_ = size;
  phase_ = size == 0 ? Phase::kTrailer : Phase::kChunkData;
  return true;
}

RequestFramer::Verdict RequestFramer::ReadChunks(std::string_view input) {
  // Framing may not cost more than a body's worth: one-byte chunks with long extensions are an
  // attack, not a request.
  const std::size_t most = header_end_ + 2 * limits_.body_bytes;
  while (true) {
    if (phase_ == Phase::kChunkData) {
      const std::size_t take = std::min(chunk_left_, input.size() - scanned_);
      body_.append(input.substr(scanned_, take));
      scanned_ += take;
      chunk_left_ -= take;
      if (chunk_left_ > 0 || input.size() - scanned_ < kLineEnd.size()) return Verdict::kNeedMore;
      if (input.substr(scanned_, kLineEnd.size()) != kLineEnd)
        return Refuse(400, "a chunk's end is malformed");
      scanned_ += kLineEnd.size();
      phase_ = Phase::kChunkSize;
    }
    const std::size_t line_end = input.find(kLineEnd, scanned_);
    // The half of a line end that has been read is no part of the line.
    const std::size_t read_end = input.size() - (input.ends_with('\r') ? 1 : 0);
    const std::size_t line_size =
        (line_end == std::string_view::npos ? read_end : line_end) - scanned_;
    if (line_size > kMaxChunkLine || scanned_ > most)
      return Refuse(400, "a chunk's size line is too long");
    if (line_end == std::string_view::npos) return Verdict::kNeedMore;
    const std::string_view line = input.substr(scanned_, line_size);
    scanned_ = line_end + kLineEnd.size();
    if (phase_ == Phase::kChunkSize) {
      if (!ReadChunkSize(line)) return Verdict::kRefused;
    } else if (line.empty()) {
      return Complete(input, scanned_);
    } else {
      return Refuse(400, "trailers are not taken");
    }
  }
}

std::optional<PostedJson> RequestFramer::posted_json(std::string_view input) const {
  constexpr std::string_view kPost = "POST ";
  if (!json_ || has_connection_ || http_1_0_ || chunked_ || must_rewrite_ ||
      !input.starts_with(kPost)) {
    return std::nullopt;
  }
  const std::string_view target = input.substr(kPost.size());
  return PostedJson{.path = target.substr(0, target.find_first_of("? ")),
                    .body = input.substr(header_end_, content_length_),
                    .audit_id = input.substr(audit_id_, audit_id_size_)};
}

RequestFramer::Verdict RequestFramer::Complete(std::string_view input, std::size_t length) {
  length_ = length;
  if (chunked_ || must_rewrite_) Rewrite(input);
  return Verdict::kComplete;
}

// The same request, plainly framed: a Content-Length body, every header once.
void RequestFramer::Rewrite(std::string_view input) {
  std::string_view rest = input.substr(0, header_end_ - kLineEnd.size());
  const std::size_t request_line_end = rest.find(kLineEnd) + kLineEnd.size();
  const std::string_view request_line = rest.substr(0, request_line_end);
  rest.remove_prefix(request_line_end);

  std::vector<Header> headers;
  while (!rest.empty()) {
    const std::size_t line_end = rest.find(kLineEnd);
    const std::string_view line = rest.substr(0, line_end);
    rest.remove_prefix(line_end + kLineEnd.size());
    const std::size_t colon = line.find(':');
    headers.push_back({line.substr(0, colon), Trim(line.substr(colon + 1))});
  }
  const std::string_view body =
      chunked_ ? std::string_view(body_) : input.substr(header_end_, content_length_);

  rewritten_.reserve(header_end_ + body.size() + 32);
  rewritten_.assign(request_line);
  for (std::size_t i = 0; i < headers.size(); ++i) {
    const auto& [name, value] = headers[i];
    const bool seen = std::any_of(names_.begin(), names_.begin() + static_cast<std::ptrdiff_t>(i),
                                  [&](const Name& n) { return SameName(input, n, names_[i]); });
    if (seen || EqualsIgnoreCase(name, "transfer-encoding") || EqualsIgnoreCase(name, "expect") ||
        EqualsIgnoreCase(name, "content-length")) {
      continue;
    }
    rewritten_.append(name).append(": ").append(value);
    for (std::size_t j = i + 1; j < headers.size(); ++j) {
      if (SameName(input, names_[i], names_[j]))
        rewritten_.append(1, kHeaderSeparator).append(headers[j].value);
    }
    rewritten_.append(kLineEnd);
  }
  if (chunked_ || has_length_) {
    rewritten_.append("Content-Length: ").append(std::to_string(body.size())).append(kLineEnd);
  }
  rewritten_.append(kLineEnd).append(body);
}

}  // namespace berth::server
