# SPDX-License-Identifier: Apache-2.0
"""Ordinary users: who may mount, who gets in, and what the modes let them do."""
import errno
import os
import shutil
import stat
import subprocess
import sys
import unittest

import enter

if __name__ == "__main__":
    enter.run_again("root")

import calls  # noqa: E402
import harness  # noqa: E402
import samples  # noqa: E402
import supervisor  # noqa: E402
from enter import FRIEND, USER  # noqa: E402
from harness import mount_only  # noqa: E402


def become(uid, gid=None):
    return ["setpriv", f"--reuid={uid}", f"--regid={gid or uid}", "--clear-groups"]


@mount_only
class Users(unittest.TestCase):
    def setUp(self):
        os.chmod(harness.test_root(), 0o755)
        self.root = harness.new_directory(self._testMethodName)
        os.chown(self.root, USER, USER)
        self.store = os.path.join(self.root, "store")
        self.point = os.path.join(self.root, "point")
        os.mkdir(self.point)
        os.chown(self.point, USER, USER)

    def mount(self, *options, user=USER):
        identity = {"user": user, "group": user, "extra_groups": []}
        mount = harness.Mount(self.store, self.point, options, identity=identity)
        # root is let in as little as others are
        mount.answers = lambda: harness.Mount.is_mounted(mount)
        self.addCleanup(mount.discard)
        return mount

    def agent(self, uid, gid=None):
        agent = harness.Agent(become(uid, gid))
        self.addCleanup(agent.close)
        return agent

    def mount_line(self):
        with open("/proc/self/mounts", encoding="utf-8") as table:
            return next(line for line in table if f" {self.point} " in line)

    def assertErrno(self, number, call, *arguments):
        with self.assertRaises(OSError, msg=f"{arguments}") as caught:
            call(*arguments)
        self.assertEqual(errno.errorcode[caught.exception.errno],
                         errno.errorcode[number], f"{arguments}")

    def path(self, *parts):
        return os.path.join(self.point, *parts)

    def test_user_mounts_for_himself(self):
        with self.mount():
            user = self.agent(USER)
            user.calls.save(self.path("m", "compiled_module"), samples.module(1))
            self.assertEqual(user.calls.read(self.path("m", "compiled_module")),
                             samples.module(1))
            status = user.os.lstat(self.path("m", "compiled_module"))
            self.assertEqual((status.st_uid, status.st_gid), (USER, USER))
            self.assertIn("rw,nosuid,nodev,relatime,user_id=4711,group_id=4711,"
                          "default_permissions", self.mount_line())
            for other in self.agent(FRIEND), self.agent(0):
                for call in other.os.listdir, other.os.lstat:
                    self.assertErrno(errno.EACCES, call, self.point)

    def test_allow_other_needs_the_permission_of_fuse_conf(self):
        empty = os.path.join(self.root, "fuse.conf")
        calls.write(empty, b"", mode=0o644)
        subprocess.run(["mount", "--bind", empty, "/etc/fuse.conf"], check=True)
        self.addCleanup(subprocess.run, ["umount", "/etc/fuse.conf"], check=True)
        done = harness.tacfs("mount", self.store, self.point, "-o", "allow_other",
                             user=USER, group=USER, extra_groups=[])
        said = done.stderr.decode()
        self.assertEqual(done.returncode, 1, said)
        for word in "allow_other", "user_allow_other", "/etc/fuse.conf", self.point:
            self.assertIn(word, said)
        self.assertEqual(supervisor.mounts_below(self.point), [])

    def fill(self, owner):
        """Files and directories of all modes, made by the owner of the mount."""
        owner.os.lstat(self.point)  # Linux takes it for root's until then
        owner.os.chmod(self.point, 0o755)
        for mode in 0o600, 0o640, 0o644, 0o666:
            path = self.path(f"{mode:o}")
            owner.calls.write(path, b"text", mode)
            owner.os.chmod(path, mode)
        for mode in 0o700, 0o755, 0o777, 0o1777:
            directory = self.path(f"d{mode:o}")
            owner.os.mkdir(directory)
            owner.calls.write(os.path.join(directory, "file"), b"text", 0o644)
            owner.os.chmod(directory, mode)

    def check_others(self, owner, other, group):
        self.fill(owner)
        for mode, who, reads, writes in (
                (0o600, other, 0, 0), (0o640, other, 0, 0), (0o640, group, 1, 0),
                (0o644, other, 1, 0), (0o666, other, 1, 1)):
            path = self.path(f"{mode:o}")
            for may, flags in ((reads, os.O_RDONLY), (writes, os.O_WRONLY),
                               (writes, os.O_WRONLY | os.O_TRUNC)):
                if may:
                    who.os.close(who.os.open(path, flags))
                else:
                    self.assertErrno(errno.EACCES, who.os.open, path, flags)
            for call, argument in ((who.os.chmod, 0o777), (who.os.utime, (1, 1))):
                self.assertErrno(errno.EPERM, call, path, argument)
            self.assertErrno(errno.EPERM, who.os.chown, path, FRIEND, FRIEND)
        self.assertErrno(errno.EACCES, other.os.listdir, self.path("d700"))
        self.assertErrno(errno.EACCES, other.os.lstat, self.path("d700", "file"))
        for directory in "d755", "d700":
            self.assertErrno(errno.EACCES, other.os.unlink, self.path(directory, "file"))
            self.assertErrno(errno.EACCES, other.os.mkdir, self.path(directory, "new"))
            self.assertErrno(errno.EACCES, other.os.rename, self.path("d777", "file"),
                             self.path(directory, "file"))
        other.calls.write(self.path("d777", "new"), b"")
        other.os.unlink(self.path("d777", "file"))
        self.assertErrno(errno.EPERM, other.os.unlink, self.path("d1777", "file"))

    def test_modes_decide_for_others(self):
        """Also without -o default_permissions, and when root has mounted."""
        for user, options in ((USER, ()), (0, (f"uid={USER}", f"gid={USER}"))):
            with self.subTest(user=user):
                if user == 0:
                    shutil.rmtree(self.store)
                with self.mount("allow_other", *options, user=user):
                    self.check_others(self.agent(USER), self.agent(FRIEND),
                                      self.agent(FRIEND, USER))

    def test_setuid_is_ignored(self):
        """Whatever the options of the mount say."""
        with self.mount("allow_other", "suid", "dev", user=0):
            self.assertIn(" rw,nosuid,nodev,", self.mount_line())
            path = self.path("id")
            shutil.copy(shutil.which("id"), path)
            os.chmod(path, 0o4755)
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o4755)
            seen = subprocess.run([*become(FRIEND), path, "-u"], capture_output=True)
            self.assertEqual((seen.returncode, seen.stdout),
                             (0, f"{FRIEND}\n".encode()), seen.stderr)

    def namespace(self, *options):
        """tacfs mount in a user namespace that FRIEND made."""
        return subprocess.Popen(
            [*become(FRIEND), "unshare", "-Urm", harness.binary(), "mount", self.store,
             self.point, "-f", *options], stderr=subprocess.PIPE)

    def test_store_of_somebody_without_an_id(self):
        with self.mount():
            pass
        subprocess.run(["chmod", "-R", "a+rX", self.store], check=True)
        process = self.namespace()
        self.addCleanup(process.stderr.close)
        said = process.stderr.readline().decode()
        self.assertIn("owner has no id in this user namespace: mounted read-only", said)
        harness.wait_until(lambda: f" {self.point} fuse.tacfs " in supervisor.read_text(
            f"/proc/{process.pid}/mounts"), "a mount in the namespace")
        process.terminate()
        self.assertEqual(process.wait(harness.PATIENCE), 0)
        done = subprocess.run([*become(FRIEND), "unshare", "-Urm", harness.binary(),
                               "doctor", self.store], capture_output=True)
        self.assertIn(b"owner of the store has no id in this user namespace",
                      done.stdout)

    def test_owner_without_an_id(self):
        for option in "uid=1", "gid=1":
            process = self.namespace("-o", option)
            _, said = process.communicate(timeout=harness.PATIENCE)
            self.assertEqual(process.returncode, 64, said)
            self.assertIn(f"{option}: there is no such id in this user namespace",
                          said.decode())


if __name__ == "__main__":
    harness.main()
