# SPDX-License-Identifier: Apache-2.0
"""A process that writes files until the mount dies, and notes what was closed.

    load.py DIRECTORY JOURNAL SEED

Before each write it notes "begin NAME NUMBER", and once close has returned "done
NAME NUMBER", each by one write(2) to the journal, which is outside the mount.
What was noted is therefore what a client knew when the daemon was killed.
"""
import errno
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..",
                                "mount"))

import calls  # noqa: E402
import samples  # noqa: E402

GONE = (errno.ENOTCONN, errno.ECONNABORTED, errno.ENODEV)
NAMES = ("prompt/compiled_module", "decode/compiled_module", "prompt/graph_1.om",
         "prompt/graph_1.idx", "notes.json", "large.bin", "renamed.json", "log")


def content_of(name, number):
    """The content of a name's version; the same for all who ask."""
    size = 2000 + number * 7919 % 60000
    if name.endswith("compiled_module"):
        return samples.module(number, size)
    if name.endswith(".om"):
        return samples.om(number, size)
    if name.endswith(".idx"):
        return samples.idx("graph_1.om", key=f"graph_{number}")
    if name == "large.bin":
        return samples.noise((name, number), size * 8)
    return samples.text((name, number), size)


class Writer:
    def __init__(self, directory, journal, seed):
        self.directory = directory
        self.journal = os.open(journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND,
                               0o600)
        self.random = random.Random(seed)

    def note(self, what, name, number):
        os.write(self.journal, f"{what} {name} {number}\n".encode())

    def run(self, number):
        for name in ("prompt", "decode"):
            os.makedirs(os.path.join(self.directory, name), exist_ok=True)
        while True:
            number += 1
            self.write(self.random.choice(NAMES), number)

    def write(self, name, number):
        path = os.path.join(self.directory, name)
        content = content_of(name, number)
        self.note("begin", name, number)
        if name == "renamed.json":
            self.write_pieces(path + ".tmp", content)
            os.rename(path + ".tmp", path)
        else:
            self.write_pieces(path, content)
        self.note("done", name, number)

    def write_pieces(self, path, content):
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            step = self.random.choice((1000, 10000, 1000000))
            for start in range(0, len(content), step):
                calls.write_fd(fd, content[start:start + step])
        finally:
            os.close(fd)


def main():
    directory, journal, seed = sys.argv[1:]
    writer = Writer(directory, journal, int(seed))
    try:
        writer.run(int(seed) * 1000)
    except OSError as error:
        if error.errno not in GONE:
            os.write(writer.journal, f"failed {error!r}\n".encode())
            raise


if __name__ == "__main__":
    main()
