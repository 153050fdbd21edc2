#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tacfs stats: of stores whose reports are written by hand, without a mount."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import exposition  # noqa: E402

TESTS = pathlib.Path(__file__).resolve().parents[1]
DOCS = TESTS.parent / "docs"


def tacfs(*arguments):
    return subprocess.run([os.environ["TACFS_BIN"], *arguments],
                          capture_output=True, timeout=60)


class Stats(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = place.name
        self.store = self.new_store("store")

    def new_store(self, name):
        path = os.path.join(self.place, name)
        os.makedirs(os.path.join(path, "stats"))
        shutil.copy(TESTS / "corpus/format/good-store", os.path.join(path, "FORMAT"))
        return path

    def report(self, number, **counts):
        path = os.path.join(self.store, "stats", f"{number:032x}.json")
        with open(path, "w") as file:
            json.dump({"tacfs_report": 1, "mounts": 1, "active": 0, **counts}, file)

    def output(self, *arguments):
        done = tacfs("stats", *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return done.stdout

    def json(self):
        return json.loads(self.output("--json", self.store))

    def metrics(self, path=None):
        return exposition.parse(self.output("--prometheus", path or self.store))

    def test_live_is_the_sum_of_all_reports(self):
        self.report(1, hits=3, misses=2)
        self.report(2, hits=4, active=1, from_the_future=9)
        live = self.json()["live"]
        self.assertEqual((live["mounts"], live["active"]), (2, 1))
        self.assertEqual((live["hits"], live["misses"], live["healed"]), (7, 2, 0))

    def test_without_reports_everything_is_zero(self):
        self.assertEqual(set(self.json()["live"].values()), {0})

    def test_damaged_reports_are_left_out(self):
        self.report(1, hits=3)
        for number, text in enumerate(("", "{", "[" * 5000, '{"hits": 1}')):
            path = os.path.join(self.store, "stats", f"{number + 9:032x}.json")
            with open(path, "w") as file:
                file.write(text)
        live = self.json()["live"]
        self.assertEqual((live["mounts"], live["hits"]), (1, 3))

    def test_the_text_has_every_counter(self):
        self.report(1, hits=3)
        lines = self.output(self.store).decode().splitlines()
        self.assertIn("1 mounts, 0 of them not ended", " ".join(lines).replace("  ", ""))
        for name, value in self.json()["live"].items():
            if name not in ("mounts", "active"):
                self.assertIn(f"{value:26} {name}", lines)

    def test_prometheus_has_what_json_has(self):
        self.report(1, hits=3, misses=2)
        metrics = self.metrics()
        stored = self.json()
        live = stored.pop("live")
        for derived in "ratio", "sharing":
            stored.pop(derived)
        expected = {f"tacfs_store_{name}": value for name, value in stored.items()}
        expected["tacfs_mounts_total"] = live.pop("mounts")
        expected["tacfs_active_mounts"] = live.pop("active")
        expected |= {f"tacfs_{name}_total": value for name, value in live.items()}
        self.assertEqual({name: metric.value for name, metric in metrics.items()},
                         expected)
        for metric in metrics.values():
            self.assertEqual(metric.samples.keys(), {("store", self.store)})
            self.assertRegex(metric.about, r"^[A-Z].*\.$")

    def test_no_metric_is_both_a_counter_and_a_gauge(self):
        names = list(self.metrics())
        families = [name.removesuffix("_total") for name in names]
        self.assertEqual(len(set(families)), len(names))

    def test_large_numbers(self):
        self.report(1, out_bytes=2**63 - 1)
        self.report(2, out_bytes=2**63 - 1)
        self.assertEqual(self.metrics()["tacfs_out_bytes_total"].value, 2**64 - 2)
        self.assertEqual(self.json()["live"]["out_bytes"], 2**63 - 1)

    def test_odd_paths_are_escaped(self):
        for name in 'a"b', "a\\b", "a\nb", "ä b{}":
            path = self.new_store(name)
            metric = self.metrics(path)["tacfs_store_files"]
            self.assertEqual(metric.samples, {("store", path): 0})

    def test_a_path_that_is_not_utf8_becomes_so(self):
        path = self.new_store(os.fsdecode(b"a\xffb\xc3"))
        metric = self.metrics(path)["tacfs_store_files"]
        self.assertEqual(metric.samples, {("store", f"{self.place}/a?b?"): 0})

    def test_a_mount_gives_its_counters(self):
        control = os.path.join(self.place, "mount/.tacfs")
        os.makedirs(control)
        with open(os.path.join(control, "stats.json"), "w") as file:
            json.dump({"mount": {"hits": 5}, "store": {"hits": 9}}, file)
        path = os.path.dirname(control)
        metrics = self.metrics(path)
        self.assertEqual(metrics["tacfs_hits_total"].samples, {("mount", path): 5})
        self.assertEqual(metrics.keys(), {name for name in self.metrics()
                                          if name.endswith("_total")}
                         - {"tacfs_mounts_total"})

    def test_what_is_neither_fails_and_writes_nothing(self):
        for form in "--json", "--prometheus":
            done = tacfs("stats", form, self.place)
            self.assertEqual((done.returncode, done.stdout), (1, b""))

    def test_one_form_at_a_time(self):
        done = tacfs("stats", "--json", "--prometheus", self.store)
        self.assertEqual((done.returncode, done.stdout), (64, b""))

    def test_every_number_is_documented(self):
        operations = (DOCS / "operations.md").read_text()
        manual = (DOCS / "man/tacfs.1").read_text()
        stored = self.json()
        for name in stored.pop("live"):
            self.assertIn(f"`{name}`", operations)
        for name in stored:
            self.assertRegex(manual, rf"\b{name}\b")


class Parser(unittest.TestCase):
    """The parser of these tests is strict."""

    def test_it_refuses(self):
        good = b"# HELP a_total A.\n# TYPE a_total counter\na_total{b=\"c\"} 1\n"
        exposition.parse(good)
        for bad in (good[:-1], good + good, good.replace(b"counter", b"gauge"),
                    good.replace(b"} 1", b"} 01"), good.replace(b"} 1", b"}  1"),
                    good.replace(b'"c"', b'"c"d"'), good.replace(b'"c"', b'"\\x"'),
                    good.replace(b"# TYPE a_total counter\n", b""),
                    good.replace(b'a_total{b="c"} 1\n', b""),
                    good + b'b_total{b="c"} 1\n', good + b'a_total{b="c"} 2\n',
                    good + b"\n", good.replace(b"\n", b"\r\n")):
            with self.assertRaises(ValueError, msg=bad):
                exposition.parse(bad)


unittest.main()
