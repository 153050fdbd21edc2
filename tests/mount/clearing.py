# SPDX-License-Identifier: Apache-2.0
"""rmtree as other Pythons have it, and by other orders of the same calls.

CPython 3.8 to 3.12 list a directory and unlink every name, and raise when a
name has vanished meanwhile; 3.13 ignores that. Each function removes a tree
and raises what the calls raise.
"""
import os
import shutil
import stat


def shutil_rmtree(path):
    """This interpreter's own."""
    shutil.rmtree(path)


def by_path(path):
    """CPython's _rmtree_unsafe: names joined to the path."""
    with os.scandir(path) as found:
        entries = list(found)
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            by_path(entry.path)
        else:
            os.unlink(entry.path)
    os.rmdir(path)


def by_descriptor(path):
    """CPython's _rmtree_safe_fd: everything relative to open directories."""
    before = os.lstat(path)
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert os.path.samestat(before, os.fstat(fd))
        _clear_descriptor(fd)
        os.rmdir(path)
    finally:
        os.close(fd)


def _clear_descriptor(top):
    with os.scandir(top) as found:
        entries = list(found)
    for entry in entries:
        if not entry.is_dir(follow_symlinks=False):
            os.unlink(entry.name, dir_fd=top)
            continue
        before = entry.stat(follow_symlinks=False)
        fd = os.open(entry.name, os.O_RDONLY | os.O_NONBLOCK, dir_fd=top)
        try:
            assert os.path.samestat(before, os.fstat(fd))
            _clear_descriptor(fd)
            os.rmdir(entry.name, dir_fd=top)
        finally:
            os.close(fd)


def one_by_one(path, order=sorted):
    """listdir, then lstat and unlink each in the given order."""
    for name in order(os.listdir(path)):
        inside = os.path.join(path, name)
        if stat.S_ISDIR(os.lstat(inside).st_mode):
            one_by_one(inside, order)
        else:
            os.unlink(inside)
    os.rmdir(path)


def forwards(path):
    one_by_one(path, sorted)


def backwards(path):
    one_by_one(path, lambda names: sorted(names, reverse=True))


def module_first(path):
    """compiled_module before readable.py, and without looking again."""
    for directory, _, names in list(os.walk(path)):
        for name in sorted(names, key=lambda name: name != "compiled_module"):
            os.unlink(os.path.join(directory, name))
    by_path(path)


def module_last(path):
    for directory, _, names in list(os.walk(path)):
        for name in sorted(names, key=lambda name: name == "compiled_module"):
            os.unlink(os.path.join(directory, name))
    by_path(path)


WAYS = (shutil_rmtree, by_path, by_descriptor, forwards, backwards, module_first,
        module_last)
