# SPDX-License-Identifier: Apache-2.0
"""open(2) with its flags, access(2), umask, exec: cases of test_posix.py."""
import fcntl
import itertools
import mmap
import os
import shutil
import subprocess

from posix_script import case, in_child

ACCESS = (os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_RDWR)
FLAGS = (os.O_CREAT, os.O_EXCL, os.O_TRUNC, os.O_DIRECTORY, os.O_NOFOLLOW)
NAMES = ("file", "full", "to-file", "to-dir", "dangling", "loop", "missing", "file/",
         "full/", "missing/", "file/x", "")


def combinations(flags):
    for count in range(len(flags) + 1):
        for chosen in itertools.combinations(flags, count):
            yield sum(chosen)


def populate(d):
    """One of each kind of thing, as it was in the beginning."""
    if os.path.lexists("created"):
        os.unlink("created")
    d.make("file", b"content")
    for directory in ("empty", "full"):
        if not os.path.isdir(directory):
            os.mkdir(directory)
    d.make("full/x", b"")
    for name, target in (("to-file", "file"), ("to-dir", "full"), ("loop", "loop"),
                         ("dangling", "created")):
        if not os.path.lexists(name):
            os.symlink(target, name)
    if os.path.lexists("missing"):
        os.unlink("missing")


def open_all(d, flags):
    populate(d)
    for name, access, more in itertools.product(NAMES, ACCESS, combinations(FLAGS)):
        fd = d.open(name, access | more | flags)
        if fd is None:
            continue
        d.fds.remove(fd)
        os.close(fd)
        if more & (os.O_CREAT | os.O_TRUNC):
            d.lstat("file")
            d.listdir(".")
            populate(d)


@case()
def open_with_every_combination(d):
    open_all(d, 0)


@case()
def open_path_only(d):
    populate(d)
    for name, more in itertools.product(NAMES, combinations(FLAGS)):
        d.open(name, os.O_PATH | more)
    fd = d.open("file", os.O_PATH)
    d.fstat(fd)
    d.read(fd, 1)
    d.fchmod(fd, 0o600)
    d.fsync(fd)
    d.ftruncate(fd, 0)
    link = d.open("to-file", os.O_PATH | os.O_NOFOLLOW)
    d.fstat(link)
    d.readlink("", dir_fd=link)
    again = d.open(f"/proc/self/fd/{fd}", os.O_RDWR, noted=False)
    d.read(again, 100)


@case(artifact=True)
def open_flags_that_stay(d):
    fd = d.file()
    d.open_flags(fd)
    for flag in (os.O_APPEND, os.O_SYNC, os.O_DSYNC, os.O_NOATIME, os.O_NONBLOCK,
                 os.O_NOCTTY, os.O_ASYNC, os.O_RSYNC):
        other = d.open(d.name, os.O_RDWR | flag)
        d.open_flags(other)
        d.write(other, b"x")
        d.pread(other, 100, 0)
    d.attempt("F_SETFL", fcntl.fcntl, fd, fcntl.F_SETFL, os.O_APPEND)
    d.write(fd, b"at the end")
    d.whole(fd)


@case()
def direct_io(d):
    d.make("file", bytes(range(256)) * 64)
    fd = d.open("file", os.O_RDWR | os.O_DIRECT)
    page = mmap.mmap(-1, 4096)
    d.attempt("read", os.preadv, fd, [page], 4096)
    d.note("bytes", bytes(page[:300]))
    page[:] = b"d" * 4096
    d.attempt("write", os.pwritev, fd, [page], 0)
    d.attempt("beyond", os.pwritev, fd, [page], 1 << 20)
    d.fstat(fd)
    d.attempt("past the end", os.preadv, fd, [page], 1 << 21)
    d.look("file")


@case(differs="direct-io", gives=[3])
def direct_io_of_odd_sizes(d):
    fd = d.open("file", os.O_RDWR | os.O_DIRECT | os.O_CREAT)
    d.write(fd, b"odd")


@case(differs="nameless-files", gives=["ENOTSUP"])
def nameless_file(d):
    d.open(".", os.O_TMPFILE | os.O_RDWR, 0o600)
    d.open(".", os.O_TMPFILE | os.O_RDONLY, 0o600)
    d.listdir(".")


@case(artifact=True)
def access_mode_decides(d):
    d.file()
    reader, writer = d.file(os.O_RDONLY), d.file(os.O_WRONLY)
    d.write(reader, b"x")
    d.pwrite(reader, b"", 0)
    d.read(writer, 1)
    d.ftruncate(reader, 0)
    d.fallocate(reader, 0, 0, 10)
    d.fsync(reader)
    d.fdatasync(reader)
    d.whole(reader)
    for prot in (mmap.PROT_READ, mmap.PROT_READ | mmap.PROT_WRITE):
        for fd in (reader, writer):
            for flags in (mmap.MAP_SHARED, mmap.MAP_PRIVATE):
                d.attempt("mmap", try_map, fd, prot, flags)


def try_map(fd, prot, flags):
    mmap.mmap(fd, 5, flags=flags, prot=prot).close()


@case()
def calls_on_a_directory(d):
    os.mkdir("dir")
    fd = d.open("dir", os.O_RDONLY | os.O_DIRECTORY)
    d.read(fd, 1)
    d.write(fd, b"x")
    d.pread(fd, 1, 0)
    d.ftruncate(fd, 0)
    d.truncate("dir", 0)
    d.fallocate(fd, 0, 0, 1)
    d.fsync(fd)
    d.fdatasync(fd)
    d.fchmod(fd, 0o700)
    d.fstat(fd)
    d.unlink("dir")
    d.readlink("dir")
    d.open("x", os.O_RDWR | os.O_CREAT)
    os.rmdir("dir")
    d.fstat(fd)
    d.listdir(fd)
    d.open("y", os.O_WRONLY | os.O_CREAT)
    d.attempt("create in a removed directory", os.open, "z", os.O_CREAT, dir_fd=fd)
    d.attempt("mkdir in a removed directory", os.mkdir, "z", dir_fd=fd)


@case()
def mode_of_creation(d):
    for mask in (0, 0o22, 0o77, 0o777):
        os.umask(mask)
        try:
            for mode in (0o7777, 0o666, 0o600, 0, 0o4755, 0o2755, 0o1644):
                d.open("file", os.O_CREAT | os.O_EXCL | os.O_RDWR, mode)
                d.look("file")
                os.unlink("file")
                d.mkdir("dir", mode)
                d.lstat("dir")
                os.rmdir("dir")
        finally:
            os.umask(0o22)


@case()
def created_read_only_and_written(d):
    fd = d.open("file", os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o400)
    d.write(fd, b"written all the same")
    d.fchmod(fd, 0)
    d.whole(fd)
    d.close(fd)
    d.look("file")


@case()
def group_id_bit_of_a_directory(d):
    os.mkdir("dir")
    d.chmod("dir", 0o2775)
    d.lstat("dir")
    d.mkdir("dir/sub")
    d.open("dir/file", os.O_CREAT | os.O_RDWR, 0o644)
    d.lstat("dir/sub")
    d.lstat("dir/file")


@case(artifact=True)
def access_by_mode(d):
    d.make(d.name, d.content)
    os.mkdir("dir")
    for name in (d.name, "dir"):
        for mode in (0o777, 0o644, 0o444, 0o200, 0o100, 0o001, 0):
            os.chmod(name, mode)
            for wanted in (os.F_OK, os.R_OK, os.W_OK, os.X_OK, os.R_OK | os.X_OK):
                d.access(name, wanted)


@case()
def access_errors(d):
    populate(d)
    for name in NAMES:
        for wanted in (os.F_OK, os.R_OK, os.W_OK, os.X_OK, 8):
            d.access(name, wanted)


@case()
def run_a_program(d):
    shutil.copyfile(shutil.which("true"), "program")
    for mode in (0o644, 0o755, 0o4755, 0o700):
        os.chmod("program", mode)
        d.attempt(f"run {mode:o}", run, "./program")
    d.make("script", b"#!/bin/sh\nexit 7\n", 0o755)
    d.attempt("script", run, "./script")
    d.make("text", b"exit 7\n", 0o755)
    d.attempt("text", run, "./text")
    d.make("empty", b"", 0o755)
    d.attempt("empty", run, "./empty")
    os.mkdir("dir")
    d.attempt("directory", run, "./dir")
    d.attempt("missing", run, "./missing")
    d.attempt("below a file", run, "./script/x")


def run(*command):
    return subprocess.run(command, stdin=subprocess.DEVNULL).returncode


@case()
def program_that_runs_is_busy(d):
    shutil.copyfile(shutil.which("sleep"), "program")
    os.chmod("program", 0o755)
    with subprocess.Popen(["./program", "600"]) as running:
        try:
            d.open("program", os.O_RDWR)
            d.truncate("program", 0)
            d.unlink("program")
            d.lstat("program")
        finally:
            running.kill()


@case()
def program_open_for_writing_is_busy(d):
    shutil.copyfile(shutil.which("true"), "program")
    os.chmod("program", 0o755)
    fd = d.open("program", os.O_WRONLY | os.O_APPEND)
    d.attempt("run", run, "./program")
    d.close(fd)
    d.attempt("run", run, "./program")


@case(differs="no-setuid", gives=["nosuid nodev"])
def mount_flags(d):
    flags = os.statvfs(".").f_flag
    names = {os.ST_NOSUID: "nosuid", os.ST_NODEV: "nodev", os.ST_NOEXEC: "noexec",
             os.ST_RDONLY: "ro"}
    d.note("flags", " ".join(name for flag, name in names.items() if flags & flag))


@case()
def size_limit_of_a_process(d):
    def write_too_much():
        import resource
        import signal
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        fd = os.open("file", os.O_RDWR | os.O_CREAT)
        os.write(fd, bytes(2000))
        os.write(fd, bytes(2000))

    d.note("write beyond the limit", in_child(write_too_much))
    d.lstat("file")
