# SPDX-License-Identifier: Apache-2.0
"""Says to the library of inject.c which calls are to fail."""
import errno
import mmap
import os
import struct
import subprocess

HEADER = struct.Struct("<8I")  # kind, error, first, stays, fired, stats, kinds
CALL = struct.Struct("<24sI")  # name, how often it was called
CONTROL_SIZE = 4096
NONE = 0xffffffff
SHORT = 0  # not an error: half of the bytes

ERRORS = (errno.EIO, errno.ENOSPC, errno.ESTALE, errno.EINTR, errno.EDQUOT,
          errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EACCES)
TRANSFERS = ("read", "write", "pread64", "pwrite64")


def errors_of(kind):
    return ERRORS + (SHORT,) if kind in TRANSFERS else ERRORS


def error_name(error):
    return errno.errorcode[error] if error else "SHORT"


def library():
    """The path of the built inject.so; None when it was not built."""
    named = os.environ.get("TACFS_INJECT")
    return named if named and os.path.exists(named) else None


def symbols(path, which):
    """Names that a binary asks of, or has for, others."""
    done = subprocess.run(["nm", "-D", which, path], capture_output=True,
                          text=True, check=True)
    return {line.split()[-1].partition("@")[0] for line in done.stdout.splitlines()}


def sanitizers(binary):
    """The runtimes that must be loaded before every other library."""
    done = subprocess.run(["ldd", binary], capture_output=True, text=True,
                          check=True)
    return [line.split()[2] for line in done.stdout.splitlines()
            if "libasan" in line or "libtsan" in line]


class Plan:
    """The control file. One fault at a time."""

    def __init__(self, path):
        self.path = path
        with open(path, "xb") as file:
            file.write(bytes(CONTROL_SIZE))
        with open(path, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), CONTROL_SIZE)
        self.clear()

    def environment(self, store, binary):
        """For a program whose calls on files of the store are to fail."""
        return dict(os.environ, INJECT_STORE=os.path.realpath(store),
                    INJECT_CONTROL=self.path,
                    LD_PRELOAD=" ".join(sanitizers(binary) + [library()]))

    def _calls(self):
        count = HEADER.unpack_from(self.map)[6]
        for i in range(count):
            at = HEADER.size + i * CALL.size
            name, calls = CALL.unpack_from(self.map, at)
            yield i, at, name.rstrip(b"\0").decode(), calls

    def kinds(self):
        return {name: i for i, _, name, _ in self._calls()}

    def counts(self):
        """{kind: calls} since the last reset()."""
        return {name: calls for _, _, name, calls in self._calls() if calls}

    def fired(self):
        return HEADER.unpack_from(self.map)[4]

    def _set(self, index, value):
        struct.pack_into("<I", self.map, index * 4, value)

    def clear(self):
        """No call fails any more; what has happened is still counted."""
        self._set(0, NONE)

    def reset(self, stats=False):
        self.clear()
        for _, at, name, _ in list(self._calls()):
            CALL.pack_into(self.map, at, name.encode(), 0)
        self._set(4, 0)
        self._set(5, stats)

    def arm(self, kind, error, first=1, stays=False, stats=False):
        self.reset(stats)
        self._set(1, error)
        self._set(2, first)
        self._set(3, stays)
        self._set(0, self.kinds()[kind])
