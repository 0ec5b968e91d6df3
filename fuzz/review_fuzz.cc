// Any body as an AdmissionReview, sent to the webhooks of its resource. Each answers once, with a
// review of the same uid, and its patch applies to the object.
#include <drogon/utils/Utilities.h>
#include <prometheus/registry.h>

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "async/test_executor.h"
#include "fuzz/require.h"
#include "handlers/admission/eip.h"
#include "handlers/admission/ipam.h"
#include "handlers/admission/webhooks.h"
#include "kube/memory/patch.h"
#include "log/log.h"

namespace {

using namespace berth;

// The webhooks while no other object is known: each object is judged by itself.
class Reviewer {
 public:
  Reviewer() {
    admission::RegisterIpam(webhooks_, ipam_desk_);
    admission::RegisterEip(webhooks_, eip_desk_);
  }

  std::expected<std::string, kube::Status> Review(const std::string& path,
                                                  std::string_view review) {
    std::expected<std::string, kube::Status> answer;
    int answers = 0;
    webhooks_.Review(path, review, executor_, [&](std::expected<std::string, kube::Status> given) {
      answer = std::move(given);
      ++answers;
    });
    executor_.RunUntilIdle();
    Require(answers == 1, "a review has one answer");
    return answer;
  }

 private:
  async::TestExecutor executor_;
  prometheus::Registry registry_;
  admission::Webhooks webhooks_{registry_};
  ipam::Desk ipam_desk_{executor_};
  eip::Desk eip_desk_{executor_};
};

void CheckPatch(std::string_view patch, kube::JsonView object) {
  kube::memory::Decoder decoder;
  const auto operations = decoder.Decode(drogon::utils::base64Decode(patch));
  auto patched = decoder.Decode(object.ToJson());
  if (!patched) return;  // a number that the API server would not have sent
  Require(operations && kube::memory::JsonPatch(*patched, *operations),
          "a patch applies to its object");
}

void CheckAnswer(std::string_view answer, const admission::Request& request) {
  static kube::JsonDocument document;
  const auto parsed = document.Parse(answer);
  Require(parsed.has_value(), "an answer is JSON");
  const kube::JsonView response = (*parsed)["response"];
  Require(response["uid"].StringOr("") == request.uid, "an answer has the review's uid");
  const bool allowed = response["allowed"].Bool().value();
  Require(allowed || !response["status"]["message"].StringOr("").empty(),
          "a refusal has a message");
  if (const auto patch = response["patch"].String()) CheckPatch(*patch, request.object);
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  log::SetLevel("error");
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static kube::JsonDocument document;
  const auto parsed = document.Parse(text);
  if (!parsed) return 0;
  const auto request = admission::Decode(*parsed);
  if (!request) return 0;
  static Reviewer reviewer;
  for (const char* phase : {"/mutate/", "/validate/"}) {
    const std::string path =
        phase + std::string(request->group) + "/" + std::string(request->resource);
    if (const auto answer = reviewer.Review(path, text)) CheckAnswer(*answer, *request);
  }
  return 0;
}
