// Any answer of Azure, its status in the first two bytes. No message holds a secret or is longer
// than its bound, a resource that is told of has a name and an etag, and every write comes to an
// end.
#include <cstdint>
#include <string>
#include <string_view>

#include "async/test_executor.h"
#include "cloud/azure/gateway_client.h"
#include "cloud/test_transport.h"
#include "fuzz/cloud_errors.h"
#include "fuzz/require.h"

namespace {

using namespace berth;
using namespace berth::cloud;

constexpr int kMostExchanges = 64;

class FixedToken : public azure::Tokens {
 public:
  async::Task<Result<std::string>> Get() override { co_return std::string(kSecret); }
  void Refused(const std::string&) override {}
};

// A client whose calls are answered with the same answer, and at last with none.
class Caller {
 public:
  Caller(int code, std::string_view body) : code_(code), body_(body) {}

  template <typename T>
  Result<T> Run(async::Task<Result<T>> task) {
    std::size_t answered = transport_.size();  // the task has not begun yet
    const Pending<Result<T>> call(std::move(task));
    for (int exchange = 1; !call.ended(); ++exchange) {
      Require(exchange < 4 * kMostExchanges, "a call comes to an end");
      if (transport_.size() > answered) {
        answered = transport_.size();
        Answer(exchange > kMostExchanges);
      }
      executor_.Advance(std::chrono::minutes(1));
    }
    return call.value();
  }
  azure::GatewayClient& gateway() { return gateway_; }

 private:
  void Answer(bool is_over) {
    if (is_over) return transport_.last().Fail(ErrorClass::kRetry);
    transport_.last().Answer(code_, body_,
                             {{"azure-asyncoperation", "https://arm/operations/1"},
                              {"x-ms-request-id", std::string(kSecret)}});
  }

  const int code_;
  const std::string body_;
  async::TestExecutor executor_;
  ScriptedTransport transport_;
  FixedToken tokens_;
  const azure::Config config_{.subscription = "s",
                              .resource_group = "g",
                              .location = "l",
                              .vnet = "v",
                              .vnet_resource_group = "g"};
  azure::ArmClient arm_{executor_, transport_, tokens_, nullptr, {.endpoint = "https://arm"}};
  azure::GatewayClient gateway_{arm_, config_};
};

template <typename Resource>
void CheckResources(const Result<std::vector<Resource>>& read) {
  if (!read) return CheckError(read.error());
  for (const Resource& resource : *read) {
    Require(!resource.name.empty() && !resource.etag.empty(), "a resource has a name and an etag");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const int code = 100 + (data[0] * 256 + data[1]) % 500;
  const std::string body(reinterpret_cast<const char*>(data) + 2, size - 2);
  Caller caller(code, body);
  CheckResources(caller.Run(caller.gateway().PublicIps()));
  CheckResources(caller.Run(caller.gateway().LoadBalancers()));
  CheckResources(caller.Run(caller.gateway().NatGateways()));
  if (const auto services = caller.Run(caller.gateway().Services()); !services) {
    CheckError(services.error());
  }
  if (const auto locations = caller.Run(caller.gateway().Locations()); !locations) {
    CheckError(locations.error());
  }
  const auto put = caller.Run(caller.gateway().Put(PublicIp{.name = "a"}, {}));
  if (!put) CheckError(put.error());
  const auto updated = caller.Run(caller.gateway().UpdateServices({{.name = "a"}}));
  if (!updated) CheckError(updated.error());
  return 0;
}
