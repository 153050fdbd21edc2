# SPDX-License-Identifier: Apache-2.0
"""Whether a mount's memory and descriptors grow with what is done on it.

    python3 tests/bench/soak.py [--seconds=N] [--workers=N] [--valgrind] [--directory=DIR]

Processes create, write, map, rename, list and remove files, and publish, read and
delete artifacts, all under a bounded number of names, while the store is collected.
VmRSS and the number of descriptors of the daemon are printed along the way. What
they are in the last quarter is compared with the second, when all is warm: the
status is 1 when there is more. With --valgrind the daemon runs in valgrind, and the
status is 1 when that finds something definitely lost. Use the `release` preset.
"""
import argparse
import multiprocessing
import os
import random
import shutil
import statistics
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from collect import Mounted, run, status_of  # noqa: E402

import calls  # noqa: E402
import harness  # noqa: E402
import samples  # noqa: E402

SAMPLES = 40  # of memory and descriptors
COLLECTIONS = 10  # of the store, in all
MORE_MEMORY = 4096  # KiB that the heap may vary by
MORE_DESCRIPTORS = 8
NAMES = 20
CONTENTS = 40  # different artifacts
BLOCKS = 1 << 20  # bytes of a file with many blocks
CACHED = 24  # such files fill the cache of blocks
VALGRIND = ("valgrind", "-q", "--leak-check=full", "--show-leak-kinds=definite",
            "--errors-for-leak-kinds=definite", "--error-exitcode=99")


class Load:
    """What one process does in its directory, step by step."""

    def __init__(self, directory, seed):
        self.random = random.Random(seed)
        self.directory = directory
        os.mkdir(directory)

    def path(self, *parts):
        return os.path.join(self.directory, *parts)

    def name(self):
        return self.path(f"file{self.random.randrange(NAMES)}")

    def module(self):
        return samples.module(self.random.randrange(CONTENTS), 8000)

    def step(self):
        kind = self.random.choice([
            self.write_and_rename, self.append, self.change, self.map, self.tree,
            self.artifact, self.half_an_artifact, self.index, self.symlink,
            self.failures, self.attributes, self.list, self.open_and_unlink])
        try:
            kind()
        except FileNotFoundError:
            pass

    def write_and_rename(self):
        calls.write(self.path("new"), self.random.randbytes(20000))
        os.rename(self.path("new"), self.name())

    def append(self):
        path = self.name()
        calls.append(path, b"a line\n" * 50)
        if len(calls.read(path)) > 100000:
            os.truncate(path, 100)

    def change(self):
        fd = os.open(self.name(), os.O_RDWR)
        try:
            os.pwrite(fd, b"changed", self.random.randrange(50000))
            os.ftruncate(fd, 30000)
            if self.random.random() < 0.1:
                os.fsync(fd)
        finally:
            os.close(fd)

    def map(self):
        with open(self.name(), "r+b") as file:
            file.truncate(50000)
            with calls.mmap.mmap(file.fileno(), 50000) as map_:
                map_[self.random.randrange(40000)] = 1

    def tree(self):
        root = self.path("tree")
        for i in range(5):
            os.makedirs(os.path.join(root, f"a{i}", "b"))
            calls.write(os.path.join(root, f"a{i}", "b", "c"), b"content" * i)
        os.rename(os.path.join(root, "a0"), os.path.join(root, "moved"))
        shutil.rmtree(root)

    def artifact(self):
        """Its readable.py is read, too, and all is removed again."""
        model = self.path("model")
        os.makedirs(model, exist_ok=True)
        path = os.path.join(model, "compiled_module")
        content = self.module()
        for _ in range(2):
            calls.write(path, content)
            calls.read(os.path.join(model, "readable.py"))
            if calls.read(path) != content:
                raise AssertionError(f"{path}: expected what was written")
        shutil.rmtree(model)

    def half_an_artifact(self):
        path = self.path("compiled_module")
        calls.write(path, samples.half(self.module()))
        if self.random.random() < 0.5:
            os.unlink(path)

    def index(self):
        number = self.random.randrange(CONTENTS)
        calls.write(self.path("g.om"), samples.om(number))
        calls.write(self.path("g.idx"), samples.idx("g.om"))
        calls.read(self.path("g.idx"))
        os.unlink(self.path("g.om"))
        os.unlink(self.path("g.idx"))

    def symlink(self):
        path = self.path("link")
        os.symlink("nowhere", path)
        os.readlink(path)
        os.unlink(path)

    def failures(self):
        """Calls that fail have to clean up, too."""
        for call, *arguments in (
                (os.stat, self.path("nothing")), (os.rmdir, self.directory),
                (os.mkdir, self.directory), (os.rename, self.directory,
                                             self.path("into", "itself")),
                (os.link, self.name(), self.path("hard")),
                (calls.rename_new, self.name(), self.name()),
                (os.open, self.name(), os.O_CREAT | os.O_EXCL | os.O_WRONLY),
                (os.open, self.directory, os.O_WRONLY)):
            try:
                result = call(*arguments)
                if isinstance(result, int):
                    os.close(result)
            except OSError:
                pass

    def attributes(self):
        path = self.name()
        os.chmod(path, 0o600 | self.random.randrange(0o100))
        os.utime(path, ns=(10**18, 10**18))
        os.stat(path)

    def list(self):
        for entry in os.scandir(self.directory):
            entry.stat(follow_symlinks=False)

    def open_and_unlink(self):
        path = self.name()
        fd = os.open(path, os.O_RDWR | os.O_CREAT)
        os.unlink(path)
        os.write(fd, b"without a name")
        os.close(fd)


def work(directory, seed, steps, end):
    load = Load(directory, seed)
    while time.monotonic() < end:
        load.step()
        with steps.get_lock():
            steps.value += 1


def sample(pid, steps):
    """(steps, VmRSS in KiB, descriptors), which are printed, too."""
    seen = (steps.value, status_of(pid, "VmRSS"), len(os.listdir(f"/proc/{pid}/fd")))
    print("%9d steps, %7d KiB, %4d descriptors" % seen, flush=True)
    return seen


def grown(values, allowed, what):
    """Whether the last quarter has more than the second."""
    quarter = len(values) // 4
    before = statistics.median(values[quarter:2 * quarter])
    after = statistics.median(values[-quarter:])
    print(f"{what}: {before:.0f} in the second quarter, {after:.0f} in the last")
    return after > before + allowed


def warm(path):
    """Fills the daemon's cache of blocks: random reads of more than it keeps."""
    for _ in range(CACHED):
        calls.write(path, os.urandom(BLOCKS))
        fd = os.open(path, os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
        for at in range(0, BLOCKS, 8192):
            os.pread(fd, 100, at)
        os.close(fd)
    os.unlink(path)


def soak(mount, store, options):
    """Whether nothing grew."""
    warm(os.path.join(mount.path, "warm"))
    steps = multiprocessing.Value("q", 0)
    end = time.monotonic() + options.seconds
    workers = [multiprocessing.Process(
        target=work, args=(os.path.join(mount.path, f"worker{i}"), i, steps, end))
        for i in range(options.workers)]
    seen = [sample(mount.process.pid, steps)]
    for worker in workers:
        worker.start()
    for number in range(SAMPLES):
        time.sleep(options.seconds / SAMPLES)
        if number % (SAMPLES // COLLECTIONS) == 0:
            run("gc", "--grace=0", "--keep=0", store)
        seen.append(sample(mount.process.pid, steps))
    for worker in workers:
        worker.join()
    _, memory, descriptors = zip(*seen)
    grew = [grown(memory, MORE_MEMORY, "KiB"),
            grown(descriptors, MORE_DESCRIPTORS, "descriptors")]
    return not any(worker.exitcode for worker in workers) and not any(grew)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--valgrind", action="store_true")
    parser.add_argument("--directory", help="where the store is made; else $TMPDIR")
    options = parser.parse_args()
    if not harness.binary():
        sys.exit("there is no build: set TACFS_BIN")
    with tempfile.TemporaryDirectory(dir=options.directory) as directory, \
            tempfile.TemporaryFile("w+") as log:
        store = os.path.join(directory, "store")
        with Mounted(store, os.path.join(directory, "mount"),
                     VALGRIND if options.valgrind else (), log) as mount:
            fine = soak(mount, store, options)
        if mount.process.returncode:
            log.seek(0)
            print("".join(line for line in log if "not published" not in line))
            print(f"the daemon ended with {mount.process.returncode}")
    # In valgrind the memory is valgrind's.
    sys.exit(1 if mount.process.returncode or not (fine or options.valgrind) else 0)


if __name__ == "__main__":
    main()
