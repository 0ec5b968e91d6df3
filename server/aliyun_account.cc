#include "server/aliyun_account.h"

#include <cstdlib>
#include <utility>

#include "cloud/aliyun/credential_source.h"
#include "cloud/aliyun/role_credentials.h"
#include "server/cloud_transport.h"

namespace berth::server {
namespace {

namespace aliyun = cloud::aliyun;

// Calls of VPC that the cloud takes in a minute, where its documents say less than 600.
const std::map<std::string, int> kVpcLimits = {
    {"AllocateEipAddress", 120}, {"AddCommonBandwidthPackageIp", 300}, {"DescribeVSwitches", 300}};

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

using EndpointIn = std::string (*)(std::string_view region, bool from_vpc);

// `usual` gives the endpoint where the options give none. `limits` are the cloud's own, by action;
// the options go before them.
aliyun::ApiOptions ApiOptionsOf(const systems::AliyunOptions& options, const std::string& endpoint,
                                EndpointIn usual, std::string_view version,
                                const std::map<std::string, int>& limits) {
  aliyun::ApiOptions api{
      .endpoint = endpoint.empty() ? usual(options.region, options.vpc_network) : endpoint,
      .version = std::string(version),
      .region = options.region,
      .signature = options.signature == "v1" ? aliyun::SignatureVersion::kV1
                                             : aliyun::SignatureVersion::kAcs3,
      .calls_per_minute = options.calls_per_minute,
      .limits = options.limits};
  api.limits.insert(limits.begin(), limits.end());
  return api;
}

aliyun::ApiOptions VpcOptionsOf(const systems::AliyunOptions& options) {
  return ApiOptionsOf(options, options.vpc_endpoint, aliyun::VpcEndpoint, aliyun::kVpcVersion,
                      kVpcLimits);
}

aliyun::ApiOptions EcsOptionsOf(const systems::AliyunOptions& options) {
  return ApiOptionsOf(options, options.ecs_endpoint, aliyun::EcsEndpoint, aliyun::kEcsVersion,
                      aliyun::EniLimits());
}

aliyun::ApiOptions EfloOptionsOf(const systems::AliyunOptions& options) {
  aliyun::ApiOptions api = ApiOptionsOf(options, options.eflo_endpoint, aliyun::EfloEndpoint,
                                        aliyun::kEfloVersion, aliyun::EfloLimits());
  api.form = true;
  return api;
}

std::string StsEndpointOf(const systems::AliyunOptions& options) {
  return options.sts_endpoint.empty() ? aliyun::StsEndpoint(options.region, options.vpc_network)
                                      : options.sts_endpoint;
}

aliyun::ApiOptions StsOptionsOf(const systems::AliyunOptions& options) {
  aliyun::ApiOptions api = VpcOptionsOf(options);
  api.endpoint = StsEndpointOf(options);
  return api;
}

}  // namespace

Result<std::unique_ptr<AliyunAccount>> AliyunAccount::Open(async::Executor& executor,
                                                           http::Client& client,
                                                           cloud::CallObserver* observer,
                                                           const systems::AliyunOptions& options) {
  auto transport = OpenCloudTransport(executor, client, options.ca_file);
  if (!transport) return std::unexpected(transport.error());
  auto credentials = aliyun::OpenCredentials(executor, **transport, observer,
                                             {.folder = options.credentials_dir,
                                              .sts_endpoint = StsEndpointOf(options),
                                              .environment = Variable});
  if (!credentials) return std::unexpected(credentials.error());
  return std::make_unique<AliyunAccount>(executor, *std::move(transport), std::move(*credentials),
                                         observer, options);
}

AliyunAccount::AliyunAccount(async::Executor& executor, std::unique_ptr<http::Transport> transport,
                             std::unique_ptr<aliyun::Credentials> credentials,
                             cloud::CallObserver* observer, const systems::AliyunOptions& options)
    : transport_(std::move(transport)),
      credentials_(std::move(credentials)),
      vpc_api_(executor, *transport_, *credentials_, observer, VpcOptionsOf(options)),
      ecs_api_(executor, *transport_, *credentials_, observer, EcsOptionsOf(options)),
      eflo_api_(executor, *transport_, *credentials_, observer, EfloOptionsOf(options)),
      ecs_apis_{ecs_api_, vpc_api_},
      eflo_apis_{executor, eflo_api_, vpc_api_},
      key_accounts_(executor, *transport_, observer, StsOptionsOf(options)),
      vpcs_(vpc_api_, *credentials_, key_accounts_, options.region),
      ecs_enis_(ecs_apis_, *credentials_, key_accounts_, options.region),
      eflo_enis_(eflo_apis_, *credentials_, key_accounts_, options.region) {}

}  // namespace berth::server
