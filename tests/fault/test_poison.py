# SPDX-License-Identifier: Apache-2.0
"""A stranger in a shared store: never served, never followed, never waited for.

The mount is one of a user who is not root, who shares the store with a group.
Whoever runs the tests must be root, to have other users; what they need of
/dev and /etc is given to them in a mount namespace of their own.
"""
import errno
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..",
                                "mount"))

import enter  # noqa: E402

if __name__ == "__main__":
    enter.run_again("root")

import calls  # noqa: E402
import forge  # noqa: E402
import harness  # noqa: E402
import samples  # noqa: E402
import test_collision  # noqa: E402
from harness import mount_only  # noqa: E402

US = 1  # users that every system has: fusermount3 wants names
FRIEND = 5
THIRD = 2
STRANGER = 12345
GROUP = 54321
PATIENCE = 60


def identity(user):
    return {"user": user, "group": GROUP, "extra_groups": []}


class SharedTest(harness.MountTest):
    """A shared store, mounted by US; what is made by hand is the stranger's."""

    options = ("allow_other",)

    @classmethod
    def setUpClass(cls):
        os.chmod(harness.test_root(), 0o755)
        cls.root = harness.new_directory(cls.__name__)
        cls.store = os.path.join(cls.root, "store")
        done = harness.tacfs("init", f"--shared={GROUP}", cls.store)
        if done.returncode:
            raise AssertionError(done.stderr)
        cls.seed = forge.seed_of(cls.store)
        cls.mounted = []
        cls.mount = cls.other = cls.mount_as(US, "ours", cls.options)
        cls.mounted.append(cls.mount)

    @classmethod
    def mount_as(cls, user, name, options):
        path = os.path.join(cls.root, name)
        os.makedirs(path)
        os.chown(path, user, GROUP)
        mount = harness.Mount(cls.store, path, options, identity=identity(user))
        cls.addClassCleanup(mount.discard)
        return mount.start()

    def ref(self, name):
        return os.path.join(self.store, "refs", "default", self._testMethodName, name)

    def give(self, path, owner=STRANGER):
        os.chown(path, owner, GROUP, follow_symlinks=False)
        return path

    def put(self, path, data, owner=STRANGER):
        """A file in the store, in place of what is there, readable to all of us."""
        temporary = os.path.join(self.root, "draft")
        calls.write(temporary, data)
        os.chmod(temporary, 0o640)
        self.give(temporary, owner)
        os.rename(temporary, path)
        return path

    def pack_path(self, name):
        return os.path.join(self.store, "packs", name.hex()[:2], name.hex())

    def packs(self, name):
        return [self.pack_path(pack)
                for pack in forge.packs_of(calls.read(self.ref(name)))]

    def put_pack(self, blocks, owner=STRANGER, name=None):
        name = name or os.urandom(16)
        self.put(self.pack_path(name), forge.pack(name, blocks, self.seed), owner)
        return name

    def assertHeals(self, name, content):
        """Our own publication takes the name, and is ours."""
        calls.write(self.path(name), content)
        self.assertContent(self.path(name), content)
        self.assertEqual(os.lstat(self.ref(name)).st_uid, US)
        self.mount.restart()
        self.assertContent(self.path(name), content, hint=" after a remount")

    def look(self, path):
        """Opens and reads in another process, which must not be stuck."""
        agent = self.agent()
        agent.begin("calls.look", path)
        return agent.end(PATIENCE)


@mount_only
class Entries(SharedTest):
    def test_forged_entries(self):
        content = samples.noise("theirs", 10000)
        blocks = forge.pieces(content)
        name = self.put_pack([(raw, raw) for raw in blocks])
        for uid in (STRANGER, US, 0):
            for way, data in (
                    ("inline", forge.manifest(content[:1000], uid)),
                    ("blocks", forge.manifest(content, uid, name, self.seed, blocks))):
                with self.subTest(way=way, uid=uid):
                    self.put(self.ref("file"), data)
                    self.assertMissing(self.path("file"))
                    self.assertHeals("file", b"ours" * 1000)
        # The forgery is one only because of its owner.
        self.put(self.ref("file"), forge.manifest(content, US, name, self.seed, blocks),
                 US)
        self.put_pack([(raw, raw) for raw in blocks], US, name)
        self.assertContent(self.path("file"), content)

    def test_entry_that_names_another_than_its_owner(self):
        self.put(self.ref("file"), forge.manifest(b"text", FRIEND), US)
        self.assertMissing(self.path("file"))

    def test_entry_that_others_may_write(self):
        calls.write(self.path("file"), b"text")
        os.chmod(self.ref("file"), 0o660)
        self.assertMissing(self.path("file"))
        os.chmod(self.ref("file"), 0o640)
        self.assertContent(self.path("file"), b"text")

    def test_our_manifest_under_another_name(self):
        calls.write(self.path("one"), b"one")
        self.put(self.ref("two"), calls.read(self.ref("one")))
        self.assertMissing(self.path("two"))
        self.assertContent(self.path("one"), b"one")

    def test_name_is_free_for_who_creates_it(self):
        self.put(self.ref("file"), forge.manifest(b"theirs", STRANGER))
        calls.write(self.path("file"), b"ours",
                    flags=os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        self.assertContent(self.path("file"), b"ours")
        self.assertEqual(os.stat(self.ref("file")).st_uid, US)
        with self.assertRaises(FileExistsError):
            calls.write(self.path("file"), b"again",
                        flags=os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        self.assertEqual(os.listdir(os.path.join(self.store, "tmp", str(US))), [])

    def test_symlinks_of_a_stranger_are_not_shown(self):
        os.symlink("/etc/passwd", self.ref("theirs"))
        self.give(self.ref("theirs"))
        os.symlink("nowhere", self.path("ours"))
        self.assertMissing(self.path("theirs"))
        self.assertEqual(os.readlink(self.path("ours")), "nowhere")
        with self.assertRaises(FileNotFoundError):
            os.readlink(self.path("theirs"))
        os.unlink(self.ref("ours"))
        os.symlink("/etc/passwd", self.ref("ours"))
        self.give(self.ref("ours"))
        with self.assertRaises(FileNotFoundError):
            os.readlink(self.path("ours"))

    def test_what_is_no_file_in_place_of_an_entry(self):
        secret = os.path.join(self.root, "secret")
        calls.write(secret, forge.manifest(b"private", US))
        os.chown(secret, US, GROUP)
        for kind, make in odd_things(secret):
            with self.subTest(kind=kind):
                make(self.ref("file"))
                self.give(self.ref("file"))
                self.assertEqual(self.look(self.path("file")),
                                 ("errno", errno.ENOENT))
                self.assertHeals("file", b"ours")
                os.unlink(self.ref("file"))

    def test_directory_in_place_of_an_entry(self):
        """It is shown, being empty and in the way; whoever is may remove it."""
        os.mkdir(self.ref("file"), 0o700)
        self.give(self.ref("file"))
        self.assertTrue(os.path.isdir(self.path("file")))
        os.rmdir(self.path("file"))
        self.assertHeals("file", b"ours")


def sparse(path):
    calls.write(path, b"")
    os.truncate(path, 1 << 40)
    os.chmod(path, 0o640)


def device(path):
    os.mknod(path, 0o20666, os.makedev(1, 5))  # /dev/zero


def odd_things(secret):
    """(what it is, a function that makes it at a path)"""
    yield "a symlink to a file of ours", lambda path: os.symlink(secret, path)
    yield "a symlink to nothing", lambda path: os.symlink("nowhere", path)
    yield "a FIFO", os.mkfifo
    yield "a device", device
    yield "a huge file", sparse


@mount_only
class Blocks(SharedTest):
    def forget(self, name):
        """Nothing of an entry of ours is left."""
        for pack in forge.packs_of(calls.read(self.ref(name))):
            os.unlink(self.pack_path(pack))
        os.unlink(self.ref(name))

    def published(self, name, content):
        calls.write(self.path(name), content)
        return forge.packs_of(calls.read(self.ref(name)))

    def test_a_strangers_blocks_are_not_shared(self):
        content = samples.noise("content", 30000)
        ours = self.published("first", content)
        self.assertTrue(ours)
        blocks = [content[:0x1000]] + [content]
        theirs = [self.put_pack([(content, content)]),
                  self.put_pack([(content, bytes(len(content)))]),
                  self.put_pack([(raw, raw) for raw in blocks])]
        for pack in ours:
            os.unlink(self.pack_path(pack))
        self.mount.restart()
        self.assertMissing(self.path("first"))
        again = self.published("second", content)
        self.assertFalse(set(again) & set(theirs))
        self.assertContent(self.path("second"), content)

    def test_a_strangers_pack_under_the_id_of_ours(self):
        content = samples.noise("victim", 5000)
        wrong = samples.noise("wrong", 5000)
        name = os.urandom(16)
        for kind, raw in (("right", content), ("wrong", wrong)):
            with self.subTest(kind=kind):
                self.put_pack([(content, content)], US, name)
                self.put(self.ref(kind), forge.manifest(content, US, name, self.seed,
                                                        [content]), US)
                self.assertContent(self.path(kind), content)
                self.put_pack([(content, raw)], STRANGER, name)
                self.assertMissing(self.path(kind))
                self.assertHeals(kind, content)
                self.forget(kind)

    def test_a_block_is_found_elsewhere(self):
        content = samples.noise("elsewhere", 5000)
        theirs = self.put_pack([(content, content[::-1])])
        self.put_pack([(content, content)], US)
        self.put(self.ref("file"), forge.manifest(content, US, theirs, self.seed,
                                                  [content]), US)
        self.assertContent(self.path("file"), content)

    def test_contents_that_collide(self):
        """One XXH3-128, and an id that is claimed: found before a byte is read."""
        if not test_collision.maker():
            self.skipTest("make_collision is not built")
        names = [os.path.join(self.root, name) for name in "ab"]
        subprocess.run([test_collision.maker(), *names, "4096"], check=True)
        a, b = (calls.read(name) for name in names)
        self.assertEqual(forge.digest(a), forge.digest(b))
        for owner in (STRANGER, US):
            for claimed in (a, b):
                pack = self.put_pack([(claimed, b)], owner)
                name = f"file-{owner}-{'ab'[claimed == b]}"
                self.put(self.ref(name), forge.manifest(a, US, pack, self.seed, [a]),
                         US)
                self.assertMissing(self.path(name))
                self.assertHeals(name, a)
                self.forget(name)

    def test_what_is_no_file_in_place_of_a_pack(self):
        content = samples.noise("packed", 5000)
        name = os.urandom(16)
        secret = os.path.join(self.root, "packed")
        calls.write(secret, forge.pack(name, [(content, content)], self.seed))
        os.chown(secret, US, GROUP)
        for kind, make in odd_things(secret):
            with self.subTest(kind=kind):
                make(self.pack_path(name))
                self.give(self.pack_path(name))
                self.put(self.ref("file"), forge.manifest(content, US, name, self.seed,
                                                          [content]), US)
                self.assertEqual(self.look(self.path("file")),
                                 ("errno", errno.ENOENT))
                self.assertHeals("file", content)
                self.forget("file")
                os.unlink(self.pack_path(name))


@mount_only
class Trusted(SharedTest):
    def test_a_friend_is_served(self):
        friend = self.mount_as(FRIEND, "friend", ("allow_other",))
        trusting = self.mount_as(US, "trusting", ("allow_other", f"trust={FRIEND}"))
        directory = self._testMethodName
        content = samples.noise("friendly", 50000)
        calls.write(os.path.join(friend.path, directory, "file"), content)
        seen = os.path.join(trusting.path, directory, "file")
        self.assertContent(seen, content)
        self.assertMissing(self.path("file"))
        calls.write(os.path.join(trusting.path, directory, "copy"), content)
        self.assertEqual(forge.packs_of(calls.read(self.ref("copy"))),
                         forge.packs_of(calls.read(self.ref("file"))),
                         "expected the friend's blocks to be shared")
        self.assertContent(os.path.join(trusting.path, directory, "copy"), content)
        calls.write(self.path("file"), b"ours")
        self.assertContent(self.path("file"), b"ours")
        self.assertContent(seen, b"ours")
        friend.stop()
        trusting.stop()

    def test_trust_does_not_pass_on(self):
        """What we publish with a friend's blocks, to who trusts us but not him."""
        content = samples.noise("passed", 50000)
        names = self._testMethodName
        friend = self.mount_as(FRIEND, "friend2", ("allow_other",))
        trusting = self.mount_as(US, "trusting2", ("allow_other", f"trust={FRIEND}"))
        third = self.mount_as(THIRD, "third", ("allow_other", f"trust={US}"))
        calls.write(os.path.join(friend.path, names, "theirs"), content)
        calls.write(os.path.join(trusting.path, names, "ours"), content)
        seen = os.path.join(third.path, names, "ours")
        for _ in range(2):
            self.assertMissing(seen)
            self.assertContent(os.path.join(trusting.path, names, "ours"), content,
                               hint=" after a look by who does not trust the friend")
            third.restart()
        calls.write(os.path.join(third.path, names, "copy"), content)
        self.assertContent(seen, content, hint=": all blocks are elsewhere, too")
        for mount in friend, trusting, third:
            mount.stop()

    def test_a_friend_who_claims_the_id_of_another_block(self):
        content = samples.noise("claimed", 5000)
        trusting = self.mount_as(US, "claims", ("allow_other", f"trust={FRIEND}"))
        name = self.put_pack([(content, content[::-1])], FRIEND)
        path = os.path.join(trusting.path, self._testMethodName, "file")
        self.put(self.ref("file"), forge.manifest(content, US, name, self.seed,
                                                  [content]), US)
        self.assertMissing(path)
        calls.write(path, content)
        self.assertContent(path, content)
        trusting.stop()

    def test_a_friends_sha256_is_proven(self):
        """Ids and checks are right; only the whole is not what it says it is."""
        content = samples.noise("whole", 5000)
        name = self.put_pack([(content, content)], US)
        data = bytearray(forge.manifest(content, US, name, self.seed, [content]))
        data[data.index(b"META") + 16 + 72] ^= 1
        data[-16:] = forge.digest(bytes(data[:-16]))
        self.put(self.ref("file"), bytes(data), US)
        self.assertMissing(self.path("file"))
        self.assertHeals("file", content)


@mount_only
class Collecting(SharedTest):
    """Each user collects what is his, and nothing that anybody needs."""

    def gc(self, user, *options):
        done = harness.tacfs("gc", "--grace=0", "--keep=0", "--json", *options,
                             self.store, **identity(user))
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return json.loads(done.stdout)

    def test_each_user_collects_packs_of_his_own(self):
        friend = self.mount_as(FRIEND, "friend3", ("allow_other",))
        theirs = os.path.join(friend.path, self._testMethodName, "theirs")
        calls.write(self.path("ours"), samples.noise("ours", 50000))
        calls.write(theirs, samples.noise("theirs", 50000))
        packs = {US: self.packs("ours"), FRIEND: self.packs("theirs")}
        os.unlink(self.path("ours"))
        os.unlink(theirs)
        self.age_trash()
        for user in (US, FRIEND):
            self.assertTrue(os.path.exists(packs[user][0]))
            self.gc(user)
            self.assertFalse(os.path.exists(packs[user][0]))
        friend.stop()

    def age_trash(self):
        """What lies there counts as deleted a second later."""
        time.sleep(1.1)

    def test_what_a_friend_shares_is_needed(self):
        content = samples.noise("needed", 50000)
        trusting = self.mount_as(FRIEND, "friend4", ("allow_other", f"trust={US}"))
        copy = os.path.join(trusting.path, self._testMethodName, "copy")
        calls.write(self.path("ours"), content)
        calls.write(copy, content)
        pack = self.packs("ours")[0]
        self.assertEqual(self.packs("copy"), [pack])
        os.unlink(self.path("ours"))
        self.age_trash()
        self.gc(US)
        self.assertTrue(os.path.exists(pack))
        trusting.restart()
        self.assertContent(copy, content)
        os.unlink(copy)
        self.age_trash()
        self.gc(FRIEND)
        self.assertTrue(os.path.exists(pack))
        self.gc(US)
        self.assertFalse(os.path.exists(pack))
        trusting.stop()

    def test_a_friends_pack_that_was_set_aside_is_done_without(self):
        content = samples.noise("aside", 50000)
        trusting = self.mount_as(FRIEND, "friend5", ("allow_other", f"trust={US}"))
        copy = os.path.join(trusting.path, self._testMethodName, "copy")
        calls.write(self.path("ours"), content)
        pack = self.packs("ours")[0]
        calls.write(copy, content)
        os.unlink(copy)
        os.unlink(self.path("ours"))
        os.rename(pack, os.path.join(self.store, "trash", "packs",
                                     os.path.basename(pack)))
        calls.write(copy, content)
        self.assertContent(copy, content)
        self.assertNotEqual(self.packs("copy"), [pack])
        trusting.stop()

    def test_deleted_entries_of_others_come_back_and_expire(self):
        friend = self.mount_as(FRIEND, "friend6", ("allow_other",))
        theirs = os.path.join(friend.path, self._testMethodName, "compiled_module")
        calls.write(theirs, samples.module(1))
        os.unlink(self.ref("compiled_module"))
        calls.write(theirs, samples.module(2))
        os.unlink(theirs)
        place = f"/{self._testMethodName}/compiled_module"
        done = harness.tacfs("undelete", self.store, place, **identity(US))
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertContent(theirs, samples.module(2))
        os.unlink(theirs)
        self.age_trash()
        self.assertGreaterEqual(self.gc(US)["expired_files"], 1)
        friend.stop()

    def test_each_user_evicts_directories_of_his_own(self):
        friend = self.mount_as(FRIEND, "friend7", ("allow_other",))
        tops = {US: self.mount.path, FRIEND: friend.path}
        for number, evictor in enumerate((US, FRIEND, 0)):
            paths = {user: os.path.join(top, self._testMethodName, f"of{user}",
                                        f"{number}.om") for user, top in tops.items()}
            for user, path in paths.items():
                calls.save(path, samples.om((user, number), 50000))
            if evictor == US:  # where others may write, too
                calls.save(os.path.join(tops[FRIEND], self._testMethodName,
                                        f"of{US}", "log"), b"theirs")
            self.evict(evictor)
            for user, path in paths.items():
                if evictor in (user, 0):
                    self.assertEqual(calls.look(path), ("errno", errno.ENOENT))
                    self.assertFalse(os.path.exists(os.path.dirname(path)))
                else:
                    self.assertContent(path, samples.om((user, number), 50000))
        friend.stop()

    def evict(self, user):
        """Root, whose store it is, can make as much room as is asked for."""
        done = harness.tacfs("gc", "--evict=0", self.store,
                             **(identity(user) if user else {}))
        self.assertEqual(done.returncode, 1 if user else 0, done.stderr)

    def test_renames_leave_their_link_for_an_hour(self):
        calls.write(self.path("old"), samples.noise("renamed", 50000))
        os.rename(self.path("old"), self.path("new"))
        intents = os.path.join(self.store, "intents", str(US))
        left = [name for name in os.listdir(intents) if name.startswith("left-")]
        self.assertTrue(left)
        self.gc(US)
        self.assertEqual(left, [name for name in os.listdir(intents)
                                if name.startswith("left-")])
        self.assertContent(self.path("new"), samples.noise("renamed", 50000))


@mount_only
class Checked(SharedTest):
    """fsck of a store in which others are as they should be."""

    def fsck(self, *options):
        done = harness.tacfs("fsck", "--json", *options, self.store, **identity(US))
        return done.returncode, json.loads(done.stdout)

    def test_files_of_others_are_counted_and_left_alone(self):
        content = samples.noise("checked", 50000)
        trusting = self.mount_as(US, "checking", ("allow_other", f"trust={FRIEND}"))
        friend = self.mount_as(FRIEND, "friend7", ("allow_other",))
        names = self._testMethodName
        calls.write(os.path.join(friend.path, names, "theirs"), content)
        calls.write(os.path.join(trusting.path, names, "ours"), content)
        self.assertEqual(self.packs("ours"), self.packs("theirs"))
        for part in "tmp", "intents":
            for user in US, FRIEND:
                os.utime(os.path.join(self.store, part, str(user)), (1, 1))
        for options in (), ("--repair",):
            status, found = self.fsck(*options)
            self.assertEqual((status, found["found"]), (0, 0), found)
            # a pack, and two that need it
            self.assertGreaterEqual(found["others"], 3)
        self.assertContent(os.path.join(trusting.path, names, "ours"), content)
        self.assertContent(os.path.join(friend.path, names, "theirs"), content)
        friend.stop()
        trusting.stop()

    def test_doctor_names_them(self):
        friend = self.mount_as(FRIEND, "friend8", ("allow_other",))
        calls.write(os.path.join(friend.path, self._testMethodName, "theirs"), b"1")
        done = harness.tacfs("doctor", self.store, **identity(US))
        self.assertIn(b"theirs", done.stdout)
        friend.stop()


def errno_of(user, act, arguments):
    """What a call of os answers that user; ends in a process that was forked."""
    os.setgroups([])
    os.setgid(GROUP)
    os.setuid(user)
    try:
        getattr(os, act)(*arguments)
    except OSError as error:
        return error.errno
    return 0


@mount_only
class Surroundings(SharedTest):
    def test_litter_in_the_parts_of_the_store(self):
        secret = os.path.join(self.root, "litter-secret")
        calls.write(secret, b"secret")
        for part in ("tmp", "trash", "intents", "quarantine", "index", "stats",
                     "packs", "packs/00", "refs"):
            for number, (_, make) in enumerate(odd_things(secret)):
                for name in (f"litter{number}", f"{number:032x}",
                             f"draft-{number:016x}"):
                    path = os.path.join(self.store, part, name)
                    make(path)
                    self.give(path)
            directory = os.path.join(self.store, part, "directory")
            os.mkdir(directory, 0o700)
            self.give(directory)
        self.assertHeals("file", samples.noise("litter", 50000))
        self.assertEqual(calls.read(secret), b"secret")

    def test_our_tmp_is_taken(self):
        own = os.path.join(self.store, "tmp", str(US))
        secret = os.path.join(self.root, "tmp-secret")
        os.mkdir(secret)
        os.chown(secret, US, GROUP)
        for make in (os.mkfifo, os.mkdir, lambda path: os.symlink(secret, path)):
            self.mount.stop()
            shutil.rmtree(own, ignore_errors=True)
            make(own)
            self.give(own)
            self.mount.start()
            self.assertHeals("file", samples.noise("taken", 50000))
            self.assertEqual(os.listdir(secret), [])
            (os.rmdir if os.path.isdir(own) and not os.path.islink(own)
             else os.unlink)(own)
        self.mount.restart()

    def test_format_that_is_no_file(self):
        path = os.path.join(self.store, "FORMAT")
        secret = os.path.join(self.root, "format")
        os.rename(path, secret)
        self.addCleanup(os.rename, secret, path)
        place = harness.new_directory("unmounted")
        for kind, make in odd_things(secret):
            with self.subTest(kind=kind):
                make(path)
                self.give(path)
                done = harness.tacfs("mount", self.store, place, timeout=PATIENCE)
                self.assertEqual(done.returncode, 1)
                self.assertIn(b"FORMAT", done.stderr)
                os.unlink(path)

    def may_not(self, user, act, *arguments):
        child = os.fork()
        if child == 0:
            os._exit(errno_of(user, act, arguments))
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        self.assertIn(status, (errno.EPERM, errno.EACCES), f"expected {user} not to "
                      f"{act} {arguments}")

    def test_what_the_group_may_not(self):
        calls.write(self.path("file"), samples.noise("group", 50000))
        pack = self.pack_path(forge.packs_of(calls.read(self.ref("file")))[0])
        mine = os.path.join(self.root, "mine")
        os.mkdir(mine)
        os.chown(mine, FRIEND, GROUP)
        store = self.store
        for path in (pack, f"{store}/FORMAT", f"{store}/tmp/{US}", f"{store}/packs",
                     f"{store}/packs/00", f"{store}/refs", f"{store}/refs/default"):
            self.may_not(FRIEND, "rename", path, os.path.join(mine, "taken"))
        self.may_not(FRIEND, "unlink", pack)
        self.may_not(FRIEND, "truncate", pack, 0)
        self.may_not(FRIEND, "listdir", f"{store}/tmp/{US}")
        self.may_not(FRIEND, "mkdir", f"{store}/more")
        self.assertContent(self.path("file"), samples.noise("group", 50000))


if __name__ == "__main__":
    harness.main()
