# SPDX-License-Identifier: Apache-2.0
"""Files that are no artifacts behave as on any other file system."""
import errno
import fcntl
import os
import shutil
import sqlite3
import stat
import subprocess
import unittest

import calls
import harness
import samples
from harness import mount_only


class PlainTest(harness.MountTest):
    def write(self, name, content=b"content", mode=0o600):
        calls.write(self.path(name), content, mode)
        return self.path(name)

    def assertMode(self, path, expected):
        seen = samples.permissions(path)
        self.assertEqual(oct(seen), oct(expected), f"{harness.short(path)}: "
                         f"expected mode {expected:o}, seen {seen:o}")

    def assertTime(self, path, expected):
        seen = os.lstat(path).st_mtime_ns
        self.assertEqual(seen, expected, f"{harness.short(path)}: expected mtime "
                         f"{expected}, seen {seen}")


class Visibility(PlainTest):
    mounts = 2

    def test_visible_from_creation_on(self):
        writer = self.agent()
        fd = writer.os.open(self.path("log"), os.O_WRONLY | os.O_CREAT, 0o600)
        self.assertContent(self.path("log"), b"")
        self.assertListing(self.dir, ["log"])
        writer.os.close(fd)

    def test_reads_are_coherent_while_a_writer_writes(self):
        writer, reader = self.agents(2)
        content = samples.text("coherent", 300000)
        fd = writer.calls.begin(self.path("data"), b"")
        reading = reader.os.open(self.path("data"), os.O_RDONLY)
        for end in (1, 100, 4096, 70000, 300000):
            writer.calls.write_fd(fd, content[os.stat(self.path("data")).st_size:end])
            size = os.stat(self.path("data")).st_size
            self.assertEqual(size, end, f"expected stat to see {end} bytes at once, "
                             f"seen {size}")
            self.assertContent(self.path("data"), content[:end])
            seen = reader.calls.read_fd(reading)
            self.assertEqual(len(seen), end, "expected a descriptor opened while "
                             f"the writer writes to see {end} bytes, seen {len(seen)}")
            self.assertTrue(seen == content[:end], "expected the writer's bytes")
        writer.os.close(fd)
        self.assertContent(self.path("data"), content)

    def test_overwrites_are_coherent(self):
        writer, reader = self.agents(2)
        content = bytearray(samples.text("overwrite", 200000))
        fd = writer.calls.begin(self.path("data"), content)
        reading = reader.os.open(self.path("data"), os.O_RDONLY)
        self.assertTrue(reader.calls.read_fd(reading) == content,
                        "expected the first content")
        for offset in (0, 5000, 65535, 199990):
            content[offset:offset + 10] = b"0123456789"
            writer.os.pwrite(fd, b"0123456789", offset)
            seen = reader.os.pread(reading, 30, max(0, offset - 10))
            expected = bytes(content[max(0, offset - 10):][:30])
            self.assertEqual(seen, expected, f"expected {expected} at {offset}, "
                             f"seen {seen}")
        writer.os.ftruncate(fd, 1000)
        seen = reader.calls.read_fd(reading)
        self.assertEqual(len(seen), 1000, "expected 1000 bytes after ftruncate, "
                         f"seen {len(seen)}")

    def test_close_publishes_to_the_other_mount(self):
        for number in range(10):
            content = samples.text(number, 1000 * number)
            self.write("data", content)
            self.assertContent(os.path.join(self.other_dir, "data"), content,
                               hint=f" closed for the {number + 1}th time")

    def test_fsync_publishes_to_the_other_mount(self):
        writer = self.agent()
        fd = writer.calls.begin(self.path("data"), b"first ")
        for call in (writer.os.fsync, writer.os.fdatasync):
            writer.calls.write_fd(fd, b"more ")
            call(fd)
            self.assertContent(os.path.join(self.other_dir, "data"),
                               calls.read(self.path("data")), hint=" after fsync")
        writer.os.close(fd)

    def test_removal_is_seen_in_the_other_mount(self):
        self.write("data")
        os.mkdir(self.path("sub"))
        there = os.path.join(self.other_dir, "data")
        self.assertContent(there, b"content")
        os.unlink(self.path("data"))
        os.rmdir(self.path("sub"))
        self.assertEqual(calls.look(there), ("errno", errno.ENOENT),
                         "expected ENOENT at once from the other mount's open")
        harness.wait_until(lambda: os.listdir(self.other_dir) == [],
                           "the other mount's listing to be empty")

    def test_changes_of_attributes_are_seen_in_the_other_mount(self):
        path = self.write("data")
        there = os.path.join(self.other_dir, "data")
        os.stat(there)
        os.chmod(path, 0o755)
        os.utime(path, ns=(10**18, 10**18 + 3))
        harness.wait_until(
            lambda: samples.permissions(there) == 0o755
            and os.stat(there).st_mtime_ns == 10**18 + 3,
            "the other mount to see mode 0755 and the new time")


class Locks(PlainTest):
    """flock as GE and TorchAir use it: held long, waited for, never failing."""

    def setUp(self):
        super().setUp()
        self.file = self.path("graph_1.lock")

    def locked(self, agent, kind=fcntl.LOCK_EX):
        fd = agent.os.open(self.file, os.O_CREAT | os.O_WRONLY, 0o600)
        agent.fcntl.flock(fd, kind)
        return fd

    def test_exclusive_lock_excludes(self):
        first, second = self.agents(2)
        self.locked(first)
        fd = second.os.open(self.file, os.O_CREAT | os.O_WRONLY, 0o600)
        for kind in (fcntl.LOCK_EX, fcntl.LOCK_SH):
            self.assertErrno(errno.EWOULDBLOCK, second.fcntl.flock, fd,
                             kind | fcntl.LOCK_NB)

    def test_blocked_waiter_gets_the_lock(self):
        first, second = self.agents(2)
        fd = self.locked(first)
        waiting = second.os.open(self.file, os.O_RDONLY)
        second.begin("fcntl.flock", waiting, fcntl.LOCK_EX)
        self.assertFalse(second.answered(0.2), "expected the second process to "
                         "wait for the lock, seen it go on")
        first.fcntl.flock(fd, fcntl.LOCK_UN)
        second.end()

    def test_waiter_gets_the_lock_of_a_dead_process(self):
        first, second = self.agents(2)
        self.locked(first)
        waiting = second.os.open(self.file, os.O_RDONLY)
        second.begin("fcntl.flock", waiting, fcntl.LOCK_EX)
        first.kill()
        second.end()

    def test_shared_locks_coexist(self):
        agents = self.agents(3)
        for agent in agents:
            self.locked(agent, fcntl.LOCK_SH | fcntl.LOCK_NB)
        fd = os.open(self.file, os.O_RDONLY)
        self.addCleanup(os.close, fd)
        self.assertErrno(errno.EWOULDBLOCK, fcntl.flock, fd,
                         fcntl.LOCK_EX | fcntl.LOCK_NB)

    def test_many_waiters_do_not_stop_the_mount(self):
        first, second = self.agents(2)
        fd = self.locked(first)
        second.calls.wait_for_lock(self.file, 40)
        for number in range(20):
            content = samples.text(number, 5000)
            self.write(f"{number}", content)
            self.assertContent(self.path(f"{number}"), content)
        first.fcntl.flock(fd, fcntl.LOCK_UN)
        harness.wait_until(lambda: second.calls.locks_got() == 40,
                           "40 waiters to get the lock one after the other")

    def test_record_locks_exclude(self):
        first, second = self.agents(2)
        one, two = (agent.os.open(self.file, os.O_CREAT | os.O_RDWR, 0o600)
                    for agent in (first, second))
        first.fcntl.lockf(one, fcntl.LOCK_EX, 10, 0)
        second.fcntl.lockf(two, fcntl.LOCK_EX | fcntl.LOCK_NB, 10, 20)
        self.assertErrno(errno.EAGAIN, second.fcntl.lockf, two,
                         fcntl.LOCK_EX | fcntl.LOCK_NB, 10, 5)

    def test_lock_outlives_unlink_and_remains_per_file(self):
        first, second = self.agents(2)
        self.locked(first)
        os.unlink(self.file)
        fd = self.locked(second, fcntl.LOCK_EX | fcntl.LOCK_NB)  # a new file
        second.os.close(fd)

    def test_opened_for_appending(self):
        """As the static kernels' cache does it."""
        with open(self.file, "a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            self.write("static.json.tmp", b"{}")
            os.rename(self.path("static.json.tmp"), self.path("static.json"))
            fcntl.flock(file, fcntl.LOCK_UN)
        self.assertContent(self.path("static.json"), b"{}")
        self.assertContent(self.file, b"")


class Creation(PlainTest):
    mounts = 2

    def test_exclusive_creation_has_one_winner(self):
        """Four processes in two mounts want each name; each has one creator."""
        agents = self.agents(4)
        names = [f"lock{number}" for number in range(50)]
        for number, agent in enumerate(agents):
            agent.begin("calls.create_exclusively",
                        (self.dir, self.other_dir)[number % 2], names)
        won = [agent.end() for agent in agents]
        for name in names:
            winners = sum(name in names_won for names_won in won)
            self.assertEqual(winners, 1, f"{name}: expected one process to create "
                             f"it, seen {winners}")

    def test_exclusive_creation_of_what_the_other_mount_has_open(self):
        writer = self.agent()
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        fd = writer.os.open(self.path("lock"), flags, 0o600)
        there = os.path.join(self.other_dir, "lock")
        self.assertErrno(errno.EEXIST, os.open, there, flags)
        self.assertErrno(errno.EEXIST, os.open, self.path("lock"), flags)
        writer.os.close(fd)
        os.unlink(self.path("lock"))
        os.close(os.open(there, flags, 0o600))

    def test_appends_of_several_processes_are_all_there(self):
        agents = self.agents(4)
        for number, agent in enumerate(agents):
            agent.begin("calls.append_lines", self.path("log"), number, 100)
        for agent in agents:
            agent.end()
        lines = calls.read(self.path("log")).decode().split("\n")[:-1]
        expected = sorted(f"{number} {line:06d} {'x' * 40}"
                          for number in range(4) for line in range(100))
        self.assertEqual(len(lines), 400, f"expected 400 lines, seen {len(lines)}")
        self.assertTrue(sorted(lines) == expected, "expected every line whole and "
                        "once, seen others")

    def test_mkdir_has_one_winner(self):
        agents = self.agents(4)
        for number, agent in enumerate(agents):
            agent.begin("calls.make_directories",
                        (self.dir, self.other_dir)[number % 2], 50)
        won = sum(agent.end() for agent in agents)
        self.assertEqual(won, 50, f"expected 50 directories made once each, seen "
                         f"{won}")

    def test_rename_over_is_atomic(self):
        replacer, reader = self.agents(2)
        self.write("file", b"0" * 5000)
        stop = os.path.join(self.root, "stop")
        reader.begin("calls.read_often", self.path("file"), 5000, stop)
        replacer.begin("calls.replace_often", self.path("file"),
                       harness.amount(1, 10), stop)
        replacer.end()
        reads, errors = reader.end()
        self.assertEqual(errors, [], f"expected {reads} whole reads, seen {errors}")

    def test_reader_keeps_what_was_renamed_over(self):
        self.write("file", b"old")
        fd = os.open(self.path("file"), os.O_RDONLY)
        self.addCleanup(os.close, fd)
        self.write("file.tmp", b"new content")
        os.rename(self.path("file.tmp"), self.path("file"))
        self.assertEqual(calls.read_fd(fd), b"old", "expected the old content")
        self.assertContent(self.path("file"), b"new content")
        self.assertListing(self.dir, ["file"])


class Attributes(PlainTest):
    def test_creation_mode_follows_umask(self):
        for umask, mode, expected in ((0o022, 0o666, 0o644), (0o077, 0o777, 0o700),
                                      (0, 0o666, 0o666)):
            old = os.umask(umask)
            try:
                self.write(f"file{umask:o}", mode=mode)
                os.mkdir(self.path(f"dir{umask:o}"), mode)
            finally:
                os.umask(old)
            self.assertMode(self.path(f"file{umask:o}"), expected)
            self.assertMode(self.path(f"dir{umask:o}"), expected)

    def test_owner_is_the_caller(self):
        os.mkdir(self.path("dir"))
        os.symlink("target", self.path("link"))
        for path in (self.mount.path, self.path("dir"), self.path("link"),
                     self.write("file")):
            status = os.lstat(path)
            self.assertEqual((status.st_uid, status.st_gid),
                             (os.getuid(), os.getgid()),
                             f"{harness.short(path)}: expected the caller as owner")
        os.chown(self.path("file"), os.getuid(), os.getgid())
        os.chown(self.path("file"), -1, -1)

    def test_attributes_survive_a_remount(self):
        expected = {}
        for number, mode in enumerate((0o600, 0o644, 0o755, 0o400, 0o4755)):
            for make, name in ((self.write, f"file{mode:o}"),
                               (lambda n: os.mkdir(self.path(n)), f"dir{mode:o}")):
                if name == "dir4755":
                    continue
                make(name)
                os.chmod(self.path(name), mode)
                time = 1234567890123456789 + number
                os.utime(self.path(name), ns=(time, time))
                expected[name] = mode, time
        for when in ("at once", "after a remount"):
            for name, (mode, time) in expected.items():
                with self.subTest(name=name, when=when):
                    self.assertMode(self.path(name), mode)
                    self.assertTime(self.path(name), time)
            if when == "at once":
                self.mount.restart()

    def test_times_before_the_epoch_and_far_away(self):
        for number, time in enumerate((-1, -10**9 - 1, 0, 1, 4 * 10**18)):
            path = self.write(f"file{number}")
            os.utime(path, ns=(time, time))
            self.assertTime(path, time)
        self.mount.restart()
        for number, time in enumerate((-1, -10**9 - 1, 0, 1, 4 * 10**18)):
            self.assertTime(self.path(f"file{number}"), time)

    def test_a_write_moves_the_time(self):
        path = self.write("file")
        os.utime(path, ns=(1, 1))
        calls.append(path, b"more")
        self.assertGreater(os.stat(path).st_mtime_ns, 10**18,
                           "expected the time of the write")

    def test_set_time_survives_the_close(self):
        """cp -p and tar set the time of the open file, and then close it."""
        fd = calls.begin(self.path("file"), b"content")
        os.utime(fd, ns=(10**18 + 5, 10**18 + 5))
        os.fchmod(fd, 0o640)
        os.close(fd)
        for _ in range(2):
            self.assertTime(self.path("file"), 10**18 + 5)
            self.assertMode(self.path("file"), 0o640)
            self.mount.restart()

    def test_script_runs_from_the_mount(self):
        """Static kernels come as .run packages, which are executed."""
        path = self.write("kernel.run", b"#!/bin/sh\necho ran $1\n")
        self.assertErrno(errno.EACCES, subprocess.run, [path, "x"])
        os.chmod(path, 0o750)
        for _ in range(2):
            done = subprocess.run([path, "well"], capture_output=True)
            self.assertEqual(done.stdout, b"ran well\n", f"expected the script's "
                             f"output, seen {done}")
            self.mount.restart()

    def test_binary_runs_from_the_mount(self):
        shutil.copy2("/bin/true", self.path("true"))
        self.mount.restart()
        done = subprocess.run([self.path("true")])
        self.assertEqual(done.returncode, 0, f"expected 0, seen {done.returncode}")

    def test_inode_numbers_tell_files_apart(self):
        paths = [self.write(f"file{number}") for number in range(20)]
        numbers = {os.stat(path).st_ino for path in paths}
        self.assertEqual(len(numbers), 20, f"expected 20 inode numbers, seen "
                         f"{len(numbers)}")
        before = os.stat(paths[0]).st_ino
        calls.append(paths[0], b"more")
        self.assertEqual(os.stat(paths[0]).st_ino, before,
                         "expected the inode number to stay over a change")

    def test_listing_and_stat_agree(self):
        os.mkdir(self.path("dir"))
        os.symlink("file0", self.path("link"))
        for number in range(5):
            self.write(f"file{number}")
        calls.save(self.path("compiled_module"), samples.module(1))
        for _ in range(2):
            for entry in os.scandir(self.dir):
                status = os.lstat(entry.path)
                self.assertEqual(
                    (entry.inode(), entry.is_dir(follow_symlinks=False),
                     entry.is_symlink()),
                    (status.st_ino, stat.S_ISDIR(status.st_mode),
                     stat.S_ISLNK(status.st_mode)),
                    f"{entry.name}: expected the listing to agree with stat")
            self.mount.restart()

    def test_statvfs(self):
        seen = os.statvfs(self.dir)
        self.assertGreater(seen.f_blocks, 0, f"expected a size, seen {seen}")
        self.assertGreaterEqual(seen.f_namemax, 255, f"expected names of 255 bytes, "
                                f"seen {seen}")


class Directories(PlainTest):
    def test_errors(self):
        self.write("file")
        os.makedirs(self.path("full", "sub"))
        os.mkdir(self.path("empty"))
        table = (
            (errno.EEXIST, os.mkdir, self.path("full")),
            (errno.EEXIST, os.mkdir, self.path("file")),
            (errno.ENOENT, os.mkdir, self.path("none", "sub")),
            (errno.ENOTDIR, os.mkdir, self.path("file", "sub")),
            (errno.ENOTEMPTY, os.rmdir, self.path("full")),
            (errno.ENOTDIR, os.rmdir, self.path("file")),
            (errno.ENOENT, os.rmdir, self.path("none")),
            (errno.EISDIR, os.unlink, self.path("empty")),
            (errno.ENOENT, os.unlink, self.path("none")),
            (errno.ENOENT, os.open, self.path("none"), os.O_RDONLY),
            (errno.EISDIR, os.open, self.path("full"), os.O_WRONLY),
            (errno.ENOTDIR, os.open, self.path("file"),
             os.O_RDONLY | os.O_DIRECTORY),
            (errno.EEXIST, os.open, self.path("file"),
             os.O_WRONLY | os.O_CREAT | os.O_EXCL),
            (errno.ENOTEMPTY, os.rename, self.path("empty"), self.path("full")),
            (errno.ENOTDIR, os.rename, self.path("empty"), self.path("file")),
            (errno.EISDIR, os.rename, self.path("file"), self.path("empty")),
            (errno.ENOENT, os.rename, self.path("none"), self.path("other")),
            (errno.EINVAL, os.rename, self.path("full"), self.path("full", "x")),
            (errno.EINVAL, os.readlink, self.path("file")),
            (errno.ENAMETOOLONG, os.mkdir, self.path("n" * 256)),
            (errno.ENAMETOOLONG, os.open, self.path("n" * 256),
             os.O_WRONLY | os.O_CREAT),
        )
        for number, call, *arguments in table:
            with self.subTest(call=call.__name__, expected=errno.errorcode[number]):
                self.assertErrno(number, call, *arguments)
        self.assertListing(self.dir, ["empty", "file", "full"])

    def test_renames(self):
        os.makedirs(self.path("a", "sub"))
        self.write("a/sub/file", b"inside")
        os.mkdir(self.path("b"))
        os.rename(self.path("a"), self.path("b"))  # over an empty one
        self.assertContent(self.path("b", "sub", "file"), b"inside")
        os.rename(self.path("b", "sub"), self.path("c"))
        self.assertContent(self.path("c", "file"), b"inside")
        os.rename(self.path("c", "file"), self.path("file"))
        os.rename(self.path("file"), self.path("file"))
        self.assertContent(self.path("file"), b"inside")
        self.assertListing(self.dir, ["b", "c", "file"])
        self.mount.restart()
        self.assertContent(self.path("file"), b"inside")
        self.assertListing(self.dir, ["b", "c", "file"])

    def test_many_entries(self):
        names = [f"file{number:04d}" for number in range(harness.amount(600, 5000))]
        for name in names:
            os.close(os.open(self.path(name), os.O_WRONLY | os.O_CREAT, 0o600))
        self.assertListing(self.dir, names)
        for entry in os.scandir(self.dir):
            self.assertTrue(entry.is_file(), f"expected a file, seen {entry}")
        shutil.rmtree(self.dir)
        self.assertErrno(errno.ENOENT, os.stat, self.dir)
        os.mkdir(self.dir)

    def test_listing_while_entries_vanish(self):
        """Every name that stays is listed once, whatever is removed meanwhile."""
        for number in range(300):
            self.write(f"file{number:03d}", b"")
        seen = []
        with os.scandir(self.dir) as entries:
            for number, entry in enumerate(entries):
                seen.append(entry.name)
                if number == 10:
                    for gone in range(0, 300, 2):
                        os.unlink(self.path(f"file{gone:03d}"))
        odd = sorted(name for name in seen if int(name[4:]) % 2)
        self.assertEqual(odd, [f"file{number:03d}" for number in range(1, 300, 2)],
                         f"expected each name that stayed once, seen {len(odd)}")

    def test_deep_paths(self):
        path = self.path(*(f"directory{depth}" for depth in range(60)))
        os.makedirs(path)
        calls.write(os.path.join(path, "file"), b"deep")
        self.mount.restart()
        self.assertContent(os.path.join(path, "file"), b"deep")

    def test_working_directory(self):
        os.mkdir(self.path("here"))
        status, output = calls.run_command(
            ["sh", "-c", "echo text > file && mkdir sub && cat ../here/file && ls"],
            cwd=self.path("here"))
        self.assertEqual((status, output), (0, b"text\nfile\nsub\n"),
                         f"expected a shell to work here, seen {status} {output}")

    def test_symlinks(self):
        self.write("target", b"pointed at")
        links = {"relative": "target", "absolute": self.path("target"),
                 "dangling": "nowhere/at all", "long": "x" * 3000,
                 "chain": "relative", "odd": "\udcff\n "}
        for name, target in links.items():
            os.symlink(target, self.path(name))
        for _ in range(2):
            for name, target in links.items():
                seen = os.readlink(self.path(name))
                self.assertEqual(seen, target, f"{name}: expected {target[:40]!r}, "
                                 f"seen {seen[:40]!r}")
                self.assertTrue(stat.S_ISLNK(os.lstat(self.path(name)).st_mode),
                                f"{name}: expected a symlink")
            for name in ("relative", "absolute", "chain"):
                self.assertContent(self.path(name), b"pointed at")
            self.assertEqual(calls.look(self.path("dangling")),
                             ("errno", errno.ENOENT), "expected ENOENT")
            self.mount.restart()
        calls.write(self.path("relative"), b"written through")
        self.assertContent(self.path("target"), b"written through")
        os.unlink(self.path("chain"))
        self.assertListing(self.dir, ["target", *(set(links) - {"chain"})])

    def test_symlink_is_found_after_renames(self):
        self.write("target", b"pointed at")
        for directory in ("a", "b"):
            os.mkdir(self.path(directory))
            self.write(f"{directory}/target")
        os.symlink("target", self.path("a", "link"))
        for old, new in (("a/link", "b/link"), ("b/link", "link"),
                         ("link", "other"), ("other", "a/other"),
                         ("a/other", "link")):
            os.rename(self.path(old), self.path(new))
            seen = os.readlink(self.path(new))
            self.assertEqual(seen, "target", f"{new}: expected the link's target, "
                             f"seen {seen}")
        self.assertContent(self.path("link"), b"pointed at")

    def test_symlinked_directory(self):
        os.mkdir(self.path("real"))
        os.symlink("real", self.path("alias"))
        calls.write(self.path("alias", "file"), b"x")
        self.assertContent(self.path("real", "file"), b"x")


class Names(PlainTest):
    NAMES = (
        b"n" * 255, b".hidden", b"..two", b"...", b"with space", b" ", b"\n",
        b"line\nbreak", b"tab\t", b"quote'\"", b"back\\slash", b"-dash", b"*?[",
        b"\xff\xfe", b"\x80" * 100, b"\x01\x02", "推理".encode(),
        "é".encode(), "e\u0301".encode(), "🙂".encode() * 60, b"a.tmp", b".tmp",
        b"compiled_module.tmp", b"Compiled_Module", b"xcompiled_module", b".om",
        b"FORMAT", b"refs", b"packs", b"tmp", b"quarantine", b"stats.json", b"#x#",
        b"x~", b".nfs0001", b"readable.PY",
    )

    def test_names_come_back_exactly(self):
        where = os.fsencode(self.dir)
        names = [name for name in self.NAMES if name != b".om"]
        for number, name in enumerate(names):
            calls.write(os.path.join(where, name), b"%d" % number)
        for when in ("", " after a remount"):
            seen = sorted(os.listdir(where))
            self.assertEqual(seen, sorted(names), f"expected the names as written"
                             f"{when}")
            for number, name in enumerate(names):
                kind, content = calls.look(os.path.join(where, name))
                self.assertEqual((kind, content), ("bytes", b"%d" % number),
                                 f"{name!r}{when}: expected its content, seen "
                                 f"{kind} {content}")
            if not when:
                self.mount.restart()
        for number, name in enumerate(names):
            os.rename(os.path.join(where, name), os.path.join(where, b"moved"))
            os.unlink(os.path.join(where, b"moved"))
        self.assertListing(self.dir, [])

    def test_directories_may_have_any_name(self):
        """Also the names of artifacts and of readable.py."""
        where = os.fsencode(self.dir)
        names = (*self.NAMES, b"compiled_module", b"readable.py", b"a.idx", b"b.om")
        for name in names:
            os.mkdir(os.path.join(where, name))
            calls.write(os.path.join(where, name, b"x"), name)
        self.mount.restart()
        self.assertEqual(sorted(os.listdir(where)), sorted(names),
                         "expected the names of the directories")
        for name in names:
            kind, content = calls.look(os.path.join(where, name, b"x"))
            self.assertEqual(content, name, f"{name!r}: expected its file, seen "
                             f"{kind} {content}")
        shutil.rmtree(where)
        os.mkdir(where)

    @mount_only
    def test_root_has_no_virtual_name(self):
        root = os.listdir(self.mount.path)
        expected = [name for name in root if not name.startswith("test_")]
        self.assertEqual(expected, [], f"expected only what tests made, seen {root}")


class Contents(PlainTest):
    SIZES = (0, 1, 2, 36, 100, 2047, 2048, 2049, 4095, 4096, 4097, 8191, 8192, 16384,
             32767, 65535, 65536, 65537, 100000, 131071, 131072, 131073, 262144,
             (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3 * (1 << 20) + 12345)

    def check(self, contents):
        """All at once, and again after a remount."""
        for when in (" at once", " after a remount"):
            for name, content in contents.items():
                path = self.path(name)
                size = os.stat(path).st_size
                self.assertEqual(size, len(content), f"{name}{when}: expected "
                                 f"{len(content)} bytes from stat, seen {size}")
                self.assertContent(path, content, hint=when)
            if when == " at once":
                self.mount.restart()

    def test_sizes(self):
        for kind, make in (("noise", samples.noise), ("text", samples.text)):
            contents = {f"{kind}{size}": make(size, size) for size in self.SIZES}
            for name, content in contents.items():
                self.write(name, content)
            self.check(contents)

    def test_ways_of_writing(self):
        content = samples.text("ways", 200001)
        contents = {}
        for step in (1000, 4096, 4097, 65536, 131072, 200001):
            fd = calls.begin(self.path(f"step{step}"), b"")
            for start in range(0, len(content), step):
                calls.write_fd(fd, content[start:start + step])
            os.close(fd)
            contents[f"step{step}"] = content
        fd = calls.begin(self.path("backwards"), b"")
        for start in range(200000, -1, -40000):
            os.pwrite(fd, content[start:start + 40000], start)
        os.close(fd)
        contents["backwards"] = content
        self.check(contents)

    def test_ways_of_reading(self):
        content = samples.noise("reading", 300000)
        path = self.write("file", content)
        self.mount.restart()
        self.assertEqual(len(calls.read_as_ge(path)), 300000, "expected one read "
                         "to give everything")
        fd = os.open(path, os.O_RDONLY)
        self.addCleanup(os.close, fd)
        for offset, size in ((299999, 10), (300000, 10), (10**9, 10), (65530, 20),
                             (0, 1), (4095, 4098), (131070, 140000)):
            seen = os.pread(fd, size, offset)
            self.assertTrue(seen == content[offset:offset + size],
                            f"expected bytes {offset} to {offset + size}")

    def test_holes(self):
        fd = calls.begin(self.path("hole"), b"start")
        os.pwrite(fd, b"end", 1 << 20)
        os.close(fd)
        os.close(calls.begin(self.path("extended"), b"short"))
        os.truncate(self.path("extended"), 100000)
        fd = calls.begin(self.path("only"), b"")
        os.ftruncate(fd, 5000)
        os.close(fd)
        self.check({"hole": b"start" + b"\0" * ((1 << 20) - 5) + b"end",
                    "extended": b"short" + b"\0" * 99995,
                    "only": b"\0" * 5000})

    def test_changes_in_place(self):
        content = bytearray(samples.noise("place", 200000))
        self.write("file", content)
        for offset in (0, 199990, 65530, 100000):
            fd = os.open(self.path("file"), os.O_RDWR)
            os.pwrite(fd, b"changed...", offset)
            content[offset:offset + 10] = b"changed..."
            os.close(fd)
        calls.append(self.path("file"), b"appended")
        self.check({"file": bytes(content + b"appended")})
        os.truncate(self.path("file"), 70001)
        self.check({"file": bytes(content[:70001])})
        os.truncate(self.path("file"), 0)
        self.check({"file": b""})

    def test_shrunk_and_extended_again_is_zero(self):
        self.write("file", b"x" * 10000)
        os.truncate(self.path("file"), 100)
        os.truncate(self.path("file"), 10000)
        self.check({"file": b"x" * 100 + b"\0" * 9900})

    def test_large_files(self):
        size = 20 * 1000 * 1000
        contents = {"noise": samples.noise("large", size), "zeros": bytes(size)}
        for name, content in contents.items():
            self.write(name, content)
        self.check(contents)
        for name in contents:
            os.unlink(self.path(name))

    def test_unlinked_file_stays_usable(self):
        self.write("file", b"before")
        fd = os.open(self.path("file"), os.O_RDWR)
        os.unlink(self.path("file"))
        self.assertListing(self.dir, [])
        self.assertEqual(os.pread(fd, 10, 0), b"before", "expected the old bytes")
        os.pwrite(fd, b"AFTER", 6)
        self.assertEqual(os.pread(fd, 20, 0), b"beforeAFTER",
                         "expected what was written after unlink")
        os.close(fd)
        self.assertListing(self.dir, [])
        self.mount.restart()
        self.assertListing(self.dir, [])

    def test_access_mode_is_enforced(self):
        self.write("file")
        fd = os.open(self.path("file"), os.O_RDONLY)
        self.assertErrno(errno.EBADF, os.write, fd, b"x")
        os.close(fd)
        fd = os.open(self.path("file"), os.O_WRONLY)
        self.assertErrno(errno.EBADF, os.read, fd, 1)
        os.close(fd)


@mount_only
class ManyOpen(PlainTest):
    """A client may have more files open than the daemon has descriptors."""

    LIMIT = 256
    COUNT = 600

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.mount.stop()
        cls.mount.descriptors = cls.LIMIT
        cls.mount.start()

    def open_one(self, number, flags):
        fd = os.open(self.path(f"file{number}"), flags, 0o600)
        self.addCleanup(close_quietly, fd)
        return fd

    def content(self, number):
        return samples.noise(number, 3000)

    def test_reading(self):
        for number in range(self.COUNT):
            self.write(f"file{number}", self.content(number))
        self.mount.restart()
        fds = [self.open_one(number, os.O_RDONLY) for number in range(self.COUNT)]
        for number, fd in enumerate(fds):
            self.assertTrue(calls.read_fd(fd) == self.content(number),
                            f"expected the content of file {number}")

    def test_writing(self):
        """Fewer may be open for writing; but then open or write says so."""
        fds = [self.open_one(number, os.O_WRONLY | os.O_CREAT)
               for number in range(self.COUNT)]
        written = [number for number, fd in enumerate(fds)
                   if self.write_if_possible(fd, self.content(number))]
        self.assertGreater(len(written), self.LIMIT // 4, "expected many files to "
                           f"be written, seen {len(written)}")
        for fd in fds:
            os.close(fd)
        for number in written:
            self.assertContent(self.path(f"file{number}"), self.content(number))

    def write_if_possible(self, fd, content):
        try:
            calls.write_fd(fd, content)
        except OSError as error:
            self.assertIn(error.errno, (errno.EMFILE, errno.ENFILE),
                          f"expected success or EMFILE from write, seen {error}")
            return False
        return True


class Programs(PlainTest):
    """Programs that people run on a cache."""

    def fill(self):
        for number in range(10):
            os.makedirs(self.path("tree", f"d{number % 3}"), exist_ok=True)
            self.write(f"tree/d{number % 3}/f{number}",
                       samples.text(number, number * 7000))

    def test_sqlite(self):
        path = self.path("some.db")
        for journal in ("delete", "truncate", "persist"):
            with sqlite3.connect(path) as database:
                database.execute(f"pragma journal_mode = {journal}")
                database.execute("create table if not exists t (a integer, b text)")
                database.executemany("insert into t values (?, ?)",
                                     [(n, "x" * n) for n in range(200)])
            database.close()
        self.mount.restart()
        database = sqlite3.connect(path)
        rows = database.execute("select count(*), sum(a) from t").fetchone()
        check = database.execute("pragma integrity_check").fetchone()
        database.close()
        self.assertEqual((rows, check), ((600, 3 * 19900), ("ok",)),
                         f"expected 600 rows and a sound file, seen {rows} {check}")

    @unittest.skipUnless(shutil.which("git"), "git is not here")
    def test_git(self):
        script = ("git init -q . && git config user.email a@b && "
                  "git config user.name c && git add tree && git commit -qm one && "
                  "echo x >> tree/d0/f0 && git commit -qam two && git gc -q && "
                  "git fsck --strict && git status --porcelain && "
                  "git checkout -q HEAD~1 && git log --oneline | wc -l")
        self.fill()
        status, output = calls.run_command(["sh", "-c", script], cwd=self.dir)
        self.assertEqual((status, output.split()), (0, [b"1"]),
                         f"expected git to work, seen {status}: {output!r}")

    def test_tar_there_and_back(self):
        self.fill()
        os.mkdir(self.path("back"))
        script = "tar -cf t.tar tree && tar -C back -xf t.tar && diff -r tree back/tree"
        status, output = calls.run_command(["sh", "-c", script], cwd=self.dir)
        self.assertEqual((status, output), (0, b""), "expected no difference")

    @unittest.skipUnless(shutil.which("rsync"), "rsync is not here")
    def test_rsync_there_and_back(self):
        self.fill()
        script = ("rsync -a tree/ back && rsync -ai tree/ back && "
                  "diff -r tree back && echo y >> tree/d0/f0 && "
                  "rsync -a --delete tree/ back && diff -r tree back")
        status, output = calls.run_command(["sh", "-c", script], cwd=self.dir)
        self.assertEqual((status, output), (0, b""), "expected the second run to "
                         f"find nothing to do and no difference, seen {output!r}")

    def test_looking_around(self):
        self.fill()
        for command in ("ls -lR .", "find . -type f -size +1k", "du -s .",
                        "grep -rc a .", "cp -Rf tree copy", "mv copy other",
                        "rm -rf other", "stat tree/d0/f0", "df ."):
            status, output = calls.run_command(["sh", "-c", command], cwd=self.dir)
            self.assertEqual(status, 0, f"{command}: expected 0, seen {status}: "
                             f"{output!r}")


def close_quietly(fd):
    try:
        os.close(fd)
    except OSError:
        pass


if __name__ == "__main__":
    harness.main()
