# SPDX-License-Identifier: Apache-2.0
"""Runs commands for a test and tells how much memory each used at most.

What the kernel counts as the peak of a process starts with that of the process
that started it. A test holds large inputs, so the commands are started by this
small program instead: run() sends it a line of JSON and gets one back."""
import json
import os
import resource
import subprocess
import sys
import threading


def limit_memory(size):
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size))


def execute(arguments, stdin, stdout, stderr, timeout, memory):
    """[status, peak in bytes]; the status of what took too long is None."""
    with open(stdin, "rb") as source, open(stdout, "wb") as out, \
            open(stderr, "wb") as err:
        child = subprocess.Popen(
            arguments, stdin=source, stdout=out, stderr=err,
            preexec_fn=limit_memory(memory) if memory else None)
    late = threading.Event()
    timer = threading.Timer(timeout, lambda: (late.set(), child.kill()))
    timer.start()
    _, status, usage = os.wait4(child.pid, 0)
    timer.cancel()
    child.returncode = os.waitstatus_to_exitcode(status)
    return [None if late.is_set() else child.returncode, usage.ru_maxrss * 1024]


def serve():
    for line in sys.stdin:
        print(json.dumps(execute(**json.loads(line))), flush=True)


class Runner:
    """The program above, as long as the test lives."""

    def __init__(self):
        self.server = subprocess.Popen([sys.executable, __file__], text=True,
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def run(self, **request):
        self.server.stdin.write(json.dumps(request) + "\n")
        self.server.stdin.flush()
        return json.loads(self.server.stdout.readline())

    def close(self):
        self.server.stdin.close()
        self.server.stdout.close()
        self.server.wait()


if __name__ == "__main__":
    serve()
