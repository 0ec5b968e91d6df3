#include "kube/subprocess.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <thread>

#include "http/temp_folder_test.h"
#include "kube/client_fixture_test.h"
#include "log/format.h"

namespace berth::kube {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class SubprocessTest : public testing::Test {
 protected:
  static std::string Output(const Program& program) {
    const auto output = RunProgram(program, {});
    EXPECT_TRUE(output) << output.error().message;
    return output.value_or("");
  }
  static Error Failed(const Program& program, std::stop_token stop = {}) {
    const auto output = RunProgram(program, stop);
    EXPECT_FALSE(output);
    return output ? Error{} : output.error();
  }
  // Whether a process is gone, or dead and not yet buried by whoever inherited it.
  static bool IsDead(const std::string& pid) {
    std::ifstream in("/proc/" + pid + "/stat");
    const std::string stat{std::istreambuf_iterator<char>(in), {}};
    return stat.empty() || stat.contains(") Z ");
  }

  TempFolder folder_;
};

TEST_F(SubprocessTest, NoShellComesNearTheWords) {
  EXPECT_EQ(Output({.command = "printf", .args = {"%s|", "a b", "$HOME", "*", "`id`", ""}}),
            "a b|$HOME|*|`id`||");
  EXPECT_EQ(Output({.command = folder_.Script("p l u g", "echo \"$0 $#\""), .args = {"a b"}}),
            (folder_ / "p l u g") + " 1\n");
}

TEST_F(SubprocessTest, ItsVariablesGoOverOurs) {
  setenv("BERTH_ONE", "old", 1);
  setenv("BERTH_TWO", "kept", 1);
  const std::string output = Output({.command = "env", .environment = {{"BERTH_ONE", "new=1"}}});
  EXPECT_THAT(output, AllOf(HasSubstr("BERTH_ONE=new=1\n"), HasSubstr("BERTH_TWO=kept\n"),
                            HasSubstr("PATH="), Not(HasSubstr("BERTH_ONE=old"))));
  unsetenv("BERTH_ONE");
  unsetenv("BERTH_TWO");
}

TEST_F(SubprocessTest, ItHasNothingOfOursButItsOutput) {
  EXPECT_EQ(Output({.command = "cat"}), "") << "there is nothing to read";
  EXPECT_EQ(Output({.command = folder_.Script("s", "echo secret >&2; echo out")}), "out\n");
  // 3 is the folder that ls is listing.
  EXPECT_EQ(Output({.command = "ls", .args = {"/proc/self/fd"}}), "0\n1\n2\n3\n");
  std::string signals;
  std::thread([&] {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    signals = Output({.command = "grep", .args = {"^Sig[BI]", "/proc/self/status"}});
  }).join();
  EXPECT_EQ(signals, "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

TEST_F(SubprocessTest, WhatCannotBeRunIsTerminalAndNamed) {
  const Error missing = Failed({.command = "berth-no-such-plugin"});
  EXPECT_EQ(missing.error_class, ErrorClass::kTerminal);
  EXPECT_EQ(missing.message, "\"berth-no-such-plugin\" cannot be run: No such file or directory");
  folder_.Write("text", "echo hello");
  EXPECT_EQ(Failed({.command = folder_ / "text"}).error_class, ErrorClass::kTerminal);
  EXPECT_EQ(Failed({.command = folder_.path().string()}).error_class, ErrorClass::kTerminal);
}

TEST_F(SubprocessTest, HowItEndedIsSaidWhatItWroteIsNot) {
  const Error status = Failed({.command = folder_.Script("s", "echo hunter2; exit 3")});
  EXPECT_EQ(status.error_class, ErrorClass::kRetry);
  EXPECT_EQ(status.message, Format("\"{}\" ended with status 3", folder_ / "s"));
  const Error signal = Failed({.command = folder_.Script("s", "echo hunter2; kill -TERM $$")});
  EXPECT_EQ(signal.error_class, ErrorClass::kRetry);
  EXPECT_EQ(signal.message, Format("\"{}\" was ended by signal 15", folder_ / "s"));
}

TEST_F(SubprocessTest, OutputIsBounded) {
  EXPECT_EQ(Output({.command = "printf", .args = {"12345"}, .output_limit = 5}), "12345");
  EXPECT_THAT(Failed({.command = "printf", .args = {"123456"}, .output_limit = 5}).message,
              HasSubstr("wrote more than 5 bytes"));
  const Error error = Failed({.command = "yes"});
  EXPECT_EQ(error.error_class, ErrorClass::kRetry);
  EXPECT_EQ(error.message, "\"yes\" wrote more than 1048576 bytes");
}

TEST_F(SubprocessTest, OneThatHangsIsKilledWithItsChildren) {
  const std::string script = folder_.Script("s", "sleep 1000 & echo $! > pid; wait");
  const Error error = Failed({.command = script, .time_limit = 300ms});
  EXPECT_EQ(error.error_class, ErrorClass::kRetry);
  EXPECT_THAT(error.message, HasSubstr("did not end within 300 ms"));
  std::string pid = folder_.Read("pid");
  ASSERT_FALSE(pid.empty());
  pid.pop_back();
  EXPECT_TRUE(Eventually([&] { return IsDead(pid); }));
}

TEST_F(SubprocessTest, StoppingKillsIt) {
  const std::string script = folder_.Script("s", "echo $$ > pid; exec sleep 1000");
  std::stop_source stop;
  std::jthread stopper([&] {
    EXPECT_TRUE(Eventually([&] { return folder_.Read("pid").ends_with('\n'); }));
    stop.request_stop();
  });
  EXPECT_THAT(Failed({.command = script}, stop.get_token()).message, HasSubstr("was stopped"));
  std::string pid = folder_.Read("pid");
  pid.pop_back();
  EXPECT_TRUE(IsDead(pid));
}

TEST_F(SubprocessTest, ItIsOverWhenItHasEndedNotWhenItsOutputIsClosed) {
  EXPECT_EQ(Output({.command = folder_.Script("s", "echo out; exec >&-; sleep 0.1; touch after")}),
            "out\n");
  EXPECT_TRUE(std::filesystem::exists(folder_ / "after"));
  // An agent that it leaves behind, which has the output open, is not waited for.
  EXPECT_EQ(Output({.command = folder_.Script("s", "sleep 30 & echo $! > pid; echo out"),
                    .time_limit = 20s}),
            "out\n");
  kill(std::stoi(folder_.Read("pid")), SIGKILL);
}

}  // namespace
}  // namespace berth::kube
