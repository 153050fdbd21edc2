# SPDX-License-Identifier: Apache-2.0
"""tar, cp, rsync, mv, rm, find and du, and what puts a file system under load:
fio, dbench and stress-ng. As in test_programs.py.
"""
import os
import random

import harness
from pair import PairTest

COPIES = """
cp -a "$MATERIAL" source
cp -a source copy
cp -a "$MATERIAL/." copy
cp -r source plain
rm -rf plain
diff -r --no-dereference source copy
"""

# By default a header has times that are never the same, and a process id.
TAR = """
pack() {
    tar --xattrs --sort=name -cf "$1" -C "$2" material \
        --pax-option=exthdr.name=%d/h/%f,delete=atime,delete=ctime
}
pack first.tar "$MATERIAL/.."
mkdir out
tar --xattrs -C out -xpf first.tar
pack second.tar out
cmp first.tar second.tar
tar -C out -df first.tar
tar --xattrs -C out -xpf first.tar
tar -C out --sort=name -czf third.tgz material/d0
tar -tzf third.tgz
"""

RSYNC = """
rsync -aHAX --checksum --itemize-changes "$MATERIAL" into | sort
rsync -aHAX --checksum --itemize-changes "$MATERIAL" into
rsync -aHAX --itemize-changes "$MATERIAL" into
rsync -aHAX --checksum into/ between
rsync -aHAX --checksum --itemize-changes between/ into
rsync -aHAX --checksum --itemize-changes into/material/ "$MATERIAL"
echo more >>between/material/d0/file0
rm -r between/material/d1
touch -d 2024-05-06 between/material/d0/file0 between/material/d0 between/material
rsync -aHAX --inplace --no-whole-file --delete --itemize-changes between/ into
rsync -aHAX --delete --checksum --itemize-changes between/ into
"""

MOVE = """
cp -a "$MATERIAL" "$HOME/moved"
mv "$HOME/moved" .
mv moved/d0 "$HOME/d0"
mv "$HOME/d0" moved
mv -T moved renamed
mkdir -p renamed/d2/deep
mv renamed/d1/* renamed/d2/deep
rmdir renamed/d1
mkdir target
mv -t target renamed/d2 renamed/d3
mv -n target/d2 renamed
mv --backup=numbered renamed/data target/data
"""

# Sizes of directories, and what a file takes, are the file system's own.
LOOK = """
cp -a "$MATERIAL" all
find all -ls | wc -l
find all -printf '%P %y %M %n %l\\n' | sort
find all -type f -printf '%s %T@ %P\\n' | sort
find all -type f -size +100k -newermt 2001-01-01 -o -empty | sort
find all -type f -print0 | xargs -0 cat | wc -c
du -a all | wc -l
du -a --apparent-size all/data
ls -lR --time-style=full-iso all | grep ^-
find all -type f -name '*1*' -delete
find all -depth -type d -empty -delete
find all | sort
chmod -R a-w,u+w all
rm -rf all
ls -A
"""

FIO = """
fio --directory=. --size="$SIZE" --bsrange="$BLOCK" --verify=crc32c --verify_fatal=1 \
    --do_verify=1 --rw=randrw --ioengine="$ENGINE" --minimal --numjobs=2 --fsync=20 \
    --name=mixed --output=log $MORE
fio --directory=. --size="$SIZE" --bs=16k --verify=crc32c --verify_fatal=1 --rw=write \
    --ioengine="$ENGINE" --minimal --name=through --output=log
fio --directory=. --size="$SIZE" --bs=16k --verify=crc32c --verify_fatal=1 --rw=read \
    --ioengine="$ENGINE" --verify_only --minimal --name=through --output=log
rm log
ls
"""

# What it says of its barrier is about a semaphore, which it removes twice.
DBENCH = """
dbench --directory=. --timelimit="$SECONDS_EACH" \
    --loadfile=/usr/share/dbench/client.txt 2 >log 2>&1 || { cat log; false; }
grep -v barrier log | grep -iE 'fail|error|unable' && exit 1
rm log
ls
"""


class Tools(PairTest):
    def material(self):
        """Files of every kind, with attributes."""
        root = os.path.join(self.home, "material")
        chosen = random.Random(2)
        for number in range(harness.amount(20, 3000)):
            directory = os.path.join(root, f"d{number % 5}", f"e{number % 4}")
            os.makedirs(directory, exist_ok=True)
            self.make_file(os.path.join(directory, f"file{number}"), chosen)
        os.makedirs(os.path.join(root, "empty", "d" * 255))
        with open(os.path.join(root, "d0", "file0"), "wb") as file:
            file.write(b"small")
        with open(os.path.join(root, "data"), "wb") as file:
            file.write(chosen.randbytes(harness.amount(500_000, 100_000_000)))
        with open(os.path.join(root, "sparse"), "wb") as file:
            file.seek(1_000_000)
            file.write(b"end")
        os.symlink("data", os.path.join(root, "link"))
        os.symlink("x" * 1000, os.path.join(root, "dangling"))
        self.set_times(root, chosen)
        return root

    def make_file(self, path, chosen):
        with open(path, "wb") as file:
            file.write(chosen.randbytes(chosen.choice([0, 1, 100, 5000, 70000])))
        if chosen.random() < 0.3:
            os.setxattr(path, "user.note", chosen.randbytes(50))
        # cp and tar change what they have copied, which only root may everywhere.
        modes = [0o644, 0o755, 0o600, 0o640, 0o700]
        if os.geteuid() == 0:
            modes[3:] = 0o444, 0o400
        os.chmod(path, chosen.choice(modes))

    def set_times(self, root, chosen):
        for directory, directories, names in os.walk(root, topdown=False):
            for name in directories + names:
                when = chosen.randrange(10**9, 17 * 10**8) * 10**9 + 123456789
                os.utime(os.path.join(directory, name), ns=(when, when),
                         follow_symlinks=False)
        os.utime(root, (10**9, 10**9))

    def test_cp(self):
        self.compare(COPIES, MATERIAL=self.material())
        self.assertSameTrees("source", times=True)
        self.assertSameTrees("copy", times=True)

    def test_tar(self):
        self.need("tar")
        self.compare(TAR, MATERIAL=self.material())
        self.assertSameTrees("out", times=True)

    def test_rsync(self):
        self.need("rsync")
        material = self.material()
        output = self.compare(RSYNC, MATERIAL=material)
        self.assertSameTrees("into", times=True)
        self.assertRegex(output, r"material/sparse\n")

    def test_mv(self):
        self.compare(MOVE, MATERIAL=self.material())
        self.assertSameTrees()

    def test_find_du_and_rm(self):
        self.compare(LOOK, MATERIAL=self.material())

    def check_fio(self, engine, *more, block="512-64k"):
        self.need("fio")
        self.compare(FIO, ENGINE=engine, SIZE=harness.amount("256k", "200m"),
                     BLOCK=block, MORE=" ".join(more))

    def test_fio_sync(self):
        self.check_fio("sync", "--end_fsync=1")

    def test_fio_psync(self):
        self.check_fio("psync", "--fallocate=none")

    def test_fio_mmap(self):
        self.check_fio("mmap", block="4k-64k")

    def test_dbench(self):
        self.need("dbench")
        self.compare(DBENCH, SECONDS_EACH=harness.amount("1", "60"))


if __name__ == "__main__":
    harness.main()
