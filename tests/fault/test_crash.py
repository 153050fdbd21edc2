# SPDX-License-Identifier: Apache-2.0
"""Power loss while something is published, deleted, collected or repaired.

Each scenario is done by a real mount and real commands, and recorded (record.c).
Of what crashes at any moment may leave (replay.py) nearly all is opened and read
(look_at_stores.c), and some mounted, too.
"""
import functools
import os
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "mount"))
sys.path.insert(0, HERE)

import calls  # noqa: E402
import crashing  # noqa: E402
import damage  # noqa: E402
import harness  # noqa: E402
import replay  # noqa: E402
import samples  # noqa: E402
from crashing import MISS  # noqa: E402
from harness import mount_only  # noqa: E402

AMOUNT = harness.amount(6, 500)
MOUNTED = harness.amount(1, 20)

FIRST, SECOND, THIRD = (samples.module(number, 9000) for number in (1, 2, 3))
PLAIN = samples.noise("plain", 5000)
MODULE = "prompt/compiled_module"


def new_store(recorder):
    """A store is made, and the first thing published in it."""
    recorder.begin()
    with recorder.mounted():
        with recorder.gives("model/prompt/compiled_module", FIRST) as path:
            calls.save(path, FIRST)


def versions(recorder):
    """One over the other; other attributes; another name."""
    with recorder.prepared():
        calls.save(os.path.join(recorder.point, MODULE), FIRST)
    recorder.begin()
    with recorder.mounted():
        with recorder.gives(MODULE, SECOND) as path:
            calls.save(path, SECOND)
        with recorder.gives(MODULE, SECOND, False):
            os.chmod(path, 0o640)
        other = "decode/compiled_module"
        os.mkdir(os.path.join(recorder.point, "decode"))
        with recorder.moves(MODULE, other, SECOND) as (old, new):
            os.rename(old, new)
        with recorder.gives(other, THIRD) as path:
            calls.save(path, THIRD)


def plain_files(recorder):
    """What is not on disk when close returns, and what it takes the place of."""
    recorder.begin()
    with recorder.mounted():
        log = "log"
        recorder.creates(log, PLAIN)
        with recorder.gives(log, PLAIN) as path:
            sync(path)
        with recorder.gives(log, PLAIN + b"more", False):
            calls.append(path, b"more")
        recorder.creates("log.new", FIRST)
        with (recorder.gives("log.new", MISS, False) as new,
              recorder.gives(log, FIRST, False) as path):
            os.rename(new, path)


def sharing(recorder):
    """An artifact with the blocks of a file that is not on disk; both deleted."""
    recorder.begin()
    with recorder.mounted():
        recorder.creates("copy", FIRST)
        with recorder.gives(MODULE, FIRST) as path:
            calls.save(path, FIRST)
        with recorder.gives("copy", MISS, False) as path:
            os.unlink(path)


def trash(recorder):
    """Deleted, and brought back."""
    with recorder.prepared():
        calls.save(os.path.join(recorder.point, MODULE), FIRST)
    recorder.begin()
    with recorder.mounted():
        with recorder.gives(MODULE, MISS, False) as path:
            shutil.rmtree(os.path.dirname(path))
        with recorder.gives(MODULE, FIRST):
            recorder.tacfs("undelete", recorder.store, "prompt")


def collecting(recorder):
    """Of what was deleted, overwritten, or is needed though it was set aside."""
    gone, log, aside = "decode/compiled_module", "log", "aside/compiled_module"
    with recorder.prepared():
        calls.save(os.path.join(recorder.point, aside), THIRD)
    set_aside(recorder.store)
    with recorder.prepared():
        calls.save(os.path.join(recorder.point, gone), FIRST)
        calls.write(os.path.join(recorder.point, log), PLAIN)
    recorder.begin()
    with recorder.mounted():
        with recorder.gives(gone, MISS, False) as path:
            os.unlink(path)
        with recorder.gives(log, SECOND, False) as path:
            calls.write(path, SECOND)
        recorder.tacfs("gc", "--grace", "0", "--keep", "0", recorder.store)


def set_aside_reused(recorder):
    """What nobody needed any more is published again, with the packs it had."""
    with recorder.prepared():
        path = os.path.join(recorder.point, MODULE)
        calls.save(path, FIRST)
        os.unlink(path)
    set_aside(recorder.store)
    recorder.begin()
    with recorder.mounted():
        with recorder.gives(MODULE, FIRST) as path:
            calls.save(path, FIRST)
        recorder.tacfs("gc", "--grace", "0", "--keep", "0", recorder.store)


def repairing(recorder):
    """Of a pack with a damaged block, whose others are another file's, too."""
    half = samples.noise("half", 70000)
    with recorder.prepared():
        calls.write(os.path.join(recorder.point, "whole"), half + PLAIN * 20)
        calls.write(os.path.join(recorder.point, "half"), half)
    flip_late_byte(recorder.store)
    recorder.begin()
    recorder.tacfs_may_fail("fsck", "--repair", "--read-data", recorder.store)


def evicting(recorder):
    """One of two directories, by a command; the other was used last."""
    names = evictable(recorder)
    with recorder.evicts(*names):
        recorder.tacfs("gc", f"--evict={packs_size(recorder.store) * 3 // 4}",
                       recorder.store)


def evicting_in_a_mount(recorder):
    """One of two directories, to make room for what is published."""
    names = evictable(recorder)
    limit = packs_size(recorder.store) * 5 // 4
    with (recorder.evicts(*names), recorder.mounted(f"max_bytes={limit}"),
          recorder.gives("new/graph.om", samples.om("new", 40000)) as path):
        calls.save(path, samples.om("new", 40000))


def rewriting(recorder):
    """Of a pack that one file needs a half of; its name shows it all the time."""
    with recorder.prepared():
        whole, half = (os.path.join(recorder.point, name) for name in ("whole", "half"))
        calls.write(whole, samples.noise("other", 50000) + samples.noise("half", 70000))
        calls.write(half, samples.noise("half", 70000))
        os.unlink(whole)
    before = packs_of(recorder.store)
    recorder.begin()
    recorder.tacfs("gc", "--grace", "0", "--keep", "0", "--rewrite", "10",
                   recorder.store)
    if set(before) <= set(packs_of(recorder.store)):
        raise AssertionError("expected the pack to be rewritten")


def evictable(recorder):
    """Begins with two directories; the names in the one that was used first."""
    names = [f"old/{name}" for name in ("graph.om", "log", "settings.json")]
    with recorder.prepared():
        for number, name in enumerate((*names, "used/graph.om")):
            calls.save(os.path.join(recorder.point, name), samples.om(number, 40000)
                       if name.endswith(".om") else samples.text(name, 100))
    recorder.begin()
    os.utime(os.path.join(recorder.store, "refs/default/used"))
    return names


def sync(path):
    fd = os.open(path, os.O_RDWR)
    os.fsync(fd)
    os.close(fd)


def packs_of(store):
    return [os.path.join(store, "packs", path)
            for path in samples.files_below(os.path.join(store, "packs"))]


def packs_size(store):
    return sum(map(os.path.getsize, packs_of(store)))


def set_aside(store):
    os.makedirs(os.path.join(store, "trash", "packs"), exist_ok=True)
    for path in packs_of(store):
        os.rename(path, os.path.join(store, "trash", "packs",
                                     os.path.basename(path)))


def flip_late_byte(store):
    path = max(packs_of(store), key=os.path.getsize)
    damage.Flip(os.path.getsize(path) * 3 // 4, 1).apply(path)


@functools.lru_cache(None)
def record(scenario, model):
    recorder = crashing.Recorder(model, scenario.__name__)
    scenario(recorder)
    return recorder


class Crashes(harness.unittest.TestCase):
    """Each scenario on both kinds of file systems."""

    def crash(self, scenario):
        for model in crashing.MODELS:
            with self.subTest(model):
                self.check(record(scenario, model))

    def check(self, recorder):
        recording = recorder.recorded()
        self.assertEqual(recording.whole().files(),
                         replay.Recording(recorder.store).whole(0).files(),
                         "expected the log to hold all that was done")
        crashes = crashing.Crashes(recorder, recording, AMOUNT)
        found = crashes.find()
        print(f"\n  {len(recording.events)} events, {len(crashes.seen)} states",
              end="")
        self.assertFalse(found, "\n" + "\n".join(found))
        for image in crashes.some(MOUNTED):
            self.mount(recorder, image, crashes.look(image)[0])

    def mount(self, recorder, image, expected):
        """The kernel's side shows the same, and fsck leaves nothing to mend."""
        store = os.path.join(recorder.root, "left")
        image.make(store)
        with harness.Mount(store, recorder.point):
            for name, content in expected.items():
                kind, seen = calls.look(os.path.join(recorder.point, name))
                got = crashing.digest(seen) if kind == "bytes" else MISS
                self.assertEqual(got, content, f"{name}: errno {seen}")
        harness.tacfs("fsck", "--repair", "--read-data", store)
        done = harness.tacfs("fsck", "--read-data", store)
        self.assertEqual(done.returncode, 0, done.stdout.decode())
        shutil.rmtree(store)


def add_tests():
    for scenario in (new_store, versions, plain_files, sharing, trash, collecting,
                     set_aside_reused, repairing, evicting, evicting_in_a_mount,
                     rewriting):
        def test(self, scenario=scenario):
            self.crash(scenario)
        test.__doc__ = scenario.__doc__
        setattr(Crashes, f"test_{scenario.__name__}", mount_only(test))


add_tests()


@mount_only
class Mutants(harness.unittest.TestCase):
    """Without one of the steps that bring something to disk a crash is bad."""

    def assertNeeded(self, scenario, model, is_dropped):
        recorder = record(scenario, model)
        packs = inodes_of_packs(recorder)

        def drop(lines):
            dropped = [is_dropped(line, line.split()[1] in packs) for line in lines]
            self.assertIn(True, dropped, "expected such lines")
            return ["#" + line[1:] if gone else line
                    for line, gone in zip(lines, dropped)]
        crashes = crashing.Crashes(recorder, recorder.recorded(drop), AMOUNT)
        self.assertTrue(crashes.find(), f"expected a bad crash among "
                        f"{len(crashes.seen)}")

    def test_data_of_packs(self):
        for model, word in (("journal", "range"), ("weak", "fsync")):
            with self.subTest(model):
                self.assertNeeded(versions, model, lambda line, is_pack, word=word:
                                  line.startswith(word) and is_pack)

    def test_data_of_manifests(self):
        for model, word in (("journal", "range"), ("weak", "fsync")):
            with self.subTest(model):
                self.assertNeeded(versions, model, lambda line, is_pack, word=word:
                                  line.startswith(word) and not is_pack)

    def test_commit(self):
        self.assertNeeded(versions, "journal",
                          lambda line, _: line.startswith("fsync"))

    def test_names(self):
        """Of each directory that was brought to disk for the first publication."""
        recorder = record(new_store, "weak")
        directories = {line.split()[1] for line in lines_of(recorder)
                       if line.startswith("mkdir")} | {str(inode(recorder.store))}
        synced = {line.split()[1] for line in lines_of(recorder)
                  if line.startswith("fsync")} & directories
        self.assertGreater(len(synced), 5)
        for directory in synced:
            with self.subTest(directory):
                self.assertNeeded(new_store, "weak", lambda line, _:
                                  line.split()[:2] == ["fsync", directory])

    def test_what_is_collected(self):
        self.assertNeeded(collecting, "weak",
                          lambda line, _: line.startswith("syncfs"))


def inode(path):
    return os.stat(path).st_ino


def lines_of(recorder):
    with open(recorder.log, encoding="ascii") as log:
        return log.readlines()


def inodes_of_packs(recorder):
    """Of those that were given the name of a pack."""
    return {line.split()[1] for line in lines_of(recorder)
            if line.startswith("link") and len(line.split()[3]) == 2 * 32}


if __name__ == "__main__":
    if os.access("/dev/shm", os.W_OK):  # thousands of small files
        os.environ.setdefault("TACFS_TEST_DIR", "/dev/shm")
    harness.main()
