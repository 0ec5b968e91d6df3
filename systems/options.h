#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <string>

namespace berth::systems {

// The account with Alibaba Cloud that EIPs are kept in.
struct AliyunOptions {
  std::string region;  // empty: there is none, and no EIPs
  std::filesystem::path credentials_dir;
  bool vpc_network = false;
  std::string vpc_endpoint;  // empty: the region's
  std::string sts_endpoint;
  std::filesystem::path ca_file;
  std::string signature = "acs3";
  int calls_per_minute = 600;
  std::map<std::string, int> limits;  // by action
  std::chrono::seconds eip_resync{300};
};

// The options of all systems: a system is switched on by its own.
struct Options {
  AliyunOptions aliyun;
};

}  // namespace berth::systems
