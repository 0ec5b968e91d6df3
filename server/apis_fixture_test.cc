#include "server/apis_fixture_test.h"

namespace berth::server::test {
namespace {

LiveApi* shared = nullptr;

class StopLiveApi : public testing::Environment {
 public:
  void TearDown() override {
    if (shared != nullptr) shared->Stop();
  }
};

const testing::Environment* const kStop = testing::AddGlobalTestEnvironment(new StopLiveApi);

apis::ResourceType PlainType(const std::string& plural, const std::string& kind) {
  apis::ResourceType type;
  type.plural = plural;
  type.singular = plural.substr(0, plural.size() - 1);
  type.kind = kind;
  type.description = "For tests.";
  type.properties = Json::Object();
  return type;
}

HttpServer::Settings Settings(const Pki& pki, const std::filesystem::path& dir,
                              prometheus::Registry& registry) {
  TlsFiles files(dir);
  if (!files.SetPair(pki.serving.cert_pem, pki.serving.key_pem) ||
      !files.SetClientCa(pki.front_proxy_ca.cert_pem)) {
    throw std::runtime_error("the TLS files are refused");
  }
  std::filesystem::create_directory(dir / "empty");
  return {.bind_address = "127.0.0.1",
          .io_threads = 2,
          .max_in_flight = LiveApi::kMaxInFlight,
          .guard = {},
          .tls = {.client_ca = files.client_ca()},
          .tls_pair = files.pair(),
          .scratch = dir / "empty",
          .registry = registry};
}

}  // namespace

// Never destroyed: what Drogon still holds at the end of the program may refer to it.
LiveApi& LiveApi::Shared() {
  if (shared == nullptr) shared = new LiveApi;
  return *shared;
}

LiveApi::LiveApi()
    : bigs(PlainType("bigs", "Big"), 1000, {}),
      fleetings(PlainType("fleetings", "Fleeting"), 1000, {.events = 2, .bytes = 1 << 20}),
      front_proxy_({.identity = &pki_.front_proxy, .trust = pki_.serving_ca.cert_pem}),
      authenticator_(nullptr,
                     [](const drogon::HttpRequestPtr& request, const auto&) {
                       const std::string pem = request->peerCertificate()->pem();
                       return std::optional(certs::CommonName(pem).value_or(""));
                     }),
      http_(Settings(pki_, dir_.path(), registry_)) {
  authenticator_.SetRequestHeader(std::make_shared<const apis::RequestHeaderConfig>(
      apis::RequestHeaderConfig::Usual(pki_.front_proxy_ca.cert_pem, {"front-proxy-client"})));
  gadgets.OnDelete([this](const apis::Deletion& deletion, async::Executor&, auto answer) {
    if (!deletion.dry_run) gadgets.Remove(deletion.ns, deletion.name);
    answer({});
  });
  for (auto* collection : {&gadgets, &bigs, &fleetings}) api_.Add(*collection);
  api_.Add(ping);
  api_.Start();
  http_.Add({.name = "api",
             .tls = Listener::Tls::kClientCertificates,
             .handler = [this](const auto& request, auto callback) {
               api_.Serve(request, std::move(callback));
             }});
  http_.Add({.name = "parked",
             .handler =
                 [this](const auto&, auto callback) {
                   Park([callback] { callback(http::Respond(200, "{}")); });
                 },
             .direct =
                 [this](const PostedJson&, Listener::Answer answer) {
                   Park([answer = std::move(answer)] mutable { answer("{}"); });
                 }});
  http_.OnDisconnect([this](const trantor::TcpConnection* gone) { api_.Forget(gone); });
  if (const auto prepared = http_.Prepare(); !prepared) {
    throw std::runtime_error(prepared.error().message);
  }
  thread_ = std::thread([this] { http_.Run([] {}); });
  if (!WaitUntil([this] { return CanConnect("127.0.0.1", port()); })) {
    throw std::runtime_error("the listener does not open");
  }
}

std::size_t LiveApi::Parked() const {
  const std::lock_guard lock(parked_mutex_);
  return parked_.size();
}

void LiveApi::AnswerParked() {
  const std::lock_guard lock(parked_mutex_);
  for (auto& answer : parked_) answer();
  parked_.clear();
}

void LiveApi::Park(std::move_only_function<void()> answer) {
  const std::lock_guard lock(parked_mutex_);
  parked_.push_back(std::move(answer));
}

void LiveApi::Stop() {
  api_.CloseWatches();
  http_.Quit();
  thread_.join();
  std::filesystem::remove_all(dir_.path());
  std::filesystem::remove_all(pki_.dir());
}

void LiveApi::RemoveAll() {
  for (auto* collection : {&gadgets, &bigs, &fleetings}) {
    const auto all = collection->List("", [](const auto&) { return true; }, {}, 0);
    for (const auto& object : all.objects) collection->Remove(object->ns, object->name);
  }
}

double LiveApi::Metric(const std::string& name, const std::string& resource) const {
  for (const auto& family : registry_.Collect()) {
    if (family.name != name) continue;
    for (const auto& metric : family.metric) {
      for (const auto& label : metric.label) {
        if (label.name != "resource" || label.value != resource) continue;
        return family.type == prometheus::MetricType::Gauge ? metric.gauge.value
                                                            : metric.counter.value;
      }
    }
  }
  return 0;
}

apis::LiveCollection::Draft Plain(const std::string& name, int serial, std::size_t bytes) {
  apis::LiveCollection::Draft draft{.name = name};
  draft.content["serial"] = serial;
  if (bytes > 0) draft.content["padding"] = std::string(bytes, 'p');
  return draft;
}

WatchStream::WatchStream(const std::string& target, HeaderLines headers,
                         std::chrono::milliseconds timeout)
    : client_(LiveApi::Shared().Connect(timeout)) {
  headers.insert(headers.end(), kAdmin.begin(), kAdmin.end());
  const std::string query = target.contains('?') ? "&watch=true" : "?watch=true";
  if (client_.Send(Get(target + query, headers))) head_ = client_.ReadHead();
}

std::optional<Json> WatchStream::Next() {
  const auto line = client_.ReadLine();
  if (!line) return std::nullopt;
  return Json::parse(*line);
}

std::string WatchStream::Brief() {
  const auto event = Next();
  if (!event) return EndedProperly() ? "(end)" : error();
  const std::string type = (*event)["type"].as_string();
  if (type == "ERROR") return "ERROR " + (*event)["object"]["code"].as_string();
  if (type == "BOOKMARK") return type;
  return type + " " + NameOf(*event);
}

namespace {

const Json& MetadataOf(const Json& event) {
  const Json& object = event["object"];
  if (object["kind"] == "Table") return object["rows"][0]["object"]["metadata"];
  return object["metadata"];
}

}  // namespace

std::string NameOf(const Json& event) {
  const Json& object = event["object"];
  if (object["kind"] == "Table") return object["rows"][0]["cells"][0].as_string();
  return MetadataOf(event)["name"].as_string();
}

std::uint64_t VersionOf(const Json& event) {
  const Json& object = event["object"];
  const Json& metadata = object["kind"] == "Table" ? object["metadata"] : MetadataOf(event);
  return std::stoull(metadata["resourceVersion"].as_string());
}

std::optional<HttpResponse> ApisTest::Ask(const std::string& method, const std::string& target,
                                          HeaderLines headers, const std::string& body) const {
  headers.insert(headers.end(), kAdmin.begin(), kAdmin.end());
  return live_.Connect().Exchange(Request(method, target, headers, body));
}

Json ApisTest::ReadJson(const std::string& target, HeaderLines headers) const {
  const auto response = Read(target, std::move(headers));
  EXPECT_EQ(Code(response), 200) << target << " " << Body(response);
  return response ? Json::parse(response->body) : Json::null();
}

std::vector<std::string> ApisTest::Names(const std::string& target) const {
  std::vector<std::string> names;
  const Json list = ReadJson(target);
  for (const auto& item : list["items"].array_range()) {
    const Json& metadata = item["metadata"];
    names.push_back(
        (metadata.contains("namespace") ? metadata["namespace"].as_string() + "/" : "") +
        metadata["name"].as_string());
  }
  return names;
}

void ExpectFailure(const std::optional<HttpResponse>& response, int code,
                   const std::string& reason) {
  ASSERT_TRUE(response);
  EXPECT_EQ(response->code, code) << response->body;
  EXPECT_EQ(response->Header("content-type"), "application/json");
  const Json status = Json::parse(response->body);
  EXPECT_EQ(status["kind"], "Status");
  EXPECT_EQ(status["apiVersion"], "v1");
  EXPECT_EQ(status["status"], "Failure");
  EXPECT_EQ(status["code"], code);
  EXPECT_EQ(status["reason"], reason) << response->body;
}

}  // namespace berth::server::test
