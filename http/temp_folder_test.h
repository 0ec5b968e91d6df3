#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

// For tests only: a folder that is gone when the test is over.
namespace berth {

class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "berth-test-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string operator/(std::string_view name) const { return (path_ / name).string(); }

  // In one piece: a reader sees all of it or nothing.
  std::string Write(std::string_view name, std::string_view content) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(*this / "next", std::ios::binary) << content;
    std::filesystem::rename(*this / "next", *this / name);
    return *this / name;
  }
  // A shell script that runs in this folder.
  std::string Script(std::string_view name, std::string_view body) const {
    std::ofstream(*this / "next", std::ios::binary)
        << "#!/bin/sh\ncd '" << path_.string() << "' || exit\n"
        << body << "\n";
    std::filesystem::permissions(*this / "next", std::filesystem::perms::owner_all);
    std::filesystem::rename(*this / "next", *this / name);
    return *this / name;
  }
  // "" when there is none.
  std::string Read(std::string_view name) const {
    std::ifstream in(*this / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  std::filesystem::path path_;
};

}  // namespace berth
