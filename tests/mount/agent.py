# SPDX-License-Identifier: Apache-2.0
"""Another process, which does what a test asks, one call after the other.

Requests and answers are pickles on standard input and output; harness.Agent is
the other end.
"""
import fcntl
import os
import pickle
import resource
import shutil
import struct
import sys
import time

import calls
import kinds
import many
import ranks
import stress
import threads
import torchair_client

MODULES = {"os": os, "fcntl": fcntl, "shutil": shutil, "time": time,
           "calls": calls, "kinds": kinds, "stress": stress, "ranks": ranks, "many": many,
           "threads": threads,
           "client": torchair_client}


def read_exactly(fd, size):
    data = b""
    while len(data) < size:
        part = os.read(fd, size - len(data))
        if not part:
            sys.exit(0)
        data += part
    return data


def answer_one(requests, answers):
    size, = struct.unpack("<Q", read_exactly(requests, 8))
    name, arguments, keywords = pickle.loads(read_exactly(requests, size))
    module, function = name.split(".")
    try:
        result = True, getattr(MODULES[module], function)(*arguments, **keywords)
    except Exception as error:
        result = False, error
    data = pickle.dumps(result)
    calls.write_fd(answers, struct.pack("<Q", len(data)) + data)


def main():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    requests, answers = os.dup(0), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    while True:
        answer_one(requests, answers)


if __name__ == "__main__":
    main()
