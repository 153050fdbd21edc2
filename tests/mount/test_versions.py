# SPDX-License-Identifier: Apache-2.0
"""Artifacts are published whole, at the writer's close, or not at all."""
import errno
import os
import shutil
import signal
import unittest

import calls
import harness
import samples
from harness import mount_only

OLD = samples.module(1)
NEW = samples.module(2)
OM = samples.om(3)
NAME = "compiled_module"


class VersionTest(harness.MountTest):
    mounts = 2

    def setUp(self):
        super().setUp()
        self.file = self.path(NAME)

    def places(self, name):
        """The path of a name in both mounts."""
        return self.path(name), os.path.join(self.other_dir, name)

    def assertSeen(self, content, name=NAME, hint=""):
        """Everybody but the writer gets this content, in both mounts."""
        for path in self.places(name):
            self.assertContent(path, content, hint=hint)

    def assertUnseen(self, name=NAME, hint=""):
        for path in self.places(name):
            self.assertMissing(path, hint=hint)

    def assertSeenOrNot(self, content, name=NAME, hint=""):
        """`content` None: nothing is there."""
        if content is None:
            self.assertUnseen(name, hint)
        else:
            self.assertSeen(content, name, hint)


@mount_only
class Publication(VersionTest):
    def test_new_file_is_nobodys_until_closed(self):
        writer = self.agent()
        fd = writer.calls.begin(self.file, samples.half(NEW))
        self.assertUnseen(hint=" while half is written")
        writer.calls.write_fd(fd, NEW[len(NEW) // 2:])
        self.assertUnseen(hint=" while all is written")
        writer.os.close(fd)
        self.assertSeen(NEW, hint=" after the close")

    def test_writer_sees_its_own_file(self):
        writer = self.agent()
        part = samples.half(NEW)
        fd = writer.calls.begin(self.file, part)
        self.assertContent(self.file, part, by=writer.calls)
        size = writer.os.stat(self.file).st_size
        self.assertEqual(size, len(part), f"expected stat to give the writer "
                         f"{len(part)} bytes, seen {size}")
        size = writer.os.fstat(fd).st_size
        self.assertEqual(size, len(part), f"expected fstat to give the writer "
                         f"{len(part)} bytes, seen {size}")
        self.assertIn(NAME, writer.os.listdir(self.dir),
                      "expected the writer's listing to have its own file")
        self.assertUnseen(hint=" while its writer looks at it")
        writer.os.close(fd)

    def test_old_version_is_seen_until_the_close(self):
        calls.save(self.file, OLD)
        writer = self.agent()
        fd = writer.calls.begin(self.file, b"")
        self.assertSeen(OLD, hint=" after O_TRUNC")
        writer.calls.write_fd(fd, samples.half(NEW))
        self.assertSeen(OLD, hint=" while half is written")
        self.assertContent(self.file, samples.half(NEW), by=writer.calls)
        writer.calls.write_fd(fd, NEW[len(NEW) // 2:])
        self.assertSeen(OLD, hint=" while all is written")
        writer.os.close(fd)
        self.assertSeen(NEW, hint=" after the close")

    def test_neither_sync_nor_mode_nor_unlock_publishes(self):
        calls.save(self.file, OLD)
        os.chmod(self.file, 0o640)
        writer = self.agent()
        fd = writer.calls.begin(self.file, NEW)
        for step, call in (
                ("flock", lambda: writer.fcntl.flock(fd, 2)),
                ("fchmod", lambda: writer.os.fchmod(fd, 0o600)),
                ("unlock", lambda: writer.fcntl.flock(fd, 8)),
                ("fsync", lambda: writer.os.fsync(fd)),
                ("fdatasync", lambda: writer.os.fdatasync(fd)),
                ("utime", lambda: writer.os.utime(fd, ns=(1, 1)))):
            call()
            self.assertSeen(OLD, hint=f" after {step}")
            for path in self.places(NAME):
                self.assertEqual(oct(samples.permissions(path)), oct(0o640),
                                 f"{harness.short(path)} after {step}: expected "
                                 "the old mode")
        writer.os.close(fd)
        self.assertSeen(NEW, hint=" after the close")
        self.assertEqual(oct(samples.permissions(self.file)), oct(0o600),
                         "expected the new mode after the close")

    def test_other_mount_sees_size_and_listing_soon(self):
        """open sees at once; stat and a listing follow without an open."""
        directory = os.path.join(self.other_dir, "leaf")
        path = os.path.join(directory, NAME)
        os.mkdir(self.path("leaf"))
        for content in (samples.module(3, 3000), samples.module(4, 9000)):
            calls.save(self.path("leaf", NAME), content)
            harness.wait_until(
                lambda: calls.stat_errno(path) == 0
                and os.stat(path).st_size == len(content),
                f"the other mount's stat to give {len(content)} bytes")
            self.assertIn(NAME, os.listdir(directory), "expected the new name in "
                          "the other mount's listing")
        calls.read(path)
        os.unlink(self.path("leaf", NAME))
        self.assertEqual(calls.look(path), ("errno", errno.ENOENT),
                         "expected ENOENT at once from the other mount's open")
        harness.wait_until(lambda: calls.missing(path),
                           "the other mount to show nothing")

    def test_duplicates_of_the_descriptor(self):
        """A close of one duplicate loses nothing that the last one writes."""
        calls.save(self.file, OLD)
        writer = self.agent()
        fd = writer.calls.begin(self.file, samples.half(NEW))
        copy = writer.os.dup(fd)
        writer.os.close(fd)
        self.assertSeen(OLD, hint=" after the close of one of two descriptors")
        writer.calls.write_fd(copy, NEW[len(NEW) // 2:])
        writer.os.close(copy)
        self.assertSeen(NEW, hint=" after the last close")

    def test_two_writers_last_close_wins(self):
        first, second = self.agents(2)
        one, two = samples.module(11), samples.module(12)
        a = first.calls.begin(self.file, samples.half(one))
        b = second.calls.begin(self.file, samples.half(two))
        self.assertContent(self.file, samples.half(one), by=first.calls)
        self.assertContent(self.file, samples.half(two), by=second.calls)
        first.calls.write_fd(a, one[len(one) // 2:])
        second.calls.write_fd(b, two[len(two) // 2:])
        self.assertUnseen(hint=" while both write")
        second.os.close(b)
        self.assertSeen(two, hint=" after the second writer's close")
        first.os.close(a)
        self.assertSeen(one, hint=" after the first writer's later close")

    def test_two_writers_in_two_mounts(self):
        first, second = self.agents(2)
        one, two = samples.module(13), samples.module(14)
        here, there = self.places(NAME)
        a = first.calls.begin(here, one)
        b = second.calls.begin(there, samples.half(two))
        first.os.close(a)
        self.assertSeen(one, hint=" after the first writer's close")
        self.assertContent(there, samples.half(two), by=second.calls)
        second.calls.write_fd(b, two[len(two) // 2:])
        second.os.close(b)
        self.assertSeen(two, hint=" after the second writer's close")

    def test_exclusive_creation(self):
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        writer = self.agent()
        fd = writer.os.open(self.file, flags, 0o600)
        writer.calls.write_fd(fd, NEW)
        self.assertUnseen(hint=" while created by O_EXCL")
        writer.os.close(fd)
        self.assertSeen(NEW)
        for path in self.places(NAME):
            self.assertErrno(errno.EEXIST, os.open, path, flags)

    def test_two_descriptors_of_one_writer_share_a_version(self):
        calls.save(self.file, OLD)
        writer = self.agent()
        middle = len(NEW) // 2
        first = writer.calls.begin(self.file, NEW[:middle])
        second = writer.os.open(self.file, os.O_RDWR)
        self.assertEqual(writer.os.pread(second, middle, 0), NEW[:middle],
                         "expected the second descriptor to see the first's bytes")
        writer.os.pwrite(second, NEW[middle:], middle)
        self.assertSeen(OLD, hint=" while both descriptors are open")
        writer.os.close(second)
        writer.os.close(first)
        self.assertSeen(NEW, hint=" after both were closed")

    def test_thread_opens_and_another_closes(self):
        writer = self.agent()
        fd = writer.calls.begin_in_thread(self.file, NEW)
        self.assertUnseen(hint=" while open")
        writer.os.close(fd)
        self.assertSeen(NEW, hint=" after the close by another thread")

    def test_close_without_a_change_changes_nothing(self):
        calls.save(self.file, OLD)
        os.utime(self.file, ns=(10**18, 10**18 + 1))
        os.close(os.open(self.file, os.O_RDWR))
        os.close(os.open(self.file, os.O_WRONLY | os.O_APPEND))
        self.assertSeen(OLD)
        seen = os.stat(self.file).st_mtime_ns
        self.assertEqual(seen, 10**18 + 1, "expected the mtime to stay "
                         f"{10**18 + 1}, seen {seen}")

    def test_mode_and_time_of_a_published_artifact(self):
        calls.save(self.file, OLD)
        os.chmod(self.file, 0o640)
        os.utime(self.file, ns=(10**18, 10**18 + 7))
        self.assertSeen(OLD)
        for path in self.places(NAME):
            calls.read(path)
            status = os.stat(path)
            self.assertEqual((oct(status.st_mode & 0o7777), status.st_mtime_ns),
                             (oct(0o640), 10**18 + 7),
                             f"{harness.short(path)}: expected the mode and time "
                             "that were set")


@mount_only
class Snapshots(VersionTest):
    SIZE = 1 << 20

    def test_open_and_mapped_versions_stay(self):
        old, new = samples.module(21, self.SIZE), samples.module(22, self.SIZE)
        calls.save(self.file, old)
        readers = []
        for path in self.places(NAME):
            reader = self.agent()
            fd = reader.os.open(path, os.O_RDONLY)
            head = reader.os.pread(fd, 5000, 0)
            self.assertEqual(head, old[:5000], "expected the old version's start")
            readers.append((reader, fd, reader.calls.map_file(path)))
        for step, change in (
                ("a publication", lambda: calls.save(self.file, new)),
                ("an unlink", lambda: os.unlink(self.file)),
                ("rmdir", lambda: os.rmdir(self.dir)),
                ("a new one", lambda: calls.save(self.file, samples.module(23)))):
            change()
            for reader, fd, mapping in readers:
                self.check(reader.calls.read_fd(fd), old, f"read after {step}")
                self.check(reader.calls.mapped(mapping), old, f"mmap after {step}")
                size = reader.os.fstat(fd).st_size
                self.assertEqual(size, len(old), f"fstat after {step}: expected "
                                 f"{len(old)}, seen {size}")
        self.assertSeen(samples.module(23))

    def check(self, seen, expected, what):
        if seen != expected:
            self.fail(f"{what}: expected {samples.describe(expected)}, seen "
                      f"{samples.describe(seen)}")

    def test_writers_own_earlier_reader_stays(self):
        calls.save(self.file, OLD)
        writer = self.agent()
        reading = writer.os.open(self.file, os.O_RDONLY)
        fd = writer.calls.begin(self.file, samples.half(NEW))
        self.check(writer.calls.read_fd(reading), OLD,
                   "a descriptor from before the writer's own O_TRUNC")
        writer.calls.write_fd(fd, NEW[len(NEW) // 2:])
        writer.os.close(fd)
        self.check(writer.calls.read_fd(reading), OLD,
                   "a descriptor from before the publication")
        self.assertContent(self.file, NEW, by=writer.calls)

    def test_each_reader_has_the_version_it_opened(self):
        reader = self.agent()
        held = []
        for number in range(30, 40):
            calls.save(self.file, samples.module(number, 50000))
            path = self.places(NAME)[number % 2]
            held.append((number, reader.os.open(path, os.O_RDONLY)))
        os.unlink(self.file)
        for number, fd in held:
            self.check(reader.calls.read_fd(fd), samples.module(number, 50000),
                       f"version {number}")


@mount_only
class Children(VersionTest):
    """A descriptor that a child inherited is not the writer's."""

    def check_child(self, act, what):
        calls.save(self.file, OLD)
        writer = self.agent()
        fd = writer.calls.begin(self.file, NEW)
        act(writer, fd)
        self.assertSeen(OLD, hint=f" after {what}")
        self.assertContent(self.file, NEW, by=writer.calls)
        writer.os.close(fd)
        self.assertSeen(NEW, hint=" after the writer's own close")

    def test_child_closes(self):
        self.check_child(lambda writer, fd: writer.calls.forked_close(fd),
                         "a forked child's close")

    def test_child_exits(self):
        self.check_child(lambda writer, fd: writer.calls.forked_exit(),
                         "a forked child's exit")

    def test_child_is_killed(self):
        self.check_child(lambda writer, fd: writer.calls.forked_kill(),
                         "a forked child's death")

    def test_writer_runs_a_command(self):
        """As a compiler does that writes its cache while tools run."""
        self.check_child(
            lambda writer, fd: writer.calls.run_command(["true"]),
            "a command that the writer ran")

    def test_exec_closes_the_descriptor_in_a_child(self):
        """The close comes in the middle of exec, when /proc may not answer."""
        self.check_child(
            lambda writer, fd: writer.calls.run_closing_on_exec(["true"]),
            "a command for which exec closed the descriptor")

    def test_writer_passes_its_descriptor_to_a_command(self):
        self.check_child(
            lambda writer, fd: writer.calls.run_inheriting(["true"], fd),
            "a command that inherited the descriptor")

    def test_child_writes_for_its_parent(self):
        writer = self.agent()
        fd = writer.calls.begin(self.file, samples.half(NEW))
        writer.calls.forked_write(fd, NEW[len(NEW) // 2:])
        self.assertUnseen(hint=" after the child wrote the rest")
        writer.os.close(fd)
        self.assertSeen(NEW, hint=" after the parent's close")

    def test_child_writes_after_its_parent_closed(self):
        """As in `(sleep 1; cat file) > compiled_module &`."""
        writer = self.agent()
        writer.calls.left_to_child(self.file, samples.half(NEW),
                                   NEW[len(NEW) // 2:])
        harness.wait_until(
            lambda: calls.look(self.file) == ("bytes", NEW),
            "the file that a child completed to be published")
        self.assertSeen(NEW)


    def test_unmount_right_after_a_child_was_the_last(self):
        """RELEASE comes later, or not at all: what was written counts."""
        for number in range(harness.amount(5, 50)):
            content = samples.module(100 + number)
            writer = self.agent()
            writer.calls.left_to_child(self.file, samples.half(content),
                                       content[len(content) // 2:])
            self.mount.restart()
            self.assertSeen(content, hint=f" in round {number}")


@mount_only
class Deaths(VersionTest):
    """A writer that dies of a signal publishes nothing; one that exits does."""

    def check_end(self, written, end, threads=0):
        """What others see once the writer has ended, over OLD and over nothing."""
        for before, name in ((OLD, NAME), (None, "new/" + NAME)):
            path = self.path(name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            if before:
                calls.save(path, before)
            writer = harness.Agent()
            self.addCleanup(writer.close)
            if threads:
                writer.calls.start_threads(threads)
            writer.fd = writer.calls.begin(path, written)
            end(writer)
            yield name, before

    def check_killed(self, end, what, threads=0):
        for written in (samples.half(NEW), NEW):
            for name, before in self.check_end(written, end, threads):
                self.assertSeenOrNot(before, name,
                                     f" after {what} with {len(written)} of "
                                     f"{len(NEW)} bytes written")

    def check_exited(self, end, what, rounds=1):
        for _ in range(rounds):
            for name, _ in self.check_end(NEW, end):
                self.assertSeen(NEW, name, f" after {what} without close")
                os.unlink(self.path(name))
            for name, before in self.check_end(samples.half(NEW), end):
                self.assertSeenOrNot(before, name, f" after {what} with half "
                                     "written")

    def test_killed(self):
        self.check_killed(lambda w: w.kill(signal.SIGKILL), "SIGKILL")

    def test_terminated(self):
        self.check_killed(lambda w: w.kill(signal.SIGTERM), "SIGTERM")

    def test_crashed(self):
        self.check_killed(lambda w: w.last("calls.die", signal.SIGSEGV), "SIGSEGV")

    def test_aborted(self):
        self.check_killed(lambda w: w.last("calls.die", signal.SIGABRT), "SIGABRT")

    def test_killed_with_threads(self):
        for _ in range(harness.amount(2, 20)):
            self.check_killed(lambda w: w.kill(signal.SIGKILL),
                              "SIGKILL of a process with threads", 4)

    def test_exits_without_close(self):
        self.check_exited(lambda w: w.last("calls.leave", 0), "_exit")

    def test_fails_without_close(self):
        """A script that ends by an exception exits; it is not killed."""
        self.check_exited(lambda w: w.last("calls.leave", 1), "_exit(1)")

    def test_interpreter_ends_without_close(self):
        self.check_exited(lambda w: w.last("calls.finish"), "the end of a script")

    def test_becomes_another_program(self):
        """exec closes the descriptor, or the program has it until its end."""
        self.check_exited(lambda w: w.last("calls.become", ["true"]), "exec")
        self.check_exited(lambda w: w.last("calls.become", ["true"], w.fd),
                          "exec with the descriptor, and exit")

    def test_exits_with_threads_running(self):
        self.check_exited(lambda w: w.last("calls.leave_with_threads", 4),
                          "_exit with threads", harness.amount(4, 40))

    def test_next_writer_after_a_death(self):
        writer = self.agent()
        writer.calls.begin(self.file, samples.half(NEW))
        writer.kill()
        calls.save(self.file, NEW)
        self.assertSeen(NEW, hint=" written after another writer was killed")


@mount_only
class InPlace(VersionTest):
    """Writing without O_TRUNC starts from a copy of what is published."""

    def test_read_write(self):
        old, new = samples.om(1), samples.om(1)[:-5] + b"other"
        calls.write(self.path("a.om"), old)
        writer = self.agent()
        fd = writer.os.open(self.path("a.om"), os.O_RDWR)
        writer.os.pwrite(fd, b"other", len(old) - 5)
        self.assertSeen(old, "a.om", " while written in place")
        seen = writer.calls.read_fd(fd)
        self.assertEqual(seen, new, "expected the writer to read what it wrote")
        writer.os.close(fd)
        self.assertSeen(new, "a.om", " after the close")

    def test_append_completes_what_was_closed_half(self):
        writer = self.agent()
        writer.calls.write(self.file, samples.half(NEW))
        self.assertUnseen(hint=" after the close of a half file")
        self.assertContent(self.file, samples.half(NEW), by=writer.calls)
        writer.calls.append(self.file, NEW[len(NEW) // 2:])
        self.assertSeen(NEW, hint=" after the rest was appended")

    def test_truncate_by_path(self):
        calls.save(self.file, OLD)
        writer = self.agent()
        writer.os.truncate(self.file, len(OLD) // 2)
        self.assertSeen(OLD, hint=" after another process's truncate")
        size = writer.os.stat(self.file).st_size
        self.assertEqual(size, len(OLD) // 2, "expected the process that truncated "
                         f"to see {len(OLD) // 2} bytes, seen {size}")
        writer.calls.append(self.file, OLD[len(OLD) // 2:])
        self.assertSeen(OLD, hint=" after the rest was appended again")
        writer.os.truncate(self.file, 0)
        writer.close()
        self.assertSeen(OLD, hint=" after the process that truncated has ended")

    def test_truncate_by_descriptor(self):
        calls.save(self.file, OLD)
        writer = self.agent()
        fd = writer.os.open(self.file, os.O_WRONLY)
        writer.os.ftruncate(fd, 0)
        self.assertSeen(OLD, hint=" after ftruncate")
        writer.calls.write_fd(fd, NEW)
        writer.os.close(fd)
        self.assertSeen(NEW, hint=" after the close")

    def test_truncate_to_the_same_size(self):
        calls.save(self.file, OLD)
        self.agent().os.truncate(self.file, len(OLD))
        self.assertSeen(OLD)


@mount_only
class Names(VersionTest):
    """Rename, unlink and removal of directories around artifacts."""

    def test_whole_temporary_is_renamed_over(self):
        calls.save(self.file, OLD)
        reader = self.agent()
        fd = reader.os.open(self.file, os.O_RDONLY)
        calls.write(self.path("compiled_module.tmp"), NEW)
        os.rename(self.path("compiled_module.tmp"), self.file)
        self.assertSeen(NEW, hint=" after the rename")
        self.assertUnseen("compiled_module.tmp")
        self.assertEqual(reader.calls.read_fd(fd), OLD,
                         "expected an open reader to keep the old version")

    def test_whole_temporary_is_renamed_to_a_new_name(self):
        calls.write(self.path("x.tmp"), NEW)
        os.rename(self.path("x.tmp"), self.file)
        self.assertSeen(NEW, hint=" after the rename")
        self.assertIn("readable.py", os.listdir(self.dir),
                      "expected readable.py beside the renamed file")

    def test_half_temporary_is_never_an_artifact(self):
        """The rename may fail, or the name may vanish; half is never served."""
        calls.save(self.file, OLD)
        for before, name, content in ((OLD, NAME, NEW), (None, "a.om", OM)):
            calls.write(self.path("half.tmp"), samples.half(content))
            try:
                self.agent().os.rename(self.path("half.tmp"), self.path(name))
            except OSError:
                pass
            for path in self.places(name):
                self.assertOneOf(path, before, None)

    def test_artifact_is_renamed_away(self):
        calls.save(self.file, NEW)
        os.rename(self.file, self.path("keep"))
        self.assertSeen(NEW, "keep")
        self.assertUnseen()
        self.assertListing(self.dir, ["keep"])

    def test_directory_is_renamed(self):
        os.mkdir(self.path("a"))
        calls.save(self.path("a", NAME), NEW)
        reader = self.agent()
        fd = reader.os.open(self.path("a", NAME), os.O_RDONLY)
        os.rename(self.path("a"), self.path("b"))
        self.assertSeen(NEW, "b/" + NAME)
        self.assertUnseen("a/" + NAME)
        self.assertEqual(reader.calls.read_fd(fd), NEW,
                         "expected an open reader to keep its version")

    def test_directory_is_renamed_under_a_writer(self):
        os.mkdir(self.path("a"))
        writer = self.agent()
        fd = writer.calls.begin(self.path("a", NAME), samples.half(NEW))
        os.rename(self.path("a"), self.path("b"))
        writer.calls.write_fd(fd, NEW[len(NEW) // 2:])
        writer.os.close(fd)
        self.assertSeen(NEW, "b/" + NAME, " closed after its directory's rename")

    def test_unlink_under_a_writer(self):
        calls.save(self.file, OLD)
        writer = self.agent()
        fd = writer.calls.begin(self.file, samples.half(NEW))
        os.unlink(self.file)
        self.assertUnseen(hint=" after unlink")
        writer.calls.write_fd(fd, NEW[len(NEW) // 2:])
        writer.os.close(fd)  # must not fail: the client would not expect it
        for path in self.places(NAME):
            self.assertOneOf(path, NEW, None)

    def test_writer_unlinks_its_own_private_file(self):
        calls.save(self.file, OLD)
        writer = self.agent()
        fd = writer.calls.begin(self.file, samples.half(NEW))
        writer.os.unlink(self.file)
        self.assertEqual(writer.calls.look(self.file), ("errno", errno.ENOENT),
                         "expected the writer to see its file gone")
        writer.os.close(fd)
        self.assertUnseen(hint=" after the writer unlinked it")

    def test_directory_is_removed_under_a_writer(self):
        leaf = self.path("model", "prompt")
        os.makedirs(leaf)
        calls.save(os.path.join(leaf, NAME), OLD)
        writer = self.agent()
        fd = writer.calls.begin(os.path.join(leaf, NAME), samples.half(NEW))
        shutil.rmtree(leaf)
        writer.calls.write_fd(fd, NEW[len(NEW) // 2:])
        writer.os.fchmod(fd, 0o600)
        writer.os.close(fd)  # must not fail, as on any file system
        os.makedirs(leaf, exist_ok=True)
        self.assertOneOf(os.path.join(leaf, NAME), NEW, None)
        calls.save(os.path.join(leaf, NAME), NEW)
        self.assertSeen(NEW, "model/prompt/" + NAME)

    def test_directory_with_only_a_private_file_can_be_removed(self):
        """Others see it empty, so rmdir must work for them."""
        os.mkdir(self.path("leaf"))
        writer = self.agent()
        fd = writer.calls.begin(self.path("leaf", NAME), samples.half(NEW))
        self.assertListing(self.path("leaf"), [])
        shutil.rmtree(self.path("leaf"))
        writer.os.close(fd)
        self.assertUnseen("leaf")


@mount_only
class Soundness(VersionTest):
    INDEX = samples.idx("graph_1.om")
    UNSOUND = (
        (NAME, b"", "empty"),
        (NAME, NEW[:2], "two bytes"),
        (NAME, samples.half(NEW), "half"),
        (NAME, NEW[:-1], "without its STOP"),
        (NAME, b"\0" * 5000, "zeros"),
        ("graph_1.om", b"", "empty"),
        ("graph_1.om", OM[:100], "half a header"),
        ("graph_1.om", OM[:256], "only a header"),
        ("graph_1.om", OM[:-1], "one byte short"),
        ("graph_1.om", OM + b"\0", "one byte long"),
        ("graph_1.om", b"\0" * len(OM), "zeros"),
        ("graph_1.idx", b"", "empty"),
        ("graph_1.idx", INDEX[:-1], "without its end"),
        ("graph_1.idx", b"\0" * len(INDEX), "zeros"),
    )

    def test_unsound_is_only_its_writers(self):
        for number, (name, content, what) in enumerate(self.UNSOUND):
            with self.subTest(name=name, what=what):
                os.mkdir(self.path(str(number)))
                self.check_unsound(f"{number}/{name}", content, what)

    def check_unsound(self, name, content, what):
        writer = self.agent()
        writer.calls.write(self.path(name), content)
        self.assertUnseen(name, f" ({what}) after the close")
        self.assertContent(self.path(name), content, by=writer.calls,
                           hint=" in the process that wrote it")
        writer.close()
        self.assertUnseen(name, f" ({what}) after the writer's end")
        self.assertErrno(errno.ENOENT, os.unlink, self.path(name))

    def test_unsound_leaves_the_old_version(self):
        calls.save(self.file, OLD)
        writer = self.agent()
        writer.calls.write(self.file, samples.half(NEW))
        self.assertSeen(OLD, hint=" after the close of half a file")
        writer.close()
        self.assertSeen(OLD, hint=" after the writer's end")

    def test_unsound_is_gone_after_remount(self):
        self.agent().calls.write(self.path("a.om"), OM[:-1])
        calls.save(self.file, OLD)
        self.mount.restart()
        self.assertUnseen("a.om", " after a remount")
        self.assertSeen(OLD, hint=" after a remount")
        self.assertListing(self.dir, [NAME, "readable.py"])

    def test_same_process_completes_an_index_as_ge_does(self):
        """.om; .rdcpkt and .idx created empty and closed, then written."""
        ge = self.agent()
        packet = self.path("graph_1.rdcpkt")
        index = self.path("graph_1.idx")
        fd = ge.os.open(self.path("graph_1.om"),
                        os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        ge.calls.write_fd(fd, OM)
        ge.os.close(fd)
        ge.calls.write(packet, b"")
        ge.calls.write(packet, b"packet" * 100)
        ge.calls.write(index, b"")
        self.assertUnseen("graph_1.idx", " while empty")
        self.assertContent(index, b"", by=ge.calls)
        ge.calls.write(index, self.INDEX)
        self.assertSeen(self.INDEX, "graph_1.idx", " once written")
        self.assertSeen(OM, "graph_1.om")
        self.assertSeen(b"packet" * 100, "graph_1.rdcpkt")

    def test_index_is_hidden_while_a_model_is_missing(self):
        calls.write(self.path("graph_1.idx"), self.INDEX)
        self.assertHidden("graph_1.idx", "before its .om is there")
        calls.write(self.path("graph_1.om"), OM)
        self.assertSeen(self.INDEX, "graph_1.idx", " once its .om is there")
        os.unlink(self.path("graph_1.om"))
        self.assertHidden("graph_1.idx", "after its .om was removed")
        calls.write(self.path("graph_1.om"), OM)
        self.assertSeen(self.INDEX, "graph_1.idx", " once its .om is back")
        shutil.rmtree(self.dir)

    def assertHidden(self, name, when):
        """Nobody can open it; a listing in the other mount may come later."""
        here, there = self.places(name)
        self.assertMissing(here, by=self.agent().calls, hint=f" {when}")
        self.assertEqual(calls.look(there), ("errno", errno.ENOENT),
                         f"{harness.short(there)} {when}: expected ENOENT from open")
        harness.wait_until(lambda: calls.missing(there),
                           f"{harness.short(there)} to be hidden {when}")

    def test_directory_with_a_hidden_index_can_be_removed(self):
        """Clients clear a leaf by its listing; what it hides is no obstacle."""
        calls.write(self.path("graph_1.idx"), self.INDEX)
        shutil.rmtree(self.dir)
        self.assertErrno(errno.ENOENT, os.stat, self.dir)
        os.mkdir(self.dir)
        self.assertListing(self.dir, [])
        calls.write(self.path("graph_1.om"), OM)
        self.assertListing(self.dir, ["graph_1.om"],
                           hint=" made again: the old index is gone")

    def test_index_with_a_path_or_several_models(self):
        index = samples.idx("some/where/a.om", "b.om")
        calls.write(self.path("a.om"), OM)
        calls.write(self.path("g.idx"), index)
        self.assertHidden("g.idx", "while one of two models is missing")
        calls.write(self.path("b.om"), OM)
        self.assertSeen(index, "g.idx", " once both models are there")

    def test_foreign_content_is_served(self):
        content = samples.foreign(7)
        calls.save(self.file, content)
        self.assertSeen(content)
        self.mount.restart()
        self.assertSeen(content, hint=" after a remount")
        with open(self.path("readable.py"), "rb") as file:
            text = file.read()
        self.assertTrue(text.startswith(b"#"), f"expected a comment that says what "
                        f"the file is, seen {text[:60]!r}")

    def test_headers_of_other_formats_are_served(self):
        """GE's stand-ins in real caches have IMOD, but no header that we know."""
        for content in (b"IMOD" + samples.noise("proto", 6000), b"JUNK" + OM[4:]):
            calls.write(self.path("graph_1.om"), content)
            self.assertSeen(content, "graph_1.om")

    def test_sizes_around_the_buffers(self):
        for size in (256 + 56, 4096, 65536, 131072, 1 << 20, 3 * (1 << 20) + 17):
            content = samples.om(size, size)
            calls.write(self.path(f"{size}.om"), content)
            self.assertSeen(content, f"{size}.om")


def strict_is_offered():
    return not harness.PLAIN and b"strict" in harness.tacfs("mount", "--help").stdout


@mount_only
class Strict(VersionTest):
    mounts = 1
    options = ("strict",)

    @classmethod
    def setUpClass(cls):
        if not strict_is_offered():
            raise unittest.SkipTest("-o strict is not offered yet")
        super().setUpClass()

    def test_foreign_content_is_not_served(self):
        self.agent().calls.save(self.file, samples.foreign(8))
        self.assertMissing(self.file)
        calls.save(self.file, NEW)
        self.assertContent(self.file, NEW)


@mount_only
class Tools(VersionTest):
    """Other ways by which a file comes to its name."""

    def setUp(self):
        super().setUp()
        self.source = os.path.join(harness.new_directory("source"), NAME)
        calls.write(self.source, NEW)

    def run_tool(self, *command, cwd=None):
        status, output = calls.run_command(command, cwd=cwd)
        self.assertEqual(status, 0, f"{' '.join(command)}: expected 0, seen "
                         f"{status}: {output!r}")
        self.assertSeen(NEW, hint=f" after {' '.join(command)}")

    def test_redirections(self):
        for script in ('cat "$0" > "$1"',
                       '{ cat "$0"; } > "$1"',
                       '( cat "$0" ) > "$1"',
                       'exec > "$1"; cat "$0"',
                       'exec 3> "$1"; cat "$0" >&3; exec 3>&-',
                       '{ head -c 5000 "$0"; tail -c +5001 "$0"; } > "$1"'):
            for shell in ("sh", "bash"):
                if not shutil.which(shell):
                    continue
                with self.subTest(script=script, shell=shell):
                    self.run_tool(shell, "-c", script, self.source, self.file)
                    os.unlink(self.file)

    def test_cp(self):
        self.run_tool("cp", self.source, self.file)
        self.run_tool("cp", "-f", self.source, self.file)
        self.run_tool("cp", "-a", "--remove-destination", self.source, self.file)

    def test_install(self):
        self.run_tool("install", "-m", "600", self.source, self.file)

    def test_dd(self):
        self.run_tool("dd", f"if={self.source}", f"of={self.file}", "bs=1000")

    def test_tee(self):
        self.run_tool("sh", "-c", 'tee "$1" < "$0" > /dev/null', self.source, self.file)

    def test_mv_from_another_file_system(self):
        self.run_tool("mv", self.source, self.file)

    def test_tar(self):
        archive = os.path.join(os.path.dirname(self.source), "a.tar")
        calls.run_command(["tar", "-C", os.path.dirname(self.source), "-cf",
                           archive, NAME])
        self.run_tool("tar", "-C", self.dir, "-xf", archive)
        self.run_tool("tar", "-C", self.dir, "-xf", archive)

    @unittest.skipUnless(shutil.which("rsync"), "rsync is not here")
    def test_rsync(self):
        self.run_tool("rsync", "-a", self.source, self.dir + "/")
        self.run_tool("rsync", "-a", "--inplace", "--ignore-times", self.source,
                      self.dir + "/")


@mount_only
class TornWrites(VersionTest):
    """One slow writer, readers in both mounts that never wait."""

    SIZE = 60000
    READERS = harness.amount(2, 8)  # in each mount
    SECONDS = harness.amount(2, 20)

    def test_every_read_is_one_whole_version(self):
        counter = os.path.join(self.root, "counter")
        stop = os.path.join(self.root, "stop")
        calls.save(self.file, samples.module(0, self.SIZE))
        self.assertSeen(samples.module(0, self.SIZE))
        writer = self.agent()
        readers = [(self.agent(), path) for path in self.places(NAME) * self.READERS]
        for seed, (reader, path) in enumerate(readers):
            reader.begin("stress.read_versions", path, counter, stop, self.SIZE,
                         seed)
        writer.begin("stress.write_versions", self.file, counter, self.SECONDS,
                     self.SIZE, stop)
        patience = self.SECONDS + harness.PATIENCE
        last = writer.end(patience)
        results = [reader.end(patience) for reader, _ in readers]
        reads = sum(result[0] for result in results)
        print(f"\n  {last} versions, {reads} reads")
        errors = [error for result in results for error in result[2]]
        self.assertEqual(errors, [], f"expected no failed or torn read in {reads}, "
                         f"seen {errors[:5]}")
        self.assertSeen(samples.module(last, self.SIZE))


if __name__ == "__main__":
    harness.main()
