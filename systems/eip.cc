#include "systems/eip.h"

#include "cloud/aliyun/credentials.h"
#include "handlers/admission/eip.h"
#include "http/base64.h"
#include "http/file.h"
#include "log/format.h"
#include "reconcile/eip/desk.h"
#include "reconcile/eip/preflight.h"
#include "reconcile/eip/system.h"

namespace berth::systems {
namespace {

constexpr kube::Resource kDefinitions{"apiextensions.k8s.io", "v1", "customresourcedefinitions",
                                      "CustomResourceDefinition", false};
constexpr kube::Resource kSecrets{"", "v1", "secrets", "Secret"};

// The scope of the CustomResourceDefinition cannot be changed once it is there.
async::Task<kube::Result<Findings>> CheckScope(const Survey* survey) {
  const std::string name = Format("{}.{}", eip::kEips.plural, eip::kEips.group);
  const auto read = co_await survey->api.Get(kDefinitions, "", name);
  if (!read && read.error().code == 404) co_return Findings();
  if (!read) co_return std::unexpected(read.error());
  const std::string present = Json::parse(*read)["spec"]["scope"].as_string();
  const std::string wanted = survey->Text({"eip", "crdScope"}, "Cluster");
  if (present == wanted) co_return Findings();
  co_return Findings{
      {Format("CustomResourceDefinition {}", name),
       Format("its scope is {}, and eip.crdScope of the chart is {}: Helm cannot change it",
              present, wanted),
       Format("install with eip.crdScope={}", present)}};
}

async::Task<kube::Result<Findings>> CheckSecret(const Survey* survey, std::string name) {
  const std::string object = Format("Secret {}/{}", survey->ns, name);
  const auto read = co_await survey->api.Get(kSecrets, survey->ns, name);
  if (!read && read.error().code == 404) {
    co_return Findings{{object,
                        "does not exist, and aliyun.credentialsSecret of the chart names it",
                        "create it in this namespace, or copy it there"}};
  }
  if (!read) co_return std::unexpected(read.error());
  const Json secret = Json::parse(*read);
  const auto credential = cloud::aliyun::ReadCredential([&secret](const char* file) {
    const Json& text = secret["data"][file];
    return text.is_string() ? Trimmed(DecodeBase64(text.as_string_view()).value_or("")) : "";
  });
  if (credential) co_return Findings();
  co_return Findings{{object, "has no access key",
                      "give it the keys accessKeyID and accessKeySecret, or ctrl-secret.yaml with "
                      "both"}};
}

class Eip : public EngineSystem<eip::System, eip::Desk> {
 public:
  Eip(async::Executor& control, const AliyunOptions& options)
      : EngineSystem(control), options_(options) {}

  std::string_view name() const override { return "eip"; }
  std::vector<Kind> kinds() const override { return {{eip::kEips}}; }
  std::string_view cloud() const override { return "aliyun"; }
  bool enabled() const override { return options_.eip && !options_.region.empty(); }
  std::string demo_commands(const std::filesystem::path& dir) const override;
  async::Task<kube::Result<Findings>> Preflight(const Survey* survey) override;

  void Register(admission::Webhooks& webhooks, apis::ApiServer&) override {
    admission::RegisterEip(webhooks, desk_);
  }
  void Start(const Host& host) override {
    Open(std::make_unique<eip::System>(
        host.executor, host.transport, host.leadership, *host.vpcs,
        eip::System::Options{.resync = options_.eip_resync, .registry = &host.registry}));
  }

 private:
  const AliyunOptions options_;
};

std::string Eip::demo_commands(const std::filesystem::path&) const {
  return R"(  echo '{"apiVersion": "eip.alibabacloud.com/v1alpha1", "kind": "EIP", "metadata": {"name": "web"}, "spec": {"bandwidth": "10", "name": "web", "tags": {"team": "shop"}}}' | kubectl apply -f -
  kubectl wait eip/web --for=condition=Ready --timeout=60s
  kubectl get eips -o wide                   # an address of a simulated cloud
  kubectl describe eip web                   # its fields, conditions and events
  kubectl patch eip web --type=merge -p '{"spec":{"isp":"ChinaTelecom"}}'   # refused: the address is allocated
  kubectl get cloudcalls                     # calls to the cloud, and how they ended
)";
}

async::Task<kube::Result<Findings>> Eip::Preflight(const Survey* survey) {
  const auto eips = co_await runtime::ReadAll<eip::Proposal>(survey->api, eip::kEips);
  if (!eips) co_return std::unexpected(eips.error());
  Findings findings = eip::Foresee(*eips);
  auto scope = co_await CheckScope(survey);
  if (!scope) co_return std::unexpected(scope.error());
  findings.append_range(std::move(*scope));
  const bool enabled = survey->IsTrue({"eip", "enabled"});
  if (!enabled && !eips->empty()) {
    findings.push_back(
        {"EIPs",
         Format("the cluster has {}, and eip.enabled of the chart is false: they are not looked "
                "after",
                eips->size()),
         "install with eip.enabled=true"});
  }
  // The account is that of ENIs, too.
  const std::string secret = survey->Text({"aliyun", "credentialsSecret"}, "");
  if (secret.empty() || !(enabled || survey->IsTrue({"eni", "enabled"}))) co_return findings;
  auto key = co_await CheckSecret(survey, secret);
  if (!key) co_return std::unexpected(key.error());
  findings.append_range(std::move(*key));
  co_return findings;
}

}  // namespace

std::unique_ptr<System> MakeEip(async::Executor& control, const AliyunOptions& options) {
  return std::make_unique<Eip>(control, options);
}

}  // namespace berth::systems
