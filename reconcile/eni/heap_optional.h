#pragma once

#include <memory>
#include <utility>

namespace berth::eni {

// An optional value that takes the room of a pointer while there is none: for a large T that few
// have. Copies are deep.
template <typename T>
class HeapOptional {
 public:
  HeapOptional() = default;
  HeapOptional(const HeapOptional& other) : value_(Copy(other)) {}
  HeapOptional(HeapOptional&&) noexcept = default;
  HeapOptional& operator=(const HeapOptional& other) {
    value_ = Copy(other);
    return *this;
  }
  HeapOptional& operator=(HeapOptional&&) noexcept = default;
  HeapOptional& operator=(T value) {
    value_ = std::make_unique<T>(std::move(value));
    return *this;
  }
  ~HeapOptional() = default;

  void reset() { value_.reset(); }
  bool has_value() const { return value_ != nullptr; }
  explicit operator bool() const { return has_value(); }
  const T& operator*() const { return *value_; }
  const T* operator->() const { return value_.get(); }

 private:
  static std::unique_ptr<T> Copy(const HeapOptional& other) {
    return other ? std::make_unique<T>(*other) : nullptr;
  }

  std::unique_ptr<T> value_;
};

}  // namespace berth::eni
