#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CPython's side of render.py: one process that renders when it is told to.

    cpython_render.py FILE

renders the compiled_module FILE once and answers on standard output with a line
of JSON, followed by the text. Then, for every line with a count that it reads,
it renders that often and answers with another line of JSON. Times are of the
processor, in ns. Runs on every CPython since 3.8 and needs no file but this one.
"""
import dataclasses
import dis
import gc
import io
import json
import marshal
import pickle
import statistics
import sys
import types
from time import thread_time_ns

PACKAGES = ("torchair", "npugraph_ex")


@dataclasses.dataclass
class ModelCacheMeta:
    name: str
    date: str
    version: str


@dataclasses.dataclass
class CompiledFX:
    signature: str
    py_code: str
    input_parameters: list


@dataclasses.dataclass
class ModelCacheArtifact:
    meta: ModelCacheMeta
    compiled_fn: bytes
    compiled_fx: CompiledFX


def install_modules():
    """Make the classes importable under the names that the pickles carry."""
    for package in PACKAGES:
        name = f"{package}.inference._cache_compiler"
        module = types.ModuleType(name)
        for cls in (ModelCacheMeta, CompiledFX, ModelCacheArtifact):
            setattr(module, cls.__name__, cls)
        for parent in (package, f"{package}.inference"):
            sys.modules[parent] = types.ModuleType(parent)
        sys.modules[name] = module


def title(text):
    return "-" * 44 + text + "-" * 44


def decode(content):
    """Unpickle, unmarshal and disassemble."""
    artifact = pickle.loads(content)
    output = io.StringIO()
    dis.dis(marshal.loads(artifact.compiled_fn), file=output)
    return artifact, output.getvalue()


def assemble(artifact, disassembly):
    """The rest of what readable_cache does before it opens a file."""
    fx = artifact.compiled_fx
    parts = ["=" * 100, str(artifact.meta), fx.signature, title("caller frame"),
             disassembly]
    comments = "\n".join(parts).split("\n")
    return "\n".join(f"# {line}" for line in comments) + "\n" + fx.py_code


def time_one(content):
    """A rendering: until all is decoded, and until the text is there."""
    start = thread_time_ns()
    decoded = decode(content)
    middle = thread_time_ns()
    text = assemble(*decoded)
    end = thread_time_ns()
    return middle - start, end - start, text


def time_all(content, count):
    decoding, whole = zip(*(time_one(content)[:2] for _ in range(count)))
    return {"decode_ns": statistics.median(decoding),
            "median_ns": statistics.median(whole), "min_ns": min(whole)}


def status_kib(name):
    """A line of /proc/self/status; getrusage() counts the parent's peak, too."""
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith(name + ":"):
                return int(line.split()[1])
    raise RuntimeError(f"/proc/self/status has no {name}")


def forget_peak():
    """Start-up and imports have a peak of their own, which is not asked for."""
    gc.collect()
    with open("/proc/self/clear_refs", "w") as clear:
        clear.write("5")


def measure_first(content):
    forget_peak()
    before = status_kib("VmRSS")
    _, taken, text = time_one(content)
    memory = (status_kib("VmHWM") - before) * 1024
    return {"version": sys.version.split()[0], "first_ns": taken,
            "memory_bytes": memory}, text


def answer(fields, text=b""):
    sys.stdout.buffer.write(json.dumps(fields).encode() + b"\n" + text)
    sys.stdout.buffer.flush()


def main():
    install_modules()
    with open(sys.argv[1], "rb") as file:
        content = file.read()
    first, text = measure_first(content)
    encoded = text.encode("utf-8", "surrogatepass")
    answer(dict(first, text_bytes=len(encoded)), encoded)
    for line in sys.stdin:
        answer(time_all(content, int(line)))


if __name__ == "__main__":
    main()
