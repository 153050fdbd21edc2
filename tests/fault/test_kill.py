# SPDX-License-Identifier: Apache-2.0
"""The daemon is killed at any instant: nothing that was closed is lost.

Writers note what they began and what was closed. After the kill and a new mount
each name shows what was closed last, or what was being closed; nothing else, and
nothing partial.
"""
import errno
import os
import random
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "mount"))
sys.path.insert(0, HERE)

import calls  # noqa: E402
import forge  # noqa: E402
import harness  # noqa: E402
import kinds  # noqa: E402
import load  # noqa: E402
import samples  # noqa: E402
from harness import mount_only  # noqa: E402

KILLS = harness.amount(6, 200)
WRITERS = 3
LIMIT = 20 if harness.sanitized() else 5  # seconds that a call may take
ARTIFACTS = ("compiled_module", ".om", ".idx")


class Journal:
    """What one writer noted: for each name the last done, and all begun since.

    Any of those may have been published: the daemon was killed before it could
    say so, perhaps in an earlier round.
    """

    def __init__(self, path):
        self.done = {}
        self.begun = {}
        self.failed = []
        if os.path.exists(path):
            for line in calls.read(path).decode().splitlines():
                self.take(line)

    def take(self, line):
        what, _, rest = line.partition(" ")
        if what == "failed":
            self.failed.append(rest)
            return
        name, number = rest.split()
        if what == "begin":
            self.begun.setdefault(name, []).append(int(number))
        else:
            self.done[name] = int(number)
            del self.begun[name]


@mount_only
class Killed(harness.MountTest):
    # Each writer has its own directory and journal, and goes on in the next
    # round where it was: what was done in any round must be there in the end.

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.journals = [os.path.join(cls.root, f"journal{number}")
                        for number in range(WRITERS)]

    def directory(self, number):
        return os.path.join(self.mount.path, f"writer{number}")

    def start_writers(self, round_):
        writers = []
        for number, journal in enumerate(self.journals):
            os.makedirs(self.directory(number), exist_ok=True)
            writers.append(subprocess.Popen(
                [sys.executable, os.path.join(HERE, "load.py"),
                 self.directory(number), journal, str(round_ * WRITERS + number)],
                stdin=subprocess.DEVNULL))
            self.addCleanup(end, writers[-1])
        return writers

    def kill_under_load(self, chance, round_):
        """Kills the daemon some time after every writer has begun."""
        before = [size_of(journal) for journal in self.journals]
        writers = self.start_writers(round_)
        harness.wait_until(
            lambda: all(size_of(journal) > size
                        for journal, size in zip(self.journals, before)),
            "every writer to begin")
        time.sleep(chance.random() * 0.5)
        self.mount.kill()
        for writer in writers:
            status = writer.wait(harness.PATIENCE)
            self.assertEqual(status, 0, "expected each writer to end because the "
                             f"mount was gone, seen {status}")
        self.mount.start()

    def test_nothing_closed_is_lost(self):
        chance = random.Random(7)
        checked = 0
        for round_ in range(KILLS):
            self.kill_under_load(chance, round_)
            for number, path in enumerate(self.journals):
                journal = Journal(path)
                self.assertEqual(journal.failed, [], "expected no failure before the "
                                 f"kill, seen {journal.failed}")
                checked += self.check_writer(self.directory(number), journal,
                                             f"kill {round_ + 1}")
        print(f"\n  {KILLS} kills, {checked} files checked")
        self.assertGreater(checked, 5, f"expected files to check, seen {checked}")
        self.check_store()

    def check_writer(self, directory, journal, when):
        checked = 0
        for name in load.NAMES:
            self.check_name(directory, name, journal, when)
            checked += name in journal.done
        self.check_leftovers(directory, when)
        return checked

    def allowed(self, name, journal):
        """The contents that a name may have now; None stands for ENOENT."""
        contents = []
        if name in journal.done:
            contents.append(load.content_of(name, journal.done[name]))
        else:
            contents.append(None)
        for number in journal.begun.get(name, ()):
            contents.append(load.content_of(name, number))
            if not name.endswith(ARTIFACTS) and name not in journal.done:
                contents.append(b"")  # created, and not closed
        return contents

    def check_name(self, directory, name, journal, when):
        path = os.path.join(directory, name)
        contents = self.allowed(name, journal)
        if name.endswith(".idx") and self.model_may_miss(directory, journal):
            contents.append(None)
        self.assertOneOf(path, *contents, hint=f" after {when} (done "
                         f"{journal.done.get(name)}, begun {journal.begun.get(name)})")

    def model_may_miss(self, directory, journal):
        return "prompt/graph_1.om" not in journal.done

    def check_leftovers(self, directory, when):
        """No other artifact is visible; a plain .tmp may be empty or whole."""
        for path in samples.files_below(directory):
            known = (*load.NAMES, "renamed.json.tmp", "prompt/readable.py",
                     "decode/readable.py")
            self.assertIn(path, known, f"after {when}: expected no other name")
            kind, seen = calls.look(os.path.join(directory, path))
            self.assertEqual(kind, "bytes", f"{path} after {when}: expected what is "
                             f"listed to open, seen {errno.errorcode.get(seen)}")

    def check_store(self):
        """The store needs no repair: another tree goes in and comes out."""
        leaf = self.path("model")
        for name in ("prompt/compiled_module", "large.bin"):
            os.makedirs(os.path.dirname(os.path.join(leaf, name)), exist_ok=True)
            calls.write(os.path.join(leaf, name), load.content_of(name, 1))
        self.mount.restart()
        for name in ("prompt/compiled_module", "large.bin"):
            self.assertContent(os.path.join(leaf, name), load.content_of(name, 1))

    def test_other_mounts_go_on(self):
        """Two mounts of the store; one dies while both publish."""
        self.mount.restart()
        there = harness.Mount(self.store, os.path.join(self.root, "other"))
        with there:
            calls.save(self.path("a", "compiled_module"), samples.module(1))
            other = os.path.join(there.path, self._testMethodName, "a")
            fd = os.open(os.path.join(other, "compiled_module"), os.O_RDONLY)
            writer = self.agent()
            writer.calls.begin(self.path("a", "compiled_module"),
                               samples.half(samples.module(2)))
            self.mount.kill()
            self.assertTrue(calls.read_fd(fd) == samples.module(1),
                            "expected the other mount's reader to go on")
            os.close(fd)
            self.assertContent(os.path.join(other, "compiled_module"),
                               samples.module(1))
            calls.save(os.path.join(other, "compiled_module"), samples.module(3))
            self.assertListing(other, ["compiled_module", "readable.py"])
            self.mount.start()
            self.assertContent(self.path("a", "compiled_module"), samples.module(3))

    def test_temporary_files_do_not_pile_up(self):
        """What killed publications left behind is gone after some mounts."""
        chance = random.Random(8)
        for round_ in range(3):
            self.kill_under_load(chance, 1000 + round_)
        self.mount.restart()
        left = samples.files_below(os.path.join(self.store, "tmp"))
        total = sum(os.lstat(os.path.join(self.store, "tmp", path)).st_size
                    for path in left)
        self.assertLess(total, 64 << 20, f"expected tmp/ to stay small, seen {total} "
                        f"bytes in {len(left)} files")


@mount_only
class InTheMidst(harness.MountTest):
    """A call of each kind waits for the daemon, in a process of its own."""

    KINDS = ("read_uncached", "read_open", "read_mapped", "read_directory", "statfs",
             "replace_artifact", "create_plain", "truncate", "fsync", "write_mapped",
             "write_open", "publish_open", "change_mode", "setxattr", "rename",
             "unlink", "mkdir")
    GONE = ("ENOTCONN", "ECONNABORTED")
    MAPPED = "EFAULT"  # SIGBUS, since a mapping cannot give an error

    def trees(self):
        """{kind: an agent that has begun on a tree of its own}"""
        agents = {kind: self.agent() for kind in self.KINDS}
        for kind, agent in agents.items():
            kinds.prepare(self.path(kind))
            agent.begin("kinds.begin", self.path(kind))
        for agent in agents.values():
            agent.end()
        return agents

    def test_every_call_ends_and_the_next_mount_has_it_all(self):
        agents = self.trees()
        waiting = []
        os.kill(self.mount.process.pid, signal.SIGSTOP)
        os.waitpid(self.mount.process.pid, os.WUNTRACED)
        for kind, agent in agents.items():
            agent.begin("kinds.attempt", self.path(kind), kind)
        for kind, agent in agents.items():
            if not agent.answered(0.02):
                waiting.append(kind)
        self.mount.process.kill()
        results = {}
        for kind, agent in agents.items():
            self.assertTrue(agent.answered(LIMIT), f"{kind}: expected an end within "
                            f"{LIMIT} s of the daemon's, seen none")
            results[kind] = agent.end()
        self.check_results(results, waiting)
        self.mount.process.wait()
        self.mount.start()  # in the place of the dead one
        for kind, agent in agents.items():
            wrong = kinds.check(self.path(kind), agent.kinds.allowed(self.path(kind)), ())
            self.assertEqual(wrong, [], kind)
            agent.kinds.release(self.path(kind))
            agent.kinds.resume(self.path(kind))
            self.assertEqual(agent.kinds.attempt(self.path(kind), kind), "done", kind)

    def check_results(self, results, waiting):
        for kind in waiting:
            allowed = (*self.GONE, self.MAPPED) if kind == "read_mapped" else self.GONE
            self.assertIn(results[kind], allowed, f"{kind}: {results}")
        self.assertEqual(set(self.KINDS), set(waiting), f"expected all to wait: {results}")


@mount_only
class Exchanged(harness.MountTest):
    """Another mount changes attributes while something is published, and is killed.

    What it has then left in the store is made by hand (format.md, "Exchanging").
    """

    def setUp(self):
        super().setUp()
        self.name = os.path.relpath(self.path("graph.om"), self.mount.path)
        self.manifest = os.path.join(self.store, "refs/default", self.name)
        self.draft = os.path.join(self.store, "intents/draft-0123456789abcdef")
        self.note = os.path.join(self.store, "intents/exchange-0123456789abcdef")

    def take_away(self, process):
        calls.save(self.path("graph.om"), samples.om(1))
        expected = calls.read(self.manifest)
        os.chmod(self.path("graph.om"), 0o640)
        changed = calls.read(self.manifest)
        calls.save(self.path("graph.om"), samples.om(2))
        self.mount.stop()
        os.rename(self.manifest, self.draft)
        calls.write(self.manifest, changed)
        boot = calls.read("/proc/sys/kernel/random/boot_id").decode().strip()
        text = (f" {boot} {os.stat('/proc/self/ns/pid').st_ino} {process} "
                f"{os.path.basename(self.draft)} {expected[-16:].hex()}="
                f"{changed[-16:].hex()} refs/default/{self.name}").encode()
        check = forge.check(text)[::-1].hex().encode()
        calls.write(self.note, check + text + b"\0")

    def assertBack(self):
        self.mount.start()
        self.assertContent(self.path("graph.om"), samples.om(2))
        self.assertFalse(os.path.lexists(self.draft))
        self.assertFalse(os.path.lexists(self.note))
        self.assertEqual(harness.tacfs("fsck", self.store).returncode, 0)

    def test_the_next_mount_puts_it_back(self):
        self.take_away(process_that_ended())
        self.assertBack()

    def test_commands_put_it_back(self):
        for command in (("gc",), ("fsck", "--repair")):
            with self.subTest(command):
                self.take_away(process_that_ended())
                self.assertEqual(harness.tacfs(*command, self.store).returncode, 0)
                self.assertFalse(os.path.lexists(self.draft))
                self.assertBack()

    def test_who_lives_does_it_himself(self):
        self.take_away(os.getpid())
        self.mount.start()
        self.assertContent(self.path("graph.om"), samples.om(1))
        self.assertTrue(os.path.lexists(self.draft))
        os.unlink(self.draft)
        os.unlink(self.note)


def process_that_ended():
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def size_of(path):
    return os.path.getsize(path) if os.path.exists(path) else 0


def end(process):
    if process.poll() is None:
        process.kill()
        process.wait()


if __name__ == "__main__":
    harness.main()
