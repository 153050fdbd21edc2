# SPDX-License-Identifier: Apache-2.0
"""Hosts that share a store on a network file system see what the others did.

Names, also missing ones, and attributes are kept for 30 seconds there, so whoever
relies on them is wrong for that long. All that is asserted holds at once: at the
first open after what the other host has done.
"""
import errno
import os
import shutil
import struct
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "mount"))
sys.path.insert(0, HERE)

import calls  # noqa: E402
import collecting  # noqa: E402
import harness  # noqa: E402
import hosts  # noqa: E402
import loops  # noqa: E402
import samples  # noqa: E402
from harness import mount_only  # noqa: E402

LARGE = 700000  # more than anybody reads ahead


def packs_of(store):
    return [os.path.join(store, "packs", name)
            for name in samples.files_below(os.path.join(store, "packs"))]


class HostsTest(harness.MountTest):
    """Two hosts for all tests of a class."""

    switches = ()

    @classmethod
    def setUpClass(cls):
        cls.root = harness.new_directory(cls.__name__)
        cls.served = os.path.join(cls.root, hosts.SERVED)
        cls.store = os.path.join(cls.served, "store")
        os.mkdir(cls.served)
        cls.a, cls.b = (cls.host(name) for name in "ab")
        cls.mounted = [cls.a.mount, cls.b.mount]
        cls.mount, cls.other = cls.mounted

    @classmethod
    def host(cls, name, **more):
        host = hosts.Host(cls.root, name, cls.switches, **more)
        cls.addClassCleanup(host.discard)
        return host.start()

    @classmethod
    def tearDownClass(cls):
        cls.a.stop()
        cls.b.stop()

    def tearDown(self):
        super().tearDown()
        self.assertEqual(samples.files_below(os.path.join(self.store, "quarantine")),
                         [], "expected nothing taken for damaged")

    def pair(self, *parts):
        """A path in the test's directory, on both hosts."""
        return self.path(*parts), os.path.join(self.other_dir, *parts)

    def succeed(self, done):
        self.assertEqual(done.returncode, 0,
                         f"{done.args[1:]}: {done.stdout}{done.stderr}")


@mount_only
class Seen(HostsTest):
    def test_publication_under_a_name_that_was_missing(self):
        for parts in ("model", "compiled_module"), ("model", "a.om"), ("b.json",):
            a, b = self.pair(*parts)
            content = samples.om(1) if a.endswith(".om") else samples.module(1)
            self.assertMissing(b)
            calls.save(a, content)
            self.assertContent(b, content)
            self.assertEqual(os.stat(b).st_size, len(content))

    def test_overwriting(self):
        a, b = self.pair("compiled_module")
        for seed in range(4):
            content = samples.module(seed, (1000, 100000)[seed % 2])
            calls.save(a, content)
            self.assertContent(b, content)
            a, b = b, a

    def test_deletion_and_what_comes_after(self):
        a, b = self.pair("model", "compiled_module")
        for seed in range(3):
            calls.save(a, samples.module(seed))
            self.assertContent(b, samples.module(seed))
            if seed < 2:
                os.unlink(a)
            else:
                shutil.rmtree(os.path.dirname(a))
            self.assertMissing(b)
            self.assertFalse(os.path.exists(b))
        calls.save(a, samples.module(9))
        self.assertContent(b, samples.module(9))

    def test_directory_that_was_made_again(self):
        a, b = self.pair("d", "e", "x.json")
        for turn in range(3):
            calls.save(a, b"%050d" % turn)
            self.assertContent(b, b"%050d" % turn)
            shutil.rmtree(self.path("d"))
            os.makedirs(self.path("d", "e"))
            self.assertListing(os.path.dirname(b), [])
            self.assertMissing(b)

    def test_open_directory_that_was_removed(self):
        os.mkdir(self.path("d"))
        fd = os.open(os.path.join(self.other_dir, "d"), os.O_RDONLY)
        self.addCleanup(os.close, fd)
        os.rmdir(self.path("d"))
        for flags in os.O_RDONLY, os.O_WRONLY | os.O_CREAT:
            self.assertErrno(errno.ENOENT, os.open, "x.json", flags, dir_fd=fd)

    def test_renaming(self):
        for old, new in ("a.json", "b.json"), ("a.om", "b.om"):
            content = samples.om(5)
            calls.save(self.path(old), content)
            a, b = self.pair(new)
            self.assertMissing(b)
            self.assertContent(os.path.join(self.other_dir, old), content)
            os.rename(self.path(old), a)
            self.assertContent(b, content)
            self.assertMissing(os.path.join(self.other_dir, old))

    def test_moved_directory_and_another_in_its_place(self):
        a, b = self.pair("d", "x.json")
        calls.save(a, b"1" * 50)
        self.assertContent(b, b"1" * 50)
        os.rename(self.path("d"), self.path("e"))
        calls.save(a, b"2" * 50)
        self.assertContent(b, b"2" * 50)
        self.assertContent(os.path.join(self.other_dir, "e", "x.json"), b"1" * 50)

    def test_changed_attributes(self):
        a, b = self.pair("compiled_module")
        calls.save(a, samples.module(1))
        self.assertContent(b, samples.module(1))
        os.utime(b, (5, 5))
        os.chmod(a, 0o640)
        self.assertContent(b, samples.module(1))
        harness.wait_until(lambda: os.stat(b).st_mode & 0o777 == 0o640,
                           "the other host's mode")
        self.assertEqual(os.stat(b).st_mtime, 5)
        self.assertEqual(os.stat(a).st_mtime, 5)

    def test_rename_to_a_free_name_only(self):
        for kind in ("x.json", "x.om", "compiled_module"):
            with self.subTest(kind=kind):
                a, b = self.pair(kind)
                source = self.path("source")
                content = samples.om(1) if kind == "x.om" else samples.module(1)
                self.assertMissing(b)
                calls.save(source, content)
                calls.rename_new(source, a)
                self.assertContent(b, content)
                self.assertFalse(os.path.exists(source))
                calls.save(os.path.join(self.other_dir, "late"), content)
                self.assertErrno(errno.EEXIST, calls.rename_new, self.path("late"), a)

    def test_rename_of_a_directory_to_a_free_name_only(self):
        calls.save(self.path("d", "x.json"), b"1" * 50)
        self.assertMissing(os.path.join(self.other_dir, "e"))
        calls.rename_new(self.path("d"), self.path("e"))
        self.assertContent(os.path.join(self.other_dir, "e", "x.json"), b"1" * 50)
        os.mkdir(os.path.join(self.other_dir, "f"))
        self.assertErrno(errno.EEXIST, calls.rename_new, self.path("e"),
                         self.path("f"))
        self.assertListing(self.path("e"), ["x.json"])


@mount_only
class Shared(HostsTest):
    def test_exclusive_creation(self):
        names = [f"{number}.lock" for number in range(20)]
        agents = self.agents(2)
        for agent, directory in zip(agents, (self.dir, self.other_dir)):
            agent.begin("calls.create_exclusively", directory, names)
        won = [agent.end() for agent in agents]
        self.assertEqual(sorted(sum(won, [])), sorted(names),
                         "expected each name to be made once")
        self.assertListing(self.dir, names)

    def test_directories_are_made_once(self):
        agents = self.agents(2)
        for agent, directory in zip(agents, (self.dir, self.other_dir)):
            agent.begin("calls.make_directories", directory, 20)
        self.assertEqual(sum(agent.end() for agent in agents), 20)

    def test_a_pack_that_was_seen_missing(self):
        """Whatever of its path it was, the good manifest stays and is served."""
        for seed, part in (20, "pack"), (21, "its directory"):
            a, b = self.pair(str(seed), "compiled_module")
            before = set(packs_of(self.store))
            calls.save(a, samples.module(seed, 60000))
            path, = set(packs_of(self.store)) - before
            if part != "pack":
                path = os.path.dirname(path)
            os.rename(path, f"{self.store}/away")
            there = os.path.join(self.b.store, os.path.relpath(path, self.store))
            self.assertFalse(os.path.exists(there))
            os.rename(f"{self.store}/away", path)
            self.assertContent(b, samples.module(seed, 60000))

    def test_a_pack_that_was_set_aside_elsewhere(self):
        a, b = self.pair("compiled_module")
        before = set(packs_of(self.store))
        calls.save(a, samples.module(22, 60000))
        pack, = set(packs_of(self.store)) - before
        self.assertContent(b, samples.module(22, 60000))
        aside = os.path.join("trash", "packs", os.path.basename(pack))
        os.makedirs(os.path.join(self.store, "trash", "packs"), exist_ok=True)
        self.assertFalse(os.path.exists(os.path.join(self.b.store, aside)))
        os.rename(pack, os.path.join(self.store, aside))
        self.assertContent(b, samples.module(22, 60000))
        self.assertTrue(self.b.tacfs("gc").returncode == 0)
        self.assertContent(a, samples.module(22, 60000))

    def test_undelete(self):
        a, b = self.pair("compiled_module")
        calls.save(a, samples.module(31, 60000))
        self.assertContent(b, samples.module(31, 60000))
        os.unlink(b)
        self.assertMissing(a)
        self.succeed(self.a.tacfs("undelete", os.path.relpath(a, self.a.path)))
        self.assertContent(b, samples.module(31, 60000))
        self.assertContent(a, samples.module(31, 60000))

    def test_reader_of_a_replaced_version_reads_on(self):
        a, b = self.pair("compiled_module")
        content = samples.module(41, LARGE)
        calls.save(a, content)
        fd = os.open(b, os.O_RDONLY)
        self.addCleanup(os.close, fd)
        self.assertEqual(os.pread(fd, 4096, 0), content[:4096])
        calls.save(a, samples.module(42, LARGE))
        self.assertContent(b, samples.module(42, LARGE))
        os.unlink(a)
        self.assertMissing(b)
        self.assertEqual(calls.read_fd(fd), content)

    def test_collected_elsewhere_is_a_miss(self):
        a, b = self.pair("compiled_module")
        content = samples.module(43, LARGE)
        calls.save(a, content)
        self.assertContent(b, content)
        fd = os.open(b, os.O_RDONLY)
        self.addCleanup(os.close, fd)
        os.unlink(a)
        self.succeed(self.a.tacfs("gc", "--grace=0", "--keep=0"))
        self.assertMissing(b)
        try:
            self.assertEqual(calls.read_fd(fd), content)
        except OSError as error:
            self.assertEqual(error.errno, errno.EIO)
        calls.save(b, content)
        self.assertContent(a, content)

    def test_doctor_finds_it_fit_for_use(self):
        done = self.b.tacfs("doctor")
        self.assertEqual(done.returncode, 1, done.stdout)


@mount_only
class NotSeenYet(HostsTest):
    """A host that knows a part of the store as missing, which another makes."""

    def test_the_first_deletion(self):
        """It comes when the collector has looked for deleted files, and found none."""
        kept = os.path.join(self.store, "trash", "refs")
        move = os.path.join(self.store, "intents", "moves-0123456789abcdef")
        a, _ = self.pair("compiled_module")
        content = samples.module(51, LARGE)
        calls.save(a, content)
        self.assertFalse(os.path.exists(kept))
        calls.write(move, struct.pack("<QQ", 1, 0))  # begun: it waits for the end
        gc = subprocess.Popen([harness.binary(), "gc", "--grace=0", self.b.store],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.addCleanup(loops.end, gc)
        harness.wait_until(lambda: os.path.exists(
            os.path.join(self.store, "intents", "collecting")), "a collector")
        time.sleep(0.2)
        os.unlink(a)
        self.assertTrue(os.path.exists(kept))
        os.unlink(move)
        self.assertEqual(gc.wait(harness.PATIENCE), 0)
        self.succeed(self.a.tacfs("undelete", os.path.relpath(a, self.a.path)))
        self.assertContent(a, content)


@mount_only
class AllAtOnce(HostsTest):
    """Both hosts write, move, delete, read, collect, bring back and check."""

    switches = ("no-link", "no-flags", "lying", "unread")
    writers = 4
    seconds = harness.amount(5, 60)

    def test_what_was_not_deleted_is_there(self):
        journals = os.path.join(self.root, "journals")
        os.mkdir(journals)
        for name in ("shared", "kept", "moved", "passing"):
            os.mkdir(os.path.join(self.mount.path, name))
        loops.run_while_writing(
            self, self.writers, self.seconds, journals,
            [self.a.path, self.b.path],
            (([("gc", "--grace=0", f"--keep={keep}", host.store)
               for host in (self.a, self.b) for keep in (0, 3600)], 1),
             ([("undelete", self.b.store, f"passing/{number}")
               for number in range(collecting.PASSING)], 0)))
        self.succeed(self.b.tacfs("fsck", "--read-data"))


@mount_only
class NamelessFilesButNoLinks(harness.MountTest):
    mounts = 2
    environment = hosts.preload(TACFS_TEST_NO_LINK=1)

    def test_publishing_and_bringing_back(self):
        a, b = self.path("compiled_module"), os.path.join(self.other_dir,
                                                          "compiled_module")
        for seed, size in (1, 1000), (2, 60000):
            calls.save(a, samples.module(seed, size))
            self.assertContent(b, samples.module(seed, size))
        os.unlink(b)
        done = harness.tacfs("undelete", self.store, os.path.relpath(a, self.mount.path),
                             env={**os.environ, **self.environment})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertContent(a, samples.module(2, 60000))
        self.assertEqual(os.listdir(os.path.join(self.store, "tmp")), [])

    def test_exclusive_creation(self):
        agents = self.agents(2)
        names = [f"{number}.lock" for number in range(20)]
        for agent, directory in zip(agents, (self.dir, self.other_dir)):
            agent.begin("calls.create_exclusively", directory, names)
        self.assertEqual(sorted(sum((agent.end() for agent in agents), [])),
                         sorted(names))


LACKS = {"NoLinks": ("no-link",), "NoFlags": ("no-flags",), "Lying": ("lying",),
         "Nothing": ("no-link", "no-flags", "lying", "unread")}


def add_classes():
    """The same where something is missing, or where everything is."""
    for lack, switches in LACKS.items():
        # Nothing but what is shared could depend on locks.
        for tests in (Shared,) if lack == "Lying" else (Seen, Shared):
            name = f"{tests.__name__}{lack}"
            globals()[name] = type(name, (tests,), {"__module__": __name__,
                                                    "switches": switches})


add_classes()


if __name__ == "__main__":
    harness.main()
