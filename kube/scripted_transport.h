#pragma once

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "async/executor.h"
#include "kube/status.h"
#include "kube/transport.h"

namespace berth::kube {

// A Transport for tests: the test sees each request and answers it by hand.
class ScriptedTransport : public Transport {
 public:
  struct Exchange {
    Request request;
    Done done;      // of a call
    Stream stream;  // of a watch
    bool watch = false;
    bool abandoned = false;

    void Answer(int code, std::string body) {
      if (code >= 200 && code < 300) return done(Response{code, std::move(body)});
      Fail(ErrorFromStatus(code, body, {}, request.method != Method::kGet));
    }
    void Fail(Error error) {
      if (watch) return stream.on_end(std::unexpected(std::move(error)));
      done(std::unexpected(std::move(error)));
    }
    void Lines(std::string_view lines) { stream.on_lines(lines); }
    void End() { stream.on_end({}); }
  };

  async::Handle Send(Request request, Done done) override {
    return Add({.request = std::move(request), .done = std::move(done)});
  }
  async::Handle Watch(Request request, Stream stream) override {
    return Add({.request = std::move(request), .stream = std::move(stream), .watch = true});
  }

  std::size_t size() const { return exchanges_.size(); }
  Exchange& at(std::size_t index) { return *exchanges_.at(index); }
  Exchange& last() { return *exchanges_.back(); }

 private:
  async::Handle Add(Exchange exchange) {
    exchanges_.push_back(std::make_shared<Exchange>(std::move(exchange)));
    return async::Handle([exchange = exchanges_.back()] { exchange->abandoned = true; });
  }

  std::deque<std::shared_ptr<Exchange>> exchanges_;
};

}  // namespace berth::kube
