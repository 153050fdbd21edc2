# SPDX-License-Identifier: Apache-2.0
"""What artifacts do otherwise than other files: cases of test_posix.py."""
import os
import pickle

import samples
from posix_script import case, content_of, in_child

SOUND, OTHER = pickle.dumps("one"), pickle.dumps("another")


def by_another(d, name):
    """Notes whether another process can read the file."""
    d.note("another process", in_child(lambda: content_of(name)))


@case(differs="private-versions", gives=["ENOENT"])
def another_process_sees_no_half_of_an_artifact(d):
    fd = d.open("compiled_module", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    d.write(fd, SOUND)
    by_another(d, "compiled_module")
    d.close(fd)
    by_another(d, "compiled_module")


@case(differs="private-versions", gives=[SOUND])
def reader_keeps_its_version_of_an_artifact(d):
    d.make("compiled_module", SOUND)
    fd = d.open("compiled_module", os.O_RDONLY)
    d.make("compiled_module", OTHER)
    d.pread(fd, 100, 0)
    d.look("compiled_module")


@case(differs="unsound-artifacts", gives=["ENOENT", "EINVAL"])
def artifact_that_is_broken(d):
    d.make("compiled_module", SOUND[:-1])
    d.look("compiled_module")
    by_another(d, "compiled_module")
    d.unlink("compiled_module")
    d.make("plain", SOUND[:-1])
    d.rename("plain", "compiled_module")


@case(differs="dangling-index", gives=["ENOENT"])
def index_of_what_is_not_there(d):
    d.make("graph_1.idx", samples.idx("graph_1.om"))
    by_another(d, "graph_1.idx")
    d.make("graph_1.om", samples.om(1))
    by_another(d, "graph_1.idx")


@case(differs="readable-py", gives=[["compiled_module", "readable.py"]])
def listing_of_an_artifact(d):
    d.make("compiled_module", SOUND)
    d.note("names", sorted(os.listdir(".")))


@case(differs="reopened-artifacts", gives=["ETXTBSY"])
def artifact_opened_for_writing_by_its_descriptor(d):
    d.make("compiled_module", SOUND)
    fd = os.open("compiled_module", os.O_RDONLY)
    d.fds.append(fd)
    d.attempt("reopen", reopen, fd)


def reopen(fd):
    os.close(os.open(f"/proc/self/fd/{fd}", os.O_RDWR))
