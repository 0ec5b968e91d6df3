#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Strict HTTP/1.1 framing in front of Drogon's parser, which trusts its input too far
// (docs/drogon.md): what passes here is one whole, plainly framed request; everything else is
// refused with an answer. No I/O, no clock.
namespace berth::server {

struct FramingLimits {
  std::size_t header_bytes = 64 * 1024;
  std::size_t headers = 512;
  std::size_t target_bytes = 16 * 1024;
  std::size_t body_bytes = 7 * 1024 * 1024;
};

// Repeated headers are joined with this byte, which no header value may contain; Drogon would keep
// only the first.
inline constexpr char kHeaderSeparator = '\x1f';

// A POST of JSON whose answer leaves the connection open. Its parts stand in the input.
struct PostedJson {
  std::string_view path;  // as sent, without the query
  std::string_view body;
  std::string_view audit_id;  // the header's value, empty if there is none
};

class RequestFramer {
 public:
  enum class Verdict { kNeedMore, kComplete, kRefused };

  explicit RequestFramer(FramingLimits limits = {}) : limits_(limits) {}

  // `input` holds all bytes received since the start of the current request, so it begins with what
  // the previous call saw. Each byte is examined once over all calls. After kComplete, Reset()
  // before the next request.
  Verdict Feed(std::string_view input);

  // After kComplete: how many bytes of the input the request took, and what to pass on: the input's
  // own bytes when rewritten() is empty.
  std::size_t length() const { return length_; }
  const std::string& rewritten() const { return rewritten_; }
  std::string TakeRewritten() { return std::move(rewritten_); }

  // After kComplete: the request as a PostedJson, if it is one and is passed on as it came.
  std::optional<PostedJson> posted_json(std::string_view input) const;

  // Bytes of chunks that were decoded, held beside the input.
  std::size_t decoded_bytes() const { return body_.size(); }

  // True once, when the client waits for "100 Continue" before it sends the body.
  bool TakeExpectContinue();

  // After kRefused.
  int refusal_code() const { return refusal_code_; }
  std::string_view refusal() const { return refusal_; }

  void Reset();

 private:
  enum class Phase { kHeader, kBody, kChunkSize, kChunkData, kTrailer };
  struct Header {
    std::string_view name;
    std::string_view value;
  };
  // A header's name: where it stands in the input, which may move between two calls. The hash,
  // without regard to case, spares most comparisons; equal hashes alone say nothing.
  struct Name {
    std::uint64_t hash;
    std::uint32_t offset;
    std::uint32_t size;
  };

  Verdict Refuse(int code, std::string_view why);
  Verdict ReadHeader(std::string_view input);
  bool ReadRequestLine(std::string_view line);
  bool ReadHeaderLine(std::string_view input, std::string_view line);
  void NoteHeader(std::string_view input, std::string_view name, std::string_view value);
  bool SameName(std::string_view input, const Name& a, const Name& b) const;
  bool CheckSemantics();
  Verdict ReadBody(std::string_view input);
  Verdict ReadChunks(std::string_view input);
  bool ReadChunkSize(std::string_view line);
  Verdict Complete(std::string_view input, std::size_t length);
  void Rewrite(std::string_view input);

  FramingLimits limits_;
  Phase phase_ = Phase::kHeader;
  std::size_t scanned_ = 0;     // bytes of the input already examined
  std::size_t header_end_ = 0;  // just past the empty line
  std::size_t content_length_ = 0;
  std::size_t chunk_left_ = 0;
  std::size_t length_ = 0;
  bool http_1_0_ = false;
  bool has_host_ = false;
  bool has_length_ = false;
  bool chunked_ = false;
  bool must_rewrite_ = false;
  bool expect_continue_ = false;
  bool json_ = false;            // its Content-Type
  bool has_connection_ = false;  // the header
  std::size_t audit_id_ = 0;     // where the value stands in the input
  std::size_t audit_id_size_ = 0;
  std::vector<Name> names_;  // of all header lines, in their order
  std::string body_;         // decoded chunks
  std::string rewritten_;
  int refusal_code_ = 0;
  std::string_view refusal_;
};

}  // namespace berth::server
