#include "log/log.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <mutex>

#include "log/escape.h"
#include "log/format.h"
#include "log/timestamp.h"

namespace berth::log {
namespace {

std::atomic<Level> current_level{Level::kInfo};
std::atomic<LineFormat> current_format{LineFormat::kJson};

constexpr std::string_view kLevelNames[] = {"debug", "info", "warn", "error", "off"};
constexpr std::string_view kLevelLabels[] = {"DEBUG", "INFO ", "WARN ", "ERROR"};

void AppendCut(std::string& out, std::string_view text) {
  const std::string_view kept = Prefix(text, kMaxValue);
  AppendEscaped(out, kept);
  if (kept.size() < text.size()) out += Format("…(+{} bytes)", text.size() - kept.size());
}

// A value that reads as one word without quotes, as in key=value.
bool IsPlain(std::string_view text) {
  if (text.empty()) return false;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) <= ' ' || c == '"' || c == '\\' || c == '=' || c == '\x7F') {
      return false;
    }
  }
  return true;
}

std::string JsonLine(Level level, std::string_view timestamp, std::string_view message,
                     Fields fields) {
  std::string out = R"({"ts":")";
  AppendEscaped(out, timestamp);
  out += R"(","level":")";
  out += kLevelNames[static_cast<int>(level)];
  out += R"(","msg":")";
  AppendCut(out, message);
  out += '"';
  for (const auto& [key, value] : fields) {
    out += ",\"";
    AppendEscaped(out, key);
    out += "\":";
    if (value.quoted()) out += '"';
    AppendCut(out, value.text());
    if (value.quoted()) out += '"';
  }
  out += '}';
  return out;
}

std::string TextLine(Level level, std::string_view timestamp, std::string_view message,
                     Fields fields) {
  std::string out(timestamp);
  out += ' ';
  out += kLevelLabels[static_cast<int>(level)];
  out += ' ';
  AppendCut(out, message);
  for (const auto& [key, value] : fields) {
    out += ' ';
    AppendEscaped(out, key);
    out += '=';
    const bool plain = IsPlain(value.text());
    if (!plain) out += '"';
    AppendCut(out, value.text());
    if (!plain) out += '"';
  }
  return out;
}

void WriteAll(std::string_view line) {
  // A pipe takes only PIPE_BUF bytes as one piece: without the lock long lines of two threads could
  // mix.
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  while (!line.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // there is nowhere left to complain
    line.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

Value::Value(double value) : text_(Format("{}", value)), quoted_(!std::isfinite(value)) {}

bool SetLevel(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kLevelNames); ++i) {
    if (kLevelNames[i] != name) continue;
    current_level = static_cast<Level>(i);
    return true;
  }
  return false;
}

bool SetFormat(std::string_view name) {
  if (name != "json" && name != "text") return false;
  current_format = name == "json" ? LineFormat::kJson : LineFormat::kText;
  return true;
}

bool Enabled(Level level) { return level >= current_level.load(std::memory_order_relaxed); }

void Write(Level level, std::string_view message, Fields fields) {
  if (!Enabled(level)) return;
  std::string line = Line(current_format, level, FormatMilliTime(std::chrono::system_clock::now()),
                          message, fields);
  line += '\n';
  WriteAll(line);
}

std::string Line(LineFormat format, Level level, std::string_view timestamp,
                 std::string_view message, Fields fields) {
  return format == LineFormat::kJson ? JsonLine(level, timestamp, message, fields)
                                     : TextLine(level, timestamp, message, fields);
}

}  // namespace berth::log
