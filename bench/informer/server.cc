// An API server with many Sandbox-like objects and nothing else: it writes them as fast as they are
// read, as a list in pages or as the beginning of a watch, and changes them when told to. Plain
// HTTP, so that what is measured is the informer.
//
//   bench_informer_server COUNT     prints {"port":N}; obeys "burst COUNT" on stdin
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <format>
#include <iostream>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "log/format.h"

namespace {

constexpr std::size_t kChunk = 256 * 1024;

// About 5 KB: what a sandbox of openkruise/agents looks like on the wire, made up.
class Sandboxes {
 public:
  explicit Sandboxes(std::uint64_t count) : count_(count) {
    for (int i = 0; i < 12; ++i) {
      environment_ += berth::Format(
          R"({{"name":"SETTING_{0}","value":"a value that somebody needed once, number {0}"}},)",
          i);
    }
    environment_.pop_back();
    for (int i = 0; i < 6; ++i) {
      fields_ += berth::Format(
          R"({{"manager":"manager-{0}","operation":"Update","apiVersion":"agents.kruise.io/v1alpha1","time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{{"f:metadata":{{"f:labels":{{"f:app":{{}},"f:pool":{{}}}}}},"f:spec":{{"f:template":{{"f:spec":{{"f:containers":{{}}}}}}}}}}}},)",
          i);
    }
    fields_.pop_back();
  }

  std::uint64_t count() const { return count_; }

  void Append(std::string& out, std::uint64_t i, std::uint64_t version) const {
    std::format_to(
        std::back_inserter(out),
        R"({{"apiVersion":"agents.kruise.io/v1alpha1","kind":"Sandbox","metadata":{{"name":"sandbox-{0:07}","namespace":"team-{1:03}","uid":"6f1f9a3e-52a4-4c51-9a0e-{0:012x}","resourceVersion":"{2}","generation":3,"creationTimestamp":"2026-01-01T00:00:00Z","labels":{{"app":"agent","pool":"pool-{3:02}","template-hash":"5d4f6c7b8","tenant":"tenant-{1:03}","tier":"standard"}},"annotations":{{"agents.kruise.io/claimed-at":"2026-01-01T00:00:00Z","agents.kruise.io/owner":"user-{0}@example.test","kubectl.kubernetes.io/last-applied-configuration":"{4}"}},"ownerReferences":[{{"apiVersion":"agents.kruise.io/v1alpha1","kind":"SandboxSet","name":"set-{3:02}","uid":"0b5c1a2d-1111-4222-8333-{3:012x}","controller":true}}],"managedFields":[{5}]}},"spec":{{"template":{{"metadata":{{"labels":{{"app":"agent"}}}},"spec":{{"containers":[{{"name":"agent","image":"images.example.test/agent:1.2.3","resources":{{"requests":{{"cpu":"500m","memory":"512Mi"}},"limits":{{"cpu":"2","memory":"2Gi"}}}},"env":[{6}],"volumeMounts":[{{"name":"work","mountPath":"/work"}}]}}],"volumes":[{{"name":"work","emptyDir":{{}}}}],"nodeSelector":{{"pool":"sandbox"}}}}}},"shutdownTime":"2026-12-01T00:00:00Z"}},"status":{{"phase":"Running","observedGeneration":3,"nodeName":"node-{1:03}","podInfo":{{"podIP":"10.{7}.{8}.{9}","podUID":"a0c4e6f8-0000-4000-8000-{0:012x}"}},"conditions":[{{"type":"Ready","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z","reason":"PodReady","message":""}},{{"type":"SandboxPaused","status":"False","lastTransitionTime":"2026-01-01T00:00:00Z","reason":"Running","message":""}}]}}}})", i,
        i % 500, version, i % 50, std::string_view(applied_), fields_, environment_, i >> 16 & 255,
        i >> 8 & 255, i & 255);
  }

 private:
  std::uint64_t count_;
  std::string environment_;
  std::string fields_;
  std::string applied_ = std::string(900, 'x');
};

bool Write(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto sent = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool WriteChunk(int socket, const std::string& bytes) {
  return Write(socket, berth::Format("{:x}\r\n", bytes.size())) && Write(socket, bytes) &&
         Write(socket, "\r\n");
}

std::string Parameter(std::string_view target, std::string_view name) {
  const auto at = target.find(berth::Format("{}=", name));
  if (at == std::string_view::npos) return {};
  const auto begin = at + name.size() + 1;
  return std::string(target.substr(begin, target.find('&', begin) - begin));
}

class Server {
 public:
  explicit Server(std::uint64_t count) : sandboxes_(count), version_(count) {}

  // One connection, until it ends; a watch takes it for good.
  void Serve(int socket) {
    std::string input;
    char buffer[16384];
    while (true) {
      const auto end = input.find("\r\n\r\n");
      if (end != std::string::npos) {
        const std::string target = input.substr(4, input.find(' ', 4) - 4);
        input.erase(0, end + 4);
        if (target.contains("watch=")) return Watch(socket, target);
        if (!List(socket, target)) break;
        continue;
      }
      const auto got = recv(socket, buffer, sizeof buffer, 0);
      if (got <= 0) break;
      input.append(buffer, static_cast<std::size_t>(got));
    }
    close(socket);
  }

  void Burst(std::uint64_t count) {
    const std::lock_guard lock(mutex_);
    std::string out;
    for (std::uint64_t i = 0; i < count; ++i) {
      out += R"({"type":"MODIFIED","object":)";
      ++version_;
      sandboxes_.Append(out, version_ % sandboxes_.count(), version_);
      out += "}\n";
      if (out.size() >= kChunk || i + 1 == count) {
        for (const int watcher : watchers_) WriteChunk(watcher, out);
        out.clear();
      }
    }
  }

 private:
  bool List(int socket, const std::string& target) {
    const std::string limit = Parameter(target, "limit");
    const std::string from = Parameter(target, "continue");
    const std::uint64_t begin = from.empty() ? 0 : std::stoull(from);
    const std::uint64_t end =
        std::min(sandboxes_.count(),
                 limit.empty() ? sandboxes_.count() : begin + std::uint64_t{std::stoull(limit)});
    std::string body = berth::Format(
        R"({{"kind":"SandboxList","apiVersion":"agents.kruise.io/v1alpha1","metadata":{{"resourceVersion":"{}","continue":"{}"}},"items":[)",
        sandboxes_.count(), end < sandboxes_.count() ? std::to_string(end) : "");
    for (std::uint64_t i = begin; i < end; ++i) {
      if (i > begin) body += ',';
      sandboxes_.Append(body, i, i + 1);
    }
    body += "]}";
    return Write(socket, berth::Format("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                                       "Content-Length: {}\r\n\r\n",
                                       body.size())) &&
           Write(socket, body);
  }

  void Watch(int socket, const std::string& target) {
    if (!Write(socket,
               "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
               "Transfer-Encoding: chunked\r\n\r\n")) {
      return;
    }
    const std::lock_guard lock(mutex_);
    if (target.contains("sendInitialEvents=true")) Begin(socket);
    watchers_.push_back(socket);
  }

  void Begin(int socket) {
    std::string out;
    for (std::uint64_t i = 0; i < sandboxes_.count(); ++i) {
      out += R"({"type":"ADDED","object":)";
      sandboxes_.Append(out, i, i + 1);
      out += "}\n";
      if (out.size() >= kChunk) {
        WriteChunk(socket, out);
        out.clear();
      }
    }
    out += berth::Format(
        R"({{"type":"BOOKMARK","object":{{"kind":"Sandbox","apiVersion":"agents.kruise.io/v1alpha1","metadata":{{"resourceVersion":"{}","annotations":{{"k8s.io/initial-events-end":"true"}}}}}}}})"
        "\n",
        sandboxes_.count());
    WriteChunk(socket, out);
  }

  Sandboxes sandboxes_;
  std::mutex mutex_;
  std::uint64_t version_;
  std::vector<int> watchers_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  Server server(std::stoull(argv[1]));
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      listen(listener, 16) != 0 ||
      getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    std::perror("listen");
    return 1;
  }
  std::cout << berth::Format(R"({{"port":{}}})", ntohs(address.sin_port)) << std::endl;
  std::thread([&] {
    while (true) {
      const int socket = accept(listener, nullptr, nullptr);
      if (socket >= 0) std::thread([&server, socket] { server.Serve(socket); }).detach();
    }
  }).detach();
  std::string word;
  std::uint64_t count = 0;
  while (std::cin >> word >> count) server.Burst(count);
  std::_Exit(0);
}
