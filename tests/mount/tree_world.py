# SPDX-License-Identifier: Apache-2.0
"""A directory, and what a process does in it: the calls of random_tree.py.

do() makes one call and returns what it gave, or the name of its errno, so that what
two file systems say of the same calls can be compared. A path that begins with a
slash is below the directory, another one is relative to the working directory.
"""
import ctypes
import errno
import mmap
import os
import shutil
import stat
import struct
import unittest.mock

NOREPLACE, EXCHANGE = 1, 2
MARKED = 1_500_000_000 * 10**9  # times before are only ever set, and so are kept
AT_FDCWD = -100
SYS_GETDENTS64 = {"x86_64": 217, "aarch64": 61}.get(os.uname().machine)

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result):
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def rename(old, new, flags=0):
    _check(_libc.renameat2(AT_FDCWD, os.fsencode(old), AT_FDCWD, os.fsencode(new),
                           flags))


def some_names(fd):
    """The next few names of an open directory; none at its end."""
    buffer = ctypes.create_string_buffer(400)
    size = _check(_libc.syscall(SYS_GETDENTS64, fd, buffer, len(buffer)))
    names, at = [], 0
    while at < size:
        length, = struct.unpack_from("=H", buffer.raw, at + 16)
        names.append(os.fsdecode(buffer.raw[at + 19:at + length].split(b"\0")[0]))
        at += length
    return [name for name in names if name not in (".", "..")]


def kind(mode):
    return stat.filemode(mode)[0]


class World:
    def __init__(self, root, mounted, artifacts):
        self.root = root
        self.mounted = mounted
        self.artifacts = artifacts
        self.virtual = ["readable.py"] if mounted and artifacts else []
        self.slots = {}
        self.maps = {}
        self.cwd = os.open(root, os.O_PATH | os.O_DIRECTORY)

    def do(self, name, *arguments):
        os.fchdir(self.cwd)
        try:
            return getattr(self, name)(*arguments)
        except OSError as error:
            return errno.errorcode[error.errno]
        finally:
            os.chdir("/")

    def end(self):
        for map_ in self.maps.values():
            map_.close()
        for fd in self.slots.values():
            os.close(fd)
        os.close(self.cwd)

    def at(self, path):
        return self.root + path if path.startswith("/") else path

    def fd(self, slot):
        if slot not in self.slots:
            raise OSError(errno.EBADF, "nothing is open there")
        return self.slots[slot]

    def attributes(self, st, old=False):
        """What must be the same everywhere. `old`: the names may show a new version."""
        seen = [kind(st.st_mode), oct(stat.S_IMODE(st.st_mode)), st.st_uid, st.st_gid]
        if not stat.S_ISDIR(st.st_mode):
            seen += [st.st_size]
            seen += [] if old else [st.st_nlink]
        return seen + [self.set_time(st)]

    def set_time(self, st):
        """The mtime, if somebody has set it.

        On a mount a directory has a new one also when something in it is published.
        """
        if st.st_mtime_ns < MARKED:
            return st.st_mtime_ns
        return unittest.mock.ANY if self.mounted and stat.S_ISDIR(st.st_mode) else None

    # names

    def mkdir(self, path, mode):
        os.mkdir(self.at(path), mode)

    def rmdir(self, path):
        os.rmdir(self.at(path))

    def unlink(self, path):
        os.unlink(self.at(path))

    def rename(self, old, new, flags):
        rename(self.at(old), self.at(new), flags)

    def symlink(self, target, path):
        os.symlink(target, self.at(path))

    def readlink(self, path):
        return os.readlink(self.at(path))

    def rmtree(self, path):
        shutil.rmtree(self.at(path))

    def copy(self, old, new):
        """As cp(1): what is there is overwritten."""
        try:
            shutil.copyfile(self.at(old), self.at(new))
        except shutil.SameFileError:
            return "the same"

    def put(self, path, content):
        """A new content. Who has the old one of an artifact open keeps it."""
        if not self.mounted and self.is_artifact(path):
            self.replace(path, content)
            return
        with open(self.at(path), "wb") as file:
            file.write(content)

    def is_artifact(self, path):
        return os.path.basename(os.path.realpath(self.at(path))) == "compiled_module"

    def replace(self, path, content):
        with open(self.at(path), "ab") as file:
            path = os.readlink(f"/proc/self/fd/{file.fileno()}")
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        temporary = os.path.join(self.root, ".new")
        with open(temporary, "wb") as file:
            file.write(content)
        os.chmod(temporary, mode)
        os.rename(temporary, path)

    # attributes

    def chmod(self, path, mode):
        os.chmod(self.at(path), mode)

    def fchmod(self, slot, mode):
        os.fchmod(self.fd(slot), mode)

    def utime(self, path, ns, follow):
        os.utime(self.at(path), ns=(ns, ns), follow_symlinks=follow)

    def futime(self, slot, ns):
        os.utime(self.fd(slot), ns=(ns, ns))

    def stat(self, path, follow):
        st = os.stat(self.at(path), follow_symlinks=follow)
        same = [slot for slot, fd in sorted(self.slots.items())
                if os.fstat(fd).st_ino == st.st_ino]
        return self.attributes(st) + ([] if self.artifacts else [same])

    def fstat(self, slot):
        return self.attributes(os.fstat(self.fd(slot)), self.artifacts)

    def access(self, path, mode):
        return os.access(self.at(path), mode)

    # content

    def open(self, slot, path, flags, mode):
        fd = os.open(self.at(path), flags, mode)
        if slot in self.slots:
            os.close(self.slots[slot])
        self.slots[slot] = fd

    def close(self, slot):
        fd = self.fd(slot)
        del self.slots[slot]
        os.close(fd)

    def write(self, slot, at, content):
        if at is None:
            return os.write(self.fd(slot), content)
        return os.pwrite(self.fd(slot), content, at)

    def read(self, slot, at, size):
        if at is None:
            return os.read(self.fd(slot), size)
        return os.pread(self.fd(slot), size, at)

    def ftruncate(self, slot, size):
        os.ftruncate(self.fd(slot), size)

    def truncate(self, path, size):
        os.truncate(self.at(path), size)

    def fsync(self, slot):
        os.fsync(self.fd(slot))

    def content(self, path):
        with open(self.at(path), "rb") as file:
            return file.read()

    def map(self, number, slot, writable):
        """The file as it is now; what is behind its end later is left alone."""
        fd = self.fd(slot)
        size = os.fstat(fd).st_size
        if size == 0 or not stat.S_ISREG(os.fstat(fd).st_mode):
            return "nothing to map"
        new = mmap.mmap(fd, size, mmap.MAP_SHARED, mmap.PROT_READ |
                        (mmap.PROT_WRITE if writable else 0))
        self.unmap(number)
        self.maps[number] = new
        return size

    def unmap(self, number):
        if number in self.maps:
            self.maps.pop(number).close()

    def map_read(self, number):
        map_ = self.maps.get(number)
        return map_ and map_[:min(len(map_), map_.size())]

    def map_write(self, number, at, content, sync):
        map_ = self.maps.get(number)
        if not map_:
            return None
        content = content[:max(0, min(len(map_), map_.size()) - at)]
        try:
            map_[at:at + len(content)] = content
        except TypeError:
            return "not writable"
        if sync:
            map_.flush()
        return len(content)

    # directories

    def list(self, path):
        found = {entry.name: kind(entry.stat(follow_symlinks=False).st_mode)
                 for entry in os.scandir(self.at(path))}
        return sorted(item for item in found.items() if item[0] not in self.virtual)

    def list_open(self, slot):
        return sorted(name for name in os.listdir(self.fd(slot))
                      if name not in self.virtual)

    def scan(self, path, changes):
        """Lists a directory in small portions, while names come and go.

        Returns which of the names that are there all the time were not seen once.
        """
        fd = os.open(self.at(path), os.O_RDONLY | os.O_DIRECTORY)
        try:
            stay = set(os.listdir(fd))
            os.lseek(fd, 0, os.SEEK_SET)
            seen = some_names(fd)
            for old, new in changes:
                stay -= {old, new}
                try:
                    os.rename(old, new, src_dir_fd=fd, dst_dir_fd=fd)
                except OSError:
                    pass
                seen += some_names(fd)
            while names := some_names(fd):
                seen += names
        finally:
            os.close(fd)
        return sorted(name for name in stay - set(self.virtual)
                      if seen.count(name) != 1)

    def chdir(self, path):
        self._enter(os.open(self.at(path), os.O_PATH | os.O_DIRECTORY))

    def fchdir(self, slot):
        os.fchdir(self.fd(slot))
        self._enter(os.open(".", os.O_PATH | os.O_DIRECTORY))

    def _enter(self, fd):
        os.close(self.cwd)
        self.cwd = fd

    def getcwd(self):
        return os.path.relpath(os.getcwd(), os.path.realpath(self.root))

    def tree(self):
        """All that there is: {path: attributes and content}"""
        found = {}
        for directory, directories, names in os.walk(self.root):
            for name in directories + names:
                path = os.path.join(directory, name)
                if name not in self.virtual:
                    found[os.path.relpath(path, self.root)] = self.entry(path)
        return found

    def entry(self, path):
        try:
            st = os.lstat(path)
            seen = self.attributes(st)
            if stat.S_ISREG(st.st_mode):
                with open(path, "rb") as file:
                    seen.append(file.read())
            elif stat.S_ISLNK(st.st_mode):
                seen.append(os.readlink(path))
        except OSError as error:
            return errno.errorcode[error.errno]
        return seen
