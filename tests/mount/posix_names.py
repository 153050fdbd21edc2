# SPDX-License-Identifier: Apache-2.0
"""Names: rename, link, symlink, directories, listings: cases of test_posix.py."""
import ctypes
import itertools
import os
import pickle
import shutil
import socket
import stat

from posix_script import EXCHANGE, NOREPLACE, WHITEOUT, case, libc, rename2

SOUND, OTHER = pickle.dumps("one"), pickle.dumps("another")
SOURCES = ("file", "empty", "full", "to-full", "missing", "empty/.", "file/", "full/",
           "")
TARGETS = ("file", "other", "empty2", "full2", "full/below", "full/below/deeper",
           "to-full", "new", "new/", "other/", "..")


def populate(d):
    for name in os.listdir("."):
        if os.path.isdir(name) and not os.path.islink(name):
            shutil.rmtree(name)
        else:
            os.unlink(name)
    for name in ("file", "other"):
        d.make(name, name.encode())
    for name in ("empty", "empty2", "full", "full2", "full/below"):
        os.mkdir(name)
    d.make("full2/x", b"x")
    os.symlink("file", "link")
    os.symlink("full", "to-full")


def rename_all(d, flags):
    populate(d)
    for source, target in itertools.product(SOURCES, TARGETS):
        before = len(d.results)
        d.rename2(source, target, flags)
        if d.results[before][1] is None:
            d.tree()
            if flags:
                rename2(target.rstrip("/"), source.rstrip("/"), flags)  # undoes it
            else:
                populate(d)


@case()
def rename_in_all_cases(d):
    rename_all(d, 0)


@case()
def rename_without_replacing(d):
    rename_all(d, NOREPLACE)


@case()
def exchange(d):
    rename_all(d, EXCHANGE)


@case()
def rename_with_flags_that_are_none(d):
    populate(d)
    for flags in (NOREPLACE | EXCHANGE, WHITEOUT | EXCHANGE, 8, 1 << 20):
        d.rename2("file", "other", flags)
        d.rename2("file", "new", flags)
    d.tree()


@case(differs="whiteouts", gives=["EINVAL", "EINVAL"], root=True)
def rename_leaving_a_whiteout(d):
    populate(d)
    d.rename2("file", "new", WHITEOUT)
    populate(d)
    d.rename2("file", "other", WHITEOUT)


@case(artifact=True)
def rename_of_files_in_use(d):
    """Moved over one another, while both are open."""
    d.make("other", d.content)
    first, second = d.file(), d.open("other", os.O_RDWR, noted=False)
    d.rename("other", d.name)
    d.whole(first)
    d.whole(second)
    d.note("there", os.path.lexists("other"))
    d.lstat(d.name)


@case()
def exchange_of_files_in_use(d):
    d.make("other", b"the other")
    first, second = d.file(), d.open("other", os.O_RDWR, noted=False)
    d.rename2(d.name, "other", EXCHANGE)
    d.pwrite(first, b"1", 0)
    d.pwrite(second, b"2", 0)
    d.whole(first)
    d.whole(second)
    d.look("other")
    d.rename("other", d.name)
    d.whole(first)
    d.whole(second)
    d.look(d.name)


@case()
def exchange_of_artifacts(d):
    os.mkdir("dir")
    d.make("compiled_module", SOUND)
    d.make("dir/compiled_module", OTHER)
    d.rename2("compiled_module", "dir/compiled_module", EXCHANGE)
    d.look("compiled_module")
    d.look("dir/compiled_module")


@case(differs="exchanged-artifacts", gives=["EINVAL"])
def exchange_of_an_artifact_and_another_file(d):
    d.make("compiled_module", SOUND)
    d.make("plain", OTHER)
    d.rename2("compiled_module", "plain", EXCHANGE)


@case()
def exchanged_and_closed(d):
    d.make("a", b"content of a")
    d.make("b", b"b")
    os.mkdir("dir")
    d.make("dir/c", b"c")
    d.rename2("a", "b", EXCHANGE)
    d.rename2("b", "dir", EXCHANGE)
    for name in ("a", "b", "b/c", "dir"):
        d.look(name)


@case(differs="hard-links", gives=["EPERM", (-1, 1), "ENOENT"])
def link(d):
    d.make("file", b"content")
    d.link("file", "second")
    d.link("file", "file")
    d.link("missing", "third")
    os.mkdir("dir")
    d.link("dir", "fourth")
    fd = d.open("file", os.O_RDWR)
    d.attempt("linkat", lambda: (libc.linkat(fd, b"", -100, b"fifth", 0x1000),
                                 os.fstat(fd).st_nlink))
    d.attempt("second", os.unlink, "second")


@case()
def symlinks(d):
    for target in (b"x", b"a" * 4095, b"a" * 4096, b"", b"\xff\xfe/\x01", b"/absolute",
                   b"..", b"a//b/"):
        d.symlink(target, b"link")
        d.lstat(b"link")
        d.readlink(b"link")
        if os.path.lexists(b"link"):
            d.unlink(b"link")
    os.mkdir("dir")
    d.make("file")
    for name in ("file", "dir", "missing/x", "file/x", "new/"):
        d.symlink("target", name)
    d.readlink("file")
    d.readlink("dir")
    d.symlink("dir", "to-dir")
    d.lstat("to-dir/")
    d.stat("to-dir")
    d.rmdir("to-dir")
    d.unlink("to-dir/")
    d.unlink("to-dir")
    d.tree()


@case()
def loops_of_symlinks(d):
    os.symlink("b", "a")
    os.symlink("a", "b")
    for call in (d.stat, d.listdir, d.chdir, d.rmdir, d.mkdir):
        call("a")
        call("a/x")
    d.open("a", os.O_RDWR | os.O_CREAT)
    d.make("l0")
    for number in range(45):
        os.symlink(f"l{number}", f"l{number + 1}")
    for number in (39, 40, 41, 45):
        d.stat(f"l{number}")


@case()
def make_and_remove_directories(d):
    d.make("file")
    for name in ("dir", "dir", "dir/sub/", "dir/sub2", "file", "file/x", "missing/x",
                 ".", "..", "dir/.", "dir2/.", "", "/"):
        d.mkdir(name)
        d.tree()
    for name in ("dir", "dir/sub/", "dir/sub2/.", "dir/sub2/..", "dir/sub2", "file",
                 "file/x", "missing", "missing/x", "", ".", "..", "dir/", "dir"):
        d.rmdir(name)
        d.tree()
    for name in ("missing", "file/x", "", ".", "file/", "file"):
        d.unlink(name)


@case()
def removed_working_directory(d):
    os.mkdir("dir")
    home = os.open(".", os.O_RDONLY)
    try:
        os.chdir("dir")
        d.rmdir("../dir")
        d.listdir(".")
        d.stat(".")
        d.mkdir("x")
        d.open("x", os.O_CREAT | os.O_RDWR)
        d.stat("..")
        d.attempt("getcwd", lambda: os.path.basename(os.getcwd()))
    finally:
        os.fchdir(home)
        os.close(home)


@case(differs="special-files", gives=["EPERM"] * 4, root=True)
def special_files(d):
    d.mknod("fifo", 0o644 | stat.S_IFIFO)
    d.mknod("socket", 0o644 | stat.S_IFSOCK)
    d.mknod("character", 0o644 | stat.S_IFCHR, os.makedev(1, 3))
    d.mknod("block", 0o644 | stat.S_IFBLK, os.makedev(7, 0))


@case(differs="special-files", gives=["EPERM", "EPERM"])
def fifos_and_sockets(d):
    d.mkfifo("fifo")
    with socket.socket(socket.AF_UNIX) as server:
        d.attempt("bind", server.bind, "server")


@case()
def mknod_of_files(d):
    d.mknod("regular", 0o640 | stat.S_IFREG)
    d.mknod("regular", 0o640 | stat.S_IFREG)
    d.mknod("untyped", 0o604)
    d.mknod("directory", 0o755 | stat.S_IFDIR)
    d.mknod("missing/x", 0o640 | stat.S_IFREG)
    d.tree()


ENCODINGS = (b"a" * 255, b"\xff\xfe" * 127 + b"x", "ä".encode() * 127,
             "日".encode() * 85, b"\x01" * 255, b" " * 255, b"." * 255, b"\\:*?<>|\n")


@case()
def names_of_any_bytes(d):
    for number, name in enumerate(ENCODINGS):
        d.make(name, b"%d" % number)
        d.look(name)
        d.rename(name, name[:-1] + b"~")
        d.symlink(name, name)
        d.mkdir(name + b"d")
        if len(name) < 255:
            continue
        d.unlink(name)
        d.mkdir(name)
        d.make(name + b"/" + name, b"below")
        d.look(name + b"/" + name)
    d.note("names", sorted(os.listdir(b".")))


@case()
def names_that_are_too_long(d):
    d.make("file")
    for name in (b"a" * 256, b"\xff" * 256, "日".encode() * 86, b"a" * 4000):
        for call in (d.stat, d.unlink, d.rmdir, d.mkdir, d.listdir, d.readlink):
            call(name)
        d.open(name, os.O_RDWR | os.O_CREAT)
        d.symlink("x", name)
        d.rename("file", name)
        d.rename(name, "file")
        d.truncate(name, 0)
    d.tree()


@case()
def longest_paths(d):
    path, part = "", "d" * 200
    while len(path) + 402 < 4095:
        path += part + "/"
        os.mkdir(path)
    full = path + "f" * (4095 - len(path))
    d.note("length", len(full))
    for name in (full[:4090], full, full + "g"):
        d.open(name, os.O_RDWR | os.O_CREAT)
        d.look(name)
        d.rename(name, "near")
        d.rename("near", name)
        d.mkdir(name + "d")
        d.unlink(name)
    d.attempt("rmtree", shutil.rmtree, part)


@case()
def deeper_than_any_path(d):
    """By relative names a tree gets deeper than PATH_MAX."""
    home = os.open(".", os.O_RDONLY)
    d.fds.append(home)
    part, depth = "p" * 250, 20
    for _ in range(depth):
        os.mkdir(part)
        os.chdir(part)
    d.make("file", b"deep")
    d.look("file")
    d.rename("file", "renamed")
    d.symlink("renamed", "link")
    d.truncate("link", 2)
    d.look("renamed")
    d.chmod("renamed", 0o600)
    fd = d.open("renamed", os.O_RDWR)
    d.pwrite(fd, b"er", 1)
    d.close(fd)
    d.look("renamed")
    d.unlink("renamed")
    d.unlink("link")
    for _ in range(depth):
        os.chdir("..")
        d.rmdir(part)


@case()
def listing_tells_kinds(d):
    populate(d)
    for entry in sorted(os.scandir("."), key=lambda entry: entry.name):
        d.note(entry.name, (entry.is_file(follow_symlinks=False), entry.is_symlink(),
                            entry.is_dir(follow_symlinks=False),
                            entry.inode() == os.lstat(entry.name).st_ino))


class Listing:
    """opendir(3) and its kin."""

    def __init__(self, path):
        libc.opendir.restype = ctypes.c_void_p
        libc.readdir64.restype = ctypes.c_void_p
        libc.telldir.restype = ctypes.c_long
        self.stream = ctypes.c_void_p(libc.opendir(os.fsencode(path)))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        libc.closedir(self.stream)

    def next(self):
        """The next name; None at the end."""
        entry = libc.readdir64(self.stream)
        return ctypes.string_at(entry + 19) if entry else None

    def rest(self, count=-1):
        names = []
        while count and (name := self.next()) is not None:
            names.append(name)
            count -= 1
        return names

    def tell(self):
        return libc.telldir(self.stream)

    def seek(self, place):
        libc.seekdir(self.stream, ctypes.c_long(place))

    def rewind(self):
        libc.rewinddir(self.stream)


@case()
def seek_in_a_listing(d):
    os.mkdir("dir")
    for number in range(300):
        os.symlink("x", f"dir/{number}-{'n' * (number % 50)}")
    with Listing("dir") as listing:
        places, names = [], []
        while True:
            places.append(listing.tell())
            name = listing.next()
            if name is None:
                break
            names.append(name)
        d.note("all names", sorted(names))
        for number in (300, 0, 5, 299, 301, 150, 2, 77, 302):
            listing.seek(places[number])
            d.note(f"from {number}", listing.rest() == names[number:])
        listing.rewind()
        d.note("again", listing.rest() == names)


@case()
def listing_with_changes_underneath(d):
    os.mkdir("dir")
    for number in range(600):
        os.symlink("x", f"dir/old{number}")
    with Listing("dir") as listing:
        seen = listing.rest(100)
        for number in range(0, 600, 2):
            os.unlink(f"dir/old{number}")
        for number in range(1, 600, 4):
            os.rename(f"dir/old{number}", f"dir/moved{number}")
        for number in range(200):
            os.mkdir(f"dir/new{number}")
        seen += listing.rest()
        stay = {b"old%d" % number for number in range(3, 600, 4)}
        d.note("what stays is seen once",
               sorted(name for name in seen if name in stay) == sorted(stay))
        d.note("nothing is seen twice", len(seen) == len(set(seen)))
        listing.rewind()
        d.note("from the start", sorted(listing.rest()))


@case()
def removed_while_listed(d):
    """rm -r as C libraries do it: unlink each name as it comes."""
    os.mkdir("dir")
    for number in range(400):
        os.symlink("x", f"dir/{number:0200d}")
    with Listing("dir") as listing:
        while (name := listing.next()) is not None:
            if name not in (b".", b".."):
                os.unlink(b"dir/" + name)
    d.rmdir("dir")


@case()
def a_big_directory(d):
    os.mkdir("dir")
    for number in range(1500):
        os.symlink("x", f"dir/name{number}")
    d.attempt("names", lambda: sorted(os.listdir("dir")) ==
              sorted(f"name{number}" for number in range(1500)))
    d.lstat("dir")
    shutil.rmtree("dir")
