# SPDX-License-Identifier: Apache-2.0
"""stress-ng's stressors of file systems, on a mount.

A few of them, four at a time; with TACFS_LONG=1 all, and for longer. Each verifies what
it does. What fails on the mount must fail beside the store, too.
"""
import harness
from pair import PairTest

EXCLUDED = {
    "link": "hard links are refused (docs/posix.md)",
    "bind-mount": "is about mounts in a namespace of its own",
    "binderfs": "is about another file system",
    "ioprio": "is about priorities of processes",
    "eventfd": "has no files",
    "procfs": "is about /proc",
}

# Of other classes, but they use files where --temp-path says.
MORE = ["aio", "mmap", "mmapfork", "msync", "readahead", "seek", "sendfile", "splice"]

SHORT = ["dentry", "dir", "fallocate", "getdent", "hdd", "iomix", "mmap", "msync", "rename",
         "seek", "utime", "xattr"]
AT_ONCE = 4

SIZES = """--fallocate-bytes 4M --hdd-bytes 4M --iomix-bytes 4M --sync-file-bytes 4M
--mmap-bytes 4M --msync-bytes 4M --readahead-bytes 4M --seek-size 4M --mmap-file
--dentries 200 --dirdeep-inodes 300"""

STRESS = f"""
nice stress-ng --temp-path . --verify --timeout "$SECONDS_EACH" {' '.join(SIZES.split())} \\
    $STRESSORS
"""


class StressNg(PairTest):
    def stressors(self):
        """The names of the class that this stress-ng has."""
        if not harness.LONG:
            return SHORT
        _, said = self.run_in(self.plain, "stress-ng --class 'filesystem?' 2>&1 || :")
        names = said.split("stressors:")[-1].split()
        self.assertGreater(len(names), 20, said)
        return [name for name in names if name not in EXCLUDED] + MORE

    def stress(self, place, names):
        """The exit status, and what was said."""
        return self.run_in(place, STRESS, SECONDS_EACH=harness.amount("1", "10"),
                           STRESSORS=" ".join(f"--{name} 1" for name in names))

    def check(self, names):
        status, said = self.stress(self.dir, names)
        if status != 0 and self.stress(self.plain, names)[0] == 0:
            self.fail(f"expected as beside the store, seen {status}: {said}")

    def test_stressors(self):
        self.need("stress-ng")
        names = self.stressors()
        for at in range(0, len(names), AT_ONCE):
            with self.subTest(names[at:at + AT_ONCE]):
                self.check(names[at:at + AT_ONCE])


if __name__ == "__main__":
    harness.main()
