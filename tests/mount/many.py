# SPDX-License-Identifier: Apache-2.0
"""Many open files of one process: for Agent."""
import os
import resource

import samples

PER_DIRECTORY = 16

_open = {}


def allow(count):
    """So many descriptors for this process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count + 64
    if hard != resource.RLIM_INFINITY and wanted > hard:
        hard = wanted  # which only root may
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def place(root, number):
    """Every 16th is an artifact."""
    name = "compiled_module" if number % PER_DIRECTORY == 0 else f"file{number}"
    return os.path.join(root, f"{number // PER_DIRECTORY}", name)


def content(number):
    if number % PER_DIRECTORY == 0:
        return samples.module(number, 2000)
    return b"%d\n" % number * 50


def write_first(root, numbers):
    """Opens each, writes a part, and leaves it open."""
    allow(len(numbers))
    for number in numbers:
        path = place(root, number)
        if number % PER_DIRECTORY == 0:
            os.makedirs(os.path.dirname(path))
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.write(fd, content(number)[:100])
        _open[number] = fd


def write_rest():
    """Each has what was written, and gets the rest."""
    for number, fd in _open.items():
        seen = os.pread(fd, 1000, 0)
        assert seen == content(number)[:100], (number, seen)
        os.write(fd, content(number)[100:])


def open_again(root, numbers):
    allow(len(numbers))
    for number in numbers:
        _open[number] = os.open(place(root, number), os.O_RDONLY | os.O_CLOEXEC)


def check():
    for number, fd in _open.items():
        seen = os.pread(fd, 100000, 0)
        assert seen == content(number), (number, samples.describe(seen))


def close_all():
    while _open:
        os.close(_open.popitem()[1])
