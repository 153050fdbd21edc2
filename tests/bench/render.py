#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How fast tacfs renders a compiled_module, against CPython itself.

    render.py [--python PYTHON] [--program BENCH_RENDER] [--json] [FILE]

Both sides have the file in memory and make the same text of it, which is checked:
tacfs with readable_render(), CPython with pickle, marshal and dis, in a process
that was started, and rendered once, before. They take turns on one core (choose
it with taskset); in each round tacfs runs twice, and the ratio of these two is
the null control: near 1 when the machine is quiet. Times are of the processor,
not of the clock: long renderings are interrupted by other programs, short ones
are not.

Status 0: tacfs is at least 20 times as fast. 1: it is not. 2: there is nothing to
compare.

The ratio is of the whole text. "unpickle and dis only" leaves out what CPython
takes to put the pieces together, not what tacfs takes. "first in a process" is
one rendering into memory that the process has yet to get from the kernel; the
peak memory is that rendering's, above what the process had before.

Without FILE it is the largest compiled_module in tests/ whose version of CPython
is here: the one given, or this one, a python3.X on the PATH, or one of pyenv's.
"""
import argparse
import contextlib
import datetime
import glob
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
CPYTHON_SIDE = os.path.join(HERE, "cpython_render.py")
RELEASE = os.path.join(TOP, "build", "release")
PROGRAM = os.path.join(RELEASE, "tests", "bench", "bench_render")
TACFS = os.path.join(RELEASE, "tacfs")
TARGET = 20
ROUNDS = 15
TURN_NS = 100_000_000  # how long either side measures before it is the other's turn
QUIET = 0.1  # how far the null control may be from 1


class Incomparable(Exception):
    """Why there is no ratio."""


def fixed_addresses(text):
    """Addresses of code objects differ from run to run; tacfs writes 0x0."""
    return re.sub(rb" at 0x[0-9a-f]+", b" at 0x0", text)


class Tacfs:
    """Starts bench_render anew for every turn."""

    def __init__(self, program, file):
        self.program = program
        self.file = file

    def run(self, argument):
        return subprocess.run([self.program, argument, self.file], check=True,
                              stdout=subprocess.PIPE).stdout

    def text(self):
        return self.run("--text")

    def measure(self, count):
        lines = self.run(str(count)).decode().splitlines()
        return {name: int(value) for name, value in map(str.split, lines)}


class CPython:
    """One process for all turns. `first` is empty if it cannot render the file."""

    def __init__(self, python, file):
        # Sets of strings have the order of a random seed otherwise.
        environment = dict(os.environ, PYTHONHASHSEED="0")
        self.process = subprocess.Popen(
            [python, CPYTHON_SIDE, file], env=environment, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.first = self.answer()
        self.text = self.process.stdout.read(self.first.get("text_bytes", 0))

    def answer(self):
        return json.loads(self.process.stdout.readline() or "{}")

    def measure(self, count):
        self.process.stdin.write(b"%d\n" % count)
        self.process.stdin.flush()
        answer = self.answer()
        if not answer:
            raise Incomparable("CPython ended before it was told to")
        return answer

    def close(self):
        self.process.communicate()


def same_work(tacfs, cpython):
    ours, theirs = fixed_addresses(tacfs.text()), fixed_addresses(cpython.text)
    return bool(cpython.first) and ours == theirs


def bundled_files():
    """Every compiled_module in tests/, each content once, the largest first."""
    found = {}
    for pattern in ("data/caches/trees/**/compiled_module",
                    "golden/readable/*.compiled_module"):
        for path in glob.glob(os.path.join(TOP, "tests", pattern), recursive=True):
            with open(path, "rb") as file:
                found.setdefault(file.read(), path)
    return [found[content] for content in sorted(found, key=len, reverse=True)]


def version_of(file):
    """Of the CPython that wrote it, as "3.13"."""
    done = subprocess.run([TACFS, "show", "--detect", file],
                          stdout=subprocess.PIPE, check=True)
    return done.stdout.decode().strip()


def interpreter(version):
    """A CPython of that version, if there is one here."""
    if version == "{}.{}".format(*sys.version_info):
        return sys.executable
    kept = os.path.expanduser(f"~/.pyenv/versions/{version}.*/bin/python3")
    # What pyenv puts on the PATH works for one version only.
    return next(glob.iglob(kept), None) or shutil.which(f"python{version}")


def candidates(options):
    """The files to look at, and whom to compare with."""
    for path in [options.file] if options.file else bundled_files():
        python = options.python or interpreter(version_of(path))
        if python:
            yield python, path


@contextlib.contextmanager
def contestants(options):
    """Both sides, over the first file that they agree on."""
    for python, path in candidates(options):
        tacfs = Tacfs(options.program, path)
        with contextlib.closing(CPython(python, path)) as cpython:
            if same_work(tacfs, cpython):
                yield tacfs, cpython
                return
    raise Incomparable("no CPython here makes the same text of "
                       f"{options.file or 'any file in tests'}")


def turn_count(side):
    """How many renderings fill a turn."""
    return max(3, min(100_000, int(TURN_NS / side.measure(3)["median_ns"])))


def measure(tacfs, cpython):
    """The rounds, each of the answers of tacfs, CPython, and tacfs again."""
    ours, theirs = turn_count(tacfs), turn_count(cpython)
    return [(tacfs.measure(ours), cpython.measure(theirs), tacfs.measure(ours))
            for _ in range(ROUNDS)]


def spread(values):
    values = list(values)
    return {"median": statistics.median(values), "min": min(values),
            "max": max(values)}


def side_result(answers, first_answers):
    return {
        "render_ns": spread(a["median_ns"] for a in answers),
        "best_ns": min(a["min_ns"] for a in answers),
        "first_ns": statistics.median(a["first_ns"] for a in first_answers),
        "memory_bytes": statistics.median(a["memory_bytes"] for a in first_answers),
    }


def machine():
    with open("/proc/cpuinfo") as info:
        fields = dict(re.findall(r"^(.+?)\s*: (.*)$", info.read(), re.MULTILINE))
    model = "{model name}, family {cpu family} model {model}".format_map(
        {name: fields.get(name, "?") for name in ("model name", "cpu family", "model")})
    return {"cpu": model, "cores": os.cpu_count(),
            "kernel": f"{platform.system()} {platform.release()}"}


def name_of(file):
    """From the top of the source tree, for a file that is there."""
    path = os.path.relpath(file, TOP)
    return file if path.startswith(os.pardir) else path


def result_of(tacfs, cpython, rounds):
    ours = [answer for one, _, again in rounds for answer in (one, again)]
    theirs = [answer for _, answer, _ in rounds]
    return {
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
        "file": name_of(tacfs.file),
        "file_bytes": os.path.getsize(tacfs.file),
        "text_bytes": ours[0]["text_bytes"],
        "python": cpython.first["version"],
        "rounds": len(rounds),
        "tacfs": side_result(ours, ours),
        "cpython": side_result(theirs, [cpython.first]),
        "ratio": spread(b["median_ns"] / a["median_ns"] for a, b, _ in rounds),
        "decode_ratio": spread(b["decode_ns"] / a["median_ns"] for a, b, _ in rounds),
        "null": spread(c["median_ns"] / a["median_ns"] for a, _, c in rounds),
        "target": TARGET,
    }


def is_quiet(result):
    return abs(result["null"]["median"] - 1) <= QUIET


def is_fast(result):
    return result["ratio"]["median"] >= TARGET


def print_row(name, ours, theirs, ratio, seen=None):
    span = f"  {seen['min']:.2f} to {seen['max']:.2f}" if seen else ""
    print(f"{name:<28}{ours:>10}{theirs:>10}{ratio:>8.2f}{span}")


def print_sides(name, result, value, scale, ratio=None):
    """A row of a value that both sides have, of CPython's to that of tacfs."""
    ours, theirs = (value(result[side]) for side in ("tacfs", "cpython"))
    print_row(name, f"{ours / scale:.3f}", f"{theirs / scale:.3f}",
              ratio["median"] if ratio else theirs / ours, ratio)


def print_table(result):
    print("{file}: {file_bytes} bytes, {text_bytes} of text".format_map(result))
    print("{cpu}, {cores} cores, {kernel}, ".format_map(result["machine"])
          + "{date}; {rounds} rounds\n".format_map(result))
    print(f"{'':<28}{'tacfs':>10}{result['python']:>10}{'ratio':>8}  rounds")
    print_sides("rendering, ms", result, lambda side: side["render_ns"]["median"],
                1e6, result["ratio"])
    print_row("  unpickle and dis only", "", "",
              result["decode_ratio"]["median"], result["decode_ratio"])
    print_sides("first in a process, ms", result, lambda side: side["first_ns"], 1e6)
    print_sides("peak memory, MiB", result, lambda side: side["memory_bytes"], 2 ** 20)
    print_row("tacfs against itself", "", "", result["null"]["median"], result["null"])
    if not is_quiet(result):
        print("\nThe machine was too busy for these to mean much: run it again.")
    print(f"\nat least {TARGET} times as fast: {'yes' if is_fast(result) else 'no'}")


def stay_on_one_core():
    """What runs on another core, or is started there, may be half as fast."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def parse_arguments():
    parser = argparse.ArgumentParser(
        description="How fast tacfs renders a compiled_module, against CPython.")
    parser.add_argument("--python",
                        help="the CPython to compare with (default: one of the "
                        "version that wrote the file)")
    parser.add_argument("--program", default=PROGRAM,
                        help="bench_render (default: that of the release preset)")
    parser.add_argument("--json", action="store_true", help="JSON instead of a table")
    parser.add_argument("file", metavar="FILE", nargs="?",
                        help="a compiled_module that this CPython wrote")
    return parser.parse_args()


def main():
    options = parse_arguments()
    stay_on_one_core()
    try:
        with contestants(options) as (tacfs, cpython):
            result = result_of(tacfs, cpython, measure(tacfs, cpython))
    except (Incomparable, OSError, subprocess.CalledProcessError) as error:
        print(f"render.py: {error}", file=sys.stderr)
        return 2
    if options.json:
        print(json.dumps(result, indent=2))
    else:
        print_table(result)
    return 0 if is_fast(result) else 1


if __name__ == "__main__":
    sys.exit(main())
