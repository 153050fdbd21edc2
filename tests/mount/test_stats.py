# SPDX-License-Identifier: Apache-2.0
"""What a mount counts, where it says so, and that nobody stumbles over it."""
import errno
import glob
import json
import os
import shutil
import signal
import subprocess
import time

import calls
import harness
import samples
from harness import mount_only


def stats(mount):
    with open(os.path.join(mount.path, ".tacfs", "stats.json")) as file:
        return json.load(file)


def live(store):
    done = harness.tacfs("stats", "--json", store)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["live"]


class StatsTest(harness.MountTest):
    def setUp(self):
        super().setUp()
        self.before = [stats(mount)["mount"] for mount in self.mounted]

    def assertCounted(self, number=0, **expected):
        """What mount `number` has counted since setUp, and nothing beside it."""
        now = stats(self.mounted[number])["mount"]
        seen = {name: now[name] - self.before[number][name] for name in now}
        ignored = {"misses", "out_bytes", "added_bytes"} - expected.keys()
        for name in ignored:
            seen.pop(name)
        expected = {name: expected.get(name, 0) for name in seen}
        self.assertEqual(seen, expected)

    def counted(self, name, number=0):
        return stats(self.mounted[number])["mount"][name] - self.before[number][name]

    def forget_pages(self, path):
        fd = os.open(path, os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


@mount_only
class Counters(StatsTest):
    mounts = 2

    def test_a_publication_and_what_it_took(self):
        content = samples.module(101, 40000)
        calls.write(self.path("compiled_module"), content)
        self.assertCounted(published=1, in_bytes=len(content))
        self.assertTrue(0 < self.counted("added_bytes") < len(content))

    def test_a_plain_file_is_counted_apart(self):
        calls.write(self.path("a.json"), b"{}")
        self.assertEqual(self.counted("published"), 0)
        self.assertGreaterEqual(self.counted("published_plain"), 1)
        self.assertEqual(self.counted("in_bytes"), 2)
        self.assertEqual(self.counted("added_bytes"), 2)

    def test_a_change_of_attributes_is_no_publication(self):
        calls.write(self.path("compiled_module"), samples.module(102))
        self.before[0] = stats(self.mount)["mount"]
        os.chmod(self.path("compiled_module"), 0o640)
        os.utime(self.path("compiled_module"), (1, 1))
        self.assertCounted()

    def test_hits(self):
        content = samples.module(103)
        calls.write(self.path("compiled_module"), content)
        self.before = [stats(mount)["mount"] for mount in self.mounted]
        self.assertContent(self.path("compiled_module"), content)
        self.assertCounted(hits=1)
        other = os.path.join(self.other_dir, "compiled_module")
        for _ in range(3):
            self.assertContent(other, content)
        self.assertCounted(1, hits=3, out_bytes=len(content))

    def test_what_is_no_artifact_is_no_hit(self):
        calls.write(self.path("compiled_module"), samples.module(104))
        calls.write(self.path("a.json"), b"{}")
        self.before[0] = stats(self.mount)["mount"]
        calls.read(self.path("a.json"))
        text = calls.read(self.path("readable.py"))
        os.stat(self.path("compiled_module"))
        self.assertCounted(out_bytes=len(text) + 2)

    def test_misses(self):
        self.assertErrno(errno.ENOENT, os.open, self.path("compiled_module"),
                         os.O_RDONLY)
        self.assertCounted(misses=1)
        self.assertFalse(os.path.exists(self.path("graph_1.om")))
        self.assertCounted(misses=2)
        self.assertFalse(os.path.exists(self.path("a.json")))
        self.assertCounted(misses=2)

    def test_an_equal_file_is_deduplicated(self):
        content = samples.om(105, 150000)
        calls.write(self.path("one.om"), content)
        self.before = [stats(mount)["mount"] for mount in self.mounted]
        calls.write(self.path("two.om"), content)
        self.assertCounted(published=1, in_bytes=len(content), added_bytes=0,
                           deduplicated_bytes=len(content))
        calls.write(os.path.join(self.other_dir, "three.om"), content)
        self.assertCounted(1, published=1, in_bytes=len(content), added_bytes=0,
                           deduplicated_bytes=len(content))

    def test_incomplete_content_is_unsound(self):
        calls.write(self.path("compiled_module"), samples.half(samples.module(106)))
        self.assertCounted(unsound=1)

    def test_so_is_what_a_renaming_would_publish(self):
        calls.write(self.path("part"), samples.half(samples.module(106)))
        self.before[0] = stats(self.mount)["mount"]
        self.assertErrno(errno.EINVAL, os.rename, self.path("part"),
                         self.path("compiled_module"))
        self.assertCounted(unsound=1)

    def test_a_renaming_to_an_artifact_publishes_it(self):
        calls.write(self.path("part"), samples.module(107))
        self.before[0] = stats(self.mount)["mount"]
        os.rename(self.path("part"), self.path("compiled_module"))
        self.assertCounted(published=1)

    def test_a_move_publishes_nothing(self):
        calls.write(self.path("a.om"), samples.om(108))
        self.before[0] = stats(self.mount)["mount"]
        os.rename(self.path("a.om"), self.path("b.om"))
        self.assertCounted()

    def test_an_empty_idx_is_on_its_way(self):
        calls.write(self.path("graph_1.om"), samples.om(107))
        self.before[0] = stats(self.mount)["mount"]
        fd = os.open(self.path("graph_1.idx"), os.O_CREAT | os.O_WRONLY, 0o600)
        os.close(fd)
        content = samples.idx("graph_1.om")
        calls.write(self.path("graph_1.idx"), content)
        self.assertCounted(published=1, in_bytes=len(content))

    def test_the_version_of_a_killed_writer_is_dropped(self):
        agent = self.agent()
        fd = agent.os.open(self.path("compiled_module"), os.O_CREAT | os.O_WRONLY)
        agent.os.write(fd, samples.module(108))
        agent.kill()
        harness.wait_until(lambda: self.counted("dropped"), "a dropped version", 20)
        time.sleep(0.2)  # its release comes after its flush
        self.assertCounted(dropped=1)

    def test_damage_and_healing(self):
        path = self.path("compiled_module")
        content = samples.module(109)
        calls.write(path, content)
        self.before[0] = stats(self.mount)["mount"]
        manifest = os.path.join(self.store, "refs/default",
                                os.path.relpath(path, self.mount.path))
        with open(manifest, "r+b") as file:
            file.seek(40)
            file.write(b"damage")
        self.assertErrno(errno.ENOENT, os.open, path, os.O_RDONLY)
        self.assertCounted(damaged=1)
        calls.write(self.path("other.om"), samples.om(109))
        self.assertEqual(self.counted("healed"), 0)
        calls.write(path, content)
        self.assertEqual(self.counted("healed"), 1)
        calls.write(path, content)
        self.assertEqual(self.counted("healed"), 1)
        self.assertEqual(self.counted("damaged"), 1)

    def test_the_store_of_a_mount_is_the_sum_of_its_mounts(self):
        calls.write(self.path("compiled_module"), samples.module(110))
        other = self.other
        other.restart()
        self.other_dir = os.path.join(other.path, self._testMethodName)
        calls.read(os.path.join(self.other_dir, "compiled_module"))
        first, second = stats(self.mount), stats(other)
        self.assertEqual(second["mount"]["hits"], 1)
        other.restart()  # and so its report is complete
        sums = stats(self.mount)["store"]
        self.assertGreaterEqual(sums["hits"], first["mount"]["hits"] + 1)
        self.assertGreaterEqual(sums["published"], first["mount"]["published"])
        self.assertGreaterEqual(sums["mounts"], 3)


@mount_only
class Hidden(StatsTest):
    """.tacfs is found by name, and in no other way."""

    def control(self, *parts):
        return os.path.join(self.mount.path, ".tacfs", *parts)

    def test_it_is_not_listed(self):
        self.assertNotIn(".tacfs", os.listdir(self.mount.path))
        found = subprocess.run(["find", self.mount.path], capture_output=True,
                               text=True, timeout=harness.PATIENCE)
        self.assertEqual((found.returncode, found.stderr), (0, ""))
        self.assertNotIn(".tacfs", found.stdout)

    def test_no_copy_has_it(self):
        target = os.path.join(self.root, "copy")
        shutil.copytree(self.mount.path, target)
        self.assertEqual(sorted(os.listdir(target)),
                         sorted(os.listdir(self.mount.path)))
        self.assertFalse(os.path.exists(os.path.join(target, ".tacfs")))

    def test_an_empty_cache_can_be_removed_around_it(self):
        for name in os.listdir(self.mount.path):
            shutil.rmtree(os.path.join(self.mount.path, name))
        self.assertEqual(os.listdir(self.mount.path), [])
        self.assertTrue(os.path.isdir(self.control()))

    def test_it_holds_two_files(self):
        self.assertEqual(sorted(os.listdir(self.control())),
                         ["stats.json", "version"])
        self.assertEqual(samples.permissions(self.control()), 0o555)
        for name in os.listdir(self.control()):
            self.assertEqual(samples.permissions(self.control(name)), 0o444)
        self.assertErrno(errno.ENOENT, os.stat, self.control("other"))
        inodes = {os.stat(self.control(name)).st_ino
                  for name in ("", "stats.json", "version")}
        self.assertEqual(len(inodes), 3)

    def test_the_version(self):
        self.assertEqual(calls.read(self.control("version")),
                         harness.tacfs("--version").stdout)

    def test_who_it_is(self):
        seen = stats(self.mount)
        self.assertEqual(seen["pid"], self.mount.process.pid)
        self.assertEqual(seen["namespace"], "default")
        self.assertEqual(f"tacfs {seen['version']}\n".encode(),
                         calls.read(self.control("version")))
        self.assertTrue(0 <= seen["uptime"] < 3600)
        self.assertEqual(seen["store"].keys() - seen["mount"].keys(),
                         {"mounts", "active"})

    def test_an_open_file_stays_what_it_was(self):
        fd = os.open(self.control("stats.json"), os.O_RDONLY)
        first = calls.read_fd(fd)
        calls.write(self.path("compiled_module"), samples.module(120))
        self.assertEqual(calls.read_fd(fd), first)
        self.assertEqual(os.pread(fd, 10, 5), first[5:15])
        os.close(fd)
        self.assertNotEqual(calls.read(self.control("stats.json")), first)

    def test_nothing_can_be_changed(self):
        file = self.control("stats.json")
        refused = errno.EROFS if os.geteuid() == 0 else errno.EACCES
        for call in ((os.open, file, os.O_WRONLY), (os.truncate, file, 0),
                     (os.open, file, os.O_RDONLY | os.O_TRUNC),
                     (os.open, self.control("new"), os.O_CREAT | os.O_WRONLY),
                     (os.open, self.control("compiled_module"),
                      os.O_CREAT | os.O_WRONLY),
                     (os.mkdir, self.control("new")), (os.unlink, file),
                     (os.symlink, "x", self.control("new")),
                     (os.rename, file, self.control("new")),
                     (os.rename, file, self.path("new")),
                     (os.rename, self.dir, self.control("new")),
                     (os.rename, self.control(), self.path("new"))):
            self.assertErrno(refused, *call)
        for call in ((os.rmdir, self.control()), (os.chmod, file, 0o600),
                     (os.chmod, self.control(), 0o700),
                     (os.utime, file)):
            self.assertErrno(errno.EROFS, *call)
        self.assertErrno(errno.EPERM, os.link, file, self.path("new"))
        self.assertErrno(errno.EEXIST, os.mkdir, self.control())
        self.assertErrno(errno.EEXIST, os.symlink, "x", self.control())

    def test_the_name_is_free_elsewhere(self):
        os.mkdir(self.path(".tacfs"))
        calls.write(self.path(".tacfs", "stats.json"), b"mine")
        self.assertContent(self.path(".tacfs", "stats.json"), b"mine")
        self.assertErrno(errno.EROFS, os.rename, self.path(".tacfs"), self.control())
        self.assertListing(self.dir, [".tacfs"])

    def test_what_an_older_version_stored_there_is_hidden(self):
        os.mkdir(os.path.join(self.store, "refs/default/.tacfs"))
        self.addCleanup(os.rmdir, os.path.join(self.store, "refs/default/.tacfs"))
        self.assertNotIn(".tacfs", os.listdir(self.mount.path))
        self.assertEqual(sorted(os.listdir(self.control())),
                         ["stats.json", "version"])

    def test_many_read_it_at_once(self):
        agents = self.agents(4)
        for agent in agents:
            agent.begin("calls.read", self.control("stats.json"))
        for agent in agents:
            self.assertIn("mount", json.loads(agent.end()))


@mount_only
class Totals(harness.MountTest):
    """What the mounts of a store leave behind."""

    def setUp(self):
        super().setUp()
        self.lone = os.path.join(self.root, self._testMethodName)

    def new_mount(self, number=0):
        mount = harness.Mount(self.lone, f"{self.lone}-{number}")
        self.addCleanup(mount.discard)
        return mount.start()

    def reports(self):
        return glob.glob(os.path.join(self.lone, "stats", "*"))

    def test_an_unmount_tells_everything(self):
        mount = self.new_mount()
        content = samples.module(130)
        calls.write(os.path.join(mount.path, "compiled_module"), content)
        calls.read(os.path.join(mount.path, "compiled_module"))
        mount.stop()
        seen = live(self.lone)
        self.assertEqual((seen["mounts"], seen["active"]), (1, 0))
        self.assertEqual((seen["published"], seen["hits"]), (1, 1))
        self.assertEqual(seen["in_bytes"], len(content))

    def test_two_mounts_are_summed(self):
        mounts = [self.new_mount(number) for number in range(2)]
        for number, mount in enumerate(mounts):
            calls.write(os.path.join(mount.path, f"{number}.om"), samples.om(number))
        for mount in mounts:
            for number in range(2):
                calls.read(os.path.join(mount.path, f"{number}.om"))
        mounts[0].stop()
        inside = stats(mounts[1])["store"]
        mounts[1].stop()
        seen = live(self.lone)
        self.assertEqual((inside["mounts"], inside["active"]), (2, 1))
        self.assertEqual((seen["mounts"], seen["active"]), (2, 0))
        for sums in inside, seen:
            self.assertEqual((sums["published"], sums["hits"]), (2, 4))

    def test_a_mount_tells_while_it_lives(self):
        mount = self.new_mount()
        harness.wait_until(self.reports, "a report")
        self.assertEqual(live(self.lone)["active"], 1)
        calls.write(os.path.join(mount.path, "compiled_module"), samples.module(131))
        harness.wait_until(lambda: live(self.lone)["published"] == 1,
                           "a report of a publication", 60)
        mount.kill()
        self.assertEqual(live(self.lone)["published"], 1)
        self.assertEqual(os.listdir(os.path.join(self.lone, "tmp")), [])

    def test_a_mount_that_was_taken_for_dead_counts_nothing_twice(self):
        mount = self.new_mount()
        for number in range(2):
            calls.write(os.path.join(mount.path, f"{number}.om"), samples.om(number))
            harness.wait_until(lambda: live(self.lone)["published"] == number + 1,
                               "a report of a publication", 60)
            if number == 0:  # somebody folds it
                report, = self.reports()
                os.rename(report, os.path.join(self.lone, "stats", "0" * 32 + ".json"))
        self.assertEqual(stats(mount)["store"]["published"], 2)
        mount.stop()
        seen = live(self.lone)
        self.assertEqual((seen["published"], seen["mounts"]), (2, 1))

    def test_a_signal_also_ends_it_with_a_report(self):
        mount = self.new_mount()
        calls.write(os.path.join(mount.path, "compiled_module"), samples.module(132))
        mount.process.send_signal(signal.SIGTERM)
        mount.wait()
        mount.discard()
        seen = live(self.lone)
        self.assertEqual((seen["published"], seen["active"]), (1, 0))

    def test_reports_that_cannot_be_written_disturb_nobody(self):
        mount = self.new_mount()
        harness.wait_until(self.reports, "a report")
        shutil.rmtree(os.path.join(self.lone, "stats"))
        calls.write(os.path.join(mount.path, "compiled_module"), samples.module(133))
        seen = stats(mount)
        self.assertEqual(seen["mount"]["published"], 1)
        self.assertNotIn("store", seen)
        mount.stop()
        self.assertTrue(os.path.isdir(os.path.join(self.lone, "refs")))

    def test_the_files_of_many_mounts_become_one(self):
        self.new_mount().stop()
        report, = self.reports()
        for number in range(100):
            shutil.copy(report, os.path.join(self.lone, "stats", f"{number:032x}.json"))
        mount = self.new_mount()
        harness.wait_until(lambda: len(self.reports()) == 2, "two reports")
        mount.stop()
        self.assertEqual(live(self.lone)["mounts"], 102)


harness.main()
