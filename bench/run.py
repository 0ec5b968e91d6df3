#!/usr/bin/env python3
"""Runs the benchmarks and prints what they measured. Called by scripts/bench, which builds what is needed first.

A benchmark is a folder here. Its measure.py has TARGETS (the programs that CMake builds for it), SOURCES (the folders whose change makes its
figures old, beside its own), CAPTION (the heading of its table) and run(context), which returns its list of Metric. Its CMakeLists.txt has its
programs, its performance.md.in its part of docs/performance.md. A Go peer is peers/NAME.
"""

import argparse
import json
import os
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from bench.harness import ROOT, BenchError, Context, benchmarks, say  # noqa: E402
from bench.surroundings import OtherWork, commit, machine, now  # noqa: E402

BENCHMARKS = benchmarks()


def measure(name, quick):
    peers = os.environ.get("BERTH_PEERS")
    with tempfile.TemporaryDirectory(prefix=f"berth-bench-{name}-") as work:
        context = Context(quick=quick, work=pathlib.Path(work), peers=pathlib.Path(peers) if peers else None,
                          build=pathlib.Path(os.environ.get("BERTH_BUILD") or ROOT / "build" / "release"))
        if (ROOT / "bench" / "peers" / name).exists() and not context.peer(name):
            say(f"WARNING: {name}: there is no peer program: Berth is measured alone")
        began, other_work = now(), OtherWork()
        results = BENCHMARKS[name].run(context)
    return {"name": name, "quick": quick, "commit": commit(), "date": began, "machine": machine(), **other_work.measured(),
            "results": [result.to_json() for result in results]}


def table(report):
    def cell(number):
        return "-" if number is None else f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.3g}"

    rows = [("metric", "unit", "Berth", "peer", "ratio")]
    for row in report["results"]:
        name = row["metric"] + (" (peer: the floor)" if row["metric"].startswith("floor_") else "")
        ratio = "-" if row["ratio"] is None else f"{row['ratio']:.2f}"
        rows.append((name, row["unit"], cell(row["value"]), cell(row["peer"]), ratio))
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = [f"\n{report['name']}: {BENCHMARKS[report['name']].CAPTION}\n"]
    for row in rows:
        left = [row[0].ljust(widths[0]), row[1].ljust(widths[1])]
        lines.append("  ".join(left + [text.rjust(width) for text, width in zip(row[2:], widths[2:])]))
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description="Runs the benchmarks of bench/.")
    parser.add_argument("name", nargs="?", choices=BENCHMARKS, help="one benchmark (default: all)")
    parser.add_argument("--quick", action="store_true", help="at most 40 s for each benchmark; more noise")
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout instead of tables")
    parser.add_argument("--targets", action="store_true", help="print what CMake must build, and do nothing else")
    options = parser.parse_args()
    names = [options.name] if options.name else BENCHMARKS
    if options.targets:
        print(*dict.fromkeys(target for name in names for target in BENCHMARKS[name].TARGETS), sep="\n")
        return
    reports = []
    for name in names:
        try:
            reports.append(measure(name, options.quick))
        except BenchError as error:
            sys.exit(f"error: {name}: {error}")
        if not reports[-1]["quiet"]:
            say(f"WARNING: {name}: the machine was not quiet: other programs had {reports[-1]['other_cores']:.2f} cores, "
                f"and the host took {reports[-1]['stolen_cores']:.2f}")
        if not options.json:
            print(table(reports[-1]), flush=True)
    if options.json:
        print(json.dumps(reports[0] if options.name else reports))


if __name__ == "__main__":
    main()
