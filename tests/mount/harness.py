# SPDX-License-Identifier: Apache-2.0
"""What every test of a mount uses: mounts, other processes, assertions.

A test file ends with `harness.main()`, which runs its tests under supervisor.py.
The environment:

    TACFS_BIN       the binary; else the newest build/*/tacfs
    TACFS_SHARED    the shared material; else tests/data
    TACFS_LONG=1    the full length of the bar, not seconds
    TACFS_PLAIN=1   no mount: the same calls on a plain directory, to test the
                    tests of ordinary behaviour
    TACFS_TEST_DIR  where stores and mount points are made; else $TMPDIR
    TACFS_TEST_TIMEOUT  seconds until a test file is stopped
"""
import atexit
import errno
import faulthandler
import functools
import glob
import itertools
import os
import pickle
import select
import shutil
import signal
import struct
import subprocess
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"

import calls  # noqa: E402
import samples  # noqa: E402
import supervisor  # noqa: E402

PLAIN = os.environ.get("TACFS_PLAIN") == "1"
LONG = os.environ.get("TACFS_LONG") == "1"
MANY_USERS = 65536  # what a container has at least that has users at all
PATIENCE = 120  # seconds until something that must happen is given up
SIGNS_OF_TROUBLE = ("ERROR: AddressSanitizer", "WARNING: ThreadSanitizer",
                    "runtime error:", "LeakSanitizer", "Assertion `")

# Before a command in a new mount namespace.
LET_GO = os.path.join(HERE, "let_go.sh")

_serial = itertools.count()


def amount(short, long):
    """How much of something to do."""
    return long if LONG else short


@functools.lru_cache
def binary():
    """The path of tacfs; None when there is no build."""
    named = os.environ.get("TACFS_BIN")
    if named:
        return named
    built = glob.glob(os.path.join(HERE, "..", "..", "build", "*", "tacfs"))
    return max(built, key=os.path.getmtime, default=None)


@functools.lru_cache
def sanitized():
    """Whether the binary was built with the address or thread sanitizer."""
    with open(binary(), "rb") as file:
        content = file.read()
    return b"__asan_init" in content or b"__tsan_init" in content


@functools.lru_cache
def is_root():
    """Whether there are other users: not as root of a user namespace."""
    if os.geteuid() != 0:
        return False
    with open("/proc/self/uid_map", encoding="ascii") as ids:
        return int(ids.read().split()[2]) >= MANY_USERS


def test_root():
    return os.environ["TACFS_TEST_ROOT"]


def new_directory(name):
    path = os.path.join(test_root(), f"{next(_serial):02d}-{name}")
    os.makedirs(path)
    return path


def short(path):
    """A path in a message: below the test's own directory."""
    return os.path.relpath(path, test_root())


def wait_until(condition, what, patience=PATIENCE):
    """Polls until condition() is true; fails with `what` otherwise."""
    deadline = time.monotonic() + patience
    delay = 0.001
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"expected {what} within {patience} s, seen nothing")
        time.sleep(delay)
        delay = min(delay * 2, 0.1)


def is_served(path):
    """Asks the daemon: what stat(2) says the kernel may know of a dead one."""
    try:
        os.statvfs(path)
    except OSError:
        return False
    return True


def tacfs(*arguments, timeout=PATIENCE, **keywords):
    """Runs the command to its end; its output is bytes."""
    return subprocess.run([binary(), *arguments], stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=timeout, **keywords)


class Mount:
    """A store, mounted. The daemon runs in the foreground, as our child."""

    def __init__(self, store, path, options=(), descriptors=None, identity=None,
                 environment=None):
        """`descriptors` limits how many the daemon may have; `identity` has
        subprocess's user, group and extra_groups of it; `environment` is added."""
        self.descriptors = descriptors
        self.identity = identity or {}
        self.environment = environment or {}
        self.store = store
        self.path = os.path.join(store, "plain") if PLAIN else path
        self.options = options
        self.process = None
        self.log = os.path.join(test_root(), "logs",
                                f"{next(_serial):03d}-{os.path.basename(path)}.log")

    def __enter__(self):
        return self.start()

    def __exit__(self, kind, _error, _trace):
        if kind:
            self.discard()
        else:
            self.stop()

    def start(self):
        try:
            os.makedirs(self.path, exist_ok=True)
        except FileExistsError:
            pass  # a dead mount, which the command has to deal with
        if PLAIN:
            return self
        os.makedirs(os.path.dirname(self.log), exist_ok=True)
        command = self.command()
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log,
                                            env={**os.environ, **self.environment},
                                            **self.identity)
        _running.append(self)
        wait_until(self.answers, f"{' '.join(command)} to answer")
        return self

    def command(self):
        command = [binary(), "mount", self.store, self.path, "-f"]
        if self.options:
            command += ["-o", ",".join(self.options)]
        if self.descriptors:
            command = ["sh", "-c", f'ulimit -n {self.descriptors} && exec "$@"',
                       "sh"] + command
        return command

    def answers(self):
        if self.process.poll() is not None:
            raise AssertionError(f"expected a mount, seen exit status "
                                 f"{self.process.returncode}: {self.log_text()}")
        return self.is_mounted() and is_served(self.path)

    def is_mounted(self):
        return any(path == self.path
                   for path, _ in supervisor.mounts_below(self.path))

    def alive(self):
        return PLAIN or (self.process and self.process.poll() is None)

    def stop(self):
        """Unmounts; fails when that fails or the daemon complained."""
        if PLAIN or not self.process:
            return
        try:
            wait_until(self.unmount, f"{self.path} to be free to unmount", 60)
            status = self.wait()
        finally:
            self.discard()
        self.check_log()
        if status != 0:
            raise AssertionError(f"expected the daemon to exit with 0, seen "
                                 f"{status}: {self.log_text()}")

    def wait(self):
        """The exit status of a daemon that has nothing mounted any more."""
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            supervisor.dump_process(self.process.pid)
            raise AssertionError(f"expected the daemon to end within {PATIENCE} s of "
                                 f"the unmount, seen it alive: {self.log_text()}")

    def unmount(self):
        if self.process.poll() is not None:
            raise AssertionError(f"expected a running daemon, seen exit status "
                                 f"{self.process.returncode}: {self.log_text()}")
        done = subprocess.run(["fusermount3", "-u", self.path],
                              capture_output=True, timeout=PATIENCE)
        return done.returncode == 0

    def restart(self):
        self.stop()
        return self.start()

    def kill(self):
        """SIGKILL for the daemon, and the mount is gone."""
        self.process.kill()
        self.process.wait()
        self.discard()

    def discard(self):
        """Ends everything, whatever state it is in."""
        if self in _running:
            _running.remove(self)
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if self.is_mounted():
            supervisor.unmount_lazily(self.path)

    def log_text(self):
        return supervisor.read_text(self.log)

    def check_log(self):
        text = self.log_text()
        for sign in SIGNS_OF_TROUBLE:
            if sign in text:
                raise AssertionError(f"expected a quiet daemon, seen:\n{text}")


_running = []


@atexit.register
def _discard_all():
    for mount in list(_running):
        mount.discard()


def _stop(number, _frame):
    """SIGTERM: the supervisor wants an end, or has itself been killed."""
    for pid in supervisor.descendants(os.getpid()):
        supervisor.kill(pid)
    _discard_all()
    for path, _ in supervisor.mounts_below(test_root()):
        supervisor.unmount_lazily(path)
    if not supervisor.mounts_below(test_root()):
        shutil.rmtree(test_root(), ignore_errors=True)
    os._exit(128 + number)


class Remote:
    """`agent.os.open(…)` is `agent.call("os.open", …)`."""

    def __init__(self, agent, module):
        self.agent = agent
        self.module = module

    def __getattr__(self, function):
        return functools.partial(self.agent.call, f"{self.module}.{function}")


class Agent:
    """Another process that makes calls for a test (agent.py)."""

    def __init__(self, command=()):
        """`command` is what starts it where it is to run."""
        self.process = subprocess.Popen(
            [*command, sys.executable, os.path.join(HERE, "agent.py")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self.os = Remote(self, "os")
        self.fcntl = Remote(self, "fcntl")
        self.calls = Remote(self, "calls")
        self.client = Remote(self, "client")
        self.shutil = Remote(self, "shutil")
        self.ranks = Remote(self, "ranks")
        self.kinds = Remote(self, "kinds")

    @property
    def pid(self):
        return self.process.pid

    def begin(self, name, *arguments, **keywords):
        """Starts a call. end() has its answer."""
        data = pickle.dumps((name, arguments, keywords))
        self.process.stdin.write(struct.pack("<Q", len(data)) + data)

    def answered(self, seconds):
        return bool(select.select([self.process.stdout], [], [], seconds)[0])

    def end(self, patience=PATIENCE):
        size, = struct.unpack("<Q", self._read(8, patience))
        fine, result = pickle.loads(self._read(size, patience))
        if not fine:
            raise result
        return result

    def call(self, name, *arguments, **keywords):
        self.begin(name, *arguments, **keywords)
        return self.end()

    def _read(self, size, patience):
        data = b""
        while len(data) < size:
            if not self.answered(patience):
                raise AssertionError(f"expected an answer of process {self.pid} "
                                     f"within {patience} s, seen none")
            part = self.process.stdout.read(size - len(data))
            if not part:
                raise EOFError(f"process {self.pid} ended: {self.process.wait()}")
            data += part
        return data

    def last(self, name, *arguments):
        """A call that ends the process; returns its status."""
        self.begin(name, *arguments)
        return self.wait()

    def kill(self, number=signal.SIGKILL):
        self.process.send_signal(number)
        return self.wait()

    def wait(self):
        status = self.process.wait(PATIENCE)
        self.process.stdin.close()
        self.process.stdout.close()
        return status

    def close(self):
        """A normal end; by force when it does not come.

        What cannot be killed waits for a daemon; it ends with that.
        """
        self.process.stdin.close()
        for act in (lambda: None, self.process.kill):
            act()
            try:
                self.process.wait(10)
                break
            except subprocess.TimeoutExpired:
                continue
        self.process.stdout.close()


class MountTest(unittest.TestCase):
    """Mounts of one store for all tests of a class, a directory for each test.

    self.mount and self.dir are the first mount and the test's directory there;
    self.other and self.other_dir the second's, with `mounts = 2`.
    """

    mounts = 1
    options = ()
    environment = None

    @classmethod
    def setUpClass(cls):
        cls.root = new_directory(cls.__name__)
        cls.store = os.path.join(cls.root, "store")
        cls.mounted = []
        for number in range(cls.mounts):
            mount = Mount(cls.store, os.path.join(cls.root, f"mount{number}"),
                          cls.options, environment=cls.environment)
            cls.addClassCleanup(mount.discard)
            cls.mounted.append(mount.start())
        cls.mount = cls.mounted[0]
        cls.other = cls.mounted[-1]

    @classmethod
    def tearDownClass(cls):
        for mount in cls.mounted:
            mount.stop()

    def setUp(self):
        self.dir = os.path.join(self.mount.path, self._testMethodName)
        self.other_dir = os.path.join(self.other.path, self._testMethodName)
        os.mkdir(self.dir)

    def tearDown(self):
        for mount in self.mounted:
            self.assertTrue(mount.alive(),
                            f"expected the daemon of {mount.path} to live, seen "
                            f"its end: {mount.log_text()}")

    def agent(self):
        agent = Agent()
        self.addCleanup(agent.close)
        return agent

    def agents(self, count):
        return [self.agent() for _ in range(count)]

    def path(self, *parts):
        return os.path.join(self.dir, *parts)

    def assertContent(self, path, expected, by=calls, hint=""):
        """What a reader (this process, or an agent's calls) gets from path."""
        kind, seen = by.look(path)
        if kind == "errno":
            self.fail(f"{short(path)}{hint}: expected {samples.describe(expected)}, "
                      f"seen {errno.errorcode[seen]} from open")
        if seen != expected:
            self.fail(f"{short(path)}{hint}: expected {samples.describe(expected)}, "
                      f"seen {samples.describe(seen)}")

    def assertOneOf(self, path, *allowed, by=calls, hint=""):
        """A reader gets one of these contents; None stands for ENOENT."""
        kind, seen = by.look(path)
        if kind == "errno":
            if seen == errno.ENOENT and None in allowed:
                return
            what = errno.errorcode[seen]
        else:
            if seen in allowed:
                return
            what = samples.describe(seen)
        wanted = " or ".join("ENOENT" if content is None
                             else samples.describe(content) for content in allowed)
        self.fail(f"{short(path)}{hint}: expected {wanted}, seen {what}")

    def assertErrno(self, number, call, *arguments, **keywords):
        """The call fails with this errno."""
        try:
            result = call(*arguments, **keywords)
        except OSError as error:
            seen = errno.errorcode.get(error.errno, error.errno)
        else:
            seen = f"success ({result!r})"
        self.assertEqual(seen, errno.errorcode[number],
                         f"{call}{arguments}: expected {errno.errorcode[number]}, "
                         f"seen {seen}")

    def assertMissing(self, path, by=calls, hint=""):
        """Neither open nor stat nor a listing knows the path."""
        kind, seen = by.look(path)
        if kind == "bytes":
            self.fail(f"{short(path)}{hint}: expected ENOENT from open, seen "
                      f"{samples.describe(seen)}")
        self.assertEqual(errno.errorcode[seen], "ENOENT",
                         f"{short(path)}{hint}: expected ENOENT from open, seen "
                         f"{errno.errorcode[seen]}")
        self.assertEqual(by.stat_errno(path), errno.ENOENT,
                         f"{short(path)}{hint}: expected ENOENT from stat after ENOENT "
                         f"from open")
        self.assertTrue(by.missing(path),
                        f"{short(path)}{hint}: expected no such name in a listing")

    def assertListing(self, directory, expected, by=os, hint=""):
        seen = sorted(by.listdir(directory))
        self.assertEqual(seen, sorted(expected),
                         f"{short(directory)}{hint}: expected the names "
                         f"{sorted(expected)}, seen {seen}")


def mount_only(test):
    """For tests of what a plain directory does not do."""
    return unittest.skipIf(PLAIN, "needs a mount")(test)


def run_parallel(commands, **keywords):
    """Runs commands at once; their (status, output with errors), in order."""
    processes = [subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, **keywords)
                 for command in commands]
    outputs = [process.communicate(timeout=PATIENCE * 5)[0]
               for process in processes]
    return [(process.returncode, output.decode("utf-8", "replace"))
            for process, output in zip(processes, outputs)]


def _can_mount():
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
    except OSError as error:
        print(f"/dev/fuse: {error.strerror}: skipped", file=sys.stderr)
        return False
    return True


def _prerequisites():
    """0, or the status to exit with."""
    if PLAIN:
        return 0
    if not _can_mount():
        return 77
    if not binary() or not os.access(binary(), os.X_OK):
        print("expected a binary in TACFS_BIN or build/*/tacfs, seen none",
              file=sys.stderr)
        return 2
    return 0


class TimedResult(unittest.TextTestResult):
    """Says which tests are slow."""

    def startTest(self, test):
        self.started = time.monotonic()
        super().startTest(test)

    def stopTest(self, test):
        super().stopTest(test)
        seconds = time.monotonic() - self.started
        if seconds > 1:
            self.stream.writeln(f"    {seconds:.1f} s")


def _run_tests():
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    signal.signal(signal.SIGTERM, _stop)
    os.umask(0o022)
    program = unittest.main(
        module="__main__", exit=False, testRunner=unittest.TextTestRunner(
            verbosity=2, resultclass=TimedResult))
    result = program.result
    if not result.wasSuccessful():
        sys.exit(1)
    if result.testsRun and len(result.skipped) == result.testsRun:
        sys.exit(77)


def main():
    """Runs the tests of the calling file and exits."""
    if "TACFS_TEST_ROOT" in os.environ:
        _run_tests()
        return
    status = _prerequisites()
    if status:
        sys.exit(status)
    limit = int(os.environ.get("TACFS_TEST_TIMEOUT", amount(600, 7200)))
    sys.exit(supervisor.Supervisor(limit).run())
