#include "systems/preflight_fixture_test.h"

namespace berth::systems {
namespace {

using testing::IsEmpty;

TEST_F(PreflightTest, FindsNothingInAClusterWithoutObjects) { EXPECT_THAT(Lines(), IsEmpty()); }

TEST_F(PreflightTest, FindsNothingInAClusterWithoutTheKinds) {
  kube::memory::Server bare{{.now = [this] { return executor_.WallNow(); },
                             .random = [this] { return executor_.Random(); }}};
  kube::memory::LocalTransport transport(executor_, bare);
  PreflightReport report{.findings = {{}}, .errors = {}};
  const auto look = [&]() -> async::Task<void> {
    report = co_await Preflight(&systems_, &executor_, &transport, {}, "berth-system");
  };
  const auto running = async::Start(look());
  executor_.RunUntilIdle();
  EXPECT_THAT(report.findings, IsEmpty());
  EXPECT_THAT(report.errors, IsEmpty());
}

TEST_F(PreflightTest, TellsWhatItCannotRead) {
  class Refusing : public kube::Transport {
   public:
    explicit Refusing(async::Executor& executor) : executor_(executor) {}
    async::Handle Send(kube::Request, Done done) override {
      executor_.Post([done = std::move(done)] {
        done(std::unexpected(kube::Error{.error_class = kube::ErrorClass::kTerminal,
                                         .reason = "Forbidden",
                                         .message = "list is forbidden",
                                         .code = 403}));
      });
      return {};
    }
    async::Handle Watch(kube::Request, Stream) override { return {}; }

   private:
    async::Executor& executor_;
  };
  Refusing refusing(executor_);
  Json values = Json::Object();
  for (const auto& system : systems_) {
    values[system->name()] = Json::Object();
    values[system->name()]["enabled"] = true;
  }
  PreflightReport report;
  const auto look = [&]() -> async::Task<void> {
    report = co_await Preflight(&systems_, &executor_, &refusing, values, "berth-system");
  };
  const auto running = async::Start(look());
  executor_.RunUntilIdle();
  std::vector<std::string> expected;
  for (const auto& system : systems_) {
    expected.push_back(Format("{}: list is forbidden", system->name()));
  }
  EXPECT_EQ(report.errors, expected);
}

}  // namespace
}  // namespace berth::systems
