// A watcher's reader of the bytes it gets: HTTP response → chunks → lines → events in sequence.
// No I/O.
#pragma once
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace berth::bench {

// Follows the events of one object. The object counts its own changes in `status.adds`, so a gap or
// a duplicate shows as a step other than one, and `metadata.resourceVersion` must grow.
class Sequence {
 public:
  // One line of the watch. An error says what is wrong with it; the sequence is then of no more
  // use.
  std::expected<void, std::string> Add(std::string_view line);

  bool started() const { return adds_ >= 0; }
  int64_t adds() const { return adds_; }

 private:
  int64_t adds_ = -1;
  int64_t resource_version_ = -1;
};

// Decodes one chunked HTTP/1.1 response incrementally: bytes may be split anywhere. It keeps only
// an incomplete line, and refuses one longer than 1 MiB.
class Stream {
 public:
  std::expected<void, std::string> Feed(std::string_view bytes);

  const Sequence& sequence() const { return sequence_; }
  uint64_t lines() const { return lines_; }
  uint64_t line_bytes() const { return line_bytes_; }
  // The last chunk has come: the server ended the watch in order.
  bool ended() const { return state_ == State::kEnded; }

 private:
  enum class State : uint8_t { kHead, kSize, kData, kDataEnd, kEnded };

  std::expected<void, std::string> Head(std::string_view& bytes);
  std::expected<void, std::string> Size(std::string_view& bytes);
  std::expected<void, std::string> Data(std::string_view& bytes);
  std::expected<void, std::string> DataEnd(std::string_view& bytes);
  std::expected<void, std::string> Line(std::string_view line);

  State state_ = State::kHead;
  uint64_t chunk_left_ = 0;
  uint64_t lines_ = 0;
  uint64_t line_bytes_ = 0;
  std::string framing_;  // An incomplete head, size line or chunk end.
  std::string partial_;  // An incomplete line of the watch.
  Sequence sequence_;
};

}  // namespace berth::bench
