# SPDX-License-Identifier: Apache-2.0
"""Reading, writing, sizes, holes, maps: cases of test_posix.py.

Those for artifacts keep their file open: it is their private version.
"""
import ctypes
import fcntl
import mmap
import os
import struct

from posix_script import (COLLAPSE, INSERT, KEEP_SIZE, PUNCH_HOLE, ZERO, case,
                          content_of, in_child, libc)

PIECE = bytes(range(1, 251)) * 40  # 10,000 bytes without a zero
FAR = 5 << 30
OFFSETS = (-1, 0, 1, 5, 12, 13, 14, 4095, 4096, 1 << 40, (1 << 63) - 1)


@case(artifact=True)
def read_at_any_offset(d):
    fd = d.file()
    for offset in OFFSETS:
        for size in (0, 1, 7, 100):
            d.pread(fd, size, offset)
    parts = [bytearray(3), bytearray(0), bytearray(5), bytearray(100)]
    d.attempt("readv", os.readv, fd, parts)
    d.note("parts", [bytes(part) for part in parts])
    d.read(fd, 10)
    d.attempt("preadv", os.preadv, fd, parts, 2)
    d.note("parts", [bytes(part) for part in parts])
    d.whole(fd)


@case(artifact=True)
def write_at_any_offset(d):
    fd = d.file()
    for offset in (0, 3, 13, 20, 4090, 4096, 100000, 99990, 300000):
        d.pwrite(fd, b"[%d]" % offset, offset)
        d.whole(fd)
    for offset in (-1, -(1 << 62)):
        d.pwrite(fd, b"x", offset)
    d.pwrite(fd, b"", 1 << 30)
    d.attempt("writev", os.writev, fd, [b"one", b"", b"two" * 500])
    d.attempt("pwritev", os.pwritev, fd, [b"three", b"four"], 7)
    d.lseek(fd, 0, os.SEEK_CUR)
    d.whole(fd)


@case()
def write_beyond_what_a_file_can_have(d):
    fd = d.file()
    for offset in (1 << 44, 1 << 50, (1 << 63) - 2):
        d.pwrite(fd, b"xyz", offset)
    d.fstat(fd)


@case()
def written_and_read_after_close(d):
    for offset, size in ((0, 10000), (5, 1), (9999, 30000), (100000, 2), (65530, 20)):
        fd = d.open("file", os.O_RDWR | os.O_CREAT)
        d.pwrite(fd, (PIECE * 4)[:size], offset)
        d.close(fd)
        d.look("file")


@case(artifact=True)
def seek(d):
    fd = d.file()
    for whence in (os.SEEK_SET, os.SEEK_CUR, os.SEEK_END, 7, -1):
        for offset in (0, 4, -4, -100, 1 << 40, -(1 << 63)):
            d.lseek(fd, offset, whence)
        d.lseek(fd, 2, os.SEEK_SET)
    d.read(fd, 3)
    d.write(fd, b"here")
    d.whole(fd)


@case(differs="offsets", gives=[(1 << 63) - 1])
def seek_to_the_last_offset(d):
    d.lseek(d.file(), (1 << 63) - 1, os.SEEK_SET)


@case(artifact=True)
def append(d):
    first, second = d.file(os.O_RDWR | os.O_APPEND), d.file(os.O_RDWR | os.O_APPEND)
    third = d.file()
    for number in range(5):
        d.write(first, b"first%d" % number)
        d.write(second, b"second%d" % number)
        d.pwrite(third, b"third", 3)
        d.pwrite(first, b"not at 0", 0)
    d.lseek(first, 0, os.SEEK_CUR)
    d.lseek(first, 0, os.SEEK_SET)
    d.read(first, 10)
    d.ftruncate(second, 4)
    d.write(first, b"after 4")
    d.whole(third)


@case(artifact=True)
def change_the_size(d):
    fd = d.file()
    for size in (5, 13, 14, 4096, 4095, 100000, 0, 70000, -1, 3):
        d.ftruncate(fd, size)
        d.whole(fd)
    d.pwrite(fd, b"after", 10)
    d.whole(fd)
    for size in (1 << 50, (1 << 63) - 1, -(1 << 63)):
        d.ftruncate(fd, size)
    d.fstat(fd)


@case()
def truncate_by_name(d):
    d.make("file", PIECE)
    os.symlink("file", "link")
    os.symlink("missing", "dangling")
    os.mkdir("dir")
    for name in ("file", "link", "dangling", "missing", "dir", "file/x", ""):
        for size in (20000, 9000, 9000, 1, -1, 0, 100, 1 << 50):
            d.truncate(name, size)
            d.look("file")


@case()
def truncate_under_a_reader(d):
    d.make("file", PIECE)
    fd = d.open("file", os.O_RDONLY)
    d.read(fd, 100)
    d.truncate("file", 50)
    d.whole(fd)
    d.read(fd, 100)
    d.truncate("file", 20000)
    d.whole(fd)


@case()
def truncate_at_open(d):
    d.make("file", PIECE)
    reader = d.open("file", os.O_RDONLY)
    writer = d.open("file", os.O_WRONLY | os.O_TRUNC)
    d.whole(reader)
    d.write(writer, b"new")
    d.whole(reader)
    d.open("file", os.O_RDONLY | os.O_TRUNC)
    d.whole(reader)


FALLOCATE = ((0, 0, 100), (0, 5000, 1), (0, 0, 0), (0, -1, 5), (0, 0, -5),
             (KEEP_SIZE, 0, 50000), (KEEP_SIZE, 60000, 10),
             (PUNCH_HOLE | KEEP_SIZE, 2, 5), (PUNCH_HOLE | KEEP_SIZE, 4000, 5000),
             (PUNCH_HOLE | KEEP_SIZE, 8000, 1 << 20), (PUNCH_HOLE, 0, 10),
             (ZERO, 100, 100), (ZERO, 9900, 500), (ZERO | KEEP_SIZE, 20000, 100),
             (0, 1 << 50, 10), (0, (1 << 63) - 5, 10), (0x1000, 0, 4096))


@case(artifact=True)
def allocate(d):
    fd = d.file()
    for mode, offset, size in FALLOCATE:
        d.ftruncate(fd, 0)
        d.pwrite(fd, PIECE, 0)
        d.fallocate(fd, mode, offset, size)
        d.whole(fd)
    d.attempt("posix_fallocate", os.posix_fallocate, fd, 0, 30000)
    d.whole(fd)


@case()
def allocated_and_read_after_close(d):
    for mode, offset, size in FALLOCATE[:13]:
        d.make("file", PIECE)
        fd = d.open("file", os.O_RDWR)
        d.fallocate(fd, mode, offset, size)
        d.close(fd)
        d.look("file")


@case(differs="shift-ranges", gives=["ENOTSUP", "ENOTSUP"])
def shift_ranges(d):
    d.make("file", bytes(4096) + b"x" * 8192)
    fd = d.open("file", os.O_RDWR)
    d.fallocate(fd, COLLAPSE, 0, 4096)
    d.fallocate(fd, INSERT, 0, 4096)
    d.fstat(fd)


def seek_all(d, fd):
    for whence in (os.SEEK_DATA, os.SEEK_HOLE):
        for offset in (0, 4096, 65536, 70000, 1 << 20, (1 << 20) + 65536, 3 << 20,
                       (4 << 20) - 1, 4 << 20, 5 << 20, -1):
            d.lseek(fd, offset, whence)


def write_with_holes(d, fd):
    d.ftruncate(fd, 0)
    d.pwrite(fd, b"a" * 65536, 0)
    d.pwrite(fd, b"b" * 65536, 1 << 20)
    d.ftruncate(fd, 4 << 20)


@case(artifact=True)
def holes_of_an_open_file(d):
    fd = d.file()
    write_with_holes(d, fd)
    seek_all(d, fd)
    d.fallocate(fd, PUNCH_HOLE | KEEP_SIZE, 1 << 20, 65536)
    seek_all(d, fd)
    d.ftruncate(fd, 0)
    seek_all(d, fd)


@case(artifact=True)
def no_holes(d):
    fd = d.file(os.O_RDONLY)
    for whence in (os.SEEK_DATA, os.SEEK_HOLE):
        for offset in (0, 5, len(d.content) - 1, len(d.content), 1 << 30, -1):
            d.lseek(fd, offset, whence)


@case()
def holes_read_as_zeros(d):
    fd = d.open("file", os.O_RDWR | os.O_CREAT)
    write_with_holes(d, fd)
    d.pread(fd, 1 << 22, 0)
    d.close(fd)
    d.look("file")
    d.attempt("middle", lambda: content_of("file")[(1 << 20) - 3:(1 << 20) + 3])


@case(differs="holes", gives=[4 << 20])
def holes_of_a_closed_file(d):
    fd = d.open("file", os.O_RDWR | os.O_CREAT)
    write_with_holes(d, fd)
    d.close(fd)
    fd = d.open("file", os.O_RDONLY)
    d.lseek(fd, 1 << 20, os.SEEK_DATA)
    d.lseek(fd, 0, os.SEEK_HOLE)


@case()
def over_four_gigabytes(d):
    fd = d.open("file", os.O_RDWR | os.O_CREAT)
    d.unlink("file")  # or closing would publish zeros for a minute
    d.pwrite(fd, b"far", FAR)
    d.ftruncate(fd, FAR + 100)
    for offset in (0, 1 << 31, 1 << 32, FAR - 2, FAR, FAR + 90, FAR + 200):
        d.pread(fd, 20, offset)
    d.lseek(fd, 0, os.SEEK_END)
    d.lseek(fd, 0, os.SEEK_DATA)
    d.fstat(fd)


@case(artifact=True)
def sync(d):
    fd = d.file()
    d.write(fd, b"one")
    d.fsync(fd)
    d.write(fd, b"two")
    d.fdatasync(fd)
    d.attempt("sync_file_range", libc.sync_file_range, fd, ctypes.c_long(0),
              ctypes.c_long(0), 7)
    d.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    d.whole(fd)


@case(artifact=True)
def private_map(d):
    fd = d.file()
    with mmap.mmap(fd, 0, flags=mmap.MAP_PRIVATE) as area:
        d.note("mapped", bytes(area))
        area[2:5] = b"---"
        d.note("changed", bytes(area))
        d.whole(fd)
        d.pwrite(fd, b"!", 0)
    d.whole(fd)


@case(artifact=True)
def shared_map(d):
    fd = d.file()
    d.ftruncate(fd, 10000)
    with mmap.mmap(fd, 10000) as area:
        area[:6] = b"by map"
        area[9000:9004] = b"tail"
        d.whole(fd)
        d.pwrite(fd, b"by write", 4096)
        d.note("seen in the map", bytes(area))
        d.attempt("msync", area.flush)
        d.whole(fd)
        area[100:103] = b"end"
        d.fsync(fd)
    d.whole(fd)


@case()
def shared_map_outlives_its_descriptor(d):
    d.make("file", PIECE)
    fd = os.open("file", os.O_RDWR)
    area = mmap.mmap(fd, 0)
    os.close(fd)
    area[5:9] = b"late"
    d.look("file")
    d.attempt("msync", area.flush)
    d.look("file")
    area[:4] = b"then"
    area.close()
    d.look("file")


@case()
def map_of_an_unlinked_file(d):
    d.make("file", PIECE)
    fd = d.open("file", os.O_RDWR)
    with mmap.mmap(fd, 0) as area:
        d.unlink("file")
        area[:4] = b"gone"
        d.whole(fd)
        d.close(fd)
        d.note("mapped", bytes(area))


@case()
def map_beyond_the_end(d):
    def touch(offset):
        fd = os.open("file", os.O_RDWR)
        area = mmap.mmap(fd, 0)
        os.ftruncate(fd, 10)
        area[offset] = 1

    for offset in (5, 4000, 5000):
        d.make("file", PIECE)
        d.note(f"touch {offset}", in_child(lambda: touch(offset)))
        d.look("file")


@case()
def copy_range(d):
    d.make("source", PIECE)
    source = d.open("source", os.O_RDONLY)
    target = d.open("target", os.O_RDWR | os.O_CREAT)
    for size, start, at in ((100, 0, 0), (5000, 9000, 50), (10, 20000, 0), (0, 0, 0),
                            (100, 0, 100000), (1 << 40, 1, 3)):
        d.attempt("copy_file_range", os.copy_file_range, source, target, size, start, at)
        d.whole(target)
    d.attempt("onto itself", os.copy_file_range, target, target, 100, 0, 50)
    d.attempt("within", os.copy_file_range, target, target, 100, 0, 5000)
    d.attempt("to a reader", os.copy_file_range, target, source, 100, 0, 0)
    appender = d.open("target", os.O_WRONLY | os.O_APPEND)
    d.attempt("to the end", os.copy_file_range, source, appender, 10)
    d.whole(target)


@case()
def send_and_splice(d):
    d.make("source", PIECE)
    source = d.open("source", os.O_RDONLY)
    target = d.open("target", os.O_RDWR | os.O_CREAT)
    d.attempt("sendfile", os.sendfile, target, source, 5, 1000)
    d.attempt("sendfile", os.sendfile, target, source, None, 1 << 20)
    receive, send = os.pipe()
    d.fds += [receive, send]
    d.attempt("splice out", os.splice, source, send, 300, offset_src=9800)
    d.attempt("splice in", os.splice, receive, target, 300, offset_dst=1)
    d.attempt("splice at the end", os.splice, source, send, 300, offset_src=1 << 30)
    d.whole(target)


@case()
def clone(d):
    """cp --reflink=auto copies when FICLONE is refused."""
    d.make("source", PIECE)
    source = d.open("source", os.O_RDONLY)
    target = d.open("target", os.O_RDWR | os.O_CREAT)
    d.attempt("FICLONE", fcntl.ioctl, target, 0x40049409, source)
    d.attempt("FIONREAD", fcntl.ioctl, source, 0x541B, struct.pack("i", 0))


@case(artifact=True)
def use_after_unlink(d):
    fd, other = d.file(), d.file(os.O_RDONLY)
    d.unlink(d.name)
    d.lstat(d.name)
    d.whole(fd)
    d.pwrite(fd, PIECE, 5)
    d.whole(other)
    d.ftruncate(fd, 8)
    d.fchmod(fd, 0o640)
    d.utime(fd, ns=(10**18, 10**18 + 5))
    d.fallocate(fd, 0, 0, 20)
    d.fsync(fd)
    d.whole(other)
    d.make(d.name, b"a new one")
    d.whole(fd)
    d.look(d.name)
    d.close(fd)
    d.whole(other)
    d.listdir(".")


@case(artifact=True)
def use_after_rename(d):
    fd = d.file()
    d.rename(d.name, "moved")
    d.pwrite(fd, b"written later", 3)
    d.whole(fd)
    os.mkdir("dir")
    d.rename("moved", "dir/again")
    d.rename("dir", "folder")
    d.pwrite(fd, b"and more", 20)
    d.fstat(fd)
    d.close(fd)
    d.listdir("folder")
    d.lstat("folder/again")


@case()
def use_of_what_was_replaced(d):
    d.make("old", b"old content")
    d.make("new", b"new")
    reader, writer = d.open("old", os.O_RDONLY), d.open("old", os.O_RDWR)
    d.rename("new", "old")
    d.whole(reader)
    d.pwrite(writer, b"late", 0)
    d.whole(reader)
    d.close(writer)
    d.close(reader)
    d.look("old")
    d.listdir(".")
