// Any answer of a cloud, its status in the first two bytes. No message holds a secret or is longer
// than its bound, and an EIP that is told of has an ID.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "async/test_executor.h"
#include "cloud/aliyun/test_cloud.h"
#include "cloud/aliyun/vpc_client.h"
#include "fuzz/cloud_errors.h"
#include "fuzz/require.h"

namespace {

using namespace berth;
using namespace berth::cloud;

constexpr int kMostPages = 3;

void CheckAnswer(const http::Response& response, bool writes) {
  const aliyun::Answer answer = aliyun::ReadAnswer(response, writes, {kSecret});
  Require(!answer.request_id.contains(kSecret), "no request ID has a secret");
  if (!answer.outcome) return CheckError(answer.outcome.error());
  Require(answer.outcome->is_object(), "an outcome is an object");
  Require(response.code >= 200 && response.code < 300, "an outcome has a status of success");
}

// A client whose calls are answered with the body, and at last with an empty page.
class Caller {
 public:
  explicit Caller(std::string_view body) : body_(body) {}

  template <typename T>
  Result<T> Run(async::Task<Result<T>> task) {
    const aliyun::Pending<Result<T>> call(std::move(task));
    for (int page = 1; !call.ended(); ++page) {
      executor_.Advance(std::chrono::seconds(1));
      Require(page <= kMostPages + 1, "an empty page is the last");
      transport_.last().Answer(200, page > kMostPages ? kEmptyPage : body_);
    }
    return call.value();
  }
  aliyun::VpcClient& vpc() { return vpc_; }

 private:
  static constexpr const char* kEmptyPage = R"({"EipAddresses":{"EipAddress":[]}})";

  const std::string body_;
  async::TestExecutor executor_;
  aliyun::ScriptedTransport transport_;
  aliyun::TestCredentials credentials_;
  aliyun::ApiClient api_{
      executor_,
      transport_,
      credentials_,
      nullptr,
      {.endpoint = "https://vpc", .version = std::string(aliyun::kVpcVersion), .region = "r"}};
  aliyun::VpcClient vpc_{api_};
};

void CheckClient(std::string_view body) {
  Caller caller(body);
  const auto eips = caller.Run(caller.vpc().EipsTagged("k", "v"));
  if (!eips) CheckError(eips.error());
  for (const Eip& eip : eips.value_or(std::vector<Eip>()))
    Require(!eip.allocation_id.empty(), "an EIP has an ID");
  const auto allocated = caller.Run(caller.vpc().AllocateEip({}, {}));
  if (!allocated) return CheckError(allocated.error());
  Require(!allocated->allocation_id.empty(), "an allocated EIP has an ID");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const int code = 100 + (data[0] * 256 + data[1]) % 500;
  const std::string body(reinterpret_cast<const char*>(data) + 2, size - 2);
  for (const bool writes : {false, true}) CheckAnswer({.code = code, .body = body}, writes);
  CheckClient(body);
  return 0;
}
