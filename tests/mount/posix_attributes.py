# SPDX-License-Identifier: Apache-2.0
"""Modes, owners, times, sizes, links, statfs: cases of test_posix.py."""
import ctypes
import os
import time

import harness
from posix_script import (TICK, UTIME_NOW, UTIME_OMIT, case, in_child, libc, rename2,
                          EXCHANGE)

NOFOLLOW = 0x100


@case(artifact=True)
def all_bits_of_modes(d):
    d.make(d.name, d.content)
    os.mkdir("dir")
    for bits in [1 << bit for bit in range(12)] + [0, 0o777, 0o7777, 0o600, 0o10644]:
        for name in (d.name, "dir"):
            d.chmod(name, bits)
            d.lstat(name)
    os.chmod(d.name, 0o644)
    fd = d.file(os.O_RDONLY)
    d.fchmod(fd, 0o4711)
    d.fstat(fd)


@case()
def chmod_of_other_things(d):
    d.make("file")
    os.symlink("file", "link")
    os.symlink("missing", "dangling")
    for name in ("link", "dangling", "missing", "file/x", ""):
        d.chmod(name, 0o640)
        d.lstat("file")
        d.lstat("link")
    d.attempt("fchmodat", libc.fchmodat, -100, b"file", 0o600, NOFOLLOW)
    d.lstat("file")


@case(artifact=True)
def chown_to_oneself(d):
    me, mine = os.getuid(), os.getgid()
    d.make(d.name, d.content)
    os.mkdir("dir")
    os.symlink("x", "link")
    for name in (d.name, "dir", "link", "missing"):
        for uid, gid in ((me, mine), (-1, mine), (me, -1), (-1, -1)):
            d.chown(name, uid, gid, follow_symlinks=False)
    for mode in (0o6755, 0o6644, 0o2644):
        for uid, gid in ((me, mine), (me, -1)):
            os.chmod(d.name, mode)
            d.chown(d.name, uid, gid)
            d.lstat(d.name)
            os.chmod("dir", mode)
            d.chown("dir", uid, gid)
            d.lstat("dir")


@case(differs="owners", gives=["EPERM"] * 4, root=True)
def chown_to_another(d):
    d.make("file")
    os.mkdir("dir")
    d.chown("file", 1234, -1)
    d.chown("file", -1, 1234)
    d.chown("dir", 1234, 1234)
    fd = d.open("file", os.O_RDWR)
    d.fchown(fd, 0, 1)


def without_fsetid(work):
    """`work` by a process that may not keep set-user-id bits."""
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    sets = (ctypes.c_uint32 * 6)()
    if libc.capget(header, sets) < 0:
        raise OSError(ctypes.get_errno(), "capget")
    sets[0] &= ~(1 << 4)
    sets[1] &= ~(1 << 4)
    if libc.capset(header, sets) < 0:
        raise OSError(ctypes.get_errno(), "capset")
    work()


def write_to_file():
    fd = os.open("file", os.O_RDWR)
    os.write(fd, b"x")
    os.close(fd)


def change_set_user_id(d, what, work):
    for mode in (0o6755, 0o6644, 0o2745):
        d.make("file", b"content")
        os.chmod("file", mode)
        d.note(what, in_child(work))
        d.lstat("file")


def kept(*sizes):
    """Files whose bits are not cleared."""
    return [(shown, 1, os.getuid(), os.getgid(), size) for size in sizes
            for shown in ("-rwsr-sr-x 6755", "-rwSr-Sr-- 6644")]


WAYS_TO_WRITE = (("write", write_to_file),
                 ("truncate", lambda: os.truncate("file", 3)))


@case()
def set_user_id_and_writes(d):
    for what, work in WAYS_TO_WRITE:
        change_set_user_id(d, f"privileged {what}", work)


@case(differs="no-setuid", gives=kept(7, 3), root=True)
def set_user_id_and_writes_without_a_capability(d):
    for what, work in WAYS_TO_WRITE:
        change_set_user_id(d, what, lambda: without_fsetid(work))


@case(differs="no-setuid", gives=kept(7))
def set_user_id_and_chown_to_nobody(d):
    for mode in (0o6755, 0o6644, 0o2745):
        d.make("file", b"content")
        os.chmod("file", mode)
        d.chown("file", -1, -1)
        d.lstat("file")


# For others than the real root they are cleared.
@case(**{"differs": "no-setuid", "gives": kept(0)} if harness.is_root() else {})
def set_user_id_and_truncating_opens(d):
    change_set_user_id(d, "open", lambda: without_fsetid(
        lambda: os.close(os.open("file", os.O_WRONLY | os.O_TRUNC))))


MOMENTS = ((0, 0), (1, 1), (1234567890, 987654321), (-1, 0), (-1000, 999999999),
           (2**31 - 1, 5), (2**31, 6), (2**32 + 7, 7), (8 - 2**31, 8), (5, 10**9),
           (5, -1), (5, UTIME_NOW + 1))


def look_at_times(d, name):
    status = os.lstat(name)
    d.note("times", (status.st_atime_ns, status.st_mtime_ns))


@case(artifact=True)
def set_times(d):
    d.make(d.name, d.content)
    os.mkdir("dir")
    os.symlink("missing", "link")
    for name in (d.name, "dir", "link"):
        for moment in MOMENTS:
            for atime, mtime in ((moment, (3, 4)), ((3, 4), moment),
                                 (moment, (0, UTIME_OMIT)), ((0, UTIME_OMIT), moment)):
                d.utimensat(name, atime, mtime, NOFOLLOW)
                look_at_times(d, name)
    d.utimensat("link", (0, UTIME_OMIT), (0, UTIME_OMIT))
    d.utimensat("missing", (1, 1), (1, 1))
    d.utimensat(d.name, (1, 1), (1, 1), 0x8000)


def near_now(moment):
    return abs(moment - time.time_ns()) < 600 * 10**9


@case(artifact=True)
def set_times_to_now(d):
    d.make(d.name, d.content)
    os.mkdir("dir")
    for name in (d.name, "dir"):
        for atime, mtime in ((UTIME_NOW, UTIME_NOW), (UTIME_NOW, UTIME_OMIT),
                             (UTIME_OMIT, UTIME_NOW), (UTIME_OMIT, UTIME_OMIT),
                             (7, UTIME_NOW), (UTIME_NOW, 7)):
            d.utimensat(name, (5, 5), (6, 6))
            d.utimensat(name, (9, atime), (9, mtime))
            status = os.lstat(name)
            d.note("times", [0 if near_now(moment) else moment for moment in
                             (status.st_atime_ns, status.st_mtime_ns)])
    d.utimensat(d.name, (5, 5), (6, 6))
    os.utime(d.name)
    d.note("now", near_now(os.lstat(d.name).st_mtime_ns))


@case(differs="far-times", gives=[(2**34 * 10**9, 2**35 * 10**9)])
def times_far_away(d):
    d.make("file")
    d.utimensat("file", (2**34, 0), (2**35, 0))
    look_at_times(d, "file")


@case()
def set_times_of_an_open_file(d):
    fd = d.open("file", os.O_RDWR | os.O_CREAT)
    d.write(fd, b"content")
    d.utime(fd, ns=(10**18 + 1, 10**18 + 2))
    look_at_times(d, "file")
    d.close(fd)
    look_at_times(d, "file")
    fd = d.open("file", os.O_RDONLY)
    d.utime(fd, ns=(10**18 + 3, 10**18 + 4))
    look_at_times(d, "file")


@case(differs="access-times", gives=[False])
def reading_and_atime(d):
    d.make("file", b"content")
    os.utime("file", ns=(10**18, 10**18))
    fd = d.open("file", os.O_RDONLY)
    d.read(fd, 10)
    d.note("moved", os.fstat(fd).st_atime_ns != 10**18)


@case(artifact=True)
def times_of_writing(d):
    fd = d.file()
    for what, call, *arguments in (
            ("write", os.write, fd, b"x"), ("empty write", os.write, fd, b""),
            ("read", os.pread, fd, 1, 0), ("same size", os.ftruncate, fd, 13),
            ("other size", os.ftruncate, fd, 5), ("fsync", os.fsync, fd),
            ("fchmod", os.fchmod, fd, 0o600), ("fchmod again", os.fchmod, fd, 0o600),
            ("fchown", os.fchown, fd, os.getuid(), os.getgid()),
            ("futimens", os.utime, fd), ("fallocate", os.posix_fallocate, fd, 0, 9000),
            ("allocated already", os.posix_fallocate, fd, 0, 100)):
        d.moved(what, (fd, d.name), call, *arguments)


@case()
def times_by_name(d):
    d.make("file", b"content")
    d.make("other", b"")
    os.mkdir("dir")
    os.symlink("file", "link")
    for what, call, *arguments in (
            ("truncate", os.truncate, "file", 3),
            ("truncate to the same", os.truncate, "file", 3),
            ("chmod", os.chmod, "file", 0o640), ("utime", os.utime, "file", (1, 2)),
            ("chown", os.chown, "file", os.getuid(), -1),
            ("chmod of a directory", os.chmod, "dir", 0o700),
            ("open to truncate", os.open, "file", os.O_WRONLY | os.O_TRUNC),
            ("open to truncate what is empty", os.open, "other",
             os.O_WRONLY | os.O_TRUNC),
            ("open", os.open, "file", os.O_RDWR), ("listing", os.listdir, "dir"),
            ("readlink", os.readlink, "link")):
        d.moved(what, ("file", "other", "dir", "link"), call, *arguments)


@case(differs="directory-times", gives=[["mtime", "ctime"]] * 3)
def times_of_the_directory_of_what_changes(d):
    os.mkdir("dir")
    d.make("dir/file")
    for what, call, *arguments in (
            ("write", d.make, "dir/file", b"x"), ("chmod", os.chmod, "dir/file", 0o600),
            ("utime", os.utime, "dir/file", (1, 2))):
        d.moved(what, ("dir",), call, *arguments)


@case()
def times_of_directories(d):
    top, sub, new = "top", "top/dir", "top/new"
    os.makedirs(sub)
    d.make("top/dir/file", b"")
    for what, call, *arguments in (
            ("creation", d.make, new, b""), ("mkdir", os.mkdir, "top/dir/sub"),
            ("symlink", os.symlink, "x", "top/dir/link"),
            ("failing mkdir", os.mkdir, "top/dir/sub"),
            ("rename within", os.rename, "top/dir/link", "top/dir/other"),
            ("rename across", os.rename, "top/dir/file", "top/file"),
            ("rename over", os.rename, "top/file", new),
            ("exchange", rename2, new, "top/dir/other", EXCHANGE),
            ("rename of a directory", os.rename, "top/dir/sub", "top/sub"),
            ("rmdir", os.rmdir, "top/sub"), ("unlink", os.unlink, new),
            ("failing unlink", os.unlink, new)):
        d.moved(what, (top, sub, new, "top/sub", "top/dir/sub"), call, *arguments)


@case()
def fresh_things_have_the_time_of_now(d):
    d.make("file", b"content")
    os.mkdir("dir")
    os.symlink("x", "link")
    time.sleep(TICK)
    for name in ("file", "dir", "link"):
        status = os.lstat(name)
        d.note(name, [near_now(moment) for moment in
                      (status.st_atime_ns, status.st_mtime_ns, status.st_ctime_ns)])


@case(artifact=True)
def counts_of_links(d):
    fd = d.file()
    d.fstat(fd)
    os.mkdir("dir")
    for name in ("a", "b", "c"):
        os.mkdir(f"dir/{name}")
        d.lstat("dir")
    d.make("dir/file")
    os.rename("dir/a", "a")
    d.lstat("dir")
    os.rmdir("dir/b")
    d.lstat("dir")
    directory = d.open("dir/c", os.O_RDONLY)
    os.rmdir("dir/c")
    d.fstat(directory)
    os.unlink(d.name)
    d.fstat(fd)
    d.make("over", b"1")
    over = d.open("over", os.O_RDONLY)
    d.make("under", b"2")
    os.rename("under", "over")
    d.fstat(over)


@case()
def figures_of_the_file_system(d):
    for seen in (os.statvfs("."), os.fstatvfs(d.open(".", os.O_RDONLY))):
        d.note("fixed", (seen.f_bsize, seen.f_frsize, seen.f_blocks, seen.f_files,
                         seen.f_namemax))
        d.note("free", 0 <= seen.f_bavail <= seen.f_bfree <= seen.f_blocks and
               0 < seen.f_ffree <= seen.f_files)
    d.statvfs("missing")
    d.note("PC_NAME_MAX", os.pathconf(".", "PC_NAME_MAX"))
    d.note("PC_PATH_MAX", os.pathconf(".", "PC_PATH_MAX"))


@case(artifact=True)
def blocks_of_an_open_file(d):
    fd = d.file()
    for content, offset in ((b"", 0), (b"x" * 65536, 0), (b"y" * 4096, 1 << 20)):
        os.ftruncate(fd, 0)
        os.pwrite(fd, content, offset)
        status = os.fstat(fd)
    d.note("less than its size", status.st_blocks * 512 < status.st_size)
    os.ftruncate(fd, 0)
    d.note("none", os.fstat(fd).st_blocks)


@case()
def blocks_of_small_things(d):
    d.make("empty", b"")
    os.symlink("x", "link")
    for name in ("empty", "link"):
        d.note(name, os.lstat(name).st_blocks)


@case(differs="stored-blocks", gives=[True, True])
def blocks_are_what_the_store_has(d):
    """Compressed, and equal content once only... for each that has it."""
    for name in ("file", "copy"):
        d.make(name, b"compressible " * 20000)
        d.note(name, becomes_small(name))


def becomes_small(name):
    """The kernel tells a mount of the last close when close() is over."""
    for _ in range(300):
        status = os.stat(name)
        if 0 < status.st_blocks * 512 < status.st_size // 10:
            return True
        time.sleep(0.01)
    return False
