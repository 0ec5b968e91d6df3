#!/usr/bin/env python3
"""bench/hot/check fails on what it is there for, and on nothing else."""

import importlib.machinery
import importlib.util
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
_loader = importlib.machinery.SourceFileLoader("check", str(pathlib.Path(__file__).resolve().parent / "check"))
check = importlib.util.module_from_spec(importlib.util.spec_from_loader("check", _loader))
_loader.exec_module(check)


def baseline(**counts):
    return {"counts": {name: {"instructions": count, "reason": "first"} for name, count in counts.items()}}


class CheckTest(unittest.TestCase):
    def test_growth_over_five_percent_fails(self):
        _, wrong, _ = check.compare(baseline(queue=1000, watch=1000), {"queue": 1051, "watch": 1049})
        self.assertEqual(wrong, ["queue takes 5.1% more instructions"])

    def test_a_gain_is_told_and_passes(self):
        _, wrong, better = check.compare(baseline(queue=1000), {"queue": 900})
        self.assertEqual((wrong, better), ([], ["queue takes 10.0% fewer instructions"]))

    def test_a_path_without_a_baseline_fails(self):
        _, wrong, _ = check.compare(baseline(), {"queue": 1})
        self.assertEqual(wrong, ["queue is not in the baseline"])

    def test_a_path_that_was_not_counted_fails(self):
        _, wrong, _ = check.compare(baseline(queue=1), {})
        self.assertEqual(wrong, ["queue is in the baseline but was not counted"])

    def test_a_number_without_a_reason_fails(self):
        _, wrong, _ = check.compare({"counts": {"queue": {"instructions": 1000, "reason": " "}}}, {"queue": 1000})
        self.assertEqual(wrong, ["queue has no reason in the baseline"])

    def test_an_update_keeps_the_reason_of_what_did_not_change(self):
        new = check.updated(baseline(queue=1000, watch=1000), {"queue": 1200, "watch": 1001}, "checks keys", {})
        self.assertEqual(new["counts"], {"queue": {"instructions": 1200, "was": 1000, "reason": "checks keys"},
                                         "watch": {"instructions": 1000, "reason": "first"}})
        self.assertEqual(check.compare(new, {"queue": 1200, "watch": 1001})[1], [])

    def test_an_update_needs_a_reason(self):
        with self.assertRaises(check.CheckError):
            check.updated(baseline(), {"queue": 1}, " ", {})


if __name__ == "__main__":
    unittest.main()
