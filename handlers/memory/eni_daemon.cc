#include "handlers/memory/eni_daemon.h"

#include <utility>

#include "json/json.h"
#include "kube/memory/pod_status.h"
#include "log/format.h"

namespace berth::memory {
namespace {

using namespace std::chrono_literals;

constexpr const char* kNodes = "/apis/network.alibabacloud.com/v1beta1/nodes";

Json Part(const Json& object, std::string_view member) {
  return object.get_value_or<Json>(member, Json::Object());
}

std::string Text(const Json& object, std::string_view member) {
  return object.get_value_or<std::string>(member, "");
}

// The addresses that a Node's status gives to pods now.
std::map<std::string, std::string> BoundBy(const Json& node) {
  std::map<std::string, std::string> bound;
  const Json nics = Part(Part(node, "status"), "networkInterfaces");
  for (const auto& nic : nics.object_range()) {
    if (Text(nic.value(), "status") != "InUse") continue;
    for (const char* family : {"ipv4", "ipv6"}) {
      const Json addresses = Part(nic.value(), family);
      for (const auto& ip : addresses.object_range()) {
        const std::string pod = Text(ip.value(), "podID");
        if (pod.empty() || Text(ip.value(), "status") != "Valid") continue;
        std::string& all = bound[pod];
        all += (all.empty() ? "" : ",") + std::string(ip.key());
      }
    }
  }
  return bound;
}

}  // namespace

void EniDaemon::Start(ServerThread& server) {
  server_ = &server;
  server.executor().Post([this] { Watch(); });
}

void EniDaemon::Watch() {
  const auto again = [this] { again_ = server_->executor().RunAfter(1s, [this] { Watch(); }); };
  given_.clear();
  server_->Watch({.path = std::string(kNodes) + "?watch=true"},
                 {.on_start =
                      [this, again](const auto& begun) {
                        if (!begun) return again();
                        for (const ServerThread::Line& line : *begun) Notice(*line);
                      },
                  .on_line = [this](const ServerThread::Line& line) { Notice(*line); },
                  .on_end = again});
}

void EniDaemon::Notice(std::string_view event) {
  const auto parsed = Json::Parse(event);
  if (!parsed) return;
  const Json node = Part(*parsed, "object");
  const std::string name = Text(Part(node, "metadata"), "name");
  if (Text(*parsed, "type") == "DELETED") {
    given_.erase(name);
    return;
  }
  Addresses bound = BoundBy(node);
  Addresses before = std::exchange(given_[name], bound);
  for (const auto& [pod, addresses] : bound) {
    if (before[pod] != addresses) Give(pod, addresses);
  }
}

// The test fails for a pod that has addresses, or does not wait for them.
void EniDaemon::Give(const std::string& pod, const std::string& addresses) {
  const auto slash = pod.find('/');
  if (slash == std::string::npos) return;
  std::string pointer(kube::memory::kPodIpsAnnotation);
  pointer.replace(pointer.find('/'), 1, "~1");
  server_->Send(
      {.method = kube::Method::kPatch,
       .path = Format("/api/v1/namespaces/{}/pods/{}", pod.substr(0, slash), pod.substr(slash + 1)),
       .body = Format(R"([{{"op":"test","path":"/metadata/annotations/{0}","value":""}},)"
                      R"({{"op":"add","path":"/metadata/annotations/{0}","value":"{1}"}}])",
                      pointer, addresses),
       .content_type = "application/json-patch+json"},
      [](const kube::Response&) {});
}

}  // namespace berth::memory
