#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <string>
#include <unordered_set>
#include <utility>

namespace berth::eip {

// Lets so many keys in at once, to do what has to wait long for its turn elsewhere. Who finds it
// full does not wait but goes, and is called when there is a place, in the order they came: so a
// thousand objects that want what the cloud gives ten of a second do not take up all of a
// controller's reconciles. Plain: the caller calls the key again. O(1).
class Turnstile {
 public:
  using Call = std::function<void(const std::string& key)>;

  // `call` must not enter at once.
  Turnstile(std::size_t places, Call call) : places_(places), call_(std::move(call)) {}

  // Whether the key is in, which it is until it leaves. If it is not, it will be called.
  bool Enter(const std::string& key);
  // At the end of every turn of a key, also of one that never entered: who was called and came for
  // something else does not keep its place.
  void Leave(const std::string& key);

  std::size_t waiting() const { return line_.size(); }
  std::size_t inside() const { return inside_.size(); }

 private:
  const std::size_t places_;
  const Call call_;
  std::unordered_set<std::string> inside_;  // or called and on their way
  std::deque<std::string> line_;
  std::unordered_set<std::string> lined_up_;
};

}  // namespace berth::eip
