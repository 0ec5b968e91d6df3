#include "kube/memory/body.h"

#include "kube/memory/protobuf.h"
#include "kube/yaml.h"
#include "log/format.h"

namespace berth::kube::memory {
namespace {

constexpr std::string_view kJson = "application/json";
constexpr std::string_view kYaml = "application/yaml";
constexpr std::string_view kProtobuf = "application/vnd.kubernetes.protobuf";

std::unexpected<BodyProblem> Problem(std::string why, std::string kind = "") {
  return std::unexpected(BodyProblem{std::move(why), std::move(kind)});
}

std::expected<Value, BodyProblem> ReadJson(std::string_view text, Decoder& decoder,
                                           std::vector<std::string>* duplicates) {
  auto object = decoder.Decode(text, duplicates);
  if (object && object->is_object()) return std::move(*object);
  return Problem("couldn't get version/kind; json parse error: " +
                 (object ? "cannot unmarshal it into an object" : object.error()));
}

std::expected<Value, BodyProblem> ReadYaml(std::string_view text, Decoder& decoder) {
  const auto json = YamlToJson(text);
  if (!json) return Problem("error converting YAML to JSON: " + json.error().message);
  return ReadJson(json->to_string(), decoder, nullptr);
}

std::expected<Value, BodyProblem> ReadProtobufBody(const Body& body) {
  auto read = ReadProtobuf(body.text);
  if (!read) return Problem(std::move(read.error()));
  if (read->kind.empty()) read->kind = body.kind;
  if (read->api_version.empty()) read->api_version = body.api_version;
  auto object = DecodeProtobuf(*read);
  if (!object) return Problem(std::move(object.error()), read->kind);
  return std::move(*object);
}

}  // namespace

bool IsBodyType(std::string_view type) {
  return type.empty() || type == kJson || type == kYaml || type == kProtobuf;
}

bool IsProtobuf(std::string_view type) { return type == kProtobuf; }

std::expected<Value, BodyProblem> ReadBody(const Body& body, Decoder& decoder,
                                           std::vector<std::string>* duplicates) {
  if (IsProtobuf(body.type)) return ReadProtobufBody(body);
  if (body.type == kYaml) return ReadYaml(body.text, decoder);
  return ReadJson(body.text, decoder, duplicates);
}

std::string SummaryOf(std::string_view text) {
  constexpr std::size_t kShown = 30;
  if (text.empty()) return "<empty>";
  const std::string_view begin = text.substr(0, kShown);
  std::string summary;
  if (text.front() == '{') {
    summary = begin;
  } else {
    for (const unsigned char byte : begin) summary += Format("{:02x}", byte);
  }
  return summary += text.size() > kShown ? " ..." : "";
}

}  // namespace berth::kube::memory
