#pragma once

#include <gmock/gmock.h>

#include <random>
#include <string>
#include <vector>

#include "json/json.h"
#include "kube/memory/server.h"
#include "log/format.h"

namespace berth::kube::memory {

using namespace std::chrono_literals;

inline constexpr const char* kPods = "/api/v1/namespaces/default/pods";
inline constexpr const char* kServices = "/api/v1/namespaces/default/services";
inline constexpr const char* kSlices =
    "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";

// A cluster whose time stands still but in Advance.
class Simulated {
 public:
  explicit Simulated(Server::MachineryOptions options = {}, std::uint64_t seed = 1)
      : random_(seed),
        server_({.now = [this] { return now_; },
                 .random = [this] { return random_(); },
                 .machinery = options}) {}

  Server& server() { return server_; }
  std::uint64_t Random(std::uint64_t bound) { return random_() % bound; }

  Response Send(Method method, const std::string& path, std::string body = "") {
    Response answer;
    const char* type =
        method == Method::kPatch ? "application/merge-patch+json" : "application/json";
    server_.Handle({.method = method, .path = path, .body = std::move(body), .content_type = type},
                   [&](Response response) { answer = std::move(response); });
    return answer;
  }
  int Post(const std::string& path, std::string body) {
    return Send(Method::kPost, path, std::move(body)).code;
  }
  int Patch(const std::string& path, std::string body) {
    return Send(Method::kPatch, path, std::move(body)).code;
  }
  int Delete(const std::string& path, std::string body = "") {
    return Send(Method::kDelete, path, std::move(body)).code;
  }
  Json Get(const std::string& path) { return Json::parse(Send(Method::kGet, path).body); }
  Json Pod(const std::string& name) { return Get(Format("{}/{}", kPods, name)); }
  std::vector<Json> List(const std::string& path) {
    std::vector<Json> items;
    const Json list = Get(path);
    for (const Json& item : list["items"].array_range()) items.push_back(item);
    return items;
  }

  void AddNodes(int count) {
    for (int i = 1; i <= count; ++i)
      ASSERT_EQ(Post("/api/v1/nodes", Format(R"({{"metadata":{{"name":"node-{}"}}}})", i)), 201);
    Settle();
  }
  void AddPod(const std::string& name, const std::string& spec = "", const std::string& meta = "") {
    ASSERT_EQ(Post(kPods, Format(R"({{"metadata":{{"name":"{}","labels":{{"app":"web"}}{}}},)"
                                 R"("spec":{{"containers":[{{"name":"c","image":"i"}}]{}}}}})",
                                 name, meta, spec)),
              201);
  }
  void AddService(const std::string& name, const std::string& spec = "") {
    ASSERT_EQ(Post(kServices, Format(R"({{"metadata":{{"name":"{}"}},"spec":{{)"
                                     R"("selector":{{"app":"web"}},"ports":[{{"port":80}}]{}}}}})",
                                     name, spec)),
              201);
  }

  // Runs until nothing is left to do now.
  void Settle() {
    for (int steps = 0; server_.RunMachinery() || server_.CollectGarbage(); ++steps)
      ASSERT_LT(steps, 100'000) << "it never comes to rest";
  }
  void Advance(std::chrono::seconds time) {
    for (; time > 0s; time -= 1s) {
      now_ += 1s;
      server_.Tick();
      Settle();
    }
  }

 private:
  async::WallTime now_{1'800'000'000s};
  std::mt19937_64 random_;
  Server server_;
};

inline std::string Condition(const Json& object, const std::string& type) {
  for (const Json& condition : object["status"]["conditions"].array_range()) {
    if (condition["type"].as_string() == type) return condition["status"].as_string();
  }
  return "none";
}

inline std::vector<std::string> Texts(const Json& list, const std::string& key) {
  std::vector<std::string> texts;
  for (const Json& item : list.array_range()) texts.push_back(item[key].as_string());
  return texts;
}

inline std::string NodeOf(const Json& pod) {
  return pod["spec"].get_value_or<std::string>("nodeName", "");
}

}  // namespace berth::kube::memory
