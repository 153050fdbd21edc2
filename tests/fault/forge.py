# SPDX-License-Identifier: Apache-2.0
"""Packs and manifests made by hand, as docs/format.md says, right or wrong."""
import ctypes
import hashlib
import re
import struct

NONE = 0xffffffff
INLINE_MAX = 2048


class _Hash128(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


_library = ctypes.CDLL("libxxhash.so.0")
_check = _library.XXH3_64bits_withSeed
_check.restype = ctypes.c_uint64
_check.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]
_digest = _library.XXH3_128bits
_digest.restype = _Hash128
_digest.argtypes = [ctypes.c_char_p, ctypes.c_size_t]


def check(data, seed=0):
    return struct.pack("<Q", _check(data, len(data), seed))


def digest(data):
    both = _digest(data, len(data))
    return struct.pack(">QQ", both.high, both.low)


def seed_of(store):
    with open(f"{store}/FORMAT", encoding="ascii") as file:
        return int(re.search(r"^seed: ([0-9a-f]{16})$", file.read(), re.M)[1], 16)


def block_id(raw, seed):
    """The digest and the check of an id; its size is elsewhere."""
    return digest(raw) + check(raw, seed)


def pack(name, blocks, seed):
    """A pack of raw blocks: (what its id says it is, what it is)."""
    header = b"TACFSPAK" + struct.pack("<II", 1, 0) + name + bytes(24)
    body = header + check(header)
    entries = b""
    for claimed, raw in blocks:
        entries += block_id(claimed, seed) + check(raw)
        entries += struct.pack("<QIIB3xI", len(body), len(raw), len(raw), 0, NONE)
        body += raw
    table = struct.pack("<IIQ", len(blocks), 0, 0) + entries
    end = b"TACFSEND" + struct.pack("<II", 1, 0) + name
    end += struct.pack("<QQ", len(body), len(table)) + digest(table) + bytes(24)
    return body + table + end + check(end)


def section(tag, content):
    return tag + struct.pack("<IQ", 1, len(content)) + content if content else b""


def manifest(content, uid, pack_name=None, seed=None, blocks=None):
    """Of `content`, inline, or in blocks that are numbered in one pack."""
    meta = struct.pack("<QQqIIIIBBHIQ", 4711, len(content), 0, 0, 0o600, uid, uid,
                       0, 0, 0, 0, 0)
    meta += digest(content) + hashlib.sha256(content).digest()
    parts = {b"META": meta}
    if pack_name:
        parts[b"PACK"] = pack_name
        parts[b"BLKS"] = b"".join(
            block_id(raw, seed) + struct.pack("<III", len(raw), 0, number)
            for number, raw in enumerate(blocks))
    else:
        parts[b"DATA"] = content
    order = sorted((tag for tag in parts if parts[tag]),
                   key=lambda tag: struct.unpack("<I", tag))
    body = b"".join(section(tag, parts[tag]) for tag in order)
    head = b"TACFSMAN" + struct.pack("<IIQQ", 1, len(order), 32 + len(body) + 16, 0)
    return head + body + digest(head + body)


def packs_of(data):
    """The ids of the packs that a manifest names."""
    at = 32
    while at < len(data) - 16:
        tag, _, size = struct.unpack_from("<4sIQ", data, at)
        if tag == b"PACK":
            part = data[at + 16:at + 16 + size]
            return [part[i:i + 16] for i in range(0, size, 16)]
        at += 16 + size
    return []


def pieces(content, size=4096):
    return [content[i:i + size] for i in range(0, len(content), size)]
