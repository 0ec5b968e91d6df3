#include "reconcile/eni/objects.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "kube/age.h"
#include "log/format.h"
#include "reconcile/eni/go_duration.h"

namespace berth::eni {
namespace {

constexpr std::string_view kExclusiveLabel = "k8s.aliyun.com/exclusive-mode-eni-type";
constexpr std::string_view kLingjunLabel = "alibabacloud.com/lingjun-worker";
constexpr std::string_view kApiAnnotation = "k8s.aliyun.com/eno-api";
constexpr std::string_view kErdmaResource = "aliyun/erdma";
constexpr std::string_view kPodEniAnnotation = "k8s.aliyun.com/pod-eni";
constexpr std::string_view kSufficientIp = "SufficientIP";
constexpr async::Duration kLongest = std::chrono::days(365);
constexpr double kMostJitter = 10;

std::string Text(kube::JsonView view) { return std::string(view.StringOr("")); }

bool IsTrue(kube::JsonView view) { return view.Bool().value_or(false); }

int Count(kube::JsonView view) {
  return static_cast<int>(
      std::clamp<std::int64_t>(view.Int().value_or(0), 0, NodeSpec::kMostCount));
}

// The texts of an array that are not empty.
std::vector<std::string> Texts(kube::JsonView view) {
  std::vector<std::string> texts;
  view.ForEachItem([&](kube::JsonView item) {
    if (const auto text = item.String(); text && !text->empty()) texts.emplace_back(*text);
  });
  return texts;
}

cloud::Tags TagsOf(kube::JsonView view) {
  cloud::Tags tags;
  view.ForEach([&](std::string_view key, kube::JsonView value) {
    tags.emplace(std::string(key), Text(value));
  });
  return tags;
}

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool EqualIgnoringCase(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, Lower, Lower);
}

// The forms of true that Go's strconv.ParseBool takes.
bool IsTrueText(std::string_view text) {
  static constexpr std::array kTrue = {"1", "t", "T", "true", "TRUE", "True"};
  return std::ranges::find(kTrue, text) != kTrue.end();
}

// Reads the members of spec.pool that are texts with a meaning, and tells of those that have none.
class PoolTexts {
 public:
  explicit PoolTexts(std::vector<std::string>& mistakes) : mistakes_(mistakes) {}

  std::optional<async::Duration> Duration(kube::JsonView view, const char* field) {
    const std::string_view text = view.StringOr("");
    if (text.empty()) return std::nullopt;
    const auto duration = ParseGoDuration(text);
    if (!duration) return Refuse(field, text, "a duration such as 2m or 10m30s");
    return std::min(*duration, kLongest);
  }

  // A share of the interval, or the default of Terway.
  double Jitter(kube::JsonView view, double otherwise) {
    const std::string_view text = view.StringOr("");
    if (text.empty()) return otherwise;
    double number = 0;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
    if (end.ec != std::errc() || end.ptr != text.data() + text.size() || !(number >= 0)) {
      Refuse("reclaim.jitterFactor", text, "a number such as 0.1");
      return otherwise;
    }
    return number > 0 ? std::min(number, kMostJitter) : otherwise;
  }

 private:
  std::nullopt_t Refuse(const char* field, std::string_view text, const char* wanted) {
    constexpr std::size_t kShown = 64;
    mistakes_.push_back(Format("spec.pool.{}: \"{}\" is not {}; the default is used", field,
                               text.substr(0, kShown), wanted));
    return std::nullopt;
  }

  std::vector<std::string>& mistakes_;
};

void ReadMetadataAndCap(kube::JsonView spec, NodeSpec& result) {
  const auto [region, type, instance, zone] =
      spec["nodeMetadata"].Members("regionID", "instanceType", "instanceID", "zoneID");
  result.region = Text(region);
  result.instance_type = Text(type);
  result.instance = Text(instance);
  result.zone = Text(zone);
  const auto [adapters, total, ipv4, ipv6, eri] = spec["nodeCap"].Members(
      "adapters", "totalAdapters", "ipv4PerAdapter", "ipv6PerAdapter", "eriQuantity");
  result.adapters = Count(adapters);
  result.total_adapters = Count(total);
  result.ipv4_per_adapter = Count(ipv4);
  result.ipv6_per_adapter = Count(ipv6);
  result.eri_quantity = Count(eri);
}

void ReadEni(kube::JsonView eni, NodeSpec& result) {
  result.has_eni = eni.is_object();
  result.vswitches = Texts(eni["vSwitchOptions"]);
  result.security_groups = Texts(eni["securityGroupIDs"]);
  result.vswitch_policy = Text(eni["vSwitchSelectPolicy"]);
  result.tags = TagsOf(eni["tag"]);
  result.tag_filter = TagsOf(eni["tagFilter"]);
  eni["tagBlockList"].ForEachItem([&](kube::JsonView item) {
    result.tag_block_list.emplace_back(Text(item["key"]), Text(item["value"]));
  });
  result.resource_group = Text(eni["resourceGroupID"]);
  result.ipv4 = IsTrue(eni["enableIPv4"]);
  result.ipv6 = IsTrue(eni["enableIPv6"]);
  result.erdma = IsTrue(eni["enableERDMA"]);
  result.trunk = IsTrue(eni["enableTrunk"]);
  result.prefixes = IsTrue(eni["enableIPPrefix"]);
  result.ipv4_prefixes = Count(eni["ipv4PrefixCount"]);
  result.ipv6_prefixes = Count(eni["ipv6PrefixCount"]);
}

void ReadPool(kube::JsonView pool, NodeSpec& result) {
  PoolTexts texts(result.mistakes);
  result.has_pool = pool.is_object();
  result.max_pool = Count(pool["maxPoolSize"]);
  result.min_pool = Count(pool["minPoolSize"]);
  result.warm_up = Count(pool["warmUpSize"]);
  result.pool_sync_period = texts.Duration(pool["poolSyncPeriod"], "poolSyncPeriod");
  const kube::JsonView reclaim = pool["reclaim"];
  result.has_reclaim = reclaim.is_object();
  result.reclaim_after = texts.Duration(reclaim["after"], "reclaim.after");
  result.reclaim_interval = texts.Duration(reclaim["interval"], "reclaim.interval");
  result.reclaim_jitter = texts.Jitter(reclaim["jitterFactor"], result.reclaim_jitter);
  result.reclaim_batch = Count(reclaim["batchSize"]);
}

// True if the pod's daemon has told last that it tore the pod's network down.
bool IsDeleted(kube::JsonView statuses) {
  std::optional<std::int64_t> initial;
  std::optional<std::int64_t> deleted;
  statuses.ForEach([&](std::string_view status, kube::JsonView info) {
    if (!info.is_object()) return;
    const auto time = kube::ParseTimestamp(info["lastUpdateTime"].StringOr(""));
    (status == "deleted" ? deleted : initial) = time.value_or(0);
  });
  return deleted && deleted >= initial;
}

}  // namespace

NodeSpec NodeSpec::From(kube::JsonView spec) {
  NodeSpec result;
  ReadMetadataAndCap(spec, result);
  ReadEni(spec["eni"], result);
  ReadPool(spec["pool"], result);
  spec["flavor"].ForEachItem([&](kube::JsonView flavor) {
    result.flavors.push_back({.type = Text(flavor["networkInterfaceType"]),
                              .traffic_mode = Text(flavor["networkInterfaceTrafficMode"]),
                              .count = Count(flavor["count"])});
  });
  return result;
}

kube::Result<Node> Node::From(kube::JsonView object) {
  const kube::JsonView metadata = object["metadata"];
  const kube::JsonView labels = metadata["labels"];
  Node node{.id = Identity::From(object, kFinalizer),
            .spec = NodeSpec::From(object["spec"]),
            .status = NodeStatus::From(object["status"])};
  node.exclusive = EqualIgnoringCase(labels[kExclusiveLabel].StringOr(""), "eniOnly");
  if (labels[kLingjunLabel].StringOr("") != "true") return node;
  const std::string_view api = metadata["annotations"][kApiAnnotation].StringOr("");
  node.unsupported = api == "hdeni" || api == "ecs-hdeni";
  node.backend = api == "ecs" ? Backend::kEcs : Backend::kEflo;
  return node;
}

bool Node::IsOurs() const {
  const bool has_ids = !spec.region.empty() && !spec.instance_type.empty() &&
                       !spec.instance.empty() && !spec.zone.empty();
  return has_ids && spec.has_eni && spec.has_pool && spec.adapters > 0 && !exclusive;
}

kube::Result<NodeRuntime> NodeRuntime::From(kube::JsonView object) {
  NodeRuntime runtime{.id = Identity::From(object, kFinalizer), .pods = {}};
  object["status"]["pods"].ForEach([&](std::string_view uid, kube::JsonView pod) {
    runtime.pods[std::string(uid)] = {.pod = Text(pod["podID"]),
                                      .deleted = IsDeleted(pod["status"])};
  });
  return runtime;
}

kube::Result<eni::Pod> Pod::From(kube::JsonView object) {
  const kube::JsonView spec = object["spec"];
  const kube::JsonView status = object["status"];
  const std::string_view phase = status["phase"].StringOr("");
  const bool ended = phase == "Succeeded" || phase == "Failed";
  const bool own_eni =
      IsTrueText(object["metadata"]["annotations"][kPodEniAnnotation].StringOr(""));
  Pod pod{.id = Identity::From(object, kFinalizer),
          .node = Text(spec["nodeName"]),
          .needs_ip = !ended && !own_eni && !IsTrue(spec["hostNetwork"]),
          .addresses = {},
          .erdma = false};
  spec["containers"].ForEachItem([&](kube::JsonView container) {
    pod.erdma = pod.erdma || container["resources"]["limits"][kErdmaResource].exists();
  });
  status["podIPs"].ForEachItem([&](kube::JsonView entry) {
    if (std::string ip = Text(entry["ip"]); !ip.empty()) pod.addresses.push_back(std::move(ip));
  });
  if (std::string ip = Text(status["podIP"]); pod.addresses.empty() && !ip.empty())
    pod.addresses.push_back(std::move(ip));
  return pod;
}

kube::Result<CoreNode> CoreNode::From(kube::JsonView object) {
  CoreNode node{.id = Identity::From(object, kFinalizer),
                .sufficient = std::nullopt,
                .sufficient_message = {}};
  object["status"]["conditions"].ForEachItem([&](kube::JsonView condition) {
    if (condition["type"].StringOr("") != kSufficientIp) return;
    const std::string_view status = condition["status"].StringOr("");
    if (status == "True" || status == "False") node.sufficient = status == "True";
    node.sufficient_message = Text(condition["message"]);
  });
  return node;
}

}  // namespace berth::eni
