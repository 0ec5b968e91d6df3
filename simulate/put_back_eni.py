#!/usr/bin/env python3
"""Puts flaws of Terway's controller back into Berth one by one, and tells which seed of `simulate eni` finds each.

Usage: simulate/put_back_eni.py [--seeds N] [FLAW...]   (numbers of docs/eni-tasks.md, "Proofs"; all of them by default)

Each flaw is an edit of one source, which is undone at the end, also after an interrupt. Prints the rows of the table in simulate/README.md.
"""

import pathlib
import re
import signal
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ENI = ROOT / "reconcile" / "eni"
CHUNK = 50

FLAWS = {
    1: ("an ENI that is in use fails its attach", "task.cc",
        "{{Always(kComplete), Always(kFail), Row{kAsk, kAsk, kPoll, kAsk}, Always(kPoll), Always(kFail),",
        "{{Always(kFail), Always(kFail), Row{kAsk, kAsk, kPoll, kAsk}, Always(kPoll), Always(kFail),"),
    2: ("a cancelled task is Failed", "task_queue.cc",
        "  if (tasks_.contains(eni)) Forget(eni, now);\n}",
        "  const auto found = tasks_.find(eni);\n  if (found == tasks_.end()) return;\n"
        "  if (found->second.ended()) return Forget(eni, now);\n"
        "  if (found->second.next_look_at) due_.erase({*found->second.next_look_at, found->second.generation});\n"
        "  found->second.next_look_at.reset();\n"
        "  End(found->second, State::kFailed, \"\", \"context cancelled\", now);\n}"),
    3: ("the answer of an earlier task counts for a later one", "task_queue.cc",
        "  return found != tasks_.end() && found->second.generation == id.generation ? &found->second\n"
        "                                                                            : nullptr;\n}\n\nconst",
        "  return found != tasks_.end() ? &found->second : nullptr;\n}\n\nconst"),
    4: ("a deleted Node goes without its ENIs", "node_reconciler_end.cc",
        "  if (is_empty && (is_swept || is_unused)) {", "  if (is_empty || is_swept || is_unused || true) {"),
    5: ("a create is written down nowhere before it is sent", "node_reconciler_jobs.cc",
        "    pass.to.attempts[attempt.request.client_token] = attempt;\n", ""),
    6: ("a throttled attach fails", "task_queue_steps.cc",
        "    case ErrorClass::kThrottled:\n    case ErrorClass::kRetry:\n      return Poll",
        "    case ErrorClass::kThrottled:\n      if (attaches) return End(entry, State::kFailed, entry.reason, error.message, now);\n"
        "      [[fallthrough]];\n    case ErrorClass::kRetry:\n      return Poll"),
    7: ("an attach fails after six looks", "task_queue_steps.cc",
        "  if (step == Step::kAsk) {\n",
        "  if (step == Step::kPoll && entry->operation == Operation::kAttach && entry->looks > 6)\n"
        "    return End(*entry, State::kFailed, reason::kGivenUp, \"polls are exhausted\", now), false;\n"
        "  if (step == Step::kAsk) {\n"),
    8: ("an ENI that is Available again is polled to the end", "task_queue_steps.cc",
        "    return entry.asked_at && (entry.moved || (!entry.bound && waited >= kFallBack));",
        "    return entry.asked_at && waited >= 24h;"),
    11: ("the end of a task is removed before it is written", "node_reconciler.cc",
         "    pass.ended.push_back({task->eni, task->generation});\n",
         "    pass.ended.push_back({task->eni, task->generation});\n    early.push_back(pass.ended.back());\n"),
    12: ("a sync drops an ENI that the instance's list lacks", "cloud_job.cc",
         "  std::vector<std::string> unlisted = Missing(sync.known, all);\n",
         "  std::vector<std::string> unlisted;\n"),
    14: ("addresses of ENIs that are being attached do not count", "pool_survey.cc",
         "  } else if (IsOnItsWay(nic)) {", "  } else if (false) {"),
    16: ("a create without an answer is begun anew", "node_reconciler_jobs.cc",
         "      sends.certain = false;\n      return;", "      pass.to.attempts.erase(attempt);\n      return;"),
    18: ("a failed job is repeated at once", "node_reconciler_jobs.cc",
         "  memory.not_before = parts_.executor.Now() + wait;\n", "  memory.not_before = {};\n"),
    19: ("waiting pods are counted twice", "pool_growth.cc",
         "  const int waiting = Sane(pool.bound.waiting);\n", "  const int waiting = 2 * Sane(pool.bound.waiting);\n"),
    21: ("a deletion is never confirmed", "task.cc",
         "      Row{kAsk, kAsk, kPoll, kAsk}, Row{kPoll, kConfirm, kPoll, kConfirm}}},\n}};",
         "      Row{kAsk, kAsk, kPoll, kAsk}, Always(kPoll)}},\n}};"),
    22: ("the end of a task wakes nobody", "system.cc",
         ".on_ended = [this](const std::string& node) { controller.Add(node); },",
         ".on_ended = [](const std::string&) {},"),
}
# Further edits of the same flaw.
MORE = {
    11: [("node_reconciler.cc", "  for (const Task* task : parts_.tasks.queue().OfNode(pass.key)) {\n    if (!task->ended()) continue;\n    TakeTask",
          "  std::vector<TaskId> early;\n  for (const Task* task : parts_.tasks.queue().OfNode(pass.key)) {\n    if (!task->ended()) continue;\n    TakeTask"),
         ("node_reconciler.cc", "  // A user has withdrawn the attach.", "  for (const TaskId& id : early) parts_.tasks.Noted(id);\n  // A user has withdrawn the attach.")],
    12: [("cloud_job.cc", "    auto alone = co_await enis->Describe({id});\n", "    Result<std::vector<cloud::Eni>> alone = std::vector<cloud::Eni>();\n"),
         ("node_reconciler.h", "kMissingFor = std::chrono::seconds(60)", "kMissingFor = std::chrono::seconds(0)")],
}


def edit(path, old, new):
    text = path.read_text()
    if text.count(old) != 1:
        raise SystemExit(f"{path.name}: the place of the flaw is there {text.count(old)} times: {old!r}")
    path.write_text(text.replace(old, new))


def find(seeds):
    """The first seed with a violation, and its words; none in so many."""
    program = ROOT / "build/release/simulate/simulate"
    for first in range(0, seeds, CHUNK):
        done = subprocess.run([program, "eni", "--first", str(first), "--seeds", str(min(CHUNK, seeds - first)), "--jobs", "1"],
                              capture_output=True, text=True)
        found = re.findall(r"violation: (.*); replay: .*--seed (\d+)", done.stdout)
        if found:
            words, seed = min(found, key=lambda one: int(one[1]))
            return seed, words
        if done.returncode:
            return f"{first}–{first + CHUNK - 1}", f"the program ends with {done.returncode}: {done.stderr.strip()[-200:]}"
    return None, ""


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    arguments = sys.argv[1:]
    seeds = 2000
    if "--seeds" in arguments:
        at = arguments.index("--seeds")
        seeds = int(arguments[at + 1])
        del arguments[at:at + 2]
    for number in map(int, arguments) if arguments else FLAWS:
        title, *place = FLAWS[number]
        edits = [tuple(place), *MORE.get(number, [])]
        before = {name: (ENI / name).read_text() for name, *_ in edits}
        try:
            for name, old, new in edits:
                edit(ENI / name, old, new)
            built = subprocess.run(["cmake", "--build", "build/release", "-j", "1", "--target", "simulate"], cwd=ROOT, capture_output=True, text=True)
            if built.returncode:
                print(f"| {number} | {title} | does not build: {built.stdout[-300:]} |", flush=True)
                continue
            seed, words = find(seeds)
            print(f"| {number} | {title} | {seed or f'none of {seeds:,}'} | {words} |", flush=True)
        finally:
            for name, text in before.items():
                (ENI / name).write_text(text)


if __name__ == "__main__":
    main()
