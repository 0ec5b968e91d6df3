#pragma once

#include <map>
#include <string>
#include <string_view>

#include "handlers/memory/server_thread.h"

namespace berth::memory {

// A stand-in for Terway's daemon on the demo's nodes. The status of a Node of
// network.alibabacloud.com binds addresses to pods; this gives them to the pods, by the annotation
// that the stand-in for a kubelet goes by (kube::memory::kPodIpsAnnotation), where that is there
// and empty: such a pod waits for its network. It remembers the addresses of the pods that Nodes
// name. All but Start is of the server's thread.
class EniDaemon {
 public:
  // Once. The server is stopped before this is destroyed.
  void Start(ServerThread& server);

 private:
  using Addresses = std::map<std::string, std::string>;  // "10.64.0.2,fd00::2", by pod "ns/name"

  void Watch();
  void Notice(std::string_view event);
  void Give(const std::string& pod, const std::string& addresses);

  ServerThread* server_ = nullptr;
  std::map<std::string, Addresses> given_;  // by Node
  async::Handle again_;
};

}  // namespace berth::memory
