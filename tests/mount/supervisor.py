# SPDX-License-Identifier: Apache-2.0
"""Runs a test in a child process, and leaves nothing behind.

Whatever happens to the child (it fails, hangs in a mount, is killed), every
process that it started ends and everything that it mounted is unmounted, and
only that: processes are found as our descendants, mounts by their place below
the test's own directory.
"""
import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
GRACE = 20  # seconds that a child has to clean up after SIGTERM

libc = ctypes.CDLL(None, use_errno=True)


def mounts_below(root):
    """(mount point, file system type) of mounts at or below root, deepest first."""
    found = []
    with open("/proc/self/mountinfo", "rb") as table:
        for line in table:
            left, _, right = line.partition(b" - ")
            path = re.sub(rb"\\([0-7]{3})", lambda m: bytes([int(m[1], 8)]),
                          left.split()[4])
            path = os.fsdecode(path)
            if path == root or path.startswith(root + "/"):
                found.append((path, os.fsdecode(right.split()[0])))
    return sorted(found, key=lambda mount: -len(mount[0]))


def unmount_lazily(path):
    for command in (["fusermount3", "-u", "-z", path], ["umount", "-l", path]):
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, timeout=30,
                                  capture_output=True)
        except (OSError, subprocess.TimeoutExpired):
            continue
        if done.returncode == 0:
            return


def children(pid):
    """The pids of a process's children, living or not yet waited for.

    Looks at nobody else's processes: reading about one that is stuck can block.
    """
    found = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            found += read_text(f"/proc/{pid}/task/{task}/children").split()
    except OSError:
        pass
    return [int(child) for child in found if child.isdigit()]


def is_zombie(pid):
    return "\nState:\tZ" in read_text(f"/proc/{pid}/status")


def descendants(top):
    """The pids of all living descendants of the process `top`."""
    found, pending = [], [top]
    while pending:
        for child in children(pending.pop()):
            pending.append(child)
            if not is_zombie(child):
                found.append(child)
    return found


def read_text(path):
    try:
        with open(path, "rb") as file:
            return file.read().replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError as error:
        return f"({error.strerror})"


def name_of(pid):
    """Its command's name; the arguments could block, when it is stuck."""
    return read_text(f"/proc/{pid}/comm").strip()


def dump_process(pid):
    print(f"-- process {pid}: {name_of(pid)}", file=sys.stderr)
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return
    for task in tasks:
        where = f"/proc/{pid}/task/{task}"
        stack = read_text(f"{where}/stack").split("\n")[:6]
        print(f"   thread {task} in {read_text(where + '/wchan') or '-'}: "
              + " < ".join(line.split()[-1] for line in stack if line),
              file=sys.stderr)


def print_logs(root, lines=60):
    """What the daemons said; harness.py puts it there."""
    logs = os.path.join(root, "logs")
    for name in sorted(os.listdir(logs) if os.path.isdir(logs) else []):
        text = read_text(os.path.join(logs, name)).strip()
        if text:
            print(f"-- {name}:", *text.split("\n")[-lines:], sep="\n   ",
                  file=sys.stderr)


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


class Supervisor:
    def __init__(self, limit):
        self.limit = limit
        self.root = tempfile.mkdtemp(prefix="tacfs-test-",
                                     dir=os.environ.get("TACFS_TEST_DIR"))
        self.child = None

    def run(self):
        """Returns the exit status of the test."""
        libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self.interrupt)
        try:
            status = self.run_child()
        finally:
            left = self.clean()
        if left and status == 0:
            print("expected nothing left behind, seen: " + ", ".join(left),
                  file=sys.stderr)
            status = 1
        return status

    def interrupt(self, number, _frame):
        sys.exit(128 + number)

    def run_child(self):
        environment = dict(os.environ, TACFS_TEST_ROOT=self.root)
        self.child = subprocess.Popen(
            [sys.executable] + sys.argv, env=environment,
            preexec_fn=lambda: libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM,
                                          0, 0, 0))
        try:
            status = self.child.wait(self.limit)
        except subprocess.TimeoutExpired:
            print(f"expected an end within {self.limit} s, seen none",
                  file=sys.stderr)
            self.dump()
            status = 1
        if status not in (0, 77):
            print_logs(self.root)
        return status if status >= 0 else 128 - status

    def dump(self):
        self.child.send_signal(signal.SIGUSR1)  # faulthandler, see harness
        time.sleep(1)
        for pid in descendants(os.getpid()):
            dump_process(pid)

    def clean(self):
        """Ends and unmounts what is left; returns what that was."""
        self.stop_child()
        left = [f"mount {path}" for path, _ in mounts_below(self.root)]
        left += [f"process {pid} ({name_of(pid)})" for pid in descendants(os.getpid())]
        for path, _ in mounts_below(self.root):
            unmount_lazily(path)
        self.stop_descendants()
        if not mounts_below(self.root):
            shutil.rmtree(self.root, ignore_errors=True)
        return left

    def stop_child(self):
        if not self.child or self.child.poll() is not None:
            return
        self.child.terminate()
        try:
            self.child.wait(GRACE)
        except subprocess.TimeoutExpired:
            self.stop_descendants()

    def stop_descendants(self):
        for pid in descendants(os.getpid()):
            kill(pid)
        deadline = time.monotonic() + GRACE
        while descendants(os.getpid()) and time.monotonic() < deadline:
            self.reap()
            time.sleep(0.02)
        self.reap()

    @staticmethod
    def reap():
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            pass
