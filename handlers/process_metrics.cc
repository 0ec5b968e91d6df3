#include "handlers/process_metrics.h"

#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <system_error>

namespace berth::metrics {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

double Seconds(const timeval& time) {
  constexpr double kMicro = 1e-6;
  return static_cast<double>(time.tv_sec) + kMicro * static_cast<double>(time.tv_usec);
}

std::optional<double> CpuSeconds() {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return std::nullopt;
  return Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
}

// Both in bytes.
struct Memory {
  std::optional<double> virtual_size;
  std::optional<double> resident;
};

Memory ReadMemory() {
  double virtual_pages = 0;
  double resident_pages = 0;
  if (!(std::ifstream("/proc/self/statm") >> virtual_pages >> resident_pages)) return {};
  const auto page = static_cast<double>(sysconf(_SC_PAGESIZE));
  return {virtual_pages * page, resident_pages * page};
}

std::optional<double> OpenDescriptors() {
  std::error_code error;
  const std::filesystem::directory_iterator descriptors("/proc/self/fd", error);
  if (error) return std::nullopt;
  // One of them is the directory's own.
  return static_cast<double>(std::ranges::distance(descriptors) - 1);
}

std::optional<double> MaxDescriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return std::nullopt;
  return static_cast<double>(limit.rlim_cur);
}

// When the machine was started, in Unix seconds.
std::optional<double> BootTime() {
  std::ifstream stat("/proc/stat");
  for (std::string line; std::getline(stat, line);) {
    std::istringstream words(line);
    std::string name;
    double seconds = 0;
    if (words >> name >> seconds && name == "btime") return seconds;
  }
  return std::nullopt;
}

std::optional<double> StartTime() {
  std::string stat;
  std::getline(std::ifstream("/proc/self/stat"), stat);
  // The program's name, in parentheses, may have blanks; the start is the 20th field after it.
  const auto name_end = stat.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(stat.substr(name_end + 1));
  constexpr int kFieldsBefore = 19;
  std::string skipped;
  for (int i = 0; i < kFieldsBefore; ++i) fields >> skipped;
  double ticks = 0;
  const auto boot = BootTime();
  if (!(fields >> ticks) || !boot) return std::nullopt;
  return *boot + ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

void Add(std::vector<MetricFamily>& families, MetricType type, const char* name, const char* help,
         std::optional<double> value) {
  if (!value) return;
  prometheus::ClientMetric metric;
  if (type == MetricType::Counter) {
    metric.counter.value = *value;
  } else {
    metric.gauge.value = *value;
  }
  families.push_back({.name = name, .help = help, .type = type, .metric = {std::move(metric)}});
}

}  // namespace

std::vector<MetricFamily> ProcessMetrics::Collect() const {
  std::vector<MetricFamily> families;
  const Memory memory = ReadMemory();
  Add(families, MetricType::Counter, "process_cpu_seconds_total",
      "Total user and system CPU time spent in seconds.", CpuSeconds());
  Add(families, MetricType::Gauge, "process_resident_memory_bytes",
      "Resident memory size in bytes.", memory.resident);
  Add(families, MetricType::Gauge, "process_virtual_memory_bytes", "Virtual memory size in bytes.",
      memory.virtual_size);
  Add(families, MetricType::Gauge, "process_open_fds", "Number of open file descriptors.",
      OpenDescriptors());
  Add(families, MetricType::Gauge, "process_max_fds", "Maximum number of open file descriptors.",
      MaxDescriptors());
  Add(families, MetricType::Gauge, "process_start_time_seconds",
      "Start time of the process since unix epoch in seconds.", StartTime());
  Add(families, MetricType::Gauge, "berth_build_info", "Version of Berth; the value is 1.", 1);
  families.back().metric.front().label = {{.name = "version", .value = version_}};
  return families;
}

}  // namespace berth::metrics
