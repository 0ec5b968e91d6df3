#pragma once

#include <gtest/gtest.h>
#include <prometheus/registry.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "handlers/apis/api_server.h"
#include "handlers/apis/live_collection.h"
#include "handlers/apis/test_gadgets.h"
#include "server/http_server.h"
#include "server/serve_fixture_test.h"
#include "server/support_test.h"

// The aggregated API over test collections, served over TLS in the test's own process.
namespace berth::server::test {

inline const std::string kApi = "/apis/live.berth.dev/v1alpha1";
inline const std::string kGadgets = kApi + "/gadgets";
inline const std::string kBigs = kApi + "/bigs";
inline const std::string kFleetings = kApi + "/fleetings";
inline const std::string kPings = kApi + "/namespaces/default/pings";
inline const std::string kAsTable =
    "Accept: application/json;as=Table;v=v1;g=meta.k8s.io,"
    "application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
inline const std::string kAsPartial =
    "Accept: application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,"
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

inline std::string GadgetsIn(const std::string& ns) {
  return kApi + "/namespaces/" + ns + "/gadgets";
}

// Drogon runs once a process, so all tests share one server, from the first that asks for it to the
// end of the program.
class LiveApi {
 public:
  static constexpr std::size_t kMaxInFlight = 100;

  static LiveApi& Shared();

  std::uint16_t port() const { return http_.listeners().front().port; }
  const Pki& pki() const { return pki_; }
  TlsClient Connect(std::chrono::milliseconds timeout = kPatience) const {
    return TlsClient(port(), front_proxy_, timeout);
  }

  // The value of the metric's series for the resource; 0 when there is none.
  double Metric(const std::string& name, const std::string& resource) const;
  double Watchers(const std::string& resource) const {
    return Metric("berth_api_watchers", resource);
  }

  // A listener without TLS whose requests wait until they are told to be answered.
  std::uint16_t parked_port() const { return http_.listeners().back().port; }
  std::size_t Parked() const;
  void AnswerParked();

  void RemoveAll();
  void Stop();

  apis::LiveCollection gadgets{apis::GadgetType(), 1'000'000, {.events = 1000, .bytes = 16 << 20}};
  apis::LiveCollection bigs;       // cluster-wide, not deletable, for large objects
  apis::LiveCollection fleetings;  // with next to no history
  apis::Ping ping;

 private:
  LiveApi();
  void Park(std::move_only_function<void()> answer);

  Pki pki_;
  TempDir dir_;
  TlsContext front_proxy_;
  prometheus::Registry registry_;
  apis::Authenticator authenticator_;
  apis::Authorizer authorizer_{nullptr};
  apis::ApiServer api_{authenticator_, authorizer_, registry_};
  mutable std::mutex parked_mutex_;
  std::vector<std::move_only_function<void()>> parked_;  // answers
  HttpServer http_;
  std::thread thread_;
};

// An object of `bigs` or `fleetings`; `serial` makes it a new state.
apis::LiveCollection::Draft Plain(const std::string& name, int serial, std::size_t bytes = 0);

// A watch on a connection of its own.
class WatchStream {
 public:
  explicit WatchStream(const std::string& target, HeaderLines headers = {},
                       std::chrono::milliseconds timeout = kPatience);

  int code() const { return head_ ? head_->code : 0; }
  const std::optional<HttpResponse>& head() const { return head_; }
  TlsClient& client() { return client_; }

  // The next event; nothing when there is no more, and then a proper end is one with a last chunk.
  std::optional<Json> Next();
  bool EndedProperly() const { return client_.ended(); }
  const std::string& error() const { return client_.error(); }

  // The next event as "ADDED name", with what an error is for an ERROR; "(end)" or why there is
  // none.
  std::string Brief();

 private:
  TlsClient client_;
  std::optional<HttpResponse> head_;
};

// The name of an event's object in whichever form, and its version.
std::string NameOf(const Json& event);
std::uint64_t VersionOf(const Json& event);

class ApisTest : public testing::Test {
 protected:
  // The next test finds neither objects nor watchers.
  void TearDown() override {
    live_.RemoveAll();
    for (const char* resource : {"gadgets", "bigs", "fleetings"}) {
      EXPECT_TRUE(WaitUntil([&] { return live_.Watchers(resource) == 0; })) << resource;
    }
  }

  std::optional<HttpResponse> Ask(const std::string& method, const std::string& target,
                                  HeaderLines headers = {}, const std::string& body = {}) const;
  std::optional<HttpResponse> Read(const std::string& target, HeaderLines headers = {}) const {
    return Ask("GET", target, std::move(headers));
  }
  // The body of a 200.
  Json ReadJson(const std::string& target, HeaderLines headers = {}) const;
  // "ns/name" of a list's items.
  std::vector<std::string> Names(const std::string& target) const;
  std::string Version() const { return std::to_string(live_.gadgets.version()); }

  LiveApi& live_ = LiveApi::Shared();
};

// The Status must be a failure with this code and reason.
void ExpectFailure(const std::optional<HttpResponse>& response, int code,
                   const std::string& reason);

}  // namespace berth::server::test
