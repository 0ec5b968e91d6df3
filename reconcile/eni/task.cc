#include "reconcile/eni/task.h"

#include <array>
#include <cmath>

#include "log/format.h"

namespace berth::eni {
namespace {

using namespace std::chrono_literals;

constexpr double kPollFactor = 1.5;
constexpr double kPollJitter = 0.5;
constexpr int kMostFactors = 6;  // a pause grows to 11 times its base

// By asked and over: neither, over, asked, asked and over.
using Row = std::array<Step, 4>;
using enum Step;
constexpr Row Always(Step step) { return {step, step, step, step}; }

// By operation and sight, in the order of their enums.
constexpr std::array<std::array<Row, kSights>, 3> kTable = {{
    {{Always(kComplete), Always(kFail), Row{kAsk, kAsk, kPoll, kAsk}, Always(kPoll), Always(kFail),
      Row{kPoll, kConfirm, kPoll, kConfirm}}},
    {{Row{kAsk, kAsk, kPoll, kAsk}, Always(kFail), Always(kComplete), Row{kPoll, kAsk, kPoll, kAsk},
      Always(kComplete), Row{kPoll, kConfirm, kPoll, kConfirm}}},
    {{Always(kFail), Always(kFail), Row{kAsk, kAsk, kPoll, kAsk}, Always(kPoll),
      Row{kAsk, kAsk, kPoll, kAsk}, Row{kPoll, kConfirm, kPoll, kConfirm}}},
}};

}  // namespace

std::string_view Name(Operation operation) {
  static constexpr std::array<std::string_view, 3> kNames = {"Attach", "Detach", "Delete"};
  return kNames[static_cast<std::size_t>(operation)];
}

std::string_view Name(Backend backend) { return backend == Backend::kEcs ? "ECS" : "EFLO"; }

std::string_view Name(State state) {
  static constexpr std::array<std::string_view, 5> kNames = {"Pending", "Running", "Completed",
                                                             "Failed", "Timeout"};
  return kNames[static_cast<std::size_t>(state)];
}

std::string_view Name(Sight sight) {
  static constexpr std::array<std::string_view, kSights> kNames = {
      "InUse here",         "InUse elsewhere", "Available", "Attaching, Detaching, Executing",
      "Deleting, … Failed", "not listed"};
  return kNames[static_cast<std::size_t>(sight)];
}

std::string_view Name(Step step) {
  static constexpr std::array<std::string_view, 5> kNames = {"poll", "ask", "Completed", "Failed",
                                                             "look at it alone"};
  return kNames[static_cast<std::size_t>(step)];
}

Sight SightOf(std::optional<std::string_view> status, std::string_view instance,
              std::string_view wanted_instance) {
  if (!status) return Sight::kMissing;
  if (*status == "InUse")
    return instance == wanted_instance ? Sight::kInUseHere : Sight::kInUseElsewhere;
  if (*status == "Available") return Sight::kAvailable;
  if (*status == "Deleting" || status->ends_with("Failed")) return Sight::kBroken;
  return Sight::kMoving;
}

Step Decide(Operation operation, Sight sight, bool asked, bool over) {
  return kTable[static_cast<std::size_t>(operation)][static_cast<std::size_t>(sight)]
               [(asked ? 2 : 0) + (over ? 1 : 0)];
}

Step DecideAbsent(Operation operation) {
  return operation == Operation::kAttach ? Step::kFail : Step::kComplete;
}

Pace PaceOf(std::string_view eni, Backend backend) {
  if (backend == Backend::kEflo) return {18s, 5s, 5min};
  if (IsBoundAtCreate(eni)) return {4s, 3s, 3min};
  return {3s, 3s, 2min};
}

bool IsBoundAtCreate(std::string_view eni) {
  return eni.starts_with("leni-") || eni.starts_with("hdeni-");
}

async::Duration PollDelay(const Pace& pace, int look, double random) {
  const double factor = std::pow(kPollFactor, std::min(look, kMostFactors));
  return std::chrono::duration_cast<async::Duration>(pace.poll_base * factor *
                                                     (1 + kPollJitter * random));
}

std::string DecisionTable() {
  std::string text =
      "| task | the cloud shows | not asked | not asked, time over | asked | asked, time over "
      "|\n|---|---|---|---|---|---|\n";
  for (const Operation operation : {Operation::kAttach, Operation::kDetach, Operation::kDelete}) {
    for (int i = 0; i < kSights; ++i) {
      const auto sight = static_cast<Sight>(i);
      text += Format("| {} | {} |", Name(operation), Name(sight));
      for (const bool asked : {false, true}) {
        for (const bool over : {false, true})
          text += Format(" {} |", Name(Decide(operation, sight, asked, over)));
      }
      text += "\n";
    }
  }
  return text;
}

}  // namespace berth::eni
