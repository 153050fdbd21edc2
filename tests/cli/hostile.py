# SPDX-License-Identifier: Apache-2.0
"""Inputs for `tacfs show` made by hand: a small pickle assembler and a small
marshal writer. Neither uses the modules of those names, so that what they make
does not depend on the Python that runs the test, and may be as wrong as needed.

In both, what is given as Raw is taken for opcodes; everything else is a value."""
import hashlib
import struct

PACKAGE = "torchair.inference._cache_compiler"
OTHER_PACKAGE = "npugraph_ex.inference._cache_compiler"


class Raw(bytes):
    """Bytes that go into the stream as they are."""


def u32(number):
    return struct.pack("<I", number)


def i32(number):
    return struct.pack("<i", number)


def u64(number):
    return struct.pack("<Q", number)


def utf8(value):
    return value.encode("utf-8", "surrogatepass")


def noise(seed, size):
    return hashlib.shake_128(seed.encode()).digest(size)


# Pickle. MEMOIZE is never written unless a test asks for it, so the numbers of
# the memo start at 0 with the test's first.

MEMOIZE = b"\x94"
STOP = b"."


def text(value):
    raw = value if isinstance(value, bytes) else utf8(value)
    if len(raw) < 256:
        return Raw(b"\x8c" + bytes([len(raw)]) + raw)
    return Raw(b"X" + u32(len(raw)) + raw)


def data(raw):
    return Raw(b"B" + u32(len(raw)) + raw)


def get(number):
    return Raw(b"j" + u32(number))


def pickled(value):
    if isinstance(value, Raw):
        return value
    return data(value) if isinstance(value, bytes) else text(value)


def instance(package, kind, /, **fields):
    """An object of that class with these attributes."""
    items = b"".join(text(key) + pickled(value) for key, value in fields.items())
    return Raw(text(package) + text(kind) + b"\x93)\x81}(" + items + b"ub")


def parameters(*pairs):
    """input_parameters: a list of (str, bool)."""
    items = b"".join(text(name) + (b"\x88" if flag else b"\x89") + b"\x86"
                     for name, flag in pairs)
    return Raw(b"](" + items + b"e")


def protocol(body, number=4):
    return b"\x80" + bytes([number]) + body + STOP


def meta(package=PACKAGE, name="f(x)", date="2026-01-01", version="1.0.5", **more):
    return instance(package, "ModelCacheMeta", name=name, date=date,
                    version=version, **more)


def fx(package=PACKAGE, signature="graph", py_code="pass\n",
       input_parameters=parameters(("x", True), ("y", False)), **more):
    return instance(package, "CompiledFX", signature=signature, py_code=py_code,
                    input_parameters=input_parameters, **more)


META = ("name", "date", "version")
FX = ("signature", "py_code", "input_parameters")


def module(package=PACKAGE, compiled_fn=None, root="ModelCacheArtifact", **parts):
    """A compiled_module. compiled_fn is a code object of marshal's, and the other
    fields are values or Raw opcodes; those not known are added to the artifact."""
    chosen = {key: parts.pop(key) for key in META if key in parts}
    graph = {key: parts.pop(key) for key in FX if key in parts}
    fields = {"meta": meta(package, **chosen),
              "compiled_fn": bytes(new_code() if compiled_fn is None else compiled_fn),
              "compiled_fx": fx(package, **graph)}
    fields.update(parts)
    return protocol(instance(package, root, **fields))


# Marshal. Nothing is flagged unless a test does it, so the numbers of the
# references start at 0 with the test's first.

def flagged(item):
    """The object, taking the next reference number."""
    return Raw(bytes([item[0] | 0x80]) + item[1:])


def ref(number):
    return Raw(b"r" + i32(number))


def sequence(items, kind=b"("):
    items = list(items)
    return Raw(kind + i32(len(items)) + b"".join(map(marshalled, items)))


def frozenset_of(items):
    return sequence(items, b">")


def big(number):
    """An int in base 2^15, whatever its size."""
    left, digits = abs(number), []
    while left:
        digits.append(left & 32767)
        left >>= 15
    count = len(digits) if number >= 0 else -len(digits)
    return Raw(b"l" + i32(count) + struct.pack(f"<{len(digits)}H", *digits))


def number_of(value):
    return Raw(b"i" + i32(value)) if -2**31 <= value < 2**31 else big(value)


def floating(bits):
    """The double with these 64 bits."""
    return Raw(b"g" + u64(bits))


def marshalled(value):
    if isinstance(value, Raw):
        return value
    if value is None:
        return Raw(b"N")
    if isinstance(value, bytes):
        return Raw(b"s" + i32(len(value)) + value)
    if isinstance(value, str):
        return Raw(b"u" + i32(len(utf8(value))) + utf8(value))
    if isinstance(value, int):
        return number_of(value)
    if isinstance(value, float):
        return Raw(b"g" + struct.pack("<d", value))
    return sequence(value)


# Bytecode. These numbers are the same in 3.8 to 3.12; RESUME came with 3.11.

POP_TOP, NOP, RETURN_VALUE, LOAD_CONST, LOAD_NAME = 1, 9, 83, 100, 101
EXTENDED_ARG, RESUME = 144, 151


def instruction(opcode, argument=0):
    """With as many EXTENDED_ARG before it as the argument needs."""
    high, low = divmod(argument, 256)
    before = instruction(EXTENDED_ARG, high) if high else b""
    return before + bytes([opcode, low])


def load(index):
    return instruction(LOAD_CONST, index) + bytes([POP_TOP, 0])


def new_program(body=b""):
    return bytes([RESUME, 0]) + body + b"d\0S\0"


def old_program(body=b""):
    return body + b"d\0S\0"


def one_line(units):
    """A line table of 3.11 that gives this many units the first line."""
    whole, rest = divmod(units, 8)
    return b"\xef\0" * whole + (bytes([0xe8 + rest - 1, 0]) if rest else b"")


def new_code(body=b"", bytecode=None, consts=(None,), names=(), local=(),
             kinds=b"", filename="f", name="n", qualname="n", line=1, table=None,
             exceptions=b"", flags=3, argcount=0):
    """A code object of 3.11, and nearly always also of 3.12."""
    if bytecode is None:
        bytecode = new_program(body)
    if table is None:
        table = one_line(len(bytecode) // 2)
    return Raw(b"c" + i32(argcount) + i32(0) + i32(0) + i32(1) + i32(flags) + b"".join(
        map(marshalled, (bytecode, consts, names, local, kinds, filename, name,
                         qualname)))
        + i32(line) + marshalled(table) + marshalled(exceptions))


def old_code(body=b"", bytecode=None, consts=(None,), names=(), local=(), free=(),
             cell=(), filename="f", name="n", line=1, table=b"", flags=0x43):
    """A code object of 3.9, and nearly always also of 3.8."""
    if bytecode is None:
        bytecode = old_program(body)
    return Raw(b"c" + b"\0" * 16 + i32(1) + i32(flags) + b"".join(
        map(marshalled, (bytecode, consts, names, local, free, cell, filename,
                         name))) + i32(line) + marshalled(table))


LAYOUTS = new_code, old_code

# What the Pythons print of new_code() and old_code().
NEW_TEXT = ("  1           0 RESUME                   0\n"
            "              2 LOAD_CONST               0 (None)\n"
            "              4 RETURN_VALUE\n")
OLD_TEXT = ("  1           0 LOAD_CONST               0 (None)\n"
            "              2 RETURN_VALUE\n")


def holding(constant, layout=new_code, **fields):
    """Code that loads that constant, so that its repr is in the text."""
    return layout(load(1), consts=(None, Raw(marshalled(constant))), **fields)


def nested_doubles(depth, leaf=None):
    """A tuple of 2^depth leaves: each level refers to the next one twice."""
    item = flagged(marshalled(leaf if leaf is not None else ("leaf",)))
    for level in reversed(range(depth)):
        item = flagged(sequence([item, ref(level + 1)]))
    return item


def flat_doubles(depth, leaf):
    """The same as a list of constants, each of the one before it twice."""
    return [flagged(marshalled(leaf))] + [
        flagged(sequence([ref(level), ref(level)])) for level in range(depth)]


def doubled_frozensets(depth):
    item = flagged(frozenset_of(["leaf"]))
    for level in reversed(range(depth)):
        item = flagged(frozenset_of([item, sequence([ref(level + 1)])]))
    return item


def nested(depth, opening, innermost):
    return Raw(opening * depth + innermost)


def nested_code(depth):
    """Code within the constants of code, depth times."""
    blob = new_code()
    mark = blob
    frame = new_code(consts=(None, mark))
    at = frame.index(mark)
    before, after = frame[:at], frame[at + len(mark):]
    return Raw(before * depth + blob + after * depth)


def varint_exception(*numbers):
    """One entry of an exception table: most significant six bits first."""
    out = b""
    for number in numbers:
        groups = []
        while number >= 64:
            groups.append(number & 63)
            number >>= 6
        groups.append(number)
        groups.reverse()
        out += bytes([group | 64 for group in groups[:-1]] + groups[-1:])
    return bytes([out[0] | 128]) + out[1:]


def varint_line(number):
    """A line table's varint: least significant six bits first."""
    out = []
    while number >= 64:
        out.append(64 | number & 63)
        number >>= 6
    return bytes(out + [number])


def readable(dis, name="f(x)", date="2026-01-01", version="1.0.5",
             signature="graph", py_code="pass\n"):
    """What readable_cache writes of a module with these (ASCII) values."""
    title = f"ModelCacheMeta(name={name!r}, date={date!r}, version={version!r})"
    caller = "-" * 44 + "caller frame" + "-" * 44
    comment = "\n".join(["=" * 100, title, signature, caller, dis])
    return ("# " + comment.replace("\n", "\n# ") + "\n" + py_code).encode()
