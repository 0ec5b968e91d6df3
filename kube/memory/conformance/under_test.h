#pragma once

#include <curl/curl.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "kube/config.h"
#include "kube/memory/server.h"
#include "kube/transport.h"

// For tests only: the servers that scenarios are played on.
namespace berth::kube::memory::conformance {

class UnderTest {
 public:
  struct Stream {
    std::vector<std::string> lines;
    bool ended = false;
  };

  virtual ~UnderTest() = default;
  virtual Response Send(const Request& request) = 0;
  // The answer, when it isn't a stream.
  virtual std::optional<Response> Watch(const std::string& name, const Request& request) = 0;
  virtual Stream Seen(const std::string& name) = 0;
  // Lets the server go on by itself for a while. False when a step has waited long enough.
  virtual bool Wait() = 0;
  // A step begins.
  virtual void Begin() = 0;
};

class InMemory : public UnderTest {
 public:
  Response Send(const Request& request) override {
    std::optional<Response> answer;
    server_.Handle(request, [&](Response response) { answer = std::move(response); });
    if (!answer) throw std::runtime_error("no answer to " + request.path);
    return *answer;
  }

  std::optional<Response> Watch(const std::string& name, const Request& request) override {
    Stream& stream = streams_[name];
    auto handle = server_.Watch(
        request, {.on_line = [&stream](const auto& line) { stream.lines.push_back(*line); },
                  .on_end = [&stream] { stream.ended = true; }});
    if (!handle) return handle.error();
    handles_.push_back(std::move(*handle));
    return std::nullopt;
  }

  Stream Seen(const std::string& name) override { return streams_[name]; }

  bool Wait() override {
    for (int i = 0; i < 1000 && server_.CollectGarbage(); ++i) {
    }
    now_ += std::chrono::seconds(1);
    server_.Tick();
    return ++waits_ < 100;
  }
  void Begin() override { waits_ = 0; }

  Server& server() { return server_; }

 private:
  async::WallTime now_{std::chrono::seconds(1'800'000'000)};
  std::mt19937_64 random_{1};
  int waits_ = 0;
  Server server_{{.now = [this] { return now_; }, .random = [this] { return random_(); }}};
  std::map<std::string, Stream> streams_;
  std::vector<async::Handle> handles_;
};

class OverHttps : public UnderTest {
 public:
  explicit OverHttps(Config config) : config_(std::move(config)) {}

  ~OverHttps() override {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

  Response Send(const Request& request) override {
    Response response;
    response.code =
        Perform(request, [&](std::string_view part) { response.body += part; }, &response.warnings);
    return response;
  }

  std::optional<Response> Watch(const std::string& name, const Request& request) override {
    auto state = std::make_shared<State>();
    watches_[name] = state;
    threads_.emplace_back([this, state, request] {
      const int code = Perform(request, [&](std::string_view part) { state->Add(part); });
      const std::lock_guard lock(state->mutex);
      state->code = code;
      state->stream.ended = true;
    });
    // An answer that is none of a watch comes at once; a stream may have nothing to say.
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    const std::lock_guard lock(state->mutex);
    if (state->stream.ended && state->code != 200) return Response(state->code, state->all);
    return std::nullopt;
  }

  Stream Seen(const std::string& name) override {
    const auto& state = watches_.at(name);
    const std::lock_guard lock(state->mutex);
    return state->stream;
  }

  bool Wait() override {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return std::chrono::steady_clock::now() - began_ < std::chrono::seconds(30);
  }
  void Begin() override { began_ = std::chrono::steady_clock::now(); }

 private:
  struct State {
    std::mutex mutex;
    Stream stream;
    std::string all, rest;
    int code = 0;

    void Add(std::string_view part) {
      const std::lock_guard lock(mutex);
      all += part;
      rest += part;
      for (std::size_t end; (end = rest.find('\n')) != std::string::npos; rest.erase(0, end + 1))
        stream.lines.push_back(rest.substr(0, end + 1));
    }
  };

  static void SetBlob(CURL* curl, CURLoption option, const std::string& pem) {
    if (pem.empty()) return;
    curl_blob blob{const_cast<char*>(pem.data()), pem.size(), CURL_BLOB_COPY};
    curl_easy_setopt(curl, option, &blob);
  }

  int Perform(const Request& request, const std::function<void(std::string_view)>& on_part,
              std::vector<std::string>* warnings = nullptr) {
    static constexpr const char* kMethods[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};
    const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl(curl_easy_init(),
                                                                   curl_easy_cleanup);
    curl_slist* headers = nullptr;
    headers = curl_slist_append(headers, ("Accept: " + request.accept).c_str());
    headers = curl_slist_append(headers, ("Content-Type: " + request.content_type).c_str());
    const std::string url = config_.server + request.path;
    curl_easy_setopt(curl.get(), CURLOPT_URL, url.c_str());
    curl_easy_setopt(curl.get(), CURLOPT_NOPROXY, "*");
    curl_easy_setopt(curl.get(), CURLOPT_CUSTOMREQUEST, kMethods[static_cast<int>(request.method)]);
    curl_easy_setopt(curl.get(), CURLOPT_HTTPHEADER, headers);
    if (!request.body.empty()) {
      curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDSIZE, static_cast<long>(request.body.size()));
      curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDS, request.body.c_str());
    }
    SetBlob(curl.get(), CURLOPT_CAINFO_BLOB, config_.ca_pem);
    SetBlob(curl.get(), CURLOPT_SSLCERT_BLOB, config_.client_cert_pem);
    SetBlob(curl.get(), CURLOPT_SSLKEY_BLOB, config_.client_key_pem);
    const std::pair context(this, &on_part);
    curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &context);
    curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, &Written<decltype(context)>);
    if (warnings) {
      curl_easy_setopt(curl.get(), CURLOPT_HEADERDATA, warnings);
      curl_easy_setopt(curl.get(), CURLOPT_HEADERFUNCTION, &Header);
    }
    curl_easy_setopt(curl.get(), CURLOPT_XFERINFODATA, this);
    curl_easy_setopt(curl.get(), CURLOPT_XFERINFOFUNCTION, &Progress);
    curl_easy_setopt(curl.get(), CURLOPT_NOPROGRESS, 0L);
    const CURLcode result = curl_easy_perform(curl.get());
    curl_slist_free_all(headers);
    long code = 0;
    curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &code);
    if (result != CURLE_OK && !stop_)
      throw std::runtime_error(std::string("curl: ") + curl_easy_strerror(result));
    return static_cast<int>(code);
  }

  template <typename Context>
  static std::size_t Written(char* data, std::size_t size, std::size_t count, void* context) {
    (*static_cast<Context*>(context)->second)(std::string_view(data, size * count));
    return size * count;
  }
  static std::size_t Header(char* data, std::size_t size, std::size_t count, void* warnings) {
    std::string_view line(data, size * count);
    line = line.substr(0, line.find_last_not_of("\r\n") + 1);
    for (const std::string_view name : {"Warning: ", "warning: "}) {
      if (!line.starts_with(name)) continue;
      static_cast<std::vector<std::string>*>(warnings)->emplace_back(line.substr(name.size()));
    }
    return size * count;
  }
  static int Progress(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    return static_cast<OverHttps*>(self)->stop_ ? 1 : 0;
  }

  Config config_;
  std::chrono::steady_clock::time_point began_;
  std::atomic<bool> stop_ = false;
  std::map<std::string, std::shared_ptr<State>> watches_;
  std::vector<std::thread> threads_;
};

}  // namespace berth::kube::memory::conformance
