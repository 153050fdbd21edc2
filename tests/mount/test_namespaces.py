# SPDX-License-Identifier: Apache-2.0
"""Namespaces: trees of one store that do not see each other, and share blocks."""
import os
import unittest

import calls
import harness
import samples
import supervisor
from harness import mount_only


@mount_only
class Namespaces(unittest.TestCase):
    def setUp(self):
        self.root = harness.new_directory(self._testMethodName)
        self.store = os.path.join(self.root, "store")

    def mount(self, name, *options):
        mount = harness.Mount(self.store, os.path.join(self.root, name), options)
        self.addCleanup(mount.discard)
        return mount.start()

    def refuse(self, option):
        point = os.path.join(self.root, "refused")
        os.makedirs(point, exist_ok=True)
        done = harness.tacfs("mount", self.store, point, "-o", option)
        self.assertEqual(supervisor.mounts_below(point), [],
                         f"{option}: expected nothing mounted")
        return done.returncode, done.stderr.decode()

    def test_new_namespace_is_empty_and_apart(self):
        first = self.mount("first")
        other = self.mount("other", "namespace=other")
        again = self.mount("again", "namespace=other")
        self.assertEqual(os.listdir(other.path), [], "expected an empty namespace")
        path = os.path.join("model", "compiled_module")
        for mount, seed in (first, 1), (other, 2):
            calls.save(os.path.join(mount.path, path), samples.module(seed))
        for mount, seed in (first, 1), (other, 2), (again, 2):
            self.assertEqual(calls.read(os.path.join(mount.path, path)),
                             samples.module(seed),
                             f"{mount.options}: expected its own module")
        os.unlink(os.path.join(other.path, path))
        self.assertEqual(calls.read(os.path.join(first.path, path)),
                         samples.module(1), "expected the other namespace untouched")
        self.assertTrue(calls.missing(os.path.join(again.path, path)),
                        "expected the unlinked name to be gone in its namespace")

    def test_default_is_a_namespace_like_others(self):
        first = self.mount("first")
        calls.write(os.path.join(first.path, "a.json"), b"{}")
        second = self.mount("second", "namespace=default")
        self.assertEqual(calls.read(os.path.join(second.path, "a.json")), b"{}")

    def test_namespaces_share_blocks(self):
        content = samples.module(3, 200000)
        packs = os.path.join(self.store, "packs")
        for name in "one", "two":
            mount = self.mount(name, f"namespace={name}")
            calls.save(os.path.join(mount.path, "m", "compiled_module"), content)
        self.assertEqual(len(samples.files_below(packs)), 1,
                         "expected the blocks of both namespaces once")

    def test_any_file_name_will_do(self):
        for number, name in enumerate(("a b", "推理", "x" * 255, ".hidden")):
            with self.subTest(name=name):
                mount = self.mount(f"mount{number}", f"namespace={name}")
                calls.write(os.path.join(mount.path, "a.json"), b"{}")
                mount.stop()
                self.assertTrue(os.path.isfile(os.path.join(
                    self.store, "refs", name, "a.json")),
                    "expected the namespace below refs/")

    def test_auto_is_the_name_that_fingerprint_prints(self):
        printed = harness.tacfs("fingerprint").stdout.decode().rstrip("\n")
        mount = self.mount("mount", "namespace=auto")
        calls.write(os.path.join(mount.path, "a.json"), b"{}")
        self.assertTrue(printed, "expected a name")
        self.assertEqual(os.listdir(os.path.join(self.store, "refs")), [printed],
                         "expected only the namespace with that name")

    def test_other_names_are_refused_with_words(self):
        for name in "", ".", "..", "a/b", "/", "x" * 256:
            with self.subTest(name=name):
                status, said = self.refuse(f"namespace={name}")
                self.assertEqual(status, 64, f"expected 64, seen {status}: {said}")
                self.assertIn(f"namespace={name[:100]}", said)
        self.assertFalse(os.path.exists(self.store),
                         "expected no store made by a refused mount")


if __name__ == "__main__":
    harness.main()
