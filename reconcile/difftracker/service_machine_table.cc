#include <array>
#include <map>
#include <set>
#include <vector>

#include "reconcile/difftracker/service_machine.h"

// The machine as text: names, and the table of all its cells.
namespace berth::difftracker {
namespace {

constexpr std::array<std::string_view, kStates> kStateNames = {
    "NotStarted",       "CreationInProgress", "Created",
    "UpdateInProgress", "DeletionPending",    "DeletionInProgress"};
constexpr std::array<std::string_view, kEvents> kEventNames = {
    "wanted",    "spec changed", "not wanted", "slot free", "ok",
    "failed",    "throttled",    "forbidden",  "rejected",  "mappings left",
    "retry due", "drained",      "stuck",      "lost",      "forced"};
constexpr std::array<std::string_view, 4> kHoldNames = {"", "back-off", "parked", "rejected"};

// A column: a state whose operation runs or does not.
using Column = std::pair<State, bool>;

std::string NameOf(const Column& column) {
  std::string name(ToString(column.first));
  if (column.second) name += ", running";
  return name;
}

// Every machine that events can lead to, from a new service and from those found at the start.
std::set<Machine> Reachable() {
  std::vector<Machine> todo = {
      {.wanted = true},
      {.wanted = true, .held = true},
      {.state = State::kCreated, .wanted = true, .held = true, .applied = true},
      {.state = State::kDeletionPending, .held = true, .applied = true},
      {.state = State::kDeletionPending, .held = true},
  };
  std::set<Machine> reached(todo.begin(), todo.end());
  while (!todo.empty()) {
    const Machine machine = todo.back();
    todo.pop_back();
    for (std::size_t i = 0; i < kEvents; ++i) {
      const Transition to = TryStep(machine, static_cast<Event>(i));
      if (!to.possible || to.effects.forget) continue;
      if (reached.insert(to.machine).second) todo.push_back(to.machine);
    }
  }
  return reached;
}

std::string Describe(const Machine& from, const Transition& to) {
  if (to.effects.forget) return "forgotten";
  std::string text;
  const auto add = [&text](std::string_view part) {
    if (!text.empty()) text += ", ";
    text += part;
  };
  const Column after{to.machine.state, to.machine.running};
  if (after != Column{from.state, from.running}) add(NameOf(after));
  if (to.effects.back_off) add("back off");
  if (to.effects.park) {
    add(to.machine.hold == Hold::kRejected ? "park 5 min or till the spec changes" : "park 5 min");
  }
  if (to.effects.read_locations) add("read locations");
  if (to.effects.replace_locations) add("replace its locations");
  if (to.effects.tell_stuck) add("Event");
  if (text.empty())
    return to.machine == from                              ? "–"
           : AsksForSlot(to.machine) && !AsksForSlot(from) ? "asks for a slot"
                                                           : "kept";
  return text;
}

}  // namespace

std::string_view ToString(State state) { return kStateNames[static_cast<std::size_t>(state)]; }
std::string_view ToString(Event event) { return kEventNames[static_cast<std::size_t>(event)]; }
std::string_view ToString(Hold hold) { return kHoldNames[static_cast<std::size_t>(hold)]; }

std::string RenderTable() {
  std::map<Column, std::array<std::set<std::string>, kEvents>> columns;
  for (const Machine& machine : Reachable()) {
    auto& cells = columns[{machine.state, machine.running}];
    for (std::size_t i = 0; i < kEvents; ++i) {
      const Transition to = TryStep(machine, static_cast<Event>(i));
      if (to.possible) cells[i].insert(Describe(machine, to));
    }
  }
  std::string header = "| event |";
  std::string rule = "|---|";
  for (const auto& [column, cells] : columns) {
    header += " " + NameOf(column) + " |";
    rule += "---|";
  }
  std::string table = header + "\n" + rule + "\n";
  for (std::size_t i = 0; i < kEvents; ++i) {
    table += "| " + std::string(kEventNames[i]) + " |";
    for (const auto& [column, cells] : columns) {
      std::string cell;
      for (const std::string& outcome : cells[i]) cell += (cell.empty() ? "" : "; ") + outcome;
      table += " " + (cell.empty() ? "impossible" : cell) + " |";
    }
    table += "\n";
  }
  return table;
}

}  // namespace berth::difftracker
