# SPDX-License-Identifier: Apache-2.0
"""Packs of which little is needed are rewritten under the mounts that use them."""
import json
import os

import calls
import harness
import samples
from harness import mount_only

LARGE = 600000


@mount_only
class Rewritten(harness.MountTest):
    mounts = 2

    def leave_a_part(self, path, content):
        """Publishes it so that it shares blocks with what is deleted then."""
        shared = content[:len(content) * 3 // 4]
        large = self.path("large")
        calls.write(large, shared + samples.noise(path, LARGE))
        calls.save(path, content)
        os.unlink(large)

    def gc(self, *options):
        done = harness.tacfs("gc", "--grace=0", "--keep=0", "--json", *options,
                             self.store)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        result = json.loads(done.stdout)
        self.assertEqual(result["rewritten_packs"], 1,
                         f"expected one pack rewritten, seen {result}")
        self.assertGreater(result["rewritten_bytes"], LARGE // 2)
        return result

    def collect(self):
        told = self.gc("--dry-run")["rewritten_bytes"]
        result = self.gc()
        self.assertEqual(result["rewritten_bytes"], told)
        self.assertEqual(result["deleted_packs"], 1,
                         f"expected the old pack deleted, seen {result}")

    def test_who_has_it_open_is_not_disturbed(self):
        content = samples.noise(self.id(), 200000)
        path, seen = self.path("kept"), os.path.join(self.other_dir, "kept")
        self.leave_a_part(path, content)
        os.setxattr(path, "user.kept", b"value")
        os.utime(path, ns=(10**18 + 1, 10**18 + 1))
        before, there = os.stat(path), os.stat(seen)
        agent = self.agent()
        handle = agent.calls.map_file(seen)
        fd = agent.os.open(seen, os.O_RDONLY)
        self.collect()
        self.assertEqual(agent.calls.mapped(handle), content)
        self.assertEqual(agent.calls.read_fd(fd), content)
        for name, then in (path, before), (seen, there):
            now = os.stat(name)
            self.assertEqual(
                (now.st_ino, now.st_mode, now.st_size, now.st_mtime_ns, now.st_nlink),
                (then.st_ino, then.st_mode, then.st_size, then.st_mtime_ns,
                 then.st_nlink))
            self.assertEqual(os.getxattr(name, "user.kept"), b"value")
            self.assertContent(name, content)
        self.assertEqual(samples.files_below(os.path.join(self.store, "quarantine")),
                         [])

    def test_attributes_of_an_open_file_change(self):
        content = samples.noise(self.id(), 200000)
        path = self.path("kept")
        self.leave_a_part(path, content)
        with open(path, "rb") as file:
            self.collect()
            os.fchmod(file.fileno(), 0o640)
            os.utime(file.fileno(), ns=(10**18 + 1, 10**18 + 1))
            self.assertEqual(file.read(), content)
        for directory in self.dir, self.other_dir:
            now = os.stat(os.path.join(directory, "kept"))
            self.assertEqual((now.st_mode & 0o777, now.st_mtime_ns),
                             (0o640, 10**18 + 1))
            self.assertContent(os.path.join(directory, "kept"), content)

    def test_a_readable_that_was_removed_stays_so(self):
        content = samples.module(1, 200000)
        path = self.path("model", "compiled_module")
        self.leave_a_part(path, content)
        readable = self.path("model", "readable.py")
        self.assertTrue(os.path.exists(readable))
        os.unlink(readable)
        self.collect()
        self.assertMissing(readable)
        self.assertListing(self.path("model"), ["compiled_module"])
        self.assertContent(path, content)


if __name__ == "__main__":
    harness.main()
