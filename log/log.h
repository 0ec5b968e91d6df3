#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

// Structured logs: one line an event, as JSON or as text, on standard error.
//   log::Info("listening", {{"listener", "webhook"}, {"port", port}});
// Messages and values are escaped and cut at kMaxValue bytes; "…(+12 bytes)" marks the cut.
// Never pass a secret: nothing is redacted here.
// Thread-safe; a line costs one formatted write. JSON from level info up until told otherwise.
namespace berth::log {

enum class Level { kDebug, kInfo, kWarn, kError, kOff };
enum class LineFormat { kJson, kText };

inline constexpr std::size_t kMaxValue = 2048;

// A value of a field: text or a number, formatted where it is passed.
class Value {
 public:
  Value(std::string_view text) : text_(text), quoted_(true) {}
  Value(const char* text) : text_(text), quoted_(true) {}
  Value(const std::string& text) : text_(text), quoted_(true) {}
  Value(bool value) : text_(value ? "true" : "false") {}
  Value(std::int64_t value) : text_(std::to_string(value)) {}
  Value(std::uint64_t value) : text_(std::to_string(value)) {}
  Value(int value) : text_(std::to_string(value)) {}
  Value(unsigned value) : text_(std::to_string(value)) {}
  Value(std::uint16_t value) : text_(std::to_string(value)) {}
  Value(double value);  // the shortest form that reads back; NaN and infinities as text

  const std::string& text() const { return text_; }
  bool quoted() const { return quoted_; }

 private:
  std::string text_;
  bool quoted_ = false;
};

using Fields = std::initializer_list<std::pair<std::string_view, Value>>;

// Both return false for a word they don't know and change nothing then.
bool SetLevel(std::string_view name);   // debug, info, warn, error, off
bool SetFormat(std::string_view name);  // json, text

bool Enabled(Level level);
void Write(Level level, std::string_view message, Fields fields);

inline void Debug(std::string_view message, Fields fields = {}) {
  Write(Level::kDebug, message, fields);
}
inline void Info(std::string_view message, Fields fields = {}) {
  Write(Level::kInfo, message, fields);
}
inline void Warn(std::string_view message, Fields fields = {}) {
  Write(Level::kWarn, message, fields);
}
inline void Error(std::string_view message, Fields fields = {}) {
  Write(Level::kError, message, fields);
}

// The line that Write would emit, without its newline; for tests.
std::string Line(LineFormat format, Level level, std::string_view timestamp,
                 std::string_view message, Fields fields);

}  // namespace berth::log
