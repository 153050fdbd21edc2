# SPDX-License-Identifier: Apache-2.0
"""What a store of very many files costs: to collect it, and to mount it.

    python3 tests/bench/collect.py [--entries=N] [--directory=DIR]

One file is published through a mount; its manifest gets N names (links, and a
copy of it in each directory, as a manifest may not have so many). Then `tacfs gc`
goes through them, and mounts of this store and of an empty one are compared. The
memory is VmHWM of tacfs itself. Use the `release` preset.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..",
                                "mount"))

import harness  # noqa: E402

IN_A_DIRECTORY = 1000
MOUNTS = 5  # of each store; the fastest counts
IDLE = 1.0  # seconds until a mount is taken for idle


def status_of(pid, field):
    """A field of /proc/PID/status, in KiB; 0 when the process has ended."""
    try:
        with open(f"/proc/{pid}/status") as file:
            for line in file:
                if line.startswith(field + ":"):
                    return int(line.split()[1])
    except OSError:
        pass
    return 0


def run(*arguments):
    """(seconds, peak KiB, output) of a command."""
    begun = time.monotonic()
    process = subprocess.Popen([harness.binary(), *arguments],
                               stdout=subprocess.PIPE, text=True)
    peak = 0
    while process.poll() is None:
        peak = max(peak, status_of(process.pid, "VmHWM"))
        time.sleep(0.002)
    output = process.communicate()[0]
    if process.returncode:
        sys.exit(f"{arguments}: status {process.returncode}")
    return time.monotonic() - begun, peak, output


class Mounted:
    """A mount in the foreground; knows how long it took to be ready."""

    def __init__(self, store, path, wrapper=(), log=None):
        """`wrapper` is a command that runs the daemon, in its own process; `log` a
        file for what it says."""
        self.path = path
        os.makedirs(path, exist_ok=True)
        before = os.stat(path).st_dev
        begun = time.monotonic()
        self.process = subprocess.Popen([*wrapper, harness.binary(), "mount", store,
                                         path, "-f"], stderr=log)
        while os.stat(path).st_dev == before:
            if self.process.poll() is not None:
                sys.exit(f"mount: status {self.process.returncode}")
            time.sleep(0.0005)
        self.seconds = time.monotonic() - begun

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        for _ in range(100):
            if subprocess.run(["fusermount3", "-u", self.path]).returncode == 0:
                break
            time.sleep(0.1)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def publish_one(store, path):
    with Mounted(store, path):
        with open(os.path.join(path, "first"), "wb") as file:
            file.write(os.urandom(20000))


def multiply(store, count):
    refs = os.path.join(store, "refs", "default")
    first = os.path.join(refs, "first")
    for start in range(0, count - 1, IN_A_DIRECTORY):
        number = start // IN_A_DIRECTORY
        directory = os.path.join(refs, f"{number // 100:03d}", f"{number % 100:02d}")
        os.makedirs(directory)
        copy = os.path.join(directory, "0")
        shutil.copyfile(first, copy)
        for i in range(1, min(IN_A_DIRECTORY, count - 1 - start)):
            os.link(copy, os.path.join(directory, str(i)))


def mount_costs(store, path):
    """(seconds until it is ready, KiB when it is idle)"""
    costs = []
    for number in range(MOUNTS):
        with Mounted(store, path) as mount:
            if number + 1 == MOUNTS:
                time.sleep(IDLE)
            costs.append((mount.seconds, status_of(mount.process.pid, "VmRSS")))
    return min(seconds for seconds, _ in costs), costs[-1][1]


def measure(directory, count):
    large, empty = os.path.join(directory, "large"), os.path.join(directory, "empty")
    path = os.path.join(directory, "mount")
    publish_one(large, path)
    begun = time.monotonic()
    multiply(large, count)
    print(f"{count} entries, made in {time.monotonic() - begun:.1f} s")
    for arguments in (("gc", "--dry-run"), ("gc", "--grace=0", "--keep=0")):
        seconds, peak, output = run(*arguments, large)
        print(f"tacfs {' '.join(arguments)}: {seconds:.2f} s, {peak} KiB; "
              f"{output.splitlines()[0]}")
    for name, store in (("empty", empty), ("large", large)):
        seconds, idle = mount_costs(store, path)
        print(f"mount of the {name} store: ready in {1000 * seconds:.1f} ms, idle with "
              f"{idle} KiB")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--entries", type=int, default=1000000)
    parser.add_argument("--directory", help="where the store is made; else $TMPDIR")
    options = parser.parse_args()
    if not harness.binary():
        sys.exit("there is no build: set TACFS_BIN")
    with tempfile.TemporaryDirectory(dir=options.directory) as directory:
        measure(directory, options.entries)


if __name__ == "__main__":
    main()
