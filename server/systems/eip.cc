#include "server/systems/eip.h"

#include "handlers/admission/eip.h"
#include "reconcile/eip/desk.h"
#include "reconcile/eip/system.h"

namespace berth::server {
namespace {

class Eip : public System {
 public:
  Eip(async::Executor& control, const AliyunOptions& options) : options_(options), desk_(control) {}

  std::string_view name() const override { return "eip"; }
  std::vector<Kind> kinds() const override { return {{eip::kEips}}; }
  std::string_view cloud() const override { return "aliyun"; }
  bool enabled() const override { return !options_.region.empty(); }
  std::string_view demo_commands() const override;

  void Register(admission::Webhooks& webhooks, apis::ApiServer&) override {
    admission::RegisterEip(webhooks, desk_);
  }
  void Start(const Host& host) override {
    system_ = std::make_unique<eip::System>(
        host.executor, host.transport, host.leadership, *host.aliyun,
        eip::System::Options{.resync = options_.eip_resync, .registry = &host.registry});
    desk_.Open(system_.get());
  }
  std::vector<const runtime::Controller*> controllers() const override {
    return system_->controllers();
  }
  void Stop() override {
    desk_.Open(nullptr);
    system_.reset();
  }

 private:
  const AliyunOptions options_;
  eip::Desk desk_;
  std::unique_ptr<eip::System> system_;  // of the control thread
};

std::string_view Eip::demo_commands() const {
  return R"(  echo '{"apiVersion": "eip.alibabacloud.com/v1alpha1", "kind": "EIP", "metadata": {"name": "web"}, "spec": {"bandwidth": "10", "name": "web", "tags": {"team": "shop"}}}' | kubectl apply -f -
  kubectl wait eip/web --for=condition=Ready --timeout=60s
  kubectl get eips -o wide                   # an address of a simulated cloud
  kubectl describe eip web                   # its fields, conditions and events
  kubectl patch eip web --type=merge -p '{"spec":{"isp":"ChinaTelecom"}}'   # refused: the address is allocated
  kubectl get cloudcalls                     # calls to the cloud, and how they ended
)";
}

}  // namespace

std::unique_ptr<System> MakeEip(async::Executor& control, const AliyunOptions& options) {
  return std::make_unique<Eip>(control, options);
}

}  // namespace berth::server
