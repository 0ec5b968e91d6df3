#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "async/task.h"
#include "cloud/call_log.h"
#include "cloud/query.h"
#include "http/transport.h"

// For tests only: the other end of a client's calls, with the test in the cloud's place.
namespace berth::cloud {

// A Transport whose requests the test sees and answers by hand.
class ScriptedTransport : public http::Transport {
 public:
  struct Exchange {
    http::Request request;
    Done done;
    bool abandoned = false;

    Parameters query() const {
      const auto mark = request.url.find('?');
      return ParseQuery(std::string_view(request.url).substr(mark + 1));
    }
    Parameters form() const { return ParseQuery(request.body); }
    // Empty when there is none.
    std::string header(std::string_view name) const {
      for (const auto& header : request.headers) {
        if (header.name == name) return header.value;
      }
      return {};
    }
    void Answer(int code, std::string body, std::vector<http::Header> headers = {}) const {
      done(http::Response{code, std::move(headers), std::move(body)});
    }
    void Fail(ErrorClass error_class, std::string message = "gone") const {
      done(std::unexpected(Error{.error_class = error_class, .message = std::move(message)}));
    }
  };

  async::Handle Send(http::Request request, Done done) override {
    exchanges_.push_back(std::make_shared<Exchange>(std::move(request), std::move(done)));
    return async::Handle([exchange = exchanges_.back()] { exchange->abandoned = true; });
  }

  std::size_t size() const { return exchanges_.size(); }
  const Exchange& at(std::size_t index) const { return *exchanges_.at(index); }
  const Exchange& last() const { return *exchanges_.back(); }

 private:
  std::deque<std::shared_ptr<Exchange>> exchanges_;
};

class TestObserver : public CallObserver {
 public:
  void Called(const CallRecord& call) override { calls.push_back(call); }
  std::vector<CallRecord> calls;
};

// A task under way and, once it has ended, its value. Stays where it is.
template <typename T>
class Pending {
 public:
  explicit Pending(async::Task<T> task) : running_(async::Start(Into(std::move(task), &value_))) {}
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;

  bool ended() const { return value_.has_value(); }
  const T& value() const { return value_.value(); }

 private:
  static async::Task<void> Into(async::Task<T> task, std::optional<T>* value) {
    value->emplace(co_await std::move(task));
  }

  std::optional<T> value_;
  async::Running running_;
};

}  // namespace berth::cloud
