# SPDX-License-Identifier: Apache-2.0
"""-o strict: what is whole, but not what we know, is not handed to a loader."""
import errno
import os
import shutil
import unittest

import calls
import harness
import samples
from harness import mount_only


@mount_only
class Strict(unittest.TestCase):
    def setUp(self):
        self.root = harness.new_directory(self._testMethodName)
        self.store = os.path.join(self.root, "store")

    def new_mount(self, name, *options):
        mount = harness.Mount(self.store, os.path.join(self.root, name), options)
        self.addCleanup(mount.discard)
        return mount

    def fill(self, files):
        with self.new_mount("writer") as writer:
            for path, content in files.items():
                path = os.path.join(writer.path, path)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                calls.write(path, content)

    def refused(self, path):
        with self.assertRaises(OSError) as raised:
            calls.read(path)
        return raised.exception.errno

    def test_foreign_is_shown_but_not_read(self):
        foreign = samples.foreign()
        self.fill({"m/p/compiled_module": foreign, "m/q/compiled_module": samples.module(1),
                   "m/q/note": b"plain"})
        strict = self.new_mount("strict", "strict").start()
        path = os.path.join(strict.path, "m", "p", "compiled_module")
        self.assertEqual(self.refused(path), errno.EACCES)
        self.assertEqual(os.stat(path).st_size, len(foreign))
        self.assertIn(b"not a compiled_module as TorchAir", calls.read(os.path.join(os.path.dirname(path),
                                                          "readable.py")))
        self.assertIn("strict", strict.log_text())
        for name, content in ("compiled_module", samples.module(1)), ("note", b"plain"):
            self.assertEqual(calls.read(os.path.join(strict.path, "m", "q", name)),
                             content)

    def test_the_client_clears_and_compiles_again(self):
        self.fill({"m/p/compiled_module": samples.foreign()})
        strict = self.new_mount("strict", "strict").start()
        leaf = os.path.join(strict.path, "m", "p")
        path = os.path.join(leaf, "compiled_module")
        self.assertEqual(self.refused(path), errno.EACCES)
        shutil.rmtree(leaf)
        os.makedirs(leaf)
        calls.save(path, samples.module(2))
        self.assertEqual(calls.read(path), samples.module(2))

    def test_an_idx_that_names_a_foreign_model_is_hidden(self):
        files = {"m/g.om": samples.om(1), "m/g.idx": samples.idx("g.om"),
                 "m/h.om": samples.noise("model", 3000), "m/h.idx": samples.idx("h.om")}
        self.fill(files)
        strict = self.new_mount("strict", "strict").start()
        names = os.path.join(strict.path, "m")
        self.assertEqual(calls.read(os.path.join(names, "g.idx")), files["m/g.idx"])
        self.assertEqual(self.refused(os.path.join(names, "h.om")), errno.EACCES)
        self.assertEqual(self.refused(os.path.join(names, "h.idx")), errno.ENOENT)
        with self.new_mount("lenient") as lenient:
            self.assertEqual(calls.read(os.path.join(lenient.path, "m", "h.idx")),
                             files["m/h.idx"])


if __name__ == "__main__":
    harness.main()
