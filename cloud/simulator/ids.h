#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>

namespace berth::cloud::simulator {

// The names that the cloud makes up, from a seed.
class Ids {
 public:
  explicit Ids(std::uint64_t seed) : random_(seed) {}

  // "eip-2zeerraiwb7uj6i0dk3f"
  std::string Resource(std::string_view prefix) {
    return std::string(prefix) + "-" + Draw(kLowercase, 20);
  }
  // "748C38F6-9A3D-482E-83FB-DB6C39C68AEA"
  std::string Request() {
    std::string id = Draw(kHexadecimal, 36);
    for (const std::size_t dash : {8, 13, 18, 23}) id[dash] = '-';
    return id;
  }
  std::string Secret() { return Draw(kLowercase, 40); }
  std::int64_t Order() { return std::stoll("2" + Draw(kDigits, 14)); }

 private:
  static constexpr std::string_view kLowercase = "0123456789abcdefghijklmnopqrstuvwxyz";
  static constexpr std::string_view kHexadecimal = "0123456789ABCDEF";
  static constexpr std::string_view kDigits = "0123456789";

  std::string Draw(std::string_view alphabet, std::size_t size) {
    std::string text;
    while (text.size() < size) text += alphabet[random_() % alphabet.size()];
    return text;
  }

  std::mt19937_64 random_;
};

}  // namespace berth::cloud::simulator
