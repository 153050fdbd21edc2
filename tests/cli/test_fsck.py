#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tacfs fsck: what is planted is found, a repaired store is clean and serves."""
import json
import os
import pty
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "mount"))

import calls  # noqa: E402
import harness  # noqa: E402
import samples  # noqa: E402
from harness import mount_only, tacfs  # noqa: E402

FILES = {
    "a/compiled_module": samples.module(1, 60000),
    "b/compiled_module": samples.module(2, 60000),
    "notes.json": b"{}\n",
    "noise.bin": samples.noise("fsck", 300000),
}
MODULE = "refs/default/a/compiled_module"
SETTLED = 3.5  # seconds: what is older is not looked at for longer


class Store:
    """A copy of a store, to be damaged."""

    def __init__(self, source, path):
        shutil.copytree(source, path, symlinks=True)
        self.path = path

    def file(self, name):
        return os.path.join(self.path, name)

    def packs(self):
        return sorted(os.path.join("packs", path) for path in
                      samples.files_below(self.file("packs")))

    def flip(self, name, at):
        with open(self.file(name), "r+b") as file:
            file.seek(at)
            byte = file.read(1)
            file.seek(at)
            file.write(bytes([byte[0] ^ 0x10]))

    def flip_all_packs(self, at):
        for pack in self.packs():
            size = os.path.getsize(self.file(pack))
            self.flip(pack, at if at >= 0 else size + at)

    def trash_packs(self):
        for number, pack in enumerate(self.packs()):
            os.rename(self.file(pack), self.file(f"trash/some-{number}"))

    def old_draft(self, name):
        calls.write(self.file(name), b"x")
        os.utime(self.file(name), (1, 1))

    def old_directory(self, name):
        os.mkdir(self.file(name))
        calls.write(self.file(name + "/x"), b"x")
        os.utime(self.file(name), (1, 1))

    def fsck(self, *options):
        return tacfs("fsck", *options, self.path)


# How to plant it, what kinds are found, whether data has to be read for it.
PLANTED = {
    "a flipped manifest": (lambda s: s.flip(MODULE, 60), {"damaged"}, False),
    "a cut manifest": (lambda s: os.truncate(s.file(MODULE), 100), {"damaged"},
                       False),
    "an empty manifest": (lambda s: os.truncate(s.file(MODULE), 0), {"damaged"},
                          False),
    "a header of a pack": (lambda s: s.flip_all_packs(9),
                           {"damaged", "dangling"}, False),
    "a table of a pack": (lambda s: s.flip_all_packs(-100),
                          {"damaged", "dangling"}, False),
    "a trailer of a pack": (lambda s: s.flip_all_packs(-1),
                            {"damaged", "dangling"}, False),
    "a cut pack": (lambda s: os.truncate(s.file(s.packs()[0]), 500),
                   {"damaged", "dangling"}, False),
    "a lost pack": (lambda s: os.unlink(s.file(s.packs()[0])), {"dangling"},
                    False),
    "a damaged block": (lambda s: s.flip_all_packs(70), {"block", "dangling"},
                        True),
    "packs in trash": (lambda s: s.trash_packs(), {"dangling"}, False),
    "a fifo": (lambda s: os.mkfifo(s.file("refs/default/fifo")), {"kind"}, False),
    "a file in refs": (lambda s: calls.write(s.file("refs/file"), b"x"),
                       {"kind"}, False),
    "a fifo in packs": (lambda s: os.mkfifo(s.file("packs/" + "ab")), {"name"},
                        False),
    "a foreign file in packs": (lambda s: calls.write(s.file("packs/x"), b"x"),
                                {"name"}, False),
    "a wide mode": (lambda s: os.chmod(s.file(MODULE), 0o666), {"mode"}, False),
    "an old draft": (lambda s: s.old_draft("tmp/draft-0123456789abcdef"),
                     {"draft"}, False),
    "an old file in tmp": (lambda s: s.old_draft("tmp/unknown"), {"draft"}, False),
    "an old directory": (lambda s: s.old_directory("tmp/draft-0123456789abcdef"),
                         {"draft"}, False),
}


@mount_only
class Fsck(harness.MountTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name, content in FILES.items():
            path = os.path.join(cls.mount.path, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            calls.write(path, content)
        cls.mount.stop()
        cls.number = 0

    @classmethod
    def tearDownClass(cls):
        pass  # nothing is mounted any more

    def setUp(self):
        pass

    def tearDown(self):
        pass

    def copy(self):
        type(self).number += 1
        return Store(self.store, os.path.join(self.root, f"copy{self.number}"))

    def problems(self, done, status):
        self.assertEqual((done.returncode, done.stderr), (status, b""), done.stdout)
        report = json.loads(done.stdout)
        self.assertEqual(len(report["problems"]), report["found"])
        self.assertEqual(sum(p["repaired"] for p in report["problems"]),
                         report["repaired"])
        return report["problems"]

    def test_a_clean_store(self):
        for options in (), ("--read-data",), ("--repair",):
            done = tacfs("fsck", *options, self.store)
            self.assertEqual(done.returncode, 0, done.stdout)
            lines = done.stdout.decode().splitlines()
            self.assertRegex(lines[0], r"^4 files, \d+ directories, \d+ packs \(0 "
                             r"unused\), 0 in trash, 0 in quarantine$")
            self.assertEqual(lines[1:], ["no problems found"])
        self.assertEqual(self.problems(tacfs("fsck", "--json", self.store), 0), [])

    def test_what_is_planted_is_found_and_repaired(self):
        stores = {what: self.copy() for what in PLANTED}
        for what, store in stores.items():
            PLANTED[what][0](store)
        time.sleep(SETTLED)
        for what, (_, kinds, reads) in PLANTED.items():
            with self.subTest(what=what):
                self.check_one(stores[what], kinds, ("--read-data",) * reads)

    def check_one(self, store, kinds, options):
        before = listing(store.path)
        found = self.problems(store.fsck("--json", *options), 1)
        self.assertEqual({problem["kind"] for problem in found}, kinds)
        self.assertEqual(listing(store.path), before)
        lines = store.fsck(*options).stdout.decode().splitlines()
        self.assertEqual(lines[:len(found)],
                         [f"{problem['path']}: {problem['what']}"
                          for problem in found])
        repaired = self.problems(store.fsck("--json", "--repair", *options), 2)
        self.assertEqual({problem["kind"] for problem in repaired}, kinds)
        self.assertEqual(store.fsck("--read-data").returncode, 0)
        self.check_mount(store)

    def check_mount(self, store):
        """Every file is what was written, or not there; and can be written."""
        with harness.Mount(store.path, store.path + "-mount") as mount:
            for name, content in FILES.items():
                path = os.path.join(mount.path, name)
                self.assertOneOf(path, content, None)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                calls.save(path, content)
                self.assertContent(path, content)
        self.assertEqual(store.fsck("--read-data").returncode, 0)

    def test_packs_from_trash_serve_everything(self):
        store = self.copy()
        store.trash_packs()
        self.assertEqual(store.fsck("--repair").returncode, 2)
        with harness.Mount(store.path, store.path + "-mount") as mount:
            for name, content in FILES.items():
                self.assertContent(os.path.join(mount.path, name), content)

    def test_other_files_of_a_damaged_pack_survive(self):
        store = self.copy()
        noise = FILES["noise.bin"]
        with harness.Mount(store.path, store.path + "-mount") as mount:
            calls.write(os.path.join(mount.path, "half.bin"),
                        noise[:len(noise) // 2])
        largest = max(store.packs(), key=lambda p: os.path.getsize(store.file(p)))
        store.flip(largest, 64 + len(noise) - 10)
        self.assertEqual(store.fsck("--repair", "--read-data").returncode, 2)
        with harness.Mount(store.path, store.path + "-mount") as mount:
            self.assertMissing(os.path.join(mount.path, "noise.bin"))
            self.assertContent(os.path.join(mount.path, "half.bin"),
                               noise[:len(noise) // 2])

    def test_all_namespaces_are_looked_at(self):
        store = self.copy()
        shutil.copytree(store.file("refs/default"), store.file("refs/other"))
        store.flip("refs/other/a/compiled_module", 60)
        found = self.problems(store.fsck("--json"), 1)
        self.assertEqual([problem["path"] for problem in found],
                         ["refs/other/a/compiled_module"])

    def test_names_stay_on_their_line(self):
        store = self.copy()
        calls.write(os.fsencode(store.file("refs/default/")) + b"x\n\xff", b"x")
        lines = store.fsck().stdout.splitlines()
        self.assertIn(rb"refs/default/x\x0a\xff: ", lines[0])
        found = self.problems(store.fsck("--json"), 1)
        self.assertEqual(found[0]["path"], "refs/default/x\n\ufffd")

    def test_what_cannot_be_checked(self):
        done = tacfs("fsck", self.root)
        self.assertEqual((done.returncode, done.stdout), (3, b""))
        self.assertIn(b"it is not a store", done.stderr)
        done = tacfs("fsck")
        self.assertEqual(done.returncode, 64)
        with open("/dev/full", "wb") as full:
            done = subprocess.run([harness.binary(), "fsck", self.store],
                                  stdout=full, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 3)

    def test_progress_on_a_terminal_only(self):
        text = self.on_terminal("fsck", self.store)
        self.assertIn("\rfsck: ", text)
        self.assertRegex(text, r"\r +\r$")
        self.assertEqual(self.on_terminal("fsck", "--json", self.store), "")
        self.assertEqual(tacfs("fsck", self.store).stderr, b"")

    def on_terminal(self, *arguments):
        """What the command writes to a terminal as standard error."""
        ours, theirs = pty.openpty()
        done = subprocess.run([harness.binary(), *arguments], stderr=theirs,
                              stdout=subprocess.DEVNULL, timeout=60)
        os.close(theirs)
        text = b""
        try:
            while part := os.read(ours, 4096):
                text += part
        except OSError:
            pass  # the other end is closed
        os.close(ours)
        self.assertEqual(done.returncode, 0)
        return text.decode()


def listing(root):
    return sorted(os.path.join(path, name) for path, _, names in os.walk(root)
                  for name in names)


if __name__ == "__main__":
    harness.main()
