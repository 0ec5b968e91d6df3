#include "reconcile/difftracker/admission.h"

#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include "log/format.h"

namespace berth::difftracker {
namespace {

std::optional<int> Minutes(std::string_view text) {
  int minutes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), minutes);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (minutes < kLeastIdleMinutes || minutes > kMostIdleMinutes) return std::nullopt;
  return minutes;
}

std::string AnnotationField(std::string_view name) {
  return Format("metadata.annotations[{}]", name);
}

void CheckPorts(const Service& service, std::vector<Refusal>& refusals) {
  std::map<std::pair<std::string, int>, int> backends;  // the port that came first
  int index = 0;
  for (const ServicePort& port : service.ports) {
    const std::string field = Format("spec.ports[{}]", index++);
    if (port.protocol != "TCP" && port.protocol != "UDP") {
      refusals.push_back({"UnsupportedProtocol", field + ".protocol", port.protocol,
                          "a service gateway carries TCP and UDP"});
    }
    if (port.port > kHighestPort) {
      refusals.push_back({"UnsupportedPort", field + ".port", std::to_string(port.port),
                          "a service gateway has ports 1 to 65534"});
    }
    if (!port.named_port.empty()) {
      refusals.push_back({"UnsupportedNamedTargetPort", field + ".targetPort", port.named_port,
                          "a service gateway needs the port's number"});
      continue;
    }
    const auto [first, is_new] =
        backends.try_emplace(std::pair(port.protocol, port.target_port), port.port);
    if (is_new) continue;
    refusals.push_back({"UnsupportedBackendPortCollision", field + ".targetPort",
                        std::to_string(port.target_port),
                        Format("port {} has the same protocol and target port", first->second)});
  }
}

void CheckFamilies(const Service& service, std::vector<Refusal>& refusals) {
  if (service.ip_families.size() > 1) {
    refusals.push_back({"UnsupportedDualStack", "spec.ipFamilies",
                        Format("{},{}", service.ip_families[0], service.ip_families[1]),
                        "make a Service for each family"});
  } else if (service.ip_family_policy == "RequireDualStack") {
    refusals.push_back({"UnsupportedDualStack", "spec.ipFamilyPolicy", service.ip_family_policy,
                        "make a Service for each family"});
  }
}

runtime::Verdict VerdictOf(const std::vector<Refusal>& refusals) {
  runtime::Verdict verdict;
  for (const Refusal& refusal : refusals) {
    verdict.Invalid(refusal.field, refusal.value, Format("{}: {}", refusal.reason, refusal.why));
  }
  return verdict;
}

}  // namespace

std::vector<Refusal> RefusalsOf(const Service& service) {
  std::vector<Refusal> refusals;
  if (!service.IsOurs()) return refusals;
  if (service.internal) {
    refusals.push_back({"UnsupportedInternalLoadBalancer", AnnotationField(kInternalAnnotation),
                        "true", "a gateway has public ones only"});
  }
  if (service.client_affinity) {
    refusals.push_back({"UnsupportedSessionAffinity", "spec.sessionAffinity", "ClientIP",
                        "a gateway has no affinity"});
  }
  if (!service.load_balancer_ip.empty()) {
    refusals.push_back({"UnsupportedLoadBalancerIP", "spec.loadBalancerIP",
                        service.load_balancer_ip, "Berth allocates the address"});
  }
  if (!service.source_ranges.empty()) {
    refusals.push_back({"UnsupportedSourceRanges", service.source_field, service.source_ranges,
                        "a gateway lets everybody in: use a NetworkPolicy"});
  }
  CheckFamilies(service, refusals);
  if (!service.idle_timeout.empty() && !Minutes(service.idle_timeout)) {
    refusals.push_back({"InvalidIdleTimeout", AnnotationField(kIdleTimeoutAnnotation),
                        service.idle_timeout,
                        Format("must be {} to {} minutes", kLeastIdleMinutes, kMostIdleMinutes)});
  }
  CheckPorts(service, refusals);
  return refusals;
}

runtime::Verdict JudgeService(const Service& now, const Service* before) {
  runtime::Verdict verdict = VerdictOf(RefusalsOf(now));
  if (before) verdict.Ratchet(VerdictOf(RefusalsOf(*before)));
  if (now.IsOurs() && now.ip_family_policy == "PreferDualStack" && now.ip_families.empty()) {
    verdict.warnings.emplace_back(
        "spec.ipFamilyPolicy: in a dual-stack cluster this Service is not provisioned; use "
        "SingleStack");
  }
  return verdict;
}

int IdleTimeoutOf(const Service& service) {
  return Minutes(service.idle_timeout).value_or(kLeastIdleMinutes);
}

}  // namespace berth::difftracker
