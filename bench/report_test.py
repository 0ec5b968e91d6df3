#!/usr/bin/env python3
"""docs/performance.md says what docs/performance.json has, and of which machine and commit."""

import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from bench import report  # noqa: E402


def reports(**changes):
    machine = {"cpu": "Test CPU", "cores": 2, "memory_gib": 23.5, "kernel": "6.1"}
    made = [{"name": name, "quick": False, "commit": "0123456789abcdef", "date": "2026-11-17T08:00:00Z", "machine": machine, "quiet": True,
             "other_cores": 0.02, "stolen_cores": 0, "results": []} for name in report.benchmarks()]
    made[-1]["results"] = [{"metric": "rate", "value": 53505.0, "unit": "", "peer": 3425.0, "ratio": 15.622},
                          {"metric": "alone", "value": 0.2714, "unit": "", "peer": None, "ratio": None}]
    made[-1].update(changes)
    return made


class ReportTest(unittest.TestCase):
    def test_figures_come_from_the_json(self):
        text = report.document("{{webhook.rate}} {{webhook.rate.peer}} {{webhook.rate.ratio}} {{webhook.alone}} {{webhook.alone.peer}}", reports())
        self.assertEqual(text, "53,505 3,425 15.6× 0.271 –")

    def test_a_figure_that_was_not_measured_is_an_error(self):
        with self.assertRaisesRegex(report.ReportError, "no speed of webhook"):
            report.document("{{webhook.speed}}", reports())

    def test_the_machine_and_the_commit_are_named(self):
        text = report.document("{{facts}}", reports())
        for part in ("2026-11-17", "0123456789ab", "Test CPU", "2 cores", "was quiet"):
            self.assertIn(part, text)

    def test_a_busy_machine_is_named(self):
        text = report.document("{{facts}}", reports(quiet=False, other_cores=1.5))
        self.assertIn("not quiet", text)
        self.assertIn("webhook (1.5 cores)", text)

    def test_a_benchmark_that_was_measured_apart_is_named(self):
        text = report.document("{{facts}}", reports(commit="fedcba9876543210"))
        self.assertIn("at commit `0123456789ab`", text)
        self.assertIn("webhook: measured apart, on 2026-11-17 at commit `fedcba987654`", text)

    def test_two_commits_do_not_make_one_document(self):
        made = reports()
        for one in made[::2]:
            one["commit"] = one["name"]
        with self.assertRaisesRegex(report.ReportError, "differ in commit"):
            report.document("{{facts}}", made)

    def test_the_template_has_a_part_of_each_benchmark(self):
        names = list(report.benchmarks())
        text = report.with_parts("before {{parts: " + ", ".join(names) + "}} after")
        self.assertEqual(text.count("\n## "), len(names) - 1)
        with self.assertRaisesRegex(report.ReportError, "the template has parts of"):
            report.with_parts("{{parts: " + ", ".join(names[1:]) + "}}")

    def test_a_benchmark_is_missing(self):
        with self.assertRaisesRegex(report.ReportError, "are needed"):
            report.document("{{facts}}", reports()[1:])


if __name__ == "__main__":
    unittest.main()
