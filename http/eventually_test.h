#pragma once

#include <chrono>
#include <thread>

// For tests only.
namespace berth::test {

// Whether the condition comes to hold before the test has to give up.
template <typename Condition>
bool Eventually(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace berth::test
