# SPDX-License-Identifier: Apache-2.0
"""-o deletes=private: what one mount removes, the store and other mounts keep."""
import errno
import os
import shutil

import calls
import clearing
import harness
import samples
from harness import mount_only

OLD = samples.module(1, 90000)
NEW = samples.module(2, 90000)


class PrivateTest(harness.MountTest):
    """self.mount deletes privately; self.other is an ordinary one."""

    @classmethod
    def setUpClass(cls):
        cls.root = harness.new_directory(cls.__name__)
        cls.store = os.path.join(cls.root, "store")
        cls.mounted = []
        for name, options in (("private", ("deletes=private",)), ("other", ())):
            mount = harness.Mount(cls.store, os.path.join(cls.root, name), options)
            cls.addClassCleanup(mount.discard)
            cls.mounted.append(mount.start())
        cls.mount, cls.other = cls.mounted

    def shared(self, *parts):
        return os.path.join(self.other_dir, *parts)

    def fill(self, leaf="leaf"):
        """A leaf as the clients write it. Returns what the other mount lists."""
        calls.save(self.path(leaf, "compiled_module"), OLD)
        calls.write(self.path(leaf, "ge.om"), samples.om(3))
        calls.write(self.path(leaf, "ge.idx"), samples.idx("ge.om"))
        calls.write(self.path(leaf, "note.json"), b"{}")
        os.symlink("note.json", self.path(leaf, "link"))
        os.makedirs(self.path(leaf, "deep", "er"))
        calls.write(self.path(leaf, "deep", "er", "file"), b"deep")
        return self.tree(self.shared(leaf))

    def tree(self, root):
        return sorted(os.path.relpath(os.path.join(directory, name), root)
                      for directory, names, files in os.walk(root)
                      for name in names + files)

    def assertKept(self, names, leaf="leaf"):
        self.assertEqual(self.tree(self.shared(leaf)), names,
                         "expected the other mount to see all as before")
        self.assertContent(self.shared(leaf, "compiled_module"), OLD)


@mount_only
class PrivateDeletes(PrivateTest):
    def test_unlinked_name_is_gone_here_only(self):
        names = self.fill()
        for name in "note.json", "link", "compiled_module":
            path = self.path("leaf", name)
            os.unlink(path)
            self.assertMissing(path)
            self.assertErrno(errno.ENOENT, os.unlink, path)
        self.assertMissing(self.path("leaf", "readable.py"))
        self.assertListing(self.path("leaf"), ["ge.om", "ge.idx", "deep"])
        self.assertKept(names)

    def test_every_rmtree(self):
        for number, way in enumerate(clearing.WAYS):
            with self.subTest(way=way.__name__):
                leaf = f"leaf{number}"
                names = self.fill(leaf)
                way(self.path(leaf))
                self.assertMissing(self.path(leaf))
                self.assertNotIn(leaf, os.listdir(self.dir))
                self.assertKept(names, leaf)

    def test_leaf_is_cleared_made_and_saved_again(self):
        """What TorchAir does when it fails to load."""
        client = self.agent()
        for content in NEW, OLD, NEW:
            names = self.fill()
            client.shutil.rmtree(self.path("leaf"))
            self.assertMissing(self.path("leaf"))
            self.assertKept(names)
            client.os.makedirs(self.path("leaf"))
            self.assertListing(self.path("leaf"), [])
            client.calls.save(self.path("leaf", "compiled_module"), content)
            self.assertListing(self.path("leaf"), ["compiled_module", "readable.py"])
            self.assertContent(self.path("leaf", "compiled_module"), content)
            self.assertContent(self.shared("leaf", "compiled_module"), content)
            self.assertEqual(self.tree(self.shared("leaf")), names)

    def test_hidden_name_comes_back_only_when_published_here(self):
        self.fill()
        path = self.path("leaf", "compiled_module")
        os.unlink(path)
        other = self.agent().calls
        other.save(self.shared("leaf", "compiled_module"), NEW)
        self.assertMissing(path)
        writer = self.agent()
        fd = writer.calls.begin(path, samples.half(OLD))
        self.assertMissing(path)
        self.assertContent(self.shared("leaf", "compiled_module"), NEW)
        writer.calls.write_fd(fd, OLD[len(OLD) // 2:])
        writer.os.close(fd)
        for seen in path, self.shared("leaf", "compiled_module"):
            self.assertContent(seen, OLD)
        self.assertIn("readable.py", os.listdir(self.path("leaf")))

    def test_writer_that_fails_shows_nothing_again(self):
        self.fill()
        path = self.path("leaf", "compiled_module")
        os.unlink(path)
        writer = self.agent()
        writer.calls.begin(path, NEW)
        writer.kill()
        self.agent().calls.write(path, samples.half(NEW))
        harness.wait_until(lambda: calls.missing(path), "no such name")
        self.assertContent(self.shared("leaf", "compiled_module"), OLD)

    def test_open_reader_keeps_what_is_removed(self):
        self.fill()
        path = self.path("leaf", "compiled_module")
        fd = os.open(path, os.O_RDONLY)
        os.unlink(path)
        calls.save(path, NEW)
        self.assertEqual(calls.read_fd(fd), OLD)
        os.close(fd)

    def test_one_creates_what_is_hidden(self):
        agents = self.agents(4)
        names = [f"lock{number}" for number in range(20)]
        for name in names:
            calls.write(self.path(name), b"old")
            os.unlink(self.path(name))
        for agent in agents:
            agent.begin("calls.create_exclusively", self.dir, names)
        won = [name for agent in agents for name in agent.end()]
        self.assertEqual(sorted(won), sorted(names), "expected one winner each")
        for name in names:
            self.assertContent(self.path(name), b"")
            self.assertContent(self.shared(name), b"")

    def test_index_is_hidden_with_what_it_names(self):
        names = self.fill()
        self.agent().os.unlink(self.path("leaf", "ge.om"))
        self.assertMissing(self.path("leaf", "ge.idx"), by=self.agent().calls)
        self.assertKept(names)

    def test_other_kinds_in_the_place_of_what_is_hidden(self):
        self.fill()
        for name in "note.json", "link":
            os.unlink(self.path("leaf", name))
            os.mkdir(self.path("leaf", name))
            harness.wait_until(lambda: os.path.isdir(self.shared("leaf", name)),
                               "a directory in the other mount")
            os.rmdir(self.path("leaf", name))
            os.symlink("ge.om", self.path("leaf", name))
            harness.wait_until(lambda: os.path.islink(self.shared("leaf", name)),
                               "a symlink in the other mount")
            os.unlink(self.path("leaf", name))
            calls.write(self.path("leaf", name), b"file")
            harness.wait_until(lambda: os.path.isfile(self.shared("leaf", name)),
                               "a file in the other mount")
            self.assertContent(self.shared("leaf", name), b"file",
                               by=self.agent().calls)
        shutil.rmtree(self.path("leaf", "deep"))
        path = self.path("leaf", "deep")
        self.assertErrno(errno.EISDIR, calls.write, path, b"file")
        self.assertErrno(errno.EEXIST, os.symlink, "x", path)
        self.assertMissing(path)
        self.assertContent(self.shared("leaf", "deep", "er", "file"), b"deep")

    def test_directory_that_is_not_empty_stays(self):
        names = self.fill()
        self.assertErrno(errno.ENOTEMPTY, os.rmdir, self.path("leaf"))
        self.assertEqual(self.tree(self.path("leaf")), names)
        shutil.rmtree(self.path("leaf"))
        calls.write(self.shared("leaf", "news.json"), b"{}")
        os.mkdir(self.path("leaf"))
        self.assertListing(self.path("leaf"), ["news.json"],
                           hint=": what others put there since")
        self.assertErrno(errno.ENOTEMPTY, os.rmdir, self.path("leaf"))

    def test_directory_that_another_mount_makes_again_is_new(self):
        self.fill()
        os.unlink(self.path("leaf", "note.json"))
        shutil.rmtree(self.shared("leaf"))
        os.mkdir(self.shared("leaf"))
        calls.write(self.shared("leaf", "note.json"), b"new")
        self.assertContent(self.path("leaf", "note.json"), b"new")

    def test_rename_moves_for_everybody(self):
        self.fill()
        os.rename(self.path("leaf", "note.json"), self.path("leaf", "moved.json"))
        self.assertContent(self.shared("leaf", "moved.json"), b"{}")
        self.assertMissing(self.shared("leaf", "note.json"))
        os.unlink(self.path("leaf", "ge.om"))
        os.rename(self.path("leaf"), self.path("renamed"))
        self.assertMissing(self.path("renamed", "ge.om"))
        self.assertContent(self.shared("renamed", "ge.om"), samples.om(3))

    def test_rename_onto_what_is_hidden(self):
        names = self.fill()
        path = self.path("leaf", "note.json")
        os.unlink(path)
        calls.write(self.path("leaf", "tmp"), b"new")
        os.rename(self.path("leaf", "tmp"), path)
        for seen in path, self.shared("leaf", "note.json"):
            self.assertContent(seen, b"new", by=self.agent().calls)
        self.assertEqual(self.tree(self.shared("leaf")), names)
        shutil.rmtree(self.path("leaf"))
        os.mkdir(self.path("fresh"))
        self.assertErrno(errno.ENOTEMPTY, os.rename, self.path("fresh"),
                         self.path("leaf"))
        self.assertListing(self.dir, ["fresh"])
        self.assertKept(names)

    def test_stored_readable_is_kept(self):
        calls.write(self.path("readable.py"), b"mine")
        os.unlink(self.path("readable.py"))
        self.assertMissing(self.path("readable.py"))
        self.assertContent(self.shared("readable.py"), b"mine")
        calls.write(self.path("readable.py"), b"new")
        self.assertContent(self.shared("readable.py"), b"new")

    def test_many_names(self):
        count = harness.amount(400, 5000)
        for number in range(count):
            os.symlink("x", self.path(f"link{number}"))
        for number in range(0, count, 2):
            os.unlink(self.path(f"link{number}"))
        self.assertListing(self.dir, [f"link{number}"
                                      for number in range(1, count, 2)])
        self.assertEqual(len(os.listdir(self.other_dir)), count)


@mount_only
class Ended(PrivateTest):
    def test_names_are_back_with_the_next_mount(self):
        names = self.fill()
        shutil.rmtree(self.path("leaf"))
        self.assertListing(self.dir, [])
        self.mount.restart()
        self.assertEqual(self.tree(self.path("leaf")), names)
        self.assertContent(self.path("leaf", "compiled_module"), OLD)


if __name__ == "__main__":
    harness.main()
