# SPDX-License-Identifier: Apache-2.0
"""readable.py: beside every compiled_module, and never in the way."""
import errno
import functools
import os
import shutil
import stat
import subprocess
import unittest

import calls
import clearing
import harness
import samples
from harness import mount_only

MODULE = samples.module(1)
NAME = "compiled_module"


@functools.lru_cache
def interpreters():
    """Other CPythons to clear trees with: TACFS_PYTHONS, or python3.X in PATH."""
    named = os.environ.get("TACFS_PYTHONS")
    if named:
        return named.split(":")
    found = [shutil.which(f"python3.{minor}") for minor in range(8, 15)]
    return list(filter(None, map(itself, filter(None, found))))


def itself(python):
    """The program that `python` runs, which may be a slow script; None: none."""
    done = subprocess.run([python, "-c", "import sys; print(sys.executable)"],
                          capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


class ReadableTest(harness.MountTest):
    def setUp(self):
        super().setUp()
        self.leaf = self.path("model", "prompt")
        self.file = os.path.join(self.leaf, NAME)
        self.readable = os.path.join(self.leaf, "readable.py")

    def real(self, scenario="official"):
        """A real compiled_module and its expected text."""
        path, text = sorted(samples.expected_readables(scenario).items())[0]
        return calls.read(os.path.join(samples.tree(scenario), path)), text

    def save(self, content=MODULE):
        calls.save(self.file, content)

    def text(self):
        return calls.read(self.readable)

    def assertText(self, expected):
        self.assertContent(self.readable, expected)
        size = os.stat(self.readable).st_size
        self.assertEqual(size, len(expected), f"expected a size of {len(expected)}, "
                         f"seen {size}")

    def assertComment(self, text):
        self.assertTrue(text.startswith(b"#"), f"expected a comment first, seen "
                        f"{text[:60]!r}")
        text.decode("utf-8")  # raises when it is no text


@mount_only
class Presence(ReadableTest):
    mounts = 2

    def test_listed_before_the_module_with_its_true_attributes(self):
        content, text = self.real()
        self.save(content)
        self.assertEqual(os.listdir(self.leaf), ["readable.py", NAME],
                         "expected readable.py before compiled_module, seen "
                         f"{os.listdir(self.leaf)}")
        status = os.lstat(self.readable)
        self.assertEqual(
            (oct(status.st_mode), status.st_uid, status.st_gid, status.st_size,
             status.st_nlink),
            (oct(stat.S_IFREG | 0o600), os.getuid(), os.getgid(), len(text), 1),
            "expected a file of the caller with mode 0600 and its true size")
        self.assertText(text)

    def test_size_is_known_before_anything_is_opened(self):
        content, text = self.real()
        self.save(content)
        self.mount.restart()
        entry, = [e for e in os.scandir(self.leaf) if e.name == "readable.py"]
        self.assertTrue(entry.is_file(), "expected a regular file in the listing")
        self.assertEqual(entry.stat().st_size, len(text), f"expected {len(text)} "
                         f"bytes, seen {entry.stat().st_size}")
        self.assertText(text)

    def test_follows_each_publication(self):
        texts = set()
        for number in range(4):
            self.save(samples.module(number, 3000 * (number + 1)))
            text = self.text()
            self.assertIn(b"# number %09d" % number, text, "expected the code of "
                          "the newest version in the text")
            self.assertEqual(os.stat(self.readable).st_size, len(text),
                             "expected the size of the newest text")
            texts.add(text)
        self.assertEqual(len(texts), 4, f"expected 4 texts, seen {len(texts)}")

    def test_other_mount_shows_the_same(self):
        content, text = self.real()
        self.save(content)
        there = os.path.join(self.other_dir, "model", "prompt", "readable.py")
        self.assertContent(there, text)
        self.save(MODULE)
        self.assertContent(os.path.join(self.other_dir, "model", "prompt", NAME),
                           MODULE)
        self.assertContent(there, self.text())

    def test_open_text_stays(self):
        content, text = self.real()
        self.save(content)
        reader = self.agent()
        fd = reader.os.open(self.readable, os.O_RDONLY)
        self.save(MODULE)
        os.unlink(self.file)
        self.assertTrue(reader.calls.read_fd(fd) == text,
                        "expected an open readable.py to keep its text")

    def test_not_there_without_a_module(self):
        os.makedirs(self.leaf)
        calls.write(os.path.join(self.leaf, "graph_1.om"), samples.om(1))
        self.assertListing(self.leaf, ["graph_1.om"])
        self.assertMissing(self.readable)
        self.save()
        self.assertListing(self.leaf, ["graph_1.om", "readable.py", NAME])
        os.unlink(self.file)
        self.assertListing(self.leaf, ["graph_1.om"])
        self.assertMissing(self.readable)

    def test_not_there_for_others_while_the_module_is_private(self):
        os.makedirs(self.leaf)
        writer = self.agent()
        fd = writer.calls.begin(self.file, MODULE)
        self.assertMissing(self.readable)
        self.assertListing(self.leaf, [])
        writer.os.close(fd)
        self.assertListing(self.leaf, [NAME, "readable.py"])

    def test_foreign_module_has_a_useful_text(self):
        for content in (samples.foreign(1), b"\x80\x04N.",
                        b"ccollections\nOrderedDict\n)R."):
            self.save(content)
            text = self.text()
            self.assertComment(text)
            self.assertEqual(os.stat(self.readable).st_size, len(text),
                             "expected the true size")

    def test_oldest_caches_have_a_useful_text(self):
        scenario = "old_f2ec0c05"
        for path in samples.files_below(samples.tree(scenario)):
            content = calls.read(os.path.join(samples.tree(scenario), path))
            self.save(content)
            self.assertContent(self.file, content)
            self.assertComment(self.text())

    def test_show_explains_what_is_not_whole(self):
        directory = harness.new_directory("show")
        for number, content in enumerate((samples.half(MODULE), b"", b"\0" * 100,
                                          b"text", MODULE + b"more")):
            path = os.path.join(directory, f"file{number}")
            calls.write(path, content)
            done = harness.tacfs("show", path)
            self.assertGreaterEqual(done.returncode, 0,
                                    f"expected an exit, seen {done.returncode}")
            self.assertComment(done.stdout)


@mount_only
class Writing(ReadableTest):
    def test_same_text_may_be_written(self):
        """cp -a, tar, rsync, readable_cache(file=…/readable.py)."""
        content, text = self.real()
        self.save(content)
        for step in (len(text), 1000):
            fd = calls.begin(self.readable, b"")
            for start in range(0, len(text), step):
                calls.write_fd(fd, text[start:start + step])
            os.fchmod(fd, 0o600)
            os.utime(fd, ns=(10**18, 10**18))
            os.close(fd)
            self.assertText(text)

    def test_other_text_is_refused_at_close(self):
        content, text = self.real()
        self.save(content)
        for other in (b"", b"print('mine')\n", text[:-1], text + b"\n",
                      b"X" + text[1:]):
            fd = calls.begin(self.readable, other)
            self.assertErrno(errno.EROFS, os.close, fd)
            self.assertText(text)

    def test_client_writes_it_itself(self):
        """readable_cache under the Python that wrote the cache."""
        self.agent().client.cache_compile(self.file)
        text = self.agent().client.readable_cache(self.file, self.readable)
        self.assertText(text.encode())

    def test_copies_around_the_virtual_file_are_ordinary(self):
        content, text = self.real()
        self.save(content)
        copy = os.path.join(self.leaf, "copy.py")
        subprocess.run(["cp", "-a", self.readable, copy], check=True)
        self.assertContent(copy, text)
        calls.write(copy, b"changed")
        self.assertContent(copy, b"changed")

    def test_attributes_of_it_may_be_set_to_no_effect(self):
        self.save()
        os.utime(self.readable, ns=(1, 1))
        os.chmod(self.readable, 0o600)
        os.chown(self.readable, os.getuid(), os.getgid())
        self.assertEqual(oct(samples.permissions(self.readable)), oct(0o600),
                         "expected mode 0600")

    def test_ordinary_where_there_is_no_module(self):
        os.makedirs(self.leaf)
        calls.write(self.readable, b"print('ordinary')\n", 0o644)
        self.assertText(b"print('ordinary')\n")
        self.assertEqual(oct(samples.permissions(self.readable)), oct(0o644),
                         "expected the mode of an ordinary file")
        self.mount.restart()
        self.assertText(b"print('ordinary')\n")
        content, text = self.real()
        self.save(content)
        self.assertText(text)
        self.assertEqual(sorted(os.listdir(self.leaf)), [NAME, "readable.py"],
                         "expected each name once")
        shutil.rmtree(self.leaf)
        self.assertMissing(self.leaf)

    def test_ordinary_one_can_be_renamed_and_removed(self):
        os.makedirs(self.leaf)
        calls.write(self.readable, b"x")
        os.rename(self.readable, self.path("moved.py"))
        self.assertContent(self.path("moved.py"), b"x")
        os.rename(self.path("moved.py"), self.readable)
        os.unlink(self.readable)
        self.assertListing(self.leaf, [])

    def test_nothing_can_take_its_place(self):
        self.save()
        text = self.text()
        calls.write(self.path("other"), b"other")
        for call in (lambda: os.rename(self.path("other"), self.readable),
                     lambda: os.mkdir(self.readable),
                     lambda: os.symlink("x", self.readable)):
            try:
                call()
            except OSError:
                pass
            self.assertText(text)


@mount_only
class Removal(ReadableTest):
    def test_unlink_hides_it_until_the_next_publication(self):
        self.save()
        os.unlink(self.readable)
        self.assertMissing(self.readable)
        self.assertMissing(self.readable, by=self.agent().calls)
        self.assertListing(self.leaf, [NAME])
        self.assertContent(self.file, MODULE)
        self.save(samples.module(2))
        self.assertListing(self.leaf, [NAME, "readable.py"])
        self.assertIn(b"# number 000000002", self.text(),
                      "expected the new version's text")

    def test_module_first_and_then_readable(self):
        self.save()
        names = os.listdir(self.leaf)
        os.unlink(self.file)
        self.assertIn("readable.py", names, "expected it in the listing")
        os.unlink(self.readable)  # listed before, so it must not fail
        os.rmdir(self.leaf)
        self.assertMissing(self.leaf)

    def test_module_first_by_another_process(self):
        lister, remover = self.agents(2)
        self.save()
        self.assertIn("readable.py", lister.os.listdir(self.leaf),
                      "expected it in the listing")
        remover.os.unlink(self.file)
        lister.os.unlink(self.readable)
        lister.os.rmdir(self.leaf)

    def test_leaf_with_a_module_is_not_empty(self):
        self.save()
        self.assertErrno(errno.ENOTEMPTY, os.rmdir, self.leaf)
        os.unlink(self.readable)
        self.assertErrno(errno.ENOTEMPTY, os.rmdir, self.leaf)
        os.unlink(self.file)
        os.rmdir(self.leaf)

    def fill(self):
        """A leaf as GE and static kernels leave it."""
        self.save()
        for name, content in (("graph_1.lock", b""), ("graph_1.om", samples.om(1)),
                              ("graph_1.idx", samples.idx("graph_1.om")),
                              ("cache.conf", b"{}")):
            calls.write(os.path.join(self.leaf, name), content)
        kernels = os.path.join(self.leaf, "static_kernel_cache")
        os.mkdir(kernels)
        calls.write(os.path.join(kernels, "k.json"), b"{}")
        calls.save(self.path("model", "decode", NAME), MODULE)

    def test_every_way_to_clear_a_tree(self):
        for way in clearing.WAYS:
            with self.subTest(way=way.__name__):
                self.fill()
                way(self.path("model"))
                self.assertMissing(self.path("model"))

    def test_every_way_while_the_kernel_knows_the_entries(self):
        for way in clearing.WAYS:
            with self.subTest(way=way.__name__):
                self.fill()
                calls.run_command(["ls", "-lR", self.path("model")])
                self.text()
                calls.read(self.file)
                way(self.path("model"))
                self.assertMissing(self.path("model"))

    def test_rm_and_find(self):
        for command in (["rm", "-rf"], ["rm", "-r"],
                        ["sh", "-c", 'find "$0" -delete'],
                        ["sh", "-c", 'rm "$0"/prompt/compiled_module && rm -r "$0"'],
                        ["sh", "-c", 'rm "$0"/prompt/* 2>/dev/null; rm -r "$0"']):
            with self.subTest(command=command):
                self.fill()
                status, output = calls.run_command(command + [self.path("model")])
                self.assertEqual((status, output), (0, b""), f"expected {command} to "
                                 f"work, seen {status}: {output!r}")
                self.assertMissing(self.path("model"))

    def test_other_pythons(self):
        for python in interpreters():
            with self.subTest(python=python):
                self.fill()
                done = subprocess.run(
                    [python, "-c", "import shutil, sys; shutil.rmtree(sys.argv[1])",
                     self.path("model")], capture_output=True)
                self.assertEqual(done.returncode, 0, f"{python}: expected rmtree to "
                                 f"work, seen {done.stderr.decode()}")
                self.assertMissing(self.path("model"))

    def test_cleared_while_somebody_reads(self):
        self.fill()
        reader = self.agent()
        fds = [reader.os.open(path, os.O_RDONLY)
               for path in (self.file, self.readable)]
        text = self.text()
        clearing.by_descriptor(self.path("model"))
        for fd, expected in zip(fds, (MODULE, text)):
            self.assertTrue(reader.calls.read_fd(fd) == expected,
                            "expected an open file to stay readable")

    def test_leaf_is_fresh_after_it_was_cleared(self):
        for number in range(3):
            self.save(samples.module(number))
            self.assertIn(b"# number %09d" % number, self.text(),
                          "expected the text of this round's module")
            shutil.rmtree(self.leaf)


@mount_only
class Copies(ReadableTest):
    """A tree that was copied out of one mount goes into another."""

    mounts = 2

    def setUp(self):
        super().setUp()
        for directory, content in (("prompt", MODULE), ("decode", samples.module(2))):
            calls.save(self.path("model", directory, NAME), content)
        self.text_before = self.text()

    def run_tool(self, script, *arguments):
        status, output = calls.run_command(["sh", "-c", script, *arguments])
        self.assertEqual((status, output), (0, b""), f"{script}: expected success, "
                         f"seen {status}: {output!r}")

    def assertCopied(self, directory):
        self.run_tool('diff -r "$0" "$1"', self.path("model"), directory)

    def test_cp_to_another_place_in_the_mount(self):
        for _ in range(2):  # the second time over what is there
            self.run_tool('cp -a "$0/." "$1"', self.path("model"), self.path("copy"))
            self.assertCopied(self.path("copy"))

    def test_cp_to_another_mount(self):
        target = os.path.join(self.other_dir, "copy")
        for _ in range(2):
            self.run_tool('cp -a "$0/." "$1"', self.path("model"), target)
            self.assertCopied(target)

    def test_cp_out_and_in_again(self):
        outside = harness.new_directory("outside")
        self.run_tool('cp -a "$0/." "$1"', self.path("model"), outside)
        self.assertCopied(outside)
        shutil.rmtree(self.path("model"))
        self.run_tool('cp -a "$0/." "$1"', outside, self.path("model"))
        self.assertCopied(outside)
        self.assertText(self.text_before)

    def test_readable_first_and_module_later(self):
        self.run_tool('mkdir "$1" && cp -a "$0/readable.py" "$1" && '
                      'cp -a "$0/compiled_module" "$1"', self.leaf, self.path("copy"))
        self.run_tool('diff -r "$0" "$1"', self.leaf, self.path("copy"))
        shutil.rmtree(self.path("copy"))

    def test_tar(self):
        archive = os.path.join(harness.new_directory("tar"), "a.tar")
        self.run_tool('tar -C "$0" -cf "$1" .', self.path("model"), archive)
        os.mkdir(self.path("copy"))
        for _ in range(2):
            self.run_tool('tar -C "$0" -xf "$1"', self.path("copy"), archive)
            self.assertCopied(self.path("copy"))

    @unittest.skipUnless(shutil.which("rsync"), "rsync is not here")
    def test_rsync(self):
        for options in ("-a", "-a --delete", "-a --inplace"):
            self.run_tool(f'rsync {options} "$0/" "$1"', self.path("model"),
                          self.path("copy"))
            self.assertCopied(self.path("copy"))

    def test_mv_of_a_leaf(self):
        os.rename(self.leaf, self.path("moved"))
        self.assertContent(self.path("moved", "readable.py"), self.text_before)
        self.assertMissing(self.readable)
        self.run_tool('mv "$0" "$1"', self.path("moved"), self.leaf)
        self.assertText(self.text_before)


if __name__ == "__main__":
    harness.main()
