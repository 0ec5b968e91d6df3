#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <utility>

namespace berth::server {

// Bytes that are held, and the most that were. Thread-safe.
class MemoryUse {
 public:
  std::size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

  // Adds bytes, or takes some away by wrapping around, and returns the new sum.
  std::size_t Add(std::size_t bytes) {
    const std::size_t now = bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    if (now > peak_.load(std::memory_order_relaxed)) peak_.store(now, std::memory_order_relaxed);
    return now;
  }

  // True once after much was held and most of it has been given back.
  bool TakeBurstEnd() {
    constexpr std::size_t kBurst = std::size_t{16} << 20;
    const std::size_t peak = peak_.load(std::memory_order_relaxed);
    if (peak < kBurst || bytes() > peak / 4) return false;
    peak_.store(bytes(), std::memory_order_relaxed);
    return true;
  }

 private:
  std::atomic<std::size_t> bytes_ = 0;
  std::atomic<std::size_t> peak_ = 0;
};

// The memory that the connections of all listeners may hold together: requests half received or
// being handled, answers not yet sent. Large holders share the limit; a quarter more is there for
// small ones, so that a review passes while large bodies are turned away. Thread-safe.
class MemoryBudget {
 public:
  // A holder of no more than this is small.
  static constexpr std::size_t kSmall = 64 * 1024;

  explicit MemoryBudget(std::size_t limit) : limit_(limit) {}
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  std::size_t used() const { return use_.bytes(); }
  // Little is left: holders that do not get on should go.
  bool scarce() const { return used() > limit_ / 4 * 3; }

  bool TakeBurstEnd() { return use_.TakeBurstEnd(); }

  // One holder's part; given back when it ends. Not to be shared between threads.
  class Share {
   public:
    explicit Share(MemoryBudget& budget) : budget_(budget) {}
    ~Share() { Set(0); }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    // Holds `bytes` from now on, whatever the limit.
    void Set(std::size_t bytes) {
      if (bytes != held_) budget_.use_.Add(bytes - std::exchange(held_, bytes));
    }
    // The same if there is room for more; holding less always succeeds.
    bool TrySet(std::size_t bytes) {
      const std::size_t before = held_;
      Set(bytes);
      const std::size_t limit = bytes > kSmall ? budget_.limit_ : budget_.limit_ / 4 * 5;
      if (bytes <= before || budget_.used() <= limit) return true;
      Set(before);
      return false;
    }
    std::size_t held() const { return held_; }

   private:
    MemoryBudget& budget_;
    std::size_t held_ = 0;
  };

 private:
  const std::size_t limit_;
  MemoryUse use_;
};

}  // namespace berth::server
