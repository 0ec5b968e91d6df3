#include "simulate/webhook_front.h"

#include <expected>
#include <utility>

#include "handlers/memory/webhook_calls.h"
#include "simulate/process.h"
#include "simulate/world.h"

namespace berth::simulate {
namespace {

constexpr double kUnreachable = 0.08;
constexpr double kPostedTwice = 0.05;
constexpr double kRefusedByOthers = 0.04;

std::string Verdict(const std::string& review, bool allowed) {
  const Json asked = Json::parse(review);
  Json answer;
  answer["apiVersion"] = "admission.k8s.io/v1";
  answer["kind"] = "AdmissionReview";
  answer["response"]["uid"] = asked["request"]["uid"];
  answer["response"]["allowed"] = allowed;
  return answer.to_string();
}

}  // namespace

class WebhookFront::AtOnce : public async::Executor {
 public:
  explicit AtOnce(World& world) : world_(world) {}
  async::TimePoint Now() const override { return world_.scheduler().Now(); }
  async::WallTime WallNow() const override { return world_.scheduler().WallNow(); }
  void Post(async::Work work) override { work(); }
  async::Handle RunAt(async::TimePoint, async::Work) override { return {}; }
  std::uint64_t Random() override { return world_.random().Next(); }

 private:
  World& world_;
};

WebhookFront::WebhookFront(World& world) : world_(world), home_(std::make_unique<AtOnce>(world)) {}

WebhookFront::~WebhookFront() = default;

async::Executor& WebhookFront::home() { return *home_; }

void WebhookFront::Install(const admission::Webhooks& webhooks) {
  memory::InstallWebhooks(world_.server(), webhooks,
                          [this](const std::string& path, const std::string& review,
                                 const auto& answer) { Call(path, review, answer); });
}

void WebhookFront::Join(const Process& process, const admission::Webhooks& webhooks) {
  serving_[process.name()] = {&process, &webhooks};
}

void WebhookFront::Leave(const Process& process) { serving_.erase(process.name()); }

void WebhookFront::Call(const std::string& path, const std::string& review, const Answer& answer) {
  Dice& random = world_.random();
  if (bypassed_ || world_.writer() != "user") return answer(Verdict(review, true));
  auto replica = serving_.begin();
  if (serving_.size() > 1) std::advance(replica, random.Below(serving_.size()));
  if (serving_.empty() || replica->second.first->paused() || random.Chance(kUnreachable)) {
    return answer(Verdict(review, true));
  }
  std::expected<std::string, kube::Status> given;
  const auto ask = [&] {
    replica->second.second->Review(path, review, *home_,
                                   [&](auto reviewed) { given = std::move(reviewed); });
  };
  ask();
  if (random.Chance(kPostedTwice)) ask();
  if (!given) return answer(kube::Terminal(given.error().message));
  if (random.Chance(kRefusedByOthers)) return answer(Verdict(review, false));
  if (delay_ == async::Duration()) return answer(std::move(*given));
  world_.scheduler().After(delay_, [answer, given = std::move(*given)] { answer(given); });
}

}  // namespace berth::simulate
