# SPDX-License-Identifier: Apache-2.0
"""Contents to write: real caches, and artifacts made to measure."""
import functools
import hashlib
import json
import os
import pickle
import re
import shutil
import stat
import struct

import torchair_client as client

HERE = os.path.dirname(os.path.abspath(__file__))


def caches():
    """The collection of real caches: the full one if there, else our own."""
    shared = os.environ.get("TACFS_SHARED")
    if shared and os.path.isdir(os.path.join(shared, "caches", "trees")):
        return os.path.join(shared, "caches")
    return own_caches()


def own_caches():
    return os.path.join(HERE, "..", "data", "caches")


def is_full_set():
    return caches() != own_caches()


def scenarios():
    return sorted(os.listdir(os.path.join(caches(), "trees")))


def tree(scenario, base=None):
    return os.path.join(base or caches(), "trees", scenario)


def files_below(root):
    """Relative paths of all files, sorted."""
    found = []
    for directory, _, names in os.walk(root):
        found += [os.path.relpath(os.path.join(directory, name), root)
                  for name in names]
    return sorted(found)


def stage(source, target):
    """A copy with the modes that the client gave, and times of its own."""
    shutil.copytree(source, target, copy_function=shutil.copyfile)
    number = 0
    for directory, _, names in os.walk(target, topdown=False):
        for name in names:
            os.chmod(os.path.join(directory, name), 0o600)
        os.chmod(directory, 0o755)
        for path in [os.path.join(directory, name) for name in names] + [directory]:
            number += 1
            moment = (1700000000 + number * 86400) * 10**9 + 123456789 + number
            os.utime(path, ns=(moment, moment))
    return target


def expected_readables(scenario):
    """{path of a compiled_module below the tree: the readable text}"""
    root = os.path.join(caches(), "readable", scenario)
    suffix = ".readable.py"
    found = {}
    for path in files_below(root) if os.path.isdir(root) else []:
        if path.endswith(suffix):
            with open(os.path.join(root, path), "rb") as file:
                found[path[:-len(suffix)]] = file.read()
    return found


def noise(seed, size):
    """Bytes that do not compress, the same for the same seed."""
    return hashlib.shake_128(repr(seed).encode()).digest(size)


def text(seed, size):
    """Bytes that compress about 2:1."""
    return noise(seed, size // 2 + 1).hex().encode()[:size]


@functools.lru_cache
def real_code():
    """The marshalled code object of a real cache."""
    root = tree("official", own_caches())
    path = next(p for p in files_below(root) if p.endswith("/compiled_module"))
    with open(os.path.join(root, path), "rb") as file:
        return client.SecureUnpickler(file).load().compiled_fn


@functools.lru_cache(64)
def module(number, size=16384):
    """A sound compiled_module of about `size` bytes, unlike any other number's."""
    code = text(("module", number), size).decode()
    lines = [f"# number {number:09d}"]
    lines += [f"g = '{code[i:i + 100]}'" for i in range(0, size, 100)]
    fx = client.CompiledFX("graph():\n    %x : [num_users=1]\n",
                           "\n".join(lines), [("L['self'].w", True)])
    meta = client.ModelCacheMeta("OfficialModel.prompt(x, y)",
                                 f"2026-01-01 00:00:00.{number % 10**6:06d}",
                                 client.VERSION)
    return pickle.dumps(client.ModelCacheArtifact(meta, real_code(), fx), 4)


def module_number(content, size=16384):
    """Which module() this is, whole and exact; None when it is none."""
    found = re.search(rb"# number (\d{9})\n", content)
    if not found or content != module(int(found[1]), size):
        return None
    return int(found[1])


def half(content):
    return content[:len(content) // 2]


def foreign(seed=0):
    """A whole pickle of other classes. Loading it would only add up numbers."""
    return pickle.dumps({"seed": seed, "fractions": [complex(seed, 1)],
                         "names": {"set", "of", "names"}}, 4)


def om(seed, size=20000, payload=None):
    """A sound GE model file of `size` bytes, or around the given payload."""
    if payload is None:
        payload = noise(("om", seed), size - OM_START)
    return om_start(len(payload)) + payload


OM_START = 256 + 8 + 2 * 24


def om_start(size):
    """The OM_START bytes before a payload of `size` bytes, whatever they are."""
    first = size // 3
    table = struct.pack("<II", 2, 0)
    table += struct.pack("<IIQQ", 0, 0, 0, first)
    table += struct.pack("<IIQQ", 1, 0, first, size - first)
    return om_header(len(table) + size) + table


def om_header(model_length):
    header = bytearray(256)
    struct.pack_into("<4sII", header, 0, b"IMOD", 256, 0x20000000)
    header[84:91] = b"graph_1"
    struct.pack_into("<I", header, 156, 1)
    struct.pack_into("<Q", header, 184, model_length)
    return bytes(header)


def idx(*names, key="graph_1"):
    return json.dumps({"cache_file_list": [
        {"graph_key": key, "cache_file_name": name} for name in names
    ]}).encode()


def describe(content):
    """A content in a message."""
    if content is None:
        return "nothing"
    digest = hashlib.sha256(content).hexdigest()[:12]
    return f"{len(content)} bytes (sha256 {digest}…, starts {content[:24]!r})"


def permissions(path):
    return stat.S_IMODE(os.lstat(path).st_mode)
