# SPDX-License-Identifier: Apache-2.0
"""Extended attributes: what ext4 does, and what the store says of its files."""
import ctypes
import errno
import hashlib
import json
import os
import struct
import subprocess
import time
import unittest

import calls
import harness
import samples
from harness import mount_only

LIBC = ctypes.CDLL(None, use_errno=True)
LARGE = 65536
CAPABILITY = struct.pack("<5I", 0x2000000, 0, 0, 0, 0)  # the kernel looks at it
UNLISTED = ("digest", "sha256", "stored", "ratio", "publisher", "sound")


def raw(function, path, *arguments):
    """getxattr(2) or listxattr(2) with a buffer of a size of our own."""
    size = arguments[-1]
    buffer = ctypes.create_string_buffer(size) if size else None
    got = getattr(LIBC, function)(os.fsencode(path), *arguments[:-1], buffer,
                                  ctypes.c_size_t(size))
    if got < 0:
        raise OSError(ctypes.get_errno(), "")
    return buffer.raw[:got] if size else got


def attributes(path):
    return {name: os.getxattr(path, name, follow_symlinks=False)
            for name in os.listxattr(path, follow_symlinks=False)}


def fill(path, values):
    for name, value in values.items():
        os.setxattr(path, name, value)


def told(path, name, by=os):
    return by.getxattr(path, f"user.tacfs.{name}").decode()


def plain_directory(name):
    """One whose file system has attributes; else the test is skipped."""
    path = harness.new_directory(name)
    try:
        os.setxattr(path, "user.a", b"")
    except OSError:
        raise unittest.SkipTest(f"{path} has no attributes to compare with")
    os.removexattr(path, "user.a")
    return path


class Script:
    """The same calls in any directory, and what each came to."""

    def __init__(self, directory):
        self.directory = directory
        self.seen = []

    def path(self, name):
        return os.path.join(self.directory, name)

    def do(self, call, *arguments, **keywords):
        try:
            result = call(*arguments, **keywords)
        except OSError as error:
            result = errno.errorcode[error.errno]
        if isinstance(result, list):
            result = sorted(result)
        shown = [str(one).replace(self.directory, "")[:60] for one in arguments]
        self.seen.append((call.__name__, shown, result))
        return result

    def change(self, path, follow=True):
        """What setxattr(2), getxattr(2), removexattr(2) and listxattr(2) say."""
        every = [(b"1", 0), (b"22", 0), (b"3", os.XATTR_CREATE),
                 (b"4", os.XATTR_REPLACE), (b"", 0), (b"5", 3), (b"6", 4)]
        for name in "user.a", "user.\xe9\U0001f600", "user.", "user", "", "nodot", \
                "other.a", "user." + 250 * "n", "user." + 251 * "n":
            for value, flags in every:
                self.do(os.setxattr, path, name, value, flags, follow_symlinks=follow)
                self.do(os.getxattr, path, name, follow_symlinks=follow)
        self.do(os.setxattr, path, b"user.\xff\xfe", b"\0\xff\n", follow_symlinks=follow)
        for name in "user.b", "user.c":
            self.do(os.setxattr, path, name, b"0", os.XATTR_REPLACE,
                    follow_symlinks=follow)
            self.do(os.setxattr, path, name, b"1", os.XATTR_CREATE,
                    follow_symlinks=follow)
        self.do(os.setxattr, path, "user.big", bytes(LARGE + 1), follow_symlinks=follow)
        self.do(os.listxattr, path, follow_symlinks=follow)
        for name in "user.a", "user.a", "user.none", "user.", "", "nodot":
            self.do(os.removexattr, path, name, follow_symlinks=follow)
        self.do(os.listxattr, path, follow_symlinks=follow)

    def ask_by_size(self, path):
        for size in 0, 1, 2, 3, 100:
            self.do(raw, "getxattr", path, b"user.three", size)
            self.do(raw, "getxattr", path, b"user.nothing", size)
        whole = self.do(raw, "listxattr", path, 0)
        for size in 1, whole - 1:
            self.do(raw, "listxattr", path, size)
        self.do(lambda: sorted(raw("listxattr", path, whole).split(b"\0")))


class XattrTest(harness.MountTest):
    def write(self, name, content=b"content"):
        calls.write(self.path(name), content)
        return self.path(name)

    def assertAttributes(self, path, expected, hint=""):
        expected = {name: bytes(value) for name, value in expected.items()}
        seen = attributes(path)
        self.assertEqual(sorted(seen), sorted(expected), f"{harness.short(path)}{hint}")
        for name, value in expected.items():
            self.assertTrue(seen[name] == value, f"{harness.short(path)}{hint}: {name}: "
                            f"expected {samples.describe(value)}, seen "
                            f"{samples.describe(seen[name])}")


class AsExt4(XattrTest):
    """The same calls in a mount and in an ordinary directory."""

    def compare(self, script):
        scripts = [Script(plain_directory(f"plain-{self._testMethodName}")),
                   Script(self.dir)]
        for one in scripts:
            script(one)
        expected, seen = scripts[0].seen, scripts[1].seen
        for there, here in zip(expected, seen):
            self.assertEqual(here, there, "expected what an ordinary directory says")
        self.assertEqual(len(seen), len(expected))

    def test_calls_on_files_and_directories(self):
        def script(s):
            calls.write(s.path("file"), b"content")
            calls.write(s.path("graph.om"), samples.om(1))
            os.mkdir(s.path("directory"))
            for name in "file", "graph.om", "directory":
                s.change(s.path(name))
                os.setxattr(s.path(name), "user.three", b"333")
                s.ask_by_size(s.path(name))
            s.do(os.getxattr, s.path("none"), "user.a")

        self.compare(script)

    def test_calls_on_symlinks(self):
        def script(s):
            calls.write(s.path("file"), b"content")
            os.symlink("file", s.path("link"))
            os.symlink("nowhere", s.path("dangling"))
            s.change(s.path("link"), follow=False)
            s.change(s.path("link"))
            s.do(os.listxattr, s.path("file"))
            s.do(os.setxattr, s.path("dangling"), "user.a", b"")

        self.compare(script)

    def test_calls_on_open_files(self):
        def script(s):
            for name in "file", "graph.om":
                calls.write(s.path(name), samples.om(1))
                for flags in os.O_RDONLY, os.O_RDWR, os.O_PATH:
                    fd = os.open(s.path(name), flags)
                    s.do(os.setxattr, fd, "user.a", b"1")
                    s.do(os.getxattr, fd, "user.a")
                    s.do(os.listxattr, fd)
                    s.do(os.removexattr, fd, "user.a")
                    os.close(fd)
            fd = os.open(s.path("file"), os.O_RDWR)
            os.setxattr(fd, "user.a", b"1")
            os.unlink(s.path("file"))
            s.do(os.getxattr, fd, "user.a")
            s.do(os.setxattr, fd, "user.b", b"2")
            s.do(os.listxattr, fd)
            os.close(fd)

        self.compare(script)

    def test_what_becomes_of_them(self):
        def script(s):
            for name in "file", "graph.om":
                path, other = s.path(name), s.path("other-" + name)
                for number in range(2):
                    calls.write(path, samples.om(number))
                    fill(path, {f"user.{number}": b"1"})
                    s.do(os.listxattr, path)  # O_TRUNC keeps them
                os.truncate(path, os.stat(path).st_size)
                os.chmod(path, 0o640)
                os.utime(path, ns=(1, 1))
                s.do(os.listxattr, path)
                calls.write(other, samples.om(3))
                fill(other, {"user.other": b"1"})
                os.rename(other, path)  # each has its own
                s.do(os.listxattr, path)
                os.unlink(path)
                calls.write(path, samples.om(4))
                s.do(os.listxattr, path)
            os.mkdir(s.path("d"))
            fill(s.path("d"), {"user.d": b"1"})
            os.rename(s.path("d"), s.path("e"))
            s.do(os.listxattr, s.path("e"))
            os.rmdir(s.path("e"))
            os.mkdir(s.path("e"))
            s.do(os.listxattr, s.path("e"))

        self.compare(script)

    def test_times(self):
        for name in "file", "graph.om":
            calls.write(self.path(name), samples.om(1))
            os.utime(self.path(name), ns=(10**18, 10**18 + 7))
            before = os.stat(self.path(name))
            time.sleep(0.02)
            os.setxattr(self.path(name), "user.a", b"1")
            after = os.stat(self.path(name))
            self.assertEqual(after.st_mtime_ns, before.st_mtime_ns)
            self.assertGreater(after.st_ctime_ns, before.st_ctime_ns)
            self.assertEqual(after.st_ino, before.st_ino)


@mount_only
class Kept(XattrTest):
    """What is kept, where, and how much."""

    mounts = 2

    def test_large_values_and_many_names_survive_a_remount(self):
        expected = {
            "large": {"user.large": samples.noise("value", LARGE),
                      "user.empty": b"", "user.other": bytes(LARGE)},
            "graph.om": {f"user.{number:03d}": str(number).encode() * number
                         for number in range(300)},
        }
        for name, values in expected.items():
            calls.write(self.path(name), samples.om(1))
            fill(self.path(name), dict(list(values.items())[:30]))
            fd = os.open(self.path(name), os.O_RDWR)  # the rest at once, at its close
            os.pwrite(fd, b"", 0)
            fill(fd, values)
            os.close(fd)
        for when in "at once", "after a remount":
            for name, values in expected.items():
                self.assertAttributes(self.path(name), values, f" {when}")
                self.assertContent(self.path(name), samples.om(1))
            self.mount.restart()
        for name, values in expected.items():
            self.assertAttributes(os.path.join(self.other_dir, name), values)

    def test_no_more_than_can_be_kept(self):
        for name, number, value, width in (("values", 16, LARGE, 1),
                                           ("names", 257, 0, 250)):
            path = self.write(name)
            fd = os.open(path, os.O_RDWR)
            self.addCleanup(os.close, fd)
            os.pwrite(fd, b"C", 0)  # so that they are published once, at the end
            values = {f"user.{i:0{width}}": bytes(value) for i in range(number)}
            self.assertErrno(errno.ENOSPC, fill, fd, values)
            os.fsync(fd)
            self.assertEqual(len(os.listxattr(path)), number - 1)
            self.assertEqual(attributes(os.path.join(self.other_dir, name)),
                             attributes(path))
            os.removexattr(path, os.listxattr(path)[0])
            os.setxattr(path, "user.fits", b"")
        self.assertEqual(self.mount.log_text(), "")

    def test_other_namespaces_are_not_there(self):
        os.mkdir(self.path("directory"))
        os.symlink("file", self.path("link"))
        self.write("file")
        for name in "file", "directory", "link":
            for attribute in ("trusted.a", "security.a", "security.capability",
                              "system.posix_acl_access", "system.a"):
                path = self.path(name)
                get = put = errno.EOPNOTSUPP
                # What the kernel says itself to who may not.
                if attribute.startswith("trusted") and not harness.is_root():
                    get, put = errno.ENODATA, errno.EPERM
                if attribute.startswith("security") and os.geteuid() != 0:
                    put = errno.EPERM
                self.assertErrno(get, os.getxattr, path, attribute,
                                 follow_symlinks=False)
                self.assertErrno(put, os.setxattr, path, attribute, CAPABILITY,
                                 follow_symlinks=False)
            self.assertEqual(os.listxattr(path, follow_symlinks=False), [])

    def test_the_other_mount_sees_them_and_changes_them(self):
        for name in "file", "graph.om":
            path, there = self.path(name), os.path.join(self.other_dir, name)
            calls.write(path, samples.om(1))
            os.setxattr(path, "user.a", b"1")
            os.stat(there)
            os.setxattr(path, "user.a", b"22")
            harness.wait_until(lambda: os.getxattr(there, "user.a") == b"22",
                               "the other mount to see the new value")
            os.setxattr(there, "user.b", b"3")
            os.setxattr(path, "user.c", b"4")
            harness.wait_until(lambda: len(os.listxattr(there)) == 3,
                               "the other mount to see all three")
            self.assertAttributes(there, {"user.a": b"22", "user.b": b"3",
                                          "user.c": b"4"})

    def test_changes_at_once_are_all_there(self):
        """Of those who create a name one succeeds. In two mounts one of two changes of
        the same instant may be lost: format.md, "Exchanging"."""
        agents = self.agents(4)
        for name in "file", "graph.om":
            calls.write(self.path(name), samples.om(1))
            for number, agent in enumerate(agents):
                agent.begin("calls.create_attributes", self.path(name), number, 8)
            created = sum(agent.end() for agent in agents)
            self.assertEqual(created, 8, "expected each shared name created once")
            seen = lambda: len(os.listxattr(self.path(name)))  # noqa: B023, E731
            harness.wait_until(lambda: seen() == 40, "40 attributes")
            self.assertContent(self.path(name), samples.om(1))

    def test_a_new_version_is_published_with_them(self):
        path = self.path("compiled_module")
        there = os.path.join(self.other_dir, "compiled_module")
        fd = calls.begin(path, samples.module(1))
        os.setxattr(fd, "user.a", b"1")
        self.assertEqual(os.listxattr(path), ["user.a"])
        self.assertMissing(there)
        os.close(fd)
        self.assertAttributes(there, {"user.a": b"1"})
        os.setxattr(path, "user.b", b"2")
        text = calls.read(self.path("readable.py"))
        calls.save(path, samples.module(2))
        self.assertAttributes(path, {"user.a": b"1", "user.b": b"2"})
        self.assertContent(path, samples.module(2))
        self.assertNotEqual(calls.read(self.path("readable.py")), text)

    def test_who_reads_is_not_disturbed(self):
        path = self.write("graph.om", samples.om(1, 300000))
        with open(path, "rb") as file:
            first = file.read(1000)
            os.setxattr(path, "user.a", b"1")
            self.assertTrue(first + file.read() == samples.om(1, 300000))

    def test_they_come_back_with_a_deleted_file(self):
        path = self.write("graph.om", samples.om(1))
        os.setxattr(path, "user.a", b"1")
        os.unlink(path)
        name = os.path.join(self._testMethodName, "graph.om")
        done = harness.tacfs("undelete", self.store, name)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertAttributes(path, {"user.a": b"1"})
        done = harness.tacfs("fsck", "--read-data", self.store)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_programs_copy_them(self):
        outside = plain_directory("outside")
        os.makedirs(os.path.join(outside, "tree", "sub"))
        values = {"user.a": b"1", "user.\U0001f600": bytes(range(256)), "user.e": b""}
        files = {"file": b"content", "sub/graph.om": samples.om(1, 100000),
                 "sub/compiled_module": samples.module(1)}
        for name, content in files.items():
            calls.write(os.path.join(outside, "tree", name), content)
            fill(os.path.join(outside, "tree", name), values)
        fill(os.path.join(outside, "tree", "sub"), values)
        tree = os.path.join(outside, "tree")
        for program in ("cp", "-a"), ("rsync", "-aX"):
            here = self.path(program[0])
            back = os.path.join(outside, program[0])
            try:
                subprocess.run([*program, f"{tree}/.", here], check=True)
            except FileNotFoundError:
                continue  # no rsync here
            subprocess.run([*program, f"{here}/.", back], check=True)
            for root in here, back:
                for name in [*files, "sub"]:
                    self.assertAttributes(os.path.join(root, name), values)
            if program[0] == "rsync":
                again = subprocess.run(["rsync", "-aXi", "--exclude=readable.py",
                                        f"{tree}/", f"{here}/"], capture_output=True,
                                       check=True)
                self.assertEqual(again.stdout, b"", "expected nothing to be copied")


@mount_only
class Told(XattrTest):
    """What the store says of a file by itself."""

    def test_what_is_said_of_a_file(self):
        content = b"".join(b"%d\n" % number for number in range(20000))
        for name, content, sound in (
                ("plain", content, "plain"), ("tiny", b"tiny", "plain"),
                ("empty", b"", "plain"), ("compiled_module", samples.module(1), "sound"),
                ("graph.om", samples.om(1), "sound")):
            path = self.write(name, content)
            self.assertEqual(told(path, "sha256"), hashlib.sha256(content).hexdigest())
            self.assertRegex(told(path, "digest"), "^xxh3-128:[0-9a-f]{32}$")
            self.assertEqual(told(path, "publisher"), str(os.getuid()))
            self.assertEqual(told(path, "sound"), sound)
            stored = int(told(path, "stored"))
            self.assertEqual(stored > 0, len(content) > 0)
            self.assertLessEqual(stored, len(content))
            ratio = f"{len(content) / stored:.2f}" if stored else "1.00"
            self.assertEqual(told(path, "ratio"), ratio)
        self.assertGreater(float(told(self.path("plain"), "ratio")), 1.2)

    def test_equal_blocks_are_counted_once(self):
        block = samples.noise("block", 600000)
        path, twice = self.write("once", block), self.write("twice", block + block)
        self.assertGreaterEqual(int(told(path, "stored")), len(block) * 9 // 10)
        self.assertLess(int(told(twice, "stored")), 1.6 * len(block))

    def test_what_a_compiled_module_says(self):
        path = self.write("compiled_module", samples.module(1))
        done = harness.tacfs("show", "--check", "--json", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        seen = dict(line.split(": ", 1) for line in told(path, "meta").splitlines())
        self.assertEqual(list(seen), ["name", "date", "version"])
        shown = json.loads(done.stdout)
        for key, value in seen.items():
            self.assertEqual(value, shown.get(key, value))
            self.assertTrue(value)
        self.assertEqual(told(self.path("readable.py"), "meta"), told(path, "meta"))
        os.rename(path, self.path("backup"))
        self.assertIn(f"name: {seen['name']}\n", told(self.path("backup"), "meta"))

    def test_they_are_not_listed_and_not_changed(self):
        path = self.write("compiled_module", samples.module(1))
        for name in ("compiled_module", "readable.py"):
            self.assertEqual(os.listxattr(self.path(name)), [])
        for name in (*UNLISTED, "meta", "unknown"):
            name = f"user.tacfs.{name}"
            self.assertErrno(errno.EPERM, os.setxattr, path, name, b"x")
            self.assertErrno(errno.EPERM, os.removexattr, path, name)
        self.assertErrno(errno.EPERM, os.setxattr, self.dir, "user.tacfs.a", b"x")
        self.assertErrno(errno.EPERM, os.setxattr, self.path("readable.py"), "user.a",
                         b"x")

    def test_where_nothing_is_said(self):
        path = self.write("plain")
        self.assertErrno(errno.ENODATA, told, path, "meta")
        self.assertErrno(errno.ENODATA, told, path, "unknown")
        self.assertErrno(errno.ENODATA, told, self.dir, "digest")
        self.write("compiled_module", samples.module(1))
        self.assertErrno(errno.ENODATA, told, self.path("readable.py"), "digest")
        fd = os.open(path, os.O_WRONLY)
        os.write(fd, b"other")
        self.assertErrno(errno.ENODATA, told, path, "sha256")
        self.assertEqual(told(path, "sound"), "unpublished")
        os.close(fd)
        self.assertEqual(told(path, "sound"), "plain")

    def test_who_wrote_something_unsound_is_told_why(self):
        writer = self.agent()
        path = self.path("compiled_module")
        writer.calls.write(path, samples.half(samples.module(1)))
        self.assertRegex(told(path, "sound", writer.os), r"^unsound: .*\(at byte \d+\)$")
        self.assertErrno(errno.ENOENT, told, path, "sound")
        writer.calls.write(path, samples.foreign())
        self.assertEqual(told(path, "sound"), "foreign")

    def test_control_files_have_none(self):
        report = os.path.join(self.mount.path, ".tacfs", "stats.json")
        refused = errno.EROFS if os.geteuid() == 0 else errno.EACCES
        for path in report, os.path.dirname(report):
            self.assertEqual(os.listxattr(path), [])
            self.assertErrno(errno.ENODATA, os.getxattr, path, "user.a")
            self.assertErrno(refused, os.setxattr, path, "user.a", b"1")


@mount_only
class WithOptions(unittest.TestCase):
    def setUp(self):
        self.root = harness.new_directory(self._testMethodName)
        self.store = os.path.join(self.root, "store")

    def mount(self, *options):
        mount = harness.Mount(self.store, os.path.join(self.root, "mount"), options)
        self.addCleanup(mount.discard)
        return mount

    def assertErrno(self, number, call, *arguments):
        with self.assertRaises(OSError) as raised:
            call(*arguments)
        self.assertEqual(raised.exception.errno, number)

    def test_read_only(self):
        with self.mount() as mount:
            path = os.path.join(mount.path, "file")
            calls.write(path, b"content")
            fill(path, {"user.a": b"1"})
            fill(mount.path, {"user.root": b"1"})
        with self.mount("ro"):
            for path in path, mount.path:
                self.assertEqual(len(os.listxattr(path)), 1)
                self.assertErrno(errno.EROFS, os.setxattr, path, "user.b", b"1")
                self.assertErrno(errno.EROFS, os.removexattr, path, "user.a")

    def test_private_deletes(self):
        with self.mount("deletes=private") as mount:
            path = os.path.join(mount.path, "graph.om")
            calls.write(path, samples.om(1))
            fill(path, {"user.a": b"1"})
            os.unlink(path)
            calls.write(path, samples.om(2))
            self.assertEqual(os.listxattr(path), [])

    def test_strict(self):
        with self.mount("strict") as mount:
            path = os.path.join(mount.path, "compiled_module")
            calls.write(path, samples.foreign())
            fill(path, {"user.a": b"1"})
            self.assertEqual(told(path, "sound"), "foreign")
            self.assertEqual(os.listxattr(path), ["user.a"])
            self.assertErrno(errno.EACCES, calls.read, path)

    def test_writing_does_not_ask_for_capabilities_each_time(self):
        with self.mount("debug") as mount:
            with open(os.path.join(mount.path, "file"), "wb", buffering=0) as file:
                for _ in range(50):
                    file.write(bytes(100))
            asked = mount.log_text().count("opcode: GETXATTR")
        self.assertLess(asked, 5, "expected few requests for attributes of 50 writes")


if __name__ == "__main__":
    harness.main()
