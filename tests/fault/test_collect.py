# SPDX-License-Identifier: Apache-2.0
"""A store is collected without a pause while many publish, move and delete.

The writers are processes that run collecting.py: there it says what each path may
show. In the end everything that was not deleted is there, and nothing else.
"""
import os
import random
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "mount"))
sys.path.insert(0, HERE)

import collecting  # noqa: E402
import harness  # noqa: E402
import loops  # noqa: E402
import samples  # noqa: E402
from harness import mount_only  # noqa: E402

WRITERS = harness.amount(16, 64)
SECONDS = harness.amount(8, 60)
ALL_NOW = ("gc", "--grace=0", "--keep=0")
PACK = 0x4b434150  # "PACK"


def packs_of(manifest):
    """The ids that a manifest names, in hex. docs/format.md, "Manifests"."""
    count, = struct.unpack_from("<I", manifest, 12)
    at, found = 32, set()
    for _ in range(count):
        tag, _, size = struct.unpack_from("<IIQ", manifest, at)
        content = manifest[at + 16:at + 16 + size]
        if tag == PACK:
            found |= {content[i:i + 16].hex() for i in range(0, size, 16)}
        at += 16 + size
    return found


def files_in(*parts):
    return samples.files_below(os.path.join(*parts))


class Store:
    """What lies in a store that nobody uses."""

    def __init__(self, path):
        self.path = path

    def needed(self):
        packs = set()
        for name in files_in(self.path, "refs"):
            with open(os.path.join(self.path, "refs", name), "rb") as file:
                packs |= packs_of(file.read())
        return packs

    def packs(self):
        return {os.path.basename(name) for name in files_in(self.path, "packs")}


@mount_only
class Collected(harness.MountTest):
    mounts = 4

    def setUp(self):
        self.journals = os.path.join(self.root, "journals")
        os.mkdir(self.journals)
        for name in ("shared", "kept", "moved", "passing"):
            os.mkdir(os.path.join(self.mount.path, name))
        for name in ("shared", "kept", "moved"):  # so what is evicted is `passing`
            done = harness.tacfs("pin", self.store, name)
            self.assertEqual(done.returncode, 0, done.stderr)

    def commands(self):
        kept = ("gc", "--grace=0", "--keep=3600", self.store)
        return ((((*ALL_NOW, self.store), kept), 2),
                ([("undelete", self.store, f"passing/{number}")
                  for number in range(collecting.PASSING)], 0),
                ((("gc", "--evict=1", self.store),), 0),
                ((("fsck", self.store),), 1))

    def test_what_was_not_deleted_is_there(self):
        mounts = [mount.path for mount in self.mounted]
        collections, undeletions, evictions, checks = loops.run_while_writing(
            self, WRITERS, SECONDS, self.journals, mounts, self.commands())
        print(f"\n  {self.check_kept()} trees kept, {collections} collections, "
              f"{undeletions} undeletions, {evictions} evictions, {checks} checks")
        self.check_store()

    def check_kept(self):
        chance = random.Random(1)
        reader = collecting.Worker(0, self.journals,
                                   [mount.path for mount in self.mounted])
        count = 0
        for name in os.listdir(self.journals):
            with open(os.path.join(self.journals, name)) as journal:
                for top in journal.read().split():
                    reader.check_tree(chance.choice(reader.mounts), top)
                    count += 1
        self.assertGreater(count, 0)
        return count

    def check_store(self):
        """With all at rest a collection leaves what is needed, and that alone."""
        store = Store(self.store)
        for mount in self.mounted:
            mount.stop()
        done = harness.tacfs(*ALL_NOW, self.store)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = harness.tacfs("fsck", "--read-data", self.store)
        self.assertEqual((done.returncode, done.stderr), (0, b""), done.stdout)
        self.assertEqual(files_in(self.store, "quarantine"), [])
        self.assertEqual(store.packs(), store.needed())
        self.assertEqual(files_in(self.store, "trash"), [])
        self.assertEqual(files_in(self.store, "intents"), [])
        for mount in self.mounted:
            mount.start()
        self.check_kept()


if __name__ == "__main__":
    harness.main()
