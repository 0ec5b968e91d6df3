#include <algorithm>
#include <array>
#include <concepts>
#include <type_traits>

#include "kube/age.h"
#include "reconcile/eni/objects.h"

// A Node's status as JSON. Each structure names its members once, in VisitMembers; Reader, Writer
// and Differ are the visitors that read them, write them and write what differs.
namespace berth::eni {
namespace {

template <typename T, typename U>
concept Is = std::same_as<std::remove_cvref_t<T>, U>;

constexpr std::array<std::string_view, 4> kTypes = {kPrimaryType, kSecondaryType, kTrunkType,
                                                    kMemberType};
constexpr std::array<std::string_view, 2> kModes = {kStandard, kHighPerformance};

// A visitor is called with a member's name and the member of each object, one for Reader and
// Writer, two for Differ. Members that are empty are left out, but for those of Required.
template <typename Visitor, Is<Ip>... T>
void VisitMembers(Visitor& visit, T&... ip) {
  visit.Required("ip", ip.address...);
  visit.Required("primary", ip.primary...);
  visit.Required("status", ip.status...);
  visit("podID", ip.pod...);
  visit("podUID", ip.pod_uid...);
  visit("ipName", ip.name...);
}

template <typename Visitor, Is<Prefix>... T>
void VisitMembers(Visitor& visit, T&... prefix) {
  visit.Required("prefix", prefix.prefix...);
  visit.Required("status", prefix.status...);
  visit("frozenExpireAt", prefix.frozen_until...);
}

template <typename Visitor, Is<NicCondition>... T>
void VisitMembers(Visitor& visit, T&... condition) {
  visit("message", condition.message...);
  visit("observedTime", condition.observed...);
}

template <typename Visitor, Is<Nic>... T>
void VisitMembers(Visitor& visit, T&... nic) {
  visit.Required("id", nic.id...);
  visit.Required("status", nic.status...);
  visit("macAddress", nic.mac...);
  visit("vSwitchID", nic.vswitch...);
  visit("securityGroupIDs", nic.security_groups...);
  visit("primaryIPAddress", nic.primary_address...);
  visit.OneOf("networkInterfaceTrafficMode", kModes, nic.traffic_mode...);
  visit.OneOf("networkInterfaceType", kTypes, nic.type...);
  visit("unschedulable", nic.unschedulable...);
  visit("ipv4CIDR", nic.ipv4_cidr...);
  visit("ipv6CIDR", nic.ipv6_cidr...);
  visit("ipv4", nic.ipv4...);
  visit("ipv6", nic.ipv6...);
  visit("ipv4Prefix", nic.ipv4_prefixes...);
  visit("ipv6Prefix", nic.ipv6_prefixes...);
  visit("conditions", nic.conditions...);
}

template <typename Visitor, Is<Attempt>... T>
void VisitMembers(Visitor& visit, T&... attempt) {
  visit("begunTime", attempt.begun...);
  visit("vSwitchID", attempt.request.vswitch_id...);
  visit("securityGroupIDs", attempt.request.security_group_ids...);
  visit.OneOf("networkInterfaceTrafficMode", kModes, attempt.request.traffic_mode...);
  visit("trunk", attempt.request.trunk...);
  visit("resourceGroupID", attempt.request.resource_group_id...);
  visit("ipv4Addresses", attempt.request.ipv4_addresses...);
  visit("ipv4Prefixes", attempt.request.ipv4_prefixes...);
  visit("ipv6Addresses", attempt.request.ipv6_addresses...);
  visit("ipv6Prefixes", attempt.request.ipv6_prefixes...);
  visit("tags", attempt.request.tags...);
  visit("instanceID", attempt.request.instance_id...);
  visit("zoneID", attempt.request.zone_id...);
  visit("vpcID", attempt.request.vpc_id...);
}

template <typename Visitor, Is<PoolFigures>... T>
void VisitMembers(Visitor& visit, T&... figures) {
  visit.Required("enis", figures.enis...);
  visit.Required("addresses", figures.addresses...);
  visit.Required("idle", figures.idle...);
  visit.Required("attaching", figures.attaching...);
}

template <typename Visitor, Is<NodeStatus>... T>
void VisitMembers(Visitor& visit, T&... status) {
  visit("nextSyncOpenAPITime", status.next_sync...);
  visit("lastSyncOpenAPITime", status.last_sync...);
  visit("lastModifiedTime", status.last_modified...);
  visit("nextIdleIPReclaimTime", status.next_reclaim...);
  visit("warmUpTarget", status.warm_up_target...);
  visit("warmUpAllocatedCount", status.warm_up_allocated...);
  visit("warmUpCompleted", status.warm_up_completed...);
  visit("networkInterfaces", status.nics...);
  visit("attempts", status.attempts...);
  visit("account", status.account...);
  visit("pool", status.figures...);
  visit("conditions", status.conditions...);
}

// Entries of a map are known by its key, whatever they say themselves.
void SetKey(Ip& ip, std::string_view key) { ip.address = key; }
void SetKey(Nic& nic, std::string_view key) { nic.id = key; }
void SetKey(NicCondition&, std::string_view) {}
void SetKey(Attempt& attempt, std::string_view token) { attempt.request.client_token = token; }

class Reader {
 public:
  explicit Reader(kube::JsonView view) : view_(view) {}

  template <typename T>
  void operator()(const char* name, T& member) {
    Read(view_[name], member);
  }
  template <typename T>
  void Required(const char* name, T& member) {
    Read(view_[name], member);
  }
  template <typename Values>
  void OneOf(const char* name, const Values&, std::string& member) {
    Read(view_[name], member);
  }

 private:
  static void Read(kube::JsonView view, std::string& text) { text = view.StringOr(""); }
  static void Read(kube::JsonView view, bool& flag) { flag = view.Bool().value_or(false); }
  static void Read(kube::JsonView view, int& count) {
    count =
        static_cast<int>(std::clamp<std::int64_t>(view.Int().value_or(0), 0, NodeSpec::kMostCount));
  }
  static void Read(kube::JsonView view, std::optional<async::WallTime>& time) {
    constexpr std::int64_t kYear2242 = std::int64_t{1} << 33;  // nanoseconds end in 2262
    const auto seconds = kube::ParseTimestamp(view.StringOr(""));
    if (seconds && *seconds > 0 && *seconds < kYear2242)
      time = async::WallTime(std::chrono::seconds(*seconds));
  }
  static void Read(kube::JsonView view, async::WallTime& time) {
    std::optional<async::WallTime> read;
    Read(view, read);
    time = read.value_or(async::WallTime());
  }
  static void Read(kube::JsonView view, std::vector<std::string>& texts) {
    view.ForEachItem([&](kube::JsonView item) { texts.emplace_back(item.StringOr("")); });
  }
  static void Read(kube::JsonView view, std::vector<Prefix>& prefixes) {
    view.ForEachItem([&](kube::JsonView item) {
      Reader reader(item);
      VisitMembers(reader, prefixes.emplace_back());
    });
  }
  template <typename T>
  static void Read(kube::JsonView view, std::map<std::string, T>& entries) {
    view.ForEach([&](std::string_view key, kube::JsonView value) {
      const auto [entry, is_new] = entries.try_emplace(std::string(key));
      if (is_new) ReadEntry(value, key, entry->second);
    });
  }
  static void ReadEntry(kube::JsonView view, std::string_view, std::string& text) {
    Read(view, text);
  }
  template <typename T>
  static void ReadEntry(kube::JsonView view, std::string_view key, T& entry) {
    Reader reader(view);
    VisitMembers(reader, entry);
    SetKey(entry, key);
  }
  static void Read(kube::JsonView view, std::optional<PoolFigures>& figures) {
    // A pool that lacks a count, or has one that cannot be, is written whole again.
    for (const char* count : {"enis", "addresses", "idle", "attaching"}) {
      const std::int64_t value = view[count].Int().value_or(-1);
      if (value < 0 || value > NodeSpec::kMostCount) return;
    }
    Reader reader(view);
    VisitMembers(reader, figures.emplace());
  }
  static void Read(kube::JsonView view, Json& array) {
    if (view.is_array()) array = Json::parse(view.ToJson());
  }

  kube::JsonView view_;
};

// Values as JSON; null for those that are left out.
Json ToJson(const std::string& text) { return text.empty() ? Json::null() : Json(text); }
Json ToJson(bool flag) { return flag ? Json(true) : Json::null(); }
Json ToJson(int count) { return count == 0 ? Json::null() : Json(count); }
Json ToJson(async::WallTime time) {
  const auto since = time.time_since_epoch();
  return time == async::WallTime()
             ? Json::null()
             : Json(kube::Timestamp(std::chrono::floor<std::chrono::seconds>(since).count()));
}
Json ToJson(const std::optional<async::WallTime>& time) {
  return time ? ToJson(*time) : Json::null();
}
Json ToJson(const std::vector<std::string>& texts) {
  return texts.empty() ? Json::null() : Json(texts);
}
Json ToJson(const std::vector<Prefix>& prefixes);
Json ToJson(const std::optional<PoolFigures>& figures);
Json ToJson(const Json& array) { return array.is_array() ? array : Json::null(); }
template <typename T>
Json ToJson(const std::map<std::string, T>& entries);

template <typename Values>
std::string KnownOf(const Values& values, const std::string& text) {
  return std::ranges::find(values, text) == values.end() ? std::string() : text;
}

class Writer {
 public:
  template <typename T>
  void operator()(const char* name, const T& member) {
    if (Json json = eni::ToJson(member); !json.is_null())
      out_.insert_or_assign(name, std::move(json));
  }
  template <typename T>
  void Required(const char* name, const T& member) {
    out_.insert_or_assign(name, Json(member));
  }
  template <typename Values>
  void OneOf(const char* name, const Values& values, const std::string& member) {
    (*this)(name, KnownOf(values, member));
  }
  Json Take() { return std::move(out_); }

 private:
  Json out_;
};

Json Written(const std::string& text) { return text; }

template <typename T>
Json Written(const T& object) {
  Writer writer;
  VisitMembers(writer, object);
  return writer.Take();
}

Json ToJson(const std::vector<Prefix>& prefixes) {
  if (prefixes.empty()) return Json::null();
  Json json = Json::Array();
  for (const Prefix& prefix : prefixes) json.push_back(Written(prefix));
  return json;
}

Json ToJson(const std::optional<PoolFigures>& figures) {
  return figures ? Written(*figures) : Json::null();
}

template <typename T>
Json ToJson(const std::map<std::string, T>& entries) {
  if (entries.empty()) return Json::null();
  Json json;
  for (const auto& [key, entry] : entries) json.insert_or_assign(key, Written(entry));
  return json;
}

// Collects the merge patch from the first of two objects to the second.
class Differ {
 public:
  template <typename T>
  void operator()(const char* name, const T& from, const T& to) {
    Diff(name, from, to);
  }
  template <typename T>
  void Required(const char* name, const T& from, const T& to) {
    if (from != to) patch_.insert_or_assign(name, Json(to));
  }
  template <typename Values>
  void OneOf(const char* name, const Values& values, const std::string& from,
             const std::string& to) {
    Diff(name, KnownOf(values, from), KnownOf(values, to));
  }
  Json Take() { return std::move(patch_); }

 private:
  // Values that are equal, which most are, make no JSON; others may still be written the same.
  template <typename T>
  void Diff(std::string_view name, const T& from, const T& to) {
    if (from == to) return;
    Json json = eni::ToJson(to);
    if (eni::ToJson(from) != json) patch_.insert_or_assign(name, std::move(json));
  }
  void Diff(std::string_view name, const std::optional<PoolFigures>& from,
            const std::optional<PoolFigures>& to) {
    if (from && to) return Merge(name, *from, *to);
    if (from || to) patch_.insert_or_assign(name, eni::ToJson(to));
  }
  template <typename T>
  void Diff(std::string_view name, const std::map<std::string, T>& from,
            const std::map<std::string, T>& to);

  void Merge(std::string_view name, const std::string& from, const std::string& to) {
    if (from != to) patch_.insert_or_assign(name, to);
  }
  template <typename T>
  void Merge(std::string_view name, const T& from, const T& to) {
    if (from == to) return;
    Differ inner;
    VisitMembers(inner, from, to);
    if (Json patch = inner.Take(); !patch.empty()) patch_.insert_or_assign(name, std::move(patch));
  }

  Json patch_;
};

template <typename T>
void Differ::Diff(std::string_view name, const std::map<std::string, T>& from,
                  const std::map<std::string, T>& to) {
  if (from == to) return;
  if (to.empty()) return patch_.insert_or_assign(name, Json::null());
  Differ inner;
  for (const auto& [key, entry] : from) {
    if (!to.contains(key)) inner.patch_.insert_or_assign(key, Json::null());
  }
  for (const auto& [key, entry] : to) {
    if (const auto before = from.find(key); before != from.end()) {
      inner.Merge(key, before->second, entry);
    } else {
      inner.patch_.insert_or_assign(key, Written(entry));
    }
  }
  if (!inner.patch_.empty()) patch_.insert_or_assign(name, inner.Take());
}

}  // namespace

NodeStatus NodeStatus::From(kube::JsonView status) {
  NodeStatus result;
  Reader reader(status);
  VisitMembers(reader, result);
  return result;
}

std::optional<Json> StatusPatch(const Node& read, const NodeStatus& to) {
  Differ differ;
  VisitMembers(differ, read.status, to);
  Json status = differ.Take();
  if (status.empty()) return std::nullopt;
  Json patch = runtime::PatchOf(read.id);
  patch["status"] = std::move(status);
  return patch;
}

}  // namespace berth::eni
