// Whatever a client sends as protobuf: no crash, and an object that is taken is JSON that can be
// read again.
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "fuzz/require.h"
#include "kube/memory/protobuf.h"

namespace {

using berth::kube::memory::DecodeProtobuf;
using berth::kube::memory::Decoder;
using berth::kube::memory::ProtobufBody;

// Kinds with as many of the tables below them as possible, so that the fuzzer need not find names.
constexpr const char* kKinds[][2] = {{"v1", "Pod"},
                                     {"v1", "Node"},
                                     {"v1", "Service"},
                                     {"v1", "ConfigMap"},
                                     {"coordination.k8s.io/v1", "Lease"},
                                     {"apiextensions.k8s.io/v1", "CustomResourceDefinition"},
                                     {"authorization.k8s.io/v1", "SubjectAccessReview"}};

void Check(const ProtobufBody& body) {
  const auto object = DecodeProtobuf(body);
  if (!object) return;
  const auto again = Decoder().Decode(object->to_string());
  // A schema's default may itself be as deep as JSON may be.
  Require(again || again.error().find("depth") != std::string::npos, "an object is JSON");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (const auto body = berth::kube::memory::ReadProtobuf(input)) Check(*body);
  const auto& kind = kKinds[data[0] % std::size(kKinds)];
  Check({kind[0], kind[1], input.substr(1)});
  return 0;
}
