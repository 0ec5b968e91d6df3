#include "handlers/metrics.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <prometheus/counter.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <sstream>
#include <string>

namespace berth::metrics {
namespace {

using testing::HasSubstr;

class MetricsTest : public testing::Test {
 protected:
  std::string Scrape() const {
    const auto request = drogon::HttpRequest::newHttpRequest();
    request->setMethod(drogon::Get);
    request->setPath("/metrics");
    std::string body;
    Serve(registry_, process_, request,
          [&](const drogon::HttpResponsePtr& response) { body = response->body(); });
    return body;
  }
  // The value of a metric without labels; -1 when it is not told.
  double Value(const std::string& name) const {
    std::istringstream lines(Scrape());
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with(name + " ")) return std::stod(line.substr(name.size()));
    }
    return -1;
  }

  prometheus::Registry registry_;
  const ProcessMetrics process_{"1.2.3"};
};

TEST_F(MetricsTest, TheBuildIsToldByItsVersion) {
  EXPECT_THAT(Scrape(), HasSubstr("berth_build_info{version=\"1.2.3\"} 1\n"));
}

TEST_F(MetricsTest, TheRegistryIsServedBesideTheProcess) {
  prometheus::BuildCounter().Name("pies_total").Register(registry_).Add({}).Increment(3);
  EXPECT_EQ(Value("pies_total"), 3);
  EXPECT_THAT(Scrape(), HasSubstr("# TYPE process_cpu_seconds_total counter\n"));
}

TEST_F(MetricsTest, CpuTimeIsThatOfTheProcess) {
  const auto used = [] { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; };
  const double before = used();
  const double told = Value("process_cpu_seconds_total");
  constexpr double kRounding = 1e-3;
  EXPECT_GE(told, before - kRounding);
  EXPECT_LE(told, used() + kRounding);
}

TEST_F(MetricsTest, MemoryThatIsTouchedIsResident) {
  const double resident = Value("process_resident_memory_bytes");
  const double all = Value("process_virtual_memory_bytes");
  EXPECT_GT(resident, 0);
  EXPECT_GT(all, resident);
  constexpr std::size_t kMore = std::size_t{64} << 20;
  void* more = mmap(nullptr, kMore, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  ASSERT_NE(more, MAP_FAILED);
  EXPECT_GE(Value("process_resident_memory_bytes"), resident + kMore / 2);
  EXPECT_GE(Value("process_virtual_memory_bytes"), all + kMore / 2);
  munmap(more, kMore);
}

TEST_F(MetricsTest, DescriptorsAreCountedAtEachScrape) {
  const double before = Value("process_open_fds");
  const int opened = open("/dev/null", O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(Value("process_open_fds"), before + 1);
  close(opened);
  EXPECT_EQ(Value("process_open_fds"), before);
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(Value("process_max_fds"), static_cast<double>(limit.rlim_cur));
}

TEST_F(MetricsTest, TheStartIsInThePast) {
  const auto now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  const double start = Value("process_start_time_seconds");
  EXPECT_LE(start, now + 1);  // the boot time is told in whole seconds
  constexpr double kHour = 3600;
  EXPECT_GT(start, now - kHour);
}

}  // namespace
}  // namespace berth::metrics
