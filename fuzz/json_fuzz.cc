// Any text as JSON. The readers agree on whether it is JSON and on its value, and a value that was
// read is the same after it was written and read again.
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/require.h"
#include "json/json.h"
#include "kube/json_view.h"
#include "kube/memory/value.h"

namespace {

using namespace berth;

void CheckJson(const Json& value) {
  const auto again = Json::Parse(value.to_string());
  Require(again && *again == value, "a written value reads as the same value");
}

void CheckView(kube::JsonView view, const Json& value) {
  static kube::JsonDocument document;
  const std::string written = view.ToJson();
  const auto again = document.Parse(written);
  Require(again && again->ToJson() == written, "a written view reads as the same view");
  const auto as_value = Json::Parse(written);
  Require(as_value && *as_value == value, "JsonView and Json read the same value");
  Require(view.is_array() == value.is_array() && view.is_object() == value.is_object(),
          "JsonView and Json see the same type");
  if (view.is_array()) Require(view.size() == value.size(), "both count the same items");
}

void CheckDecoder(const kube::memory::Value& value) {
  static kube::memory::Decoder decoder;
  const auto again = decoder.Decode(value.to_string());
  Require(again && *again == value, "a decoded value decodes as the same value");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static kube::JsonDocument document;
  static kube::memory::Decoder decoder;
  const auto view = document.Parse(text);
  const auto value = Json::Parse(text);
  const auto decoded = decoder.Decode(text);
  Require(view.has_value() == value.has_value(), "JsonView and Json take the same texts");
  Require(view.has_value() == decoded.has_value(), "the decoder takes the same texts");
  if (value) CheckJson(*value);
  if (view) CheckView(*view, *value);
  if (decoded) CheckDecoder(*decoded);
  return 0;
}
