# SPDX-License-Identifier: Apache-2.0
"""Damage in the store is a miss: exact bytes or ENOENT, and then it heals."""
import errno
import mmap
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..",
                                "mount"))

import calls  # noqa: E402
import damage  # noqa: E402
import harness  # noqa: E402
import samples  # noqa: E402
from harness import mount_only  # noqa: E402

FLIPS = harness.amount(25, 1000)  # of each file, in a mount that stays
FRESH_FLIPS = harness.amount(4, 100)  # of each file, each in a mount of its own
HEALED = harness.amount(4, 40)  # of each file

LEAF = "model/prompt"
CONTENTS = {
    f"{LEAF}/compiled_module": samples.module(1, 40000),
    f"{LEAF}/graph_1.om": samples.om(1, 150000),
    f"{LEAF}/graph_1.idx": samples.idx("graph_1.om"),
    f"{LEAF}/weight": samples.text("weight", 100000),
    f"{LEAF}/tiny": b"a few bytes",
}


class DamageTest(harness.MountTest):
    """A store with a few entries, whose files are damaged one at a time."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name, content in CONTENTS.items():
            path = os.path.join(cls.mount.path, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            calls.write(path, content)
        cls.text = calls.read(cls.entry(f"{LEAF}/readable.py"))
        cls.mount.restart()
        cls.snapshot = damage.Snapshot(cls.store)

    @classmethod
    def entry(cls, name):
        return os.path.join(cls.mount.path, name)

    @classmethod
    def manifest(cls, name):
        return os.path.join(cls.store, "refs", "default", name)

    def setUp(self):
        self.snapshot.restore()
        self.addCleanup(self.snapshot.restore)
        self.seen = {"exact": 0, "ENOENT": 0}

    def check_all(self, what):
        """Every entry gives its exact bytes or ENOENT."""
        for name, content in CONTENTS.items():
            self.check(name, content, what)
        self.check(f"{LEAF}/readable.py", self.text, what)
        self.assertTrue(self.mount.alive(), f"{what}: expected a living daemon, seen "
                        f"its end: {self.mount.log_text()}")

    def check(self, name, content, what):
        path = self.entry(name)
        try:
            fd = os.open(path, os.O_RDONLY)
        except OSError as error:
            self.assertEqual(errno.errorcode[error.errno], "ENOENT",
                             f"{what}, {name}: expected ENOENT or success from open, "
                             f"seen {error}")
            self.seen["ENOENT"] += 1
            return
        try:
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            self.check_reads(fd, content, f"{what}, {name}")
        finally:
            os.close(fd)
        self.seen["exact"] += 1

    def check_reads(self, fd, content, what):
        try:
            size = os.fstat(fd).st_size
            at_once = os.pread(fd, size, 0) if size else b""
            seen = calls.read_fd(fd)
            with mmap.mmap(fd, 0, prot=mmap.PROT_READ) as pages:
                mapped = bytes(pages)
        except OSError as error:
            self.fail(f"{what}: expected reads to succeed after open, seen {error}")
        for way, got in (("one read", at_once), ("reads", seen), ("mmap", mapped)):
            if got != content:
                self.fail(f"{what}, {way}: expected {samples.describe(content)}, "
                          f"seen {samples.describe(got)}")

    def targets(self):
        """Every pack and manifest, by a short name."""
        return [(os.path.relpath(path, self.store), path)
                for path in self.snapshot.files]

    def looks_around(self):
        """What else a client does must not fail over damage."""
        for directory, _, names in os.walk(self.mount.path):
            for name in names:
                calls.stat_errno(os.path.join(directory, name))


@mount_only
class Everywhere(DamageTest):
    def damage_each(self, kinds, restart):
        """Applies kinds(size) to each file of the store, one at a time."""
        for name, path in self.targets():
            for kind in kinds(len(self.snapshot.files[path][0])):
                kind.apply(path)
                if restart:
                    self.mount.restart()
                self.check_all(f"{name}: {kind}")
                self.looks_around()
                self.snapshot.restore()
        print(f"\n  opens: {self.seen}")
        self.assertGreater(self.seen["ENOENT"], 0, "expected damage to be found, "
                           f"seen {self.seen}")
        self.check_restored()

    def check_restored(self):
        """What was put back is served again: nothing was given up for good."""
        self.mount.restart()
        before = self.seen["exact"]
        self.check_all("after all was put back")
        self.assertEqual(self.seen["exact"] - before, len(CONTENTS) + 1,
                         "expected every entry to be served again")

    def test_flipped_bytes(self):
        self.damage_each(lambda size: damage.flips(size, FLIPS, 1), False)

    def test_flipped_bytes_in_a_new_mount(self):
        self.damage_each(lambda size: damage.flips(size, FRESH_FLIPS, 2), True)

    def test_cut_emptied_extended_deleted(self):
        self.damage_each(damage.wholesale, False)

    def test_cut_emptied_extended_deleted_in_a_new_mount(self):
        if not harness.LONG:
            self.skipTest("only with TACFS_LONG=1")
        self.damage_each(damage.wholesale, True)

    def test_packs_are_swapped(self):
        packs = self.snapshot.packs()
        for one, other in zip(packs, packs[1:]):
            damage.put_back(one, self.snapshot.files[other][0], 0o400)
            self.check_all(f"{os.path.basename(one)} replaced by another pack")
            self.mount.restart()
            self.check_all(f"{os.path.basename(one)} replaced by another pack")
            self.snapshot.restore()

    def test_all_packs_are_gone(self):
        shutil.rmtree(os.path.join(self.store, "packs"))
        self.mount.restart()
        self.check_all("no packs")
        self.assertEqual(self.seen["exact"], 1, "expected only the entry that is "
                         f"stored in its manifest to be served, seen {self.seen}")
        for name, content in CONTENTS.items():
            calls.write(self.entry(name), content)
        before = self.seen["exact"]
        self.check_all("written again")
        self.assertEqual(self.seen["exact"] - before, len(CONTENTS) + 1,
                         "expected every entry after it was written again")


@mount_only
class Healing(DamageTest):
    def victims(self):
        """(name of an entry, a file that it needs)"""
        for name in CONTENTS:
            yield name, self.manifest(name)
        for pack in self.snapshot.packs():
            damage.Act("cut", lambda path: os.truncate(path, 0)).apply(pack)
            lost = [name for name, content in CONTENTS.items()
                    if calls.look(self.entry(name))[0] == "errno"]
            self.snapshot.restore()
            for name in lost:
                if not name.endswith(".idx"):
                    yield name, pack

    def test_writing_again_heals(self):
        healed = 0
        for name, path in list(self.victims()):
            content = CONTENTS[name]
            size = len(self.snapshot.files[path][0])
            for kind in damage.flips(size, HEALED, 3) + damage.wholesale(size):
                kind.apply(path)
                what = f"{os.path.relpath(path, self.store)}: {kind}"
                self.check(name, content, what)
                healed += calls.look(self.entry(name))[0] == "errno"
                self.write_again(name, content, what)
                self.snapshot.restore()
        self.assertGreater(healed, 10, "expected many entries to need healing, seen "
                           f"{healed}")

    def write_again(self, name, content, what):
        if name.endswith("compiled_module"):
            calls.save(self.entry(name), content)
        else:
            calls.write(self.entry(name), content)
        before = self.seen["exact"]
        self.check(name, content, what + ", written again")
        self.assertEqual(self.seen["exact"] - before, 1,
                         f"{what}, {name}: expected the entry after it was written "
                         "again, seen ENOENT")

    def test_healed_store_stays_healed(self):
        for pack in self.snapshot.packs():
            damage.flips(os.path.getsize(pack), 1, 4)[0].apply(pack)
        for name, content in CONTENTS.items():
            calls.write(self.entry(name), content)
        for _ in range(2):
            before = self.seen["exact"]
            self.check_all("healed")
            self.assertEqual(self.seen["exact"] - before, len(CONTENTS) + 1,
                             "expected every entry after it was written again")
            self.mount.restart()

    def test_damaged_pack_is_never_shared(self):
        """Equal content is written under another name while the pack is bad."""
        for number, pack in enumerate(self.snapshot.packs()):
            for kind in damage.flips(os.path.getsize(pack), HEALED, number):
                kind.apply(pack)
                for name, content in CONTENTS.items():
                    if name.endswith(".idx"):
                        continue  # its model is not beside the copy
                    copy = self.entry("copy-" + name.replace("/", "-"))
                    calls.write(copy, content)
                    self.assertContent(copy, content, hint=f" ({kind})")
                    os.unlink(copy)
                self.snapshot.restore()

    def test_damage_is_kept_with_a_reason(self):
        pack = max(self.snapshot.packs(), key=os.path.getsize)
        quarantine = os.path.join(self.store, "quarantine")
        before = set(samples.files_below(quarantine))
        size = os.path.getsize(pack)
        damage.Flip(size // 3, 0xff).apply(pack)
        self.mount.restart()
        self.check_all("a flipped byte")
        new = set(samples.files_below(quarantine)) - before
        self.assertGreater(self.seen["ENOENT"], 0, "expected an entry to vanish")
        self.assertGreater(len(new), 0, "expected what is bad in quarantine/, seen "
                           "nothing new there")


@mount_only
class Consequences(DamageTest):
    def lose(self, name):
        damage.Flip(20, 0xff).apply(self.manifest(name))

    def test_index_goes_with_its_model(self):
        """GE reads the index first: it must be gone before the model is asked for."""
        self.lose(f"{LEAF}/graph_1.om")
        self.assertMissing(self.entry(f"{LEAF}/graph_1.idx"),
                           by=self.agent().calls)
        calls.write(self.entry(f"{LEAF}/graph_1.om"), CONTENTS[f"{LEAF}/graph_1.om"])
        self.check_all("written again")
        self.assertEqual(self.seen["ENOENT"], 0, "expected the index again with its "
                         "model")

    def test_index_goes_with_the_blocks_of_its_model(self):
        for pack in self.snapshot.packs():
            size = os.path.getsize(pack)
            damage.Act("zeroed", lambda path, size=size: damage.overwrite(
                path, 64, b"\0" * (size - 64))).apply(pack)
        self.mount.restart()
        self.assertMissing(self.entry(f"{LEAF}/graph_1.idx"),
                           by=self.agent().calls)

    def test_damaged_leaf_can_be_cleared_and_filled(self):
        for name in CONTENTS:
            self.lose(name)
            shutil.rmtree(self.entry("model"))
            self.assertMissing(self.entry("model"))
            os.makedirs(self.entry(LEAF))
            for again, content in CONTENTS.items():
                calls.write(self.entry(again), content)
            before = self.seen["exact"]
            self.check_all("written again")
            self.assertEqual(self.seen["exact"] - before, len(CONTENTS) + 1,
                             "expected every entry after it was written again")
            self.snapshot.restore()

    def test_open_file_never_lies(self):
        """Damage after open: the exact bytes, or an error, never others."""
        for pack in self.snapshot.packs():
            fds = {name: os.open(self.entry(name), os.O_RDONLY) for name in CONTENTS}
            size = os.path.getsize(pack)
            damage.Act("zeroed", lambda path, size=size: damage.overwrite(
                path, 64, b"\0" * (size - 64))).apply(pack)
            for name, fd in fds.items():
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
                try:
                    seen = calls.read_fd(fd)
                except OSError:
                    seen = CONTENTS[name]
                if seen != CONTENTS[name]:
                    self.fail(f"{name}: expected the exact bytes or an error, seen "
                              f"{samples.describe(seen)}")
                os.close(fd)
            self.snapshot.restore()

    def test_strange_things_among_the_manifests(self):
        refs = os.path.join(self.store, "refs", "default", LEAF)
        made = {"empty": b"", "text": b"no manifest", "zeros": bytes(5000),
                "compiled_module2": samples.module(1), "large": bytes(1 << 22)}
        for name, content in made.items():
            calls.write(os.path.join(refs, name), content)
        os.mkfifo(os.path.join(refs, "fifo"))
        for name in (*made, "fifo"):
            kind, seen = calls.look(self.entry(f"{LEAF}/{name}"))
            self.assertIn((kind, seen), (("errno", errno.ENOENT), ("errno",
                          errno.ENXIO)), f"{name}: expected an error from open")
        self.looks_around()
        self.check_all("strange things beside it")
        self.assertEqual(self.seen["ENOENT"], 0, "expected every entry beside them")
        for name in (*made, "fifo"):
            path = os.path.join(refs, name)
            if os.path.lexists(path):
                os.unlink(path)


@mount_only
class WholeStore(DamageTest):
    def test_index_is_only_a_cache(self):
        index = os.path.join(self.store, "index")
        for content in (None, b"", b"\0" * 10000, samples.noise("index", 5000)):
            self.mount.stop()
            for path in samples.files_below(index):
                if content is None:
                    os.unlink(os.path.join(index, path))
                else:
                    calls.write(os.path.join(index, path), content)
            self.mount.start()
            before = self.seen["exact"]
            self.check_all("damaged index")
            self.assertEqual(self.seen["exact"] - before, len(CONTENTS) + 1,
                             "expected every entry without an index")
            calls.write(self.entry("new"), samples.text("new", 50000))
            self.assertContent(self.entry("new"), samples.text("new", 50000))

    def test_damaged_format_is_refused_or_harmless(self):
        path = os.path.join(self.store, "FORMAT")
        content = calls.read(path)
        self.mount.stop()
        point = harness.new_directory("point")
        for kind in (damage.flips(len(content), harness.amount(4, 100), 5)
                     + damage.wholesale(len(content))):
            kind.apply(path)
            mount = harness.Mount(self.store, point)
            try:
                with mount:
                    self.check_entry_at(point, kind)
            except AssertionError:
                status = mount.process.returncode
                self.assertIn(status, (1, 2), f"FORMAT, {kind}: expected a mount that "
                              f"works, or an error, seen {status}: "
                              f"{mount.log_text()}")
            damage.put_back(path, content, 0o644)
        self.mount.start()
        self.check_all("FORMAT put back")
        self.assertEqual(self.seen["ENOENT"], 0, "expected every entry again")

    def check_entry_at(self, point, kind):
        for name, content in CONTENTS.items():
            kind_seen, seen = calls.look(os.path.join(point, name))
            if kind_seen == "bytes" and seen != content:
                raise RuntimeError(f"FORMAT, {kind}: expected exact bytes or ENOENT")


if __name__ == "__main__":
    harness.main()
