#include <prometheus/text_serializer.h>

#include <sstream>

#include "reconcile/sandbox/system_fixture_test.h"

namespace berth::sandbox {
namespace {

using testing::HasSubstr;
using testing::Not;

class SandboxMetricsTest : public SandboxTest {
 protected:
  std::string Text() {
    std::ostringstream text;
    prometheus::TextSerializer().Serialize(text, registry_.Collect());
    return text.str();
  }
};

TEST_F(SandboxMetricsTest, TellPhasesSlotsCallsAndCreatesWithoutAReservation) {
  CreatePool("pool", 1, 2);
  CreateSandbox("a");
  ASSERT_TRUE(WaitFor("a", "Running"));
  Stamp("b");
  Stamp("c");
  Advance(5s);
  const std::string text = Text();
  EXPECT_THAT(text, HasSubstr(R"(berth_sandbox_phase{phase="Running"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(berth_sandbox_slots{pool="default/pool",state="bound"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(berth_sandbox_slots{pool="default/pool",state="reserved"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(berth_sandbox_unstamped_total{reason="NoCapacity"} 1)"));
  EXPECT_THAT(
      text, HasSubstr(R"(berth_sandbox_agent_call_seconds_count{call="create",success="true"} 1)"));
  Delete("a");
  Send(kube::Method::kDelete, PathOf("sandboxpools", "pool"));
  Advance(2min);
  EXPECT_THAT(Text(), Not(HasSubstr("default/pool")));
}

}  // namespace
}  // namespace berth::sandbox
