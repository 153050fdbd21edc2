#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What tacfs(1) says of the command, without a mount."""
import os
import pathlib
import subprocess
import tempfile
import unittest

DATA = pathlib.Path(__file__).resolve().parents[1] / "data/caches"


def tacfs(*arguments, **options):
    return subprocess.run([os.environ["TACFS_BIN"], *arguments],
                          capture_output=True, **options)


class Command(unittest.TestCase):
    def refuses(self, said, *arguments):
        done = tacfs(*arguments)
        self.assertEqual(done.returncode, 64)
        self.assertEqual(done.stdout, b"")
        self.assertIn(said, done.stderr.decode())

    def fails(self, said, status, *arguments):
        done = tacfs(*arguments)
        self.assertEqual(done.returncode, status)
        self.assertEqual(done.stdout, b"")
        self.assertEqual(done.stderr.decode(), said + "\n")

    def test_says_its_version(self):
        done = tacfs("--version")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stdout, rb"^tacfs \d+\.\d+\.\d+\n$")

    def test_help_names_every_command_and_each_has_its_own(self):
        text = tacfs("--help").stdout.decode()
        for command in ("init", "mount", "set", "show", "stats", "gc", "undelete", "fsck", "doctor",
                        "fingerprint"):
            self.assertIn(f"\n  {command} ", text)
            done = tacfs(command, "--help")
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            self.assertIn(f"usage: tacfs {command}", done.stdout.decode())

    def test_a_wrong_command_line_is_refused_and_named(self):
        self.refuses("usage: tacfs")
        self.refuses("'frobnicate'", "frobnicate")
        self.refuses("'--frobnicate'", "show", "--frobnicate")
        self.refuses("'-x'", "stats", "-x")
        self.refuses("FILE", "show")
        self.refuses("FILE", "show", "a", "b")
        self.refuses("STORE", "stats")
        self.refuses("STORE", "fsck")
        self.refuses("--grace=-1", "gc", "--grace=-1", "a")
        self.refuses("--rewrite=101", "gc", "--rewrite=101", "a")
        self.refuses("--rewrite=-1", "gc", "--rewrite=-1", "a")
        self.refuses("'--fix'", "fsck", "--fix", "a")
        self.refuses("STORE", "doctor", "a", "b")
        self.refuses("STORE", "stats", "--json", "a", "b")
        self.refuses("the mount point", "mount", "a")

    def test_a_failure_names_the_file_and_the_reason(self):
        with tempfile.TemporaryDirectory() as place:
            self.fails(f"tacfs: show: {place}/x: No such file or directory",
                       3, "show", f"{place}/x")
            self.fails(f"tacfs: show: {place}: Is a directory", 3, "show",
                       place)
            done = tacfs("stats", f"{place}/x")
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"tacfs: stats: {place}/x: ", done.stderr.decode())

    def test_output_that_cannot_be_written_is_a_failure(self):
        module = next(DATA.glob("trees/official/*/prompt/compiled_module"))
        with open("/dev/full", "wb") as full:
            done = subprocess.run([os.environ["TACFS_BIN"], "show", module],
                                  stdout=full, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 3)
        self.assertIn(b"No space left", done.stderr)

    def test_show_writes_what_readable_cache_writes(self):
        expected = sorted(DATA.rglob("*.readable.py"))
        self.assertTrue(expected)
        for text in expected:
            path = text.relative_to(DATA / "readable").with_suffix("")
            module = DATA / "trees" / path.with_suffix("")
            with self.subTest(module=module):
                self.assertEqual(tacfs("show", module).stdout,
                                 text.read_bytes())
                with open(module, "rb") as file:
                    self.assertEqual(tacfs("show", "-", stdin=file).stdout,
                                     text.read_bytes())


unittest.main()
