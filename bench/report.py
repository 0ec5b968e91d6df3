#!/usr/bin/env python3
"""Writes docs/performance.md from docs/performance.json, which is what `./scripts/bench --json` printed.

    bench/report.py           writes the document
    bench/report.py --check   fails when the document is not what the JSON and the template give

The text is bench/performance.md.in, where {{parts: NAME, ...}} stands for bench/NAME/performance.md.in of each benchmark; the dots are all that are not named. {{NAME.METRIC}} is
Berth's figure, {{NAME.METRIC.peer}} the peer's and {{NAME.METRIC.ratio}} the one over the other; :% makes per cent of it and :us microseconds of
nanoseconds. {{facts}} says where and when they were measured.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from bench.harness import ROOT, benchmarks  # noqa: E402

TEMPLATE = ROOT / "bench" / "performance.md.in"
JSON = ROOT / "docs" / "performance.json"
DOCUMENT = ROOT / "docs" / "performance.md"
UNKNOWN = "–"  # There was no peer, or a quick run does not measure it.


class ReportError(Exception):
    """The document cannot be written from this."""


def figure(number):
    """With three digits that count, and no more."""
    if number is None:
        return UNKNOWN
    if abs(number) >= 1_000_000:
        return f"{number / 1e6:.3g} M"
    if abs(number) >= 100:
        return f"{number:,.0f}"
    return f"{number:.3g}"


def ratio(number):
    if number is None:
        return UNKNOWN
    return f"{number:.0f}×" if number >= 100 else f"{number:.1f}×" if number >= 1.95 else f"{number:.2f}×"


class Figures:
    def __init__(self, reports):
        self._rows = {(report["name"], row["metric"]): row for report in reports for row in report["results"]}
        self._quick = any(report["quick"] for report in reports)
        self.used = set()

    def text(self, place):
        match = re.fullmatch(r"(\w+)\.(\w+?)(?:\.(peer|ratio))?(?::(%|us))?", place)
        if not match:
            raise ReportError(f"{{{{{place}}}}} is not a figure")
        name, metric, field, form = match.groups()
        row = self._rows.get((name, metric))
        if row is None:
            if self._quick:
                return UNKNOWN
            raise ReportError(f"the JSON has no {metric} of {name}")
        number = row[field or "value"]
        if form == "us":  # of nanoseconds
            return figure(number and number / 1000)
        if form:
            return f"{number:.1%}".replace("%", " %")
        return ratio(number) if field == "ratio" else figure(number)


def together(reports):
    """The benchmarks in groups, each measured at one commit on one machine; the largest group first. Benchmarks that came later may stand alone."""
    groups = {}
    for report in reports:
        if not report.get("commit"):
            raise ReportError("the commit that was measured is not known")
        groups.setdefault(json.dumps([report["commit"], report["machine"]]), []).append(report)
    groups = sorted(groups.values(), key=len, reverse=True)
    if 2 * len(groups[0]) <= len(reports):
        raise ReportError("most benchmarks differ in commit or machine: run all of them in one go, ./scripts/bench --json")
    return groups


def where(reports, subject):
    machine, commit = reports[0]["machine"], reports[0]["commit"]
    quick = ", ".join(report["name"] for report in reports if report["quick"])
    changed = ", with changes that were not committed" if commit.endswith("+") else ""
    return (f"{subject} on {min(report['date'] for report in reports)[:10]} at commit `{commit.rstrip('+')[:12]}`{changed}, on {machine['cores']} cores of an "
            f"{machine['cpu']} with {machine['memory_gib']:.0f} GiB, Linux {machine['kernel']}"
            + (f"; {quick} with `--quick`: short rounds and fewer objects." if quick else "."))


def facts(reports):
    groups = together(reports)
    lines = [where(groups[0], "Measured")]
    lines += [where(group, f"{' and '.join(report['name'] for report in group)}: measured apart,") for group in groups[1:]]
    loud = [report for report in reports if not report["quiet"]]
    if loud:
        names = ", ".join(f"{report['name']} ({max(report['other_cores'], report['stolen_cores']):.1f} cores)" for report in loud)
        lines.append(f"**The machine was not quiet:** something else had more than a tenth of a core during {names}. Their rates may be too low.")
    else:
        most = max(max(report["other_cores"], report["stolen_cores"]) for report in reports)
        lines.append(f"The machine was quiet: nothing else had more than {most:.2f} of a core during any benchmark.")
    return "\n".join(lines)


def with_parts(template):
    """The template with the part of each benchmark in its place."""
    place = re.search(r"\{\{parts: (.*?)\}\}", template)
    first = place[1].removesuffix(", ...").split(", ")
    rest = [name for name in benchmarks() if name not in first]
    if not set(first) <= set(benchmarks()) or (rest and not place[1].endswith(", ...")):
        raise ReportError(f"the template has parts of {first}, and the benchmarks are {list(benchmarks())}")
    names = first + rest
    parts = [(ROOT / "bench" / name / "performance.md.in").read_text().rstrip("\n") for name in names]
    return template.replace(place[0], "\n\n".join(parts))


def document(template, reports):
    expected, got = list(benchmarks()), [report["name"] for report in reports]
    if sorted(expected) != sorted(got):
        raise ReportError(f"the JSON has the benchmarks {got}, and {expected} are needed: ./scripts/bench --json without a name")
    figures, head = Figures(reports), facts(reports)
    return re.sub(r"\{\{(.*?)\}\}", lambda place: head if place[1] == "facts" else figures.text(place[1]), template)


def changed_since(commit_of):
    """The benchmarks whose sources have changed since they were measured, with the number of commits."""
    changed = {}
    for name, module in benchmarks().items():
        command = ["git", "-C", ROOT, "rev-list", "--count", f"{commit_of[name]}..HEAD", "--", f"bench/{name}", *module.SOURCES]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode == 0 and int(done.stdout):
            changed[name] = int(done.stdout)
    return changed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail when the document would be another one")
    options = parser.parse_args()
    try:
        reports = json.loads(JSON.read_text())
        text = document(with_parts(TEMPLATE.read_text()), reports)
    except (ReportError, OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if not options.check:
        DOCUMENT.write_text(text)
        return 0
    for name, commits in changed_since({report["name"]: report["commit"].rstrip("+") for report in reports}).items():
        print(f"note: docs/performance.md: {commits} commits since it was measured touch what {name} measures")
    if not DOCUMENT.exists() or DOCUMENT.read_text() != text:
        print("error: docs/performance.md is not what docs/performance.json and bench/performance.md.in give: run bench/report.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
