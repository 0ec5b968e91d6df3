#include "simulate/faults.h"

#include "log/format.h"

namespace berth::simulate {
namespace {

struct Kind {
  const char* name;
  double Faults::* chance;
  double most;
};

constexpr Kind kKinds[] = {
    {"refused", &Faults::refused, 0.2},
    {"lost-request", &Faults::lost_request, 0.1},
    {"lost-answer", &Faults::lost_answer, 0.2},
    {"slow", &Faults::slow, 0.2},
    {"interference", &Faults::interference, 0.2},
    {"forbidden", &Faults::forbidden, 1},
    {"cut", &Faults::cut, 0.1},
    {"stale", &Faults::stale, 0.1},
    {"repeated", &Faults::repeated, 0.2},
    {"forgotten", &Faults::forgotten, 0.1},
    {"crash", &Faults::crash, 0.02},
    {"pause", &Faults::pause, 0.005},
    {"partition", &Faults::partition, 0.005},
};

}  // namespace

Faults Faults::Draw(Dice& random) {
  Faults faults;
  const double share = random.Fraction();  // of the kinds that this run has
  for (const Kind& kind : kKinds) {
    if (!random.Chance(share)) continue;
    const double fraction = random.Fraction();
    faults.*kind.chance = kind.most * fraction * fraction;
  }
  return faults;
}

std::string Faults::Describe() const {
  std::string text;
  for (const Kind& kind : kKinds) {
    if (this->*kind.chance > 0) text += Format(" {}={:.3f}", kind.name, this->*kind.chance);
  }
  return text.empty() ? " none" : text;
}

}  // namespace berth::simulate
