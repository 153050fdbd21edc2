# SPDX-License-Identifier: Apache-2.0
"""Every call on the store fails, in every way, at every step of what is done.

What comes of it is the right result, or an error that says what and why; nothing
is damaged, deleted or put to quarantine; and when the fault is gone, all works.
The faults are those of inject.c, the cases those of faulted.py. One of them alone is
had with TACFS_FAULT=Create:linkat:3:ESTALE in the environment. Builds without
sanitizers try more places; all try every error with every kind of call that a mount
makes.
"""
import collections
import errno
import itertools
import os
import re
import shutil
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "mount"))
sys.path.insert(0, HERE)

import calls  # noqa: E402
import faulted  # noqa: E402
import harness  # noqa: E402
import inject  # noqa: E402
import samples  # noqa: E402
from harness import mount_only, tacfs  # noqa: E402

# How many calls of one kind fail in a case of a mount, and in one of a command.
PLACES, COMMAND_PLACES = (2, 1) if harness.sanitized() else (
    harness.amount(4, 1000), harness.amount(1, 12))
REDONE = 8 if harness.sanitized() else 1  # of so many commands one is done again
COMMAND_ERRORS = 2 if harness.sanitized() else 99  # of what only commands call
# Commands take a second each with a sanitizer.
CASES = [case for case in faulted.CASES
         if not harness.sanitized() or case not in faulted.SLOW]

# EINTR is never seen from these: they are done again.
DONE_AGAIN = ("pread64", "pwrite64", "fsync", "ftruncate64", "fallocate64", "fstat64",
              "fstatat64", "openat64", "statx")

# Not calls on files, or on what a call that is known has opened.
OTHER_CALLS = re.compile(
    r"_*(asan|tsan|ubsan|sanitizer|cxa|ITM|gmon|libc|errno|stack|xpg)_.*|"
    r"_?exit|(EVP|LZ4|XXH|fuse|json|pthread|str|mem|sig|opt|get(e?[ug]id|pid|env|"
    r"opt|rlimit|random|delim)|set(rlimit|sid)|f(put|get|print|scan|read|write|"
    r"close|error|flush)|is(atty|oc99)|u?name|umask).*|"
    r"_*(isoc99_)?(v?(as|s|sn|f)?printf|f?scanf|sscanf|(open|sys)log)(_chk)?|put(c|s|char)|std.*|"
    r"_*(mem|str)\w+_chk|[cm]alloc|mallopt|re(alloc|allocarray|winddir)|free|qsort|"
    r"clock_gettime|gmtime_r|nanosleep|sleep|time|getpwnam|getgrnam|fork|execlp?|waitpid|kill|pidfd_open|"
    r"pipe2|poll|dup[23]?|close_range|chdir|umount2|munmap|closedir|dirfd|uname|__errno_location|"
    r"__getdelim|__libc_start_main|__tls_get_addr|__environ")
OTHER_FILES = {
    "mkdtemp": "in /tmp", "rmdir": "in /tmp", "syscall": "openat2 in the host's /",
    "fchown": "of a store that is being made", "readlink": "of /proc", "writev": "to the kernel",
    "fopen64": "known, of /proc and of a mount",
}


def spread(count, most):
    """Numbers from 1 to count, the first ones and some of the others."""
    if count <= most:
        return range(1, count + 1)
    first = most // 2
    rest = most - first
    return [*range(1, first + 1),
            *(first + (count - first) * (i + 1) // rest for i in range(rest))]


class World:
    """A store with the base in it, and a mount whose calls can fail."""

    def __init__(self, root):
        self.root = root
        self.store = os.path.join(root, "store")
        self.plan = inject.Plan(os.path.join(root, "control"))
        self.environment = self.plan.environment(self.store, harness.binary())
        self.mount = harness.Mount(self.store, os.path.join(root, "mount"),
                                   ("collect=0", "log_all"),
                                   environment=self.environment)
        self.number = 0

    def fill(self):
        for name, content in faulted.BASE.items():
            path = os.path.join(self.mount.path, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            calls.write(path, content)
        # A disk that seems full makes a mount evict.
        done = harness.tacfs("pin", self.store, "/")
        assert done.returncode == 0, done.stderr
        self.text = calls.read(os.path.join(self.mount.path, faulted.LEAF,
                                            "readable.py"))

    def make_young(self):
        """What was found whole has to be looked at again."""
        for part in ("packs", os.path.join("refs", "default", faulted.LEAF)):
            root = os.path.join(self.store, part)
            for name in samples.files_below(root):
                os.utime(os.path.join(root, name))

    def new_mount(self, number):
        """A mount of a store that is not there yet."""
        root = os.path.join(self.root, f"new{number}")
        os.mkdir(root)
        store = os.path.join(root, "store")
        return harness.Mount(store, os.path.join(root, "mount"),
                             ("collect=0", "log_all"),
                             environment=self.plan.environment(store,
                                                               harness.binary()))


class Fault:
    """One call that fails, in one case, and what comes of it."""

    def __init__(self, case, kind, at, error):
        self.case = case
        self.kind = kind
        self.at = at
        self.error = error
        self.stays = at % 3 == 2 and error != errno.EINTR
        self.world = case.world

    def __str__(self):
        return (f"{self.case.name}: {self.kind} number {self.at}"
                f"{' and later' if self.stays else ''}: "
                f"{inject.error_name(self.error)}")

    def happen(self):
        """Whether it did."""
        case, plan = self.case, self.world.plan
        self.world.number += 1
        case.begin(self.world.number)
        self.log_size = len(self.world.mount.log_text())
        plan.arm(self.kind, self.error, self.at, self.stays, stats=case.command)
        self.seen = None
        try:
            case.act()
        except OSError as error:
            self.seen = error
        finally:
            plan.clear()
        return plan.fired() > 0

    def allowed(self):
        if self.error == inject.SHORT or self.kind == "close":
            return ()
        if self.error == errno.EINTR and self.kind in DONE_AGAIN:
            return ()
        if self.error == errno.ESTALE:
            gone = self.kind.startswith("fstat")  # of the store's own directories
            return errno.ESTALE, errno.ENOENT, *([errno.EIO] if gone else [])
        return self.error, errno.EIO

    def judge(self):
        assert self.world.mount.alive(), self.world.mount.log_text()[-3000:]
        if self.case.command:
            self.judge_command()
        elif self.seen:
            self.judge_errno()
        not_tried = self.case.asks_first and self.error == errno.ESTALE
        self.case.check(self.seen or not_tried)

    def judge_errno(self):
        told = self.world.mount.log_text()[self.log_size:]
        assert self.seen.errno in self.allowed(), (
            f"expected no error but {[inject.error_name(e) for e in self.allowed()]},"
            f" seen {self.seen}, log: {told}")
        why = errno.ESTALE if self.seen.errno == errno.ENOENT else self.seen.errno
        if self.error != errno.ESTALE:
            assert re.search(rf'cannot \w+ "[^"]+": {os.strerror(why)}', told), (
                f"expected the file and {os.strerror(why)!r} for {self.seen} in "
                f"the log, seen {told!r}")

    def judge_command(self):
        done = self.case.done
        for sign in harness.SIGNS_OF_TROUBLE:
            assert sign not in done.stderr.decode(), self.case.text()
        assert 0 <= done.returncode < 64, self.case.text()
        if done.returncode and self.error and self.case.tells:
            assert self.case.is_told(self.error), self.case.text()

    def judge_after(self, redo):
        """Without the fault."""
        quarantine = os.path.join(self.world.store, "quarantine")
        assert not os.listdir(quarantine), [
            calls.read(os.path.join(quarantine, name))
            for name in os.listdir(quarantine) if name.endswith(".reason")]
        if redo:
            self.case.redo()
        for name, content in faulted.BASE.items():
            self.case.expect(os.path.join(self.world.mount.path, name), content)


@mount_only
class Injected(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not inject.library():
            raise unittest.SkipTest("TACFS_INJECT names no library")
        cls.world = World(harness.new_directory(cls.__name__))
        cls.addClassCleanup(cls.world.mount.discard)
        cls.world.mount.start()
        cls.world.fill()
        cls.turns = {}  # of errors, for each kind
        cls.missing = {}  # errors that no call of a kind has had
        cls.where = collections.defaultdict(list)  # (seconds, case) with a kind
        cls.problems = []

    @classmethod
    def tearDownClass(cls):
        cls.world.mount.stop()

    def try_fault(self, fault, redo=True):
        try:
            if fault.happen():
                self.missing[fault.kind].discard(fault.error)
            fault.judge()
            fault.judge_after(redo)
        except (AssertionError, OSError) as problem:
            self.problems.append(f"{fault}: {str(problem)[:1500]}")

    def measure(self, case):
        """What the case calls, when it is not the first time."""
        for _ in range(2):
            self.world.number += 1
            case.begin(self.world.number)
            self.world.plan.reset(stats=case.command)
            began = time.monotonic()
            case.act()
            took = time.monotonic() - began
            counts = self.world.plan.counts()
            case.check(None)
        counts = {kind: count for kind, count in counts.items()
                  if not case.kinds or kind in case.kinds}
        for kind in counts:
            if kind not in self.turns:
                self.turns[kind] = itertools.cycle(inject.errors_of(kind))
                self.missing[kind] = set(inject.errors_of(kind))
            self.where[kind].append((took, case))
        return counts

    def finish(self, case):
        """Nothing is wrong in the store, and it stays small."""
        done = tacfs("fsck", "--read-data", self.world.store)
        self.assertEqual(done.returncode, 0, done.stdout.decode())
        shutil.rmtree(case.path(), ignore_errors=True)
        done = tacfs("gc", "--grace=0", "--keep=0", self.world.store)
        self.assertEqual(done.returncode, 0, done.stderr.decode())

    def run_case(self, case):
        places = COMMAND_PLACES if case.command else PLACES
        if isinstance(case, faulted.Fetch) and not harness.sanitized():
            places = 1000  # every call: it takes a second
        began = time.monotonic()
        count = 0
        counts = self.measure(case)
        for kind in counts:
            for at in spread(counts[kind], places):
                count += 1
                self.try_fault(Fault(case, kind, at, next(self.turns[kind])),
                               not case.command or count % REDONE == 0)
        self.finish(case)
        print(f"\n  {case.name}: {sum(counts.values())} calls, {count} faults, "
              f"{time.monotonic() - began:.1f} s", end="", flush=True)

    def run_missing(self):
        count = 0
        for kind, errors in self.missing.items():
            cases = [case for _, case in sorted(self.where[kind], key=lambda one: one[0])]
            if cases[0].command:
                errors = set(sorted(errors)[:COMMAND_ERRORS])
                self.missing[kind] &= errors
            count += sum(self.try_missing(kind, error, cases)
                         for error in sorted(errors))
        print(f"\n  {count} more, for every error of {len(self.missing)} kinds")

    def try_missing(self, kind, error, cases):
        """How often it was tried: what a case calls is not always the same."""
        for count, case in enumerate(cases, 1):
            self.try_fault(Fault(case, kind, 1, error), not case.command)
            if error not in self.missing[kind]:
                break
        return count

    def run_all(self):
        for make in CASES:
            self.run_case(make(self.world))
        self.run_missing()
        left = {kind: errors for kind, errors in self.missing.items() if errors}
        self.assertFalse(left, "expected every error of every kind to have happened")

    def run_one(self, name, kind, at, error):
        """What a message of this test has named."""
        make = next(make for make in CASES if make.__name__ == name)
        case = make(self.world)
        self.measure(case)
        self.try_fault(Fault(case, kind, int(at), getattr(errno, error)))

    def test_faults(self):
        if "TACFS_FAULT" in os.environ:
            self.run_one(*os.environ["TACFS_FAULT"].split(":"))
        else:
            self.run_all()
        self.assertFalse(self.problems, f"{len(self.problems)} faults were not "
                         "survived:\n" + "\n".join(self.problems))


@mount_only
class Known(unittest.TestCase):
    """There is a wrapper for each call on files that the program makes."""

    def test_every_call_is_known(self):
        if not inject.library():
            self.skipTest("TACFS_INJECT names no library")
        wanted = inject.symbols(harness.binary(), "--undefined-only")
        known = inject.symbols(inject.library(), "--defined-only")
        unknown = {name for name in wanted - known - OTHER_FILES.keys()
                   if not OTHER_CALLS.fullmatch(name)}
        self.assertFalse(unknown, "expected these in tests/fault/inject.c, or, when "
                         "they are no calls on files of a store, in OTHER_CALLS")


harness.main()
