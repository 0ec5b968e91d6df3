#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json/json.h"
#include "kube/api.h"
#include "kube/json_view.h"
#include "reconcile/difftracker/names.h"
#include "reconcile/runtime/identity.h"

// The objects of DiffTracker, as far as it needs them: Services, EndpointSlices, Pods and Nodes.
namespace berth::difftracker {

using runtime::Identity;

inline constexpr kube::Resource kServices{"", "v1", "services", "Service"};
inline constexpr kube::Resource kSlices{"discovery.k8s.io", "v1", "endpointslices",
                                        "EndpointSlice"};
inline constexpr kube::Resource kPods{"", "v1", "pods", "Pod"};
inline constexpr kube::Resource kNodes{"", "v1", "nodes", "Node", false};
inline constexpr kube::Resource kNamespaces{"", "v1", "namespaces", "Namespace", false};

inline constexpr std::string_view kServiceFinalizer = "servicegateway.azure.com/service-cleanup";
inline constexpr std::string_view kPodFinalizer = "servicegateway.azure.com/pod-cleanup";
// The finalizer of cloud-provider-azure, which a Service may still have after the change to Berth.
inline constexpr std::string_view kLegacyFinalizer = "service.kubernetes.io/load-balancer-cleanup";
inline constexpr std::string_view kLoadBalancerClass = "berth.dev/service-gateway";
inline constexpr std::string_view kEgressLabel = "kubernetes.azure.com/service-egress-gateway";
inline constexpr std::string_view kServiceNameLabel = "kubernetes.io/service-name";
inline constexpr std::string_view kInternalAnnotation =
    "service.beta.kubernetes.io/azure-load-balancer-internal";
inline constexpr std::string_view kIdleTimeoutAnnotation =
    "service.beta.kubernetes.io/azure-load-balancer-tcp-idle-timeout";
// Annotations that restrict who is let in.
inline constexpr std::string_view kSourceRangeAnnotations[] = {
    "service.beta.kubernetes.io/load-balancer-source-ranges",
    "service.beta.kubernetes.io/azure-allowed-ip-ranges",
    "service.beta.kubernetes.io/azure-allowed-service-tags"};
inline constexpr std::string_view kProvisioned = "berth.dev/Provisioned";

// The address in its one form, that of RFC 5952 for IPv6; none for a text that is no address.
std::optional<std::string> CanonicalIp(std::string_view text);

struct ServicePort {
  std::string protocol;  // "TCP"
  int port = 0;
  int target_port = 0;     // the port itself where none is given; 0 for a name
  std::string named_port;  // the name of a targetPort that is one

  friend bool operator==(const ServicePort&, const ServicePort&) = default;
};

struct Service {
  Identity id;
  bool is_load_balancer = false;
  std::string load_balancer_class;
  std::vector<ServicePort> ports;
  bool internal = false;
  std::string idle_timeout;  // the annotation as it is
  bool client_affinity = false;
  std::string load_balancer_ip;
  std::string source_ranges;  // that alone are let in, as they are; empty for everybody
  std::string source_field;   // the field that has them
  std::vector<std::string> ip_families;
  std::string ip_family_policy;
  std::vector<std::string> ingress_ips;  // status.loadBalancer.ingress[].ip
  bool foreign_ingress = false;          // an ingress without an IP, or with a hostname
  Json conditions = Json::null();        // status.conditions as they are; an array, or null

  static kube::Result<Service> From(kube::JsonView object);

  // A LoadBalancer of no class or ours. Services of other classes are never touched.
  bool IsOurs() const {
    return is_load_balancer &&
           (load_balancer_class.empty() || load_balancer_class == kLoadBalancerClass);
  }
  bool HasLegacyFinalizer() const;
  bool ipv6() const { return ip_families.size() == 1 && ip_families.front() == "IPv6"; }
  // The key in the gateway.
  std::string GatewayKey() const { return LowerCase(id.uid); }
};

// An endpoint that gets traffic.
struct Endpoint {
  std::string address;  // canonical
  std::string node;

  friend auto operator<=>(const Endpoint&, const Endpoint&) = default;
};

struct Slice {
  std::string service;              // "ns/name"; empty for none
  std::vector<Endpoint> endpoints;  // ready ones, sorted; none of an FQDN slice

  static kube::Result<Slice> From(kube::JsonView object);
};

// The part of a pod that DiffTracker needs, of pods with the egress label or our finalizer.
struct EgressPod {
  Identity id;
  std::string label;                   // the label's value as it is
  bool live = false;                   // Pending or Running, and not being deleted
  std::vector<std::string> addresses;  // canonical; at most one of a family
  std::vector<std::string> hosts;      // likewise
  std::string bad_ip;                  // an address that is none

  std::string Egress() const { return LowerCase(label); }  // its name in the gateway

  friend bool operator==(const EgressPod&, const EgressPod&);
};

// A pod costs a pointer while it has neither the label nor the finalizer: a cluster has many.
struct Pod {
  std::shared_ptr<const EgressPod> egress;

  static kube::Result<Pod> From(kube::JsonView object);
};

struct Node {
  std::string ipv4;  // the smallest InternalIP of the family, canonical; empty for none
  std::string ipv6;

  static kube::Result<Node> From(kube::JsonView object);
  const std::string& IpLike(std::string_view address) const {
    return IsIpv6(address) ? ipv6 : ipv4;
  }
  friend bool operator==(const Node&, const Node&) = default;
};

// The label's mistakes: a reason of events, and a sentence; none for a label that names an egress.
struct LabelProblem {
  std::string_view reason;
  std::string message;
};
std::optional<LabelProblem> EgressProblem(std::string_view label);

}  // namespace berth::difftracker
