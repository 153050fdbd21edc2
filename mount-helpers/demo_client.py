#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""demo_client.py SOURCE CACHE: writes what is below SOURCE to CACHE, call by
call as TorchAir saves a compiled model, then loads it as TorchAir does, and
compares. It knows nothing of tacfs."""
import fcntl
import os
import pathlib
import stat
import sys


def save(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as file:  # truncates before it has the lock
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(data[:-36])
        file.flush()
        os.fchmod(file.fileno(), 0o600)
        fcntl.flock(file, fcntl.LOCK_UN)
        file.write(data[-36:])  # and writes the last of it without


def load(path):
    status = os.stat(path)
    if status.st_uid != os.getuid() or stat.S_IMODE(status.st_mode) != 0o600:
        sys.exit(f"{path}: not ours, or not private")
    with open(path, "rb") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        return file.read()


def main(source, cache):
    files = [path for path in pathlib.Path(source).rglob("*") if path.is_file()]
    files.sort(key=lambda path: (path.suffix == ".idx", path))  # the index last
    for path in files:
        save(cache / path.relative_to(source), path.read_bytes())
    for path in files:
        if load(cache / path.relative_to(source)) != path.read_bytes():
            sys.exit(f"{path}: read back something else")
    size = sum(path.stat().st_size for path in files)
    print(f"wrote, read back and compared {len(files)} files, {size} bytes")


main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
