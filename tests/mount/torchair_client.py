#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What TorchAir's cache_compile and readable_cache do to a cache, call by call.

This is a client like any other: it knows nothing of tacfs and runs on every
CPython since 3.8. The classes of the pickle, and the order of the calls, are
those of the real client (traced); only the compiler is a stand-in.

    torchair_client.py [--size N] [--rounds N] [--ranks N --rank R] CACHE_DIR

loads its model from CACHE_DIR, or compiles and saves it, and says which.
"""
import argparse
import contextlib
import dataclasses
import datetime
import dis
import fcntl
import hashlib
import io
import marshal
import os
import pickle
import shutil
import stat
import sys
import types

VERSION = "1.0.5"
FILE = "compiled_module"
MODULE = "torchair.inference._cache_compiler"


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


def install_module():
    """Make the classes importable under the name that the pickles carry."""
    parts = MODULE.split(".")
    for depth in range(1, len(parts) + 1):
        name = ".".join(parts[:depth])
        sys.modules.setdefault(name, types.ModuleType(name))
    for cls in (ModelCacheMeta, CompiledFX, ModelCacheArtifact):
        cls.__module__ = MODULE
        setattr(sys.modules[MODULE], cls.__name__, cls)


install_module()


class SecureUnpickler(pickle.Unpickler):
    """Since format 1.0.2 the client loads no other class than its own."""

    def find_class(self, module, name):
        if module != MODULE or name not in (
                "ModelCacheMeta", "CompiledFX", "ModelCacheArtifact"):
            raise pickle.UnpicklingError(f"{module}.{name} is not allowed")
        return super().find_class(module, name)


@contextlib.contextmanager
def file_lock(file, kind):
    fcntl.flock(file, kind)
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)


def refuse_symlinks(path):
    """lstat of every component, as the client does before it writes."""
    current = "/"
    for part in os.path.abspath(path).split("/")[1:]:
        current = os.path.join(current, part)
        try:
            mode = os.lstat(current).st_mode
        except FileNotFoundError:
            return
        if stat.S_ISLNK(mode):
            raise ValueError(f"{current} is a symbolic link")


def check_file(path):
    """Owner and mode exactly, since loading the file executes it."""
    if os.lstat(path).st_uid != os.getuid():
        raise ValueError(f"{path} (lstat) belongs to {os.lstat(path).st_uid}, "
                         f"expected {os.getuid()}")
    if os.stat(path).st_uid != os.getuid():
        raise ValueError(f"{path} (stat) belongs to {os.stat(path).st_uid}, "
                         f"expected {os.getuid()}")
    mode = os.stat(path).st_mode & 0o777
    if mode != 0o600:
        raise ValueError(f"{path} has mode {mode:04o}, expected 0600")


def check_directory(path):
    """`cache_dir=` must belong to the caller."""
    if os.stat(path).st_uid != os.getuid():
        raise ValueError(f"{path} belongs to {os.stat(path).st_uid}")


def cache_bin(cache_dir, function="prompt", rank=None, ranks=1,
              name="OfficialModel"):
    md5 = hashlib.md5(name.encode()).hexdigest()
    parts = [cache_dir, f"{name}_dynamic_{md5}"]
    if rank is not None:
        parts.append(f"world{ranks}global_rank{rank}")
    return os.path.abspath(os.path.join(*parts, function, FILE))


def compile_model(size=16384, name="OfficialModel.prompt(x, y)"):
    """A stand-in for minutes of compilation. `size` bytes of code."""
    source = ("def __transformed_code_0_for_prompt(self, x, y):\n"
              "    graph_out = __compiled_fn_1(x, y, [1, 2, (3, 'four')])\n"
              "    return graph_out[0]\n")
    names = {}
    exec(compile(source, "<cache>", "exec"), names)
    code = names["__transformed_code_0_for_prompt"].__code__
    lines = ["import torch", "def kernel(*args):", "    return args"]
    for number in range(size // 72):
        lines.append(f"graph_{number:05d} = b'{os.urandom(28).hex()}'")
    fx = CompiledFX(signature="graph():\n    %x : [num_users=1]\n",
                    py_code="\n".join(lines),
                    input_parameters=[("L['self'].weight", True)])
    meta = ModelCacheMeta(name, str(datetime.datetime.now()), VERSION)
    return ModelCacheArtifact(meta, marshal.dumps(code), fx)


def save(path, artifact):
    path = os.path.realpath(path)
    refuse_symlinks(path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        with file_lock(file, fcntl.LOCK_EX):
            pickle.dump(artifact, file)
            os.chmod(file.fileno(), 0o600)


def load(path, version=VERSION):
    path = os.path.abspath(path)
    if not os.path.exists(path):
        raise ValueError(f"{path} does not exist")
    check_file(path)
    with open(path, "rb") as file:
        with file_lock(file, fcntl.LOCK_SH):
            artifact = SecureUnpickler(file).load()
    if artifact.meta.version != version:
        raise ValueError(f"version {artifact.meta.version}, expected {version}")
    marshal.loads(artifact.compiled_fn)
    return artifact


def clear(path):
    """What the client does to a cache that it could not load."""
    shutil.rmtree(os.path.dirname(os.path.abspath(path)))


def cache_compile(path, make=compile_model, version=VERSION):
    """Returns the model and one of "hit", "miss" and "repaired"."""
    outcome = "miss"
    if os.path.exists(path):
        try:
            return load(path, version), "hit"
        except Exception:
            clear(path)
            outcome = "repaired"
    artifact = make()
    save(path, artifact)
    return artifact, outcome


def title(text, length=100):
    pad = max(0, length - len(text))
    return "-" * (pad // 2) + text + "-" * (pad - pad // 2)


def readable_text(artifact):
    output = io.StringIO()
    dis.dis(marshal.loads(artifact.compiled_fn), file=output)
    parts = ["=" * 100, str(artifact.meta), artifact.compiled_fx.signature,
             title("caller frame"), output.getvalue()]
    comments = "\n".join(parts).split("\n")
    return ("\n".join(f"# {line}" for line in comments) + "\n"
            + artifact.compiled_fx.py_code)


def readable_cache(path, file):
    text = readable_text(load(path))
    if os.path.islink(file):
        raise ValueError(f"{file} is a symbolic link")
    if os.path.exists(file):
        check_file(file)
    os.makedirs(os.path.dirname(os.path.abspath(file)), exist_ok=True)
    with open(file, "w") as output:
        output.write(text)
        os.chmod(output.fileno(), 0o600)
    return text


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=16384)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--rank", type=int)
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("cache_dir")
    options = parser.parse_args()
    os.makedirs(options.cache_dir, exist_ok=True)
    check_directory(options.cache_dir)
    for _ in range(options.rounds):
        for function in ("prompt", "decode"):
            path = cache_bin(options.cache_dir, function, options.rank,
                             options.ranks)
            artifact, outcome = cache_compile(
                path, lambda: compile_model(options.size))
            print(outcome, hashlib.sha256(pickle.dumps(artifact)).hexdigest())


if __name__ == "__main__":
    main()
