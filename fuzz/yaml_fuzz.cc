// Any text as YAML. What is read can be written as JSON and read again, and a text that is both
// JSON and YAML has one value.
#include <cstdint>
#include <string_view>

#include "fuzz/require.h"
#include "kube/yaml.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto yaml = kube::YamlToJson(text);
  if (!yaml) return 0;
  const auto again = Json::Parse(yaml->to_string());
  Require(again && *again == *yaml, "YAML becomes JSON that reads as the same value");
  if (const auto json = Json::Parse(text))
    Require(*json == *yaml, "JSON is YAML of the same value");
  return 0;
}
