# SPDX-License-Identifier: Apache-2.0
"""The models of crashes in replay.py, on logs written by hand."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import replay  # noqa: E402

OLD, NEW = b"old" * 1000, b"new" * 1000


class Log:
    """A log of calls below `root`, which has a file `name` with OLD.

    What the calls make has negative numbers, which no other inode has.
    """

    def __init__(self, root):
        self.root = root
        with open(os.path.join(root, "name"), "wb") as file:
            file.write(OLD)
        self.top = os.lstat(root).st_ino
        self.lines = []

    def add(self, *words):
        self.lines.append(" ".join(map(str, words)) + "\n")
        return self

    def draft(self, inode=-1, content=NEW):
        return self.add("tmpfile", inode, "600").add("write", inode, 0, content.hex())

    def link(self, name, inode=-1, directory=None):
        return self.add("link", inode, directory or self.top, name.encode().hex())

    def rename(self, old, new, exchanges=0):
        return self.add("rename", self.top, old.encode().hex(), self.top,
                        new.encode().hex(), exchanges)

    def unlink(self, name):
        return self.add("unlink", self.top, name.encode().hex())

    def mkdir(self, name, inode):
        return self.add("mkdir", inode, "755", self.top, name.encode().hex())

    def fsync(self, inode=-1):
        return self.add("fsync", inode)

    def wait(self, inode=-1, flags=7):
        return self.add("range", inode, 0, 0, flags)


class Replayed(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.log = Log(directory.name)

    def left(self, model):
        """All that a crash at the end of the log may leave."""
        recording = replay.Recording(self.log.root).read_log(self.log.lines)
        return [{path: content for path, (_, _, content) in image.files().items()}
                for image in model(recording, amount=20).images(recording.end)]

    def contents(self, model, name="name"):
        return {files.get(name) for files in self.left(model)}

    def assertOnly(self, model, *contents, name="name"):
        self.assertEqual(self.contents(model, name), set(contents))

    def assertAmong(self, model, *contents, name="name"):
        self.assertLessEqual(set(contents), self.contents(model, name))


class Both(Replayed):
    def each(self):
        for model in (replay.Journal, replay.Weak):
            with self.subTest(model.__name__):
                yield model

    def test_a_name_before_its_data(self):
        self.log.draft().link("draft").rename("draft", "name")
        for model in self.each():
            self.assertAmong(model, OLD, NEW, b"", bytes(len(NEW)), NEW[:1024])
            self.assertTrue(any(0 < content.count(0) < len(content)
                                for content in self.contents(model) if content))

    def test_data_before_its_name(self):
        self.log.draft().fsync().link("draft").rename("draft", "name")
        for model in self.each():
            self.assertOnly(model, OLD, NEW)

    def test_data_and_name(self):
        self.log.draft().fsync().link("draft").rename("draft", "name")
        self.log.fsync().fsync(self.log.top)
        for model in self.each():
            self.assertOnly(model, NEW)

    def test_an_exchange_is_one_step(self):
        self.log.draft().fsync().link("draft").fsync(self.log.top)
        self.log.rename("draft", "name", 2)
        for model in self.each():
            self.assertEqual({(files["name"], files["draft"])
                              for files in self.left(model)},
                             {(OLD, NEW), (NEW, OLD)})

    def test_writing_in_place(self):
        """What was on disk stays, but where it is written to."""
        inode = os.lstat(os.path.join(self.log.root, "name")).st_ino
        self.log.add("write", inode, len(OLD), NEW.hex())
        for model in self.each():
            self.assertAmong(model, OLD, OLD + NEW)
            for content in self.contents(model):
                self.assertEqual(content[:2560], OLD[:2560])


class Journal(Replayed):
    def test_waiting_for_data_is_enough_before_a_name(self):
        self.log.draft().wait().link("draft").rename("draft", "name")
        self.assertOnly(replay.Journal, OLD, NEW)

    def test_not_waiting_is_not(self):
        self.log.draft().wait(flags=2).link("draft").rename("draft", "name")
        self.assertAmong(replay.Journal, b"")

    def test_nor_is_waiting_on_a_weak_file_system(self):
        self.log.draft().wait().link("draft").rename("draft", "name")
        self.assertAmong(replay.Weak, b"")

    def test_names_keep_their_order(self):
        self.log.draft(-1).fsync(-1).link("first", -1)
        self.log.draft(-2).fsync(-2).link("second", -2)
        for files in self.left(replay.Journal):
            self.assertFalse("second" in files and "first" not in files)

    def test_a_later_fsync_takes_earlier_names_with_it(self):
        self.log.draft(-1).wait(-1).link("first", -1)
        self.log.draft(-2).wait(-2).link("second", -2).fsync(-2)
        self.assertOnly(replay.Journal, NEW, name="first")

    def test_an_fsync_commits_no_later_names(self):
        self.log.draft(-1).wait(-1).link("first", -1)
        self.log.draft(-2).wait(-2).link("second", -2).fsync(-1)
        self.assertOnly(replay.Journal, NEW, None, name="second")


class Weak(Replayed):
    def test_names_in_any_order(self):
        self.log.draft(-1).fsync(-1).link("first", -1)
        self.log.draft(-2).fsync(-2).link("second", -2)
        self.assertEqual({("first" in files, "second" in files)
                          for files in self.left(replay.Weak)},
                         {(a, b) for a in (True, False) for b in (True, False)})

    def test_of_one_name_in_order(self):
        self.log.draft(-1).fsync(-1).link("draft", -1).rename("draft", "name")
        self.log.unlink("name")
        self.assertOnly(replay.Weak, OLD, NEW, None)
        self.assertOnly(replay.Weak, NEW, None, name="draft")

    def test_a_name_needs_its_directory(self):
        self.log.mkdir("directory", -5).draft().fsync().link("file", -1, -5).fsync(-5)
        self.assertOnly(replay.Weak, NEW, None, name="directory/file")
        self.log.fsync(self.log.top)
        self.assertOnly(replay.Weak, NEW, name="directory/file")

    def test_syncfs(self):
        self.log.draft().link("file").add("syncfs", -1)
        self.assertOnly(replay.Weak, NEW, name="file")

    def test_many_names(self):
        """Each may be lost alone, and be there alone."""
        for inode in range(-10, 0):
            self.log.draft(inode).fsync(inode).link(f"file{inode}", inode)
        counts = {len(files) - 1 for files in self.left(replay.Weak)}
        self.assertLessEqual({0, 1, 9, 10}, counts)


if __name__ == "__main__":
    unittest.main(verbosity=2)
