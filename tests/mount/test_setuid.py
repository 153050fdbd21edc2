# SPDX-License-Identifier: Apache-2.0
"""Who changes a file takes its setuid and setgid bits, as on ext4."""
import os
import unittest

import calls
import harness

NOBODY = 65534
MODES = (0o4755, 0o2755, 0o2745, 0o6777, 0o1777, 0o755)


def as_nobody(act):
    """Runs it in a process without rights, on what is open already."""
    pid = os.fork()
    if pid == 0:
        try:
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
            act()
            os._exit(0)
        except BaseException:  # what becomes of it is the parent's to tell
            os._exit(1)
    return os.waitpid(pid, 0)[1]


class Setuid(harness.MountTest):
    """Each way to change a file, on the mount and on an ordinary directory."""

    options = () if os.getuid() else ("allow_other",)
    maxDiff = None

    def both(self, act):
        """act(path, fd) for each mode; the modes after it, at once and later."""
        plain = harness.new_directory(f"plain-{self._testMethodName}")
        found = []
        for directory in plain, self.dir:
            modes = []
            for mode in MODES:
                path = os.path.join(directory, f"{mode:o}")
                calls.write(path, b"content")
                fd = os.open(path, os.O_RDWR)
                os.fchmod(fd, mode)
                status = act(path, fd)
                at_once = os.fstat(fd).st_mode
                os.close(fd)
                modes.append((f"{mode:o}", status, f"{at_once:o}",
                              f"{os.stat(path).st_mode:o}"))
            found.append(modes)
        self.assertEqual(found[1], found[0], "expected the modes of an ordinary file")
        self.mount.restart()
        for mode, _, _, after in found[0]:
            self.assertEqual(f"{os.stat(self.path(mode)).st_mode:o}", after)

    @unittest.skipUnless(harness.is_root(), "needs two users")
    def test_another_user_writes(self):
        self.both(lambda _, fd: as_nobody(lambda: os.pwrite(fd, b"x", 0)))

    @unittest.skipUnless(harness.is_root(), "needs two users")
    def test_another_user_appends_twice(self):
        def append(_, fd):
            os.lseek(fd, 0, os.SEEK_END)
            return as_nobody(lambda: (os.write(fd, b"x"), os.write(fd, b"y")))

        self.both(append)

    @unittest.skipUnless(harness.is_root(), "needs two users")
    def test_another_user_cuts(self):
        self.both(lambda _, fd: as_nobody(lambda: os.ftruncate(fd, 3)))

    def test_the_owner_writes(self):
        self.both(lambda _, fd: os.pwrite(fd, b"x", 0))

    def test_the_owner_cuts(self):
        self.both(lambda path, _: os.truncate(path, 3))

    def test_the_owner_opens_for_something_new(self):
        def write(path, _):
            os.close(os.open(path, os.O_WRONLY | os.O_TRUNC))

        self.both(write)

    def test_the_owner_gives_it_to_himself(self):
        self.both(lambda path, _: os.chown(path, os.getuid(), os.getgid()))

    def test_reading_and_times_take_nothing(self):
        self.both(lambda path, fd: (os.pread(fd, 3, 0), os.utime(path, ns=(1, 1))))


if __name__ == "__main__":
    harness.main()
