#include "server/process.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace berth::server {
namespace {

// Resident KiB that files back: the program and its libraries.
long ResidentFilePages() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssFile:")) return std::stol(line.substr(8));
  }
  return 0;
}

TEST(Process, PagesThatOnlyTheStartNeededAreGivenBack) {
  const long before = ResidentFilePages();
  ReleaseStartupMemory();
  EXPECT_LT(ResidentFilePages(), before);
}

}  // namespace
}  // namespace berth::server
