#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`tacfs show` of code objects that were made to crash it, to take its memory or
its time, or to make it say what is not so."""
import math
import struct
import unittest

import hostile
from hostile import (Raw, flagged, frozenset_of, holding, instruction, load,
                     module, new_code, noise, old_code, ref, sequence)
from showing import BROKEN, FOREIGN, MIB, SANITIZED, SOUND, HostileTest, many

# Every process is slow with a sanitizer: there the newer layout has to do.
LAYOUTS = hostile.LAYOUTS[:1] if SANITIZED else hostile.LAYOUTS
PRIME = 2**61 - 1  # hashes of numbers are taken modulo this


class References(HostileTest):
    def test_doubled_constants_are_cut(self):
        for layout in LAYOUTS:
            self.assertCut(holding(hostile.nested_doubles(60), layout))
            self.assertCut(holding(hostile.doubled_frozensets(60), layout))
            consts = [None, *hostile.flat_doubles(60, 1)]
            self.assertCut(layout(load(61), consts=consts))

    def test_doubled_constants_that_are_not_loaded_do_no_harm(self):
        trees = (hostile.nested_doubles(60), hostile.doubled_frozensets(60),
                 frozenset_of([hostile.nested_doubles(60, 1)]))
        for tree in trees:
            for layout in LAYOUTS:
                self.assertShown(layout(consts=(None, tree)), "(None)")

    def test_equal_trees_in_one_set_end(self):
        """Their hashes and their comparison are 2^60 steps for who is naive."""
        one = hostile.flat_doubles(60, 1)
        two = [flagged(hostile.marshalled(1))] + [
            flagged(sequence([ref(61 + level)] * 2)) for level in range(60)]
        both = frozenset_of([ref(60), ref(121)])
        for body in b"", load(123):
            self.code(new_code(body, consts=(None, *one, *two, both)))

    def test_one_large_tuple_many_times_in_one_set_ends(self):
        large = flagged(sequence(range(many(30000))))
        again = [ref(0)] * many(300000)
        self.code(holding(frozenset_of([large, *again])))

    def test_sets_in_sets_many_times_end(self):
        item = flagged(frozenset_of(range(many(20000))))
        self.code(holding(sequence([item] + [ref(0)] * many(100000))))

    def test_shared_code_is_printed_for_each_constant_or_cut(self):
        inner = flagged(new_code(name="within"))
        count = 1000
        blob = new_code(consts=(None, inner, *[ref(0)] * (count - 1)))
        bare, _ = self.code(blob)
        self.assertEqual(bare.status, SOUND, bare.err)
        self.assertEqual(bare.out.count(b"Disassembly of <code object within at 0x0"),
                         count)
        for layout in LAYOUTS:
            inner = flagged(layout(instruction(hostile.NOP) * 20, name="within"))
            self.assertCut(layout(consts=(None, inner, *[ref(0)] * 100000)))

    def test_doubled_code_is_cut(self):
        """Each code object has the one before it twice among its constants."""
        for layout in LAYOUTS:
            item = flagged(layout())
            for level in reversed(range(60)):
                item = flagged(layout(consts=(None, item, ref(level + 1))))
            self.assertCut(Raw(item))

    def shared(self, kind, size, count, layout=new_code):
        """Code objects that share one of their fields, which is large."""
        fields = {
            "bytecode": hostile.new_program(b"\x09\0" * (size // 2))
            if layout is new_code else hostile.old_program(b"\x09\0" * (size // 2)),
            "table": hostile.one_line(size * 4) if layout is new_code
            else b"\1\1" * (size // 2),
            "exceptions": hostile.varint_exception(0, 1, 2, 0) * (size // 4),
            "names": sequence(["x"] * (size // 6)),
            "consts": sequence([None] * size)}
        value = hostile.marshalled(fields[kind])
        first = layout(**{kind: flagged(value)})
        others = [layout(**{kind: ref(0)})] * count
        return layout(consts=(None, first, *others))

    def test_a_large_field_shared_by_many_code_objects_ends(self):
        for layout in LAYOUTS:
            for kind, size in (("bytecode", 500000), ("table", 500000),
                               ("names", 6000), ("consts", 6000)):
                with self.subTest(kind=kind, layout=layout.__name__):
                    self.code(self.shared(kind, many(size), many(5000), layout))
        self.code(self.shared("exceptions", many(500000), many(5000)))

    def test_bytecode_and_its_table_shared_by_many_code_objects_end(self):
        units = many(250000)
        program = hostile.new_program(b"\x09\0" * units)
        first = new_code(bytecode=flagged(hostile.marshalled(program)),
                         table=flagged(hostile.marshalled(
                             hostile.one_line(len(program) // 2))))
        other = new_code(bytecode=ref(0), table=ref(1))
        self.assertCut(new_code(consts=(None, first, *[other] * many(5000))))

    def test_a_long_name_in_many_instructions_is_cut(self):
        use = instruction(hostile.LOAD_NAME) + bytes([hostile.POP_TOP, 0])
        for layout in LAYOUTS:
            blob = layout(use * 100000, names=("x" * MIB,))
            self.assertCut(blob)

    def test_a_long_constant_in_many_instructions_is_cut(self):
        for constant in ("\x01" * MIB, b"\xff" * MIB, sequence(range(9999))):
            blob = new_code(load(1) * 100000, consts=(None, constant))
            self.assertCut(blob)

    def test_a_long_file_name_in_many_code_objects_is_cut(self):
        inner = flagged(new_code(filename="x" * MIB))
        blob = new_code(load(1) * 1000, consts=(None, inner, *[ref(0)] * 1000))
        self.assertCut(blob)

    def test_references_to_what_is_not_there_are_refused(self):
        for number in (0, 1, 2, 100, 2**31 - 1, -1, -2**31):
            self.assertNoText(holding(ref(number)))
            self.assertNoText(new_code(name=ref(number)))
            self.assertNoText(new_code(bytecode=ref(number)))

    def test_a_value_that_contains_itself_is_refused(self):
        for kind in b"(", b"[", b">", b"<":
            self.assertNoText(holding(flagged(sequence([ref(0)], kind))))
        self.assertNoText(holding(flagged(Raw(b"{" + ref(0) + b"N0"))))
        self.assertNoText(Raw(flagged(new_code(consts=(None, ref(0))))))
        self.assertNoText(Raw(flagged(new_code(bytecode=ref(0)))))
        inner = flagged(new_code(consts=(None, ref(0))))
        self.assertNoText(new_code(consts=flagged(sequence([None, inner]))))

    def test_references_to_values_of_another_type_are_refused(self):
        one = flagged(hostile.marshalled("x"))
        for field in "bytecode", "consts", "names", "local", "kinds", "table", \
                "exceptions":
            self.assertNoText(new_code(consts=(None, one), **(
                {field: ref(0)} if field != "consts" else
                {"filename": one, "table": ref(0)})))


class Values(HostileTest):
    def test_counts_and_sizes_beyond_the_input_take_no_memory(self):
        for count in (2**31 - 1, 2**24, -1):
            for kind in (b"(", b"[", b"<", b">", b"s", b"u", b"t", b"a", b"A", b"l"):
                with self.subTest(count=count, kind=kind):
                    wrong = Raw(kind + hostile.i32(count))
                    self.assertNoText(holding(wrong))
                    self.assertRefused(self.examine_code(wrong), BROKEN, FOREIGN)

    def test_counts_as_large_as_the_input_in_every_level_take_little_memory(self):
        """Each level claims as many elements as there are bytes left."""
        depth, size = 400, many(1000000)
        levels = b"".join(b"(" + hostile.i32(size) for _ in range(depth))
        self.assertNoText(holding(Raw(levels + b"N" * size)))

    def test_deep_values_end(self):
        for depth in 499, 1900, many(100000):
            for opening in (b")\1", b"[\1\0\0\0", b">\1\0\0\0", b"{N", b"(\1\0\0\0",
                            b"\xa9\1"):
                with self.subTest(depth=depth, opening=opening):
                    value = hostile.nested(depth, opening, b"N")
                    self.code(holding(value))
        self.assertShown(holding(hostile.nested(100, b")\1", b"N")), "(" * 100)

    def test_deep_code_ends(self):
        for depth in 100, 600, many(20000):
            self.code(hostile.nested_code(depth))
        self.assertShown(hostile.nested_code(100), "Disassembly of <code object n")

    def test_ints_of_a_million_digits_end(self):
        for value in (hostile.Raw(b"l" + hostile.i32(count) + b"\xff\x7f" * abs(count))
                      for count in (many(243000), -many(243000), 1000, 953)):
            self.code(holding(value))

    def test_ints_up_to_4300_digits_are_printed(self):
        for value in (10**4300 - 1, -(10**4300) + 1, 2**63, -2**63, 2**31, 0, -1):
            self.assertShown(holding(hostile.number_of(value)), decimal(value))
        for value in 10**4300, 2**20000:
            self.code(holding(hostile.number_of(value)))

    def test_many_ints_of_4300_digits_end(self):
        value = hostile.number_of(10**4300 - 1)
        self.code(holding(sequence([value] * many(2000))))
        tree = hostile.nested_doubles(40, value)
        self.assertCut(holding(tree))

    def test_sets_made_to_collide_end(self):
        """All of these numbers have the hash 0, or the same low bits."""
        for size in 2000, many(100000):
            same = [hostile.number_of(PRIME * number) for number in range(size)]
            low = [hostile.number_of(number << 40) for number in range(size)]
            pairs = [sequence([0, number]) for number in same[:size // 2]]
            for items in same, low, pairs:
                for layout in LAYOUTS:
                    self.code(holding(frozenset_of(items), layout))

    def test_small_colliding_sets_have_the_order_of_python(self):
        """As seen in CPython: all hashes are 0, so they stand as they came until
        the table grows, and 1 << 61 has the hash of 1."""
        items = [hostile.number_of(PRIME * number) for number in (3, 1, 2)]
        expected = ", ".join(str(PRIME * number) for number in (3, 1, 2))
        self.assertShown(holding(frozenset_of(items)), f"(frozenset({{{expected}}}))")
        self.assertShown(holding(frozenset_of([5, 1, 3])), "(frozenset({1, 3, 5}))")

    def test_shared_colliding_sets_end(self):
        same = [hostile.number_of(PRIME * number) for number in range(many(3000))]
        tree = hostile.nested_doubles(40, frozenset_of(same))
        self.assertCut(holding(tree))

    def test_megabytes_of_subnormal_floats_are_printed(self):
        bits = [1 + number * 150091 for number in range(many(30000))]
        values = struct.unpack(f"<{len(bits)}d", struct.pack(f"<{len(bits)}Q", *bits))
        blob = holding(sequence(map(hostile.floating, bits)))
        self.assertShown(blob, f"({values!r})\n")

    def test_one_float_again_and_again_ends(self):
        for bits in (2**52 - 1, 0x0008_0000_1234_5677, 0x7fef_ffff_ffff_ffff):
            tree = hostile.nested_doubles(40, hostile.floating(bits))
            self.assertCut(holding(tree))

    def test_floats_at_the_edges_are_printed_as_python_does(self):
        for value in (5e-324, -0.0, 2.0**-44, 2.0**-1074, 2.0**1023, 1e16, 1e15, 1e-4,
                      1e-5, 9007199254740993.0, 2.2250738585072014e-308, 1e22, 1e23,
                      math.inf, -math.inf, 0.1 + 0.2):
            self.assertShown(holding(value), f"({value!r})\n")
        for bits in (0x7ff8 << 48, (0xfff8 << 48) + 1, (0x7ff0 << 48) + 1):
            self.assertShown(holding(hostile.floating(bits)), "(nan)\n")

    def test_many_nans_in_a_set_end(self):
        nan = hostile.floating(0x7ff8_0000_0000_0000)
        self.code(holding(frozenset_of([nan] * many(200000))))
        others = (hostile.floating(0x7ff8_0000_0000_0000 + number)
                  for number in range(many(100000)))
        self.code(holding(frozenset_of(others)))

    def test_values_that_cannot_be_hashed_end(self):
        for items in ([sequence([], b"[")], [sequence([], b"<")] * 2, [Raw(b"{0")]):
            self.code(holding(frozenset_of(items)))

    def test_surrogates_are_escaped_in_constants_and_never_raw(self):
        self.assertShown(holding("\ud800\udfff"), "('\\ud800\\udfff')")
        for field in ({"names": ("\ud800",), "body": instruction(hostile.LOAD_NAME)},
                      {"name": "\ud800"}, {"filename": "\udfff"}):
            inner = new_code(**field)
            self.code(inner)
            self.code(new_code(consts=(None, inner)))

    def test_controls_in_names_are_printed_raw_but_stay_in_the_comments(self):
        use = instruction(hostile.LOAD_NAME) + bytes([hostile.POP_TOP, 0])
        blob = new_code(use, names=("a\nevil()",), name="b\nevil()")
        done = self.examine(module(compiled_fn=blob))
        self.assertNotRegex(done.out, rb"(?m)^evil")
        if done.status == SOUND:
            self.assertIn(b"(a\n# evil())\n", done.out)

    def test_noise_for_code_ends(self):
        for number in range(20):
            raw = noise(f"code {number}", 30 + number * 31)
            self.code(raw)
            self.code(b"c" + raw)
            self.code(new_code(bytecode=raw[:len(raw) & ~1]))


def decimal(value):
    """str() of an int, without the limit on its length."""
    if abs(value) < 10**4000:
        return str(value)
    high, low = divmod(abs(value), 10**4000)
    return ("-" if value < 0 else "") + str(high) + f"{low:04000d}"


class Bytecode(HostileTest):
    def test_chains_of_extended_arg_are_refused(self):
        for length in 4, 20, many(250000):
            chain = bytes([hostile.EXTENDED_ARG, 1]) * length
            for layout in LAYOUTS:
                self.assertNoText(layout(chain + load(0)))
        for layout in LAYOUTS:
            self.assertShown(layout(bytes([hostile.EXTENDED_ARG, 0]) * 3 + load(0)),
                             "EXTENDED_ARG")

    def test_arguments_beyond_their_tables_are_refused(self):
        for index in 1, 2**31, 2**32 - 1:
            for opcode in hostile.LOAD_CONST, hostile.LOAD_NAME, 124, 116:
                for layout in LAYOUTS:
                    self.assertNoText(layout(instruction(opcode, index)))

    def test_jumps_out_of_the_code_are_refused(self):
        for layout in LAYOUTS:
            self.code(layout(consts=[None] + [
                layout(instruction(opcode, distance))
                for distance in (100, 2**16, 2**30, 2**31 - 1, 2**31, 2**32 - 1)
                for opcode in (110, 114, 140, 111, 113, 93, 120)]))
        self.assertNoText(new_code(instruction(110, 100)))
        self.assertNoText(new_code(instruction(140, 100)))

    def test_every_opcode_with_every_edge_argument_ends(self):
        """256 code objects in one, of which each has an opcode to itself."""
        tails = b"\0", b"\1", b"\xff", b"\1\x09\0" * 5 + b"d\0S\0"
        for tail in tails:
            for layout in LAYOUTS:
                start = b"\x97\0" if layout is new_code else b"\x09\0"
                inner = [layout(bytecode=start + bytes([opcode]) + tail)
                         for opcode in range(256)]
                self.code(layout(consts=(None, *inner)))

    def test_half_instructions_and_none_are_refused(self):
        for bytecode in b"", b"d", b"\x97\0d", b"\x97":
            self.assertNoText(new_code(bytecode=bytecode))
            self.assertNoText(old_code(bytecode=bytecode))

    def test_megabytes_of_instructions_end(self):
        for layout in LAYOUTS:
            self.code(layout(b"\x09\0" * many(MIB)))
        few = 20000
        bare, _ = self.code(new_code(b"\x09\0" * few))
        self.assertEqual(bare.out.count(b" NOP\n"), few)

    def test_many_jumps_end(self):
        """Every instruction jumps to the next one, so each has a label."""
        for opcode in 110, 114:
            self.code(new_code(bytes([opcode, 0]) * many(100000)))
        self.code(old_code(bytes([110, 0]) * many(100000)))

    def test_huge_line_tables_end(self):
        size = many(MIB)
        for table in (b"\xe8\0" * size, b"\xe8" + b"\x7f" * size + b"\0",
                      b"\x80" * size,
                      b"\xff" * size, b"\xe8" + b"\x3f" * size,
                      b"\xe8" + hostile.varint_line(2**32 - 1),
                      (b"\xe8" + hostile.varint_line(2**32 - 2)) * (size // 8),
                      b"\xe8" + hostile.varint_line(2**70), b"\xe8\x40" * size,
                      b"\0" * size,
                      b"\x7f" * size, b"\xe8"):
            with self.subTest(table=table[:9]):
                self.code(new_code(table=table))
        for table in (b"\0\x7f" * size, b"\0\x80" * size, b"\1\x7f" * size,
                      b"\xff\xff" * size, b"\0", b"\0\0" * size):
            for line in 1, 2**31 - 1, -2**31:
                with self.subTest(table=table[:9], line=line):
                    blob = old_code(table=table, line=line)
                    self.examine_code(blob)
                    self.assertText(self.show(self.file(module(compiled_fn=blob))))

    def test_line_numbers_at_the_edges_end(self):
        tables = (None, b"", b"\xea" + hostile.varint_line(2**32 - 2),
                  b"\xea" + hostile.varint_line(2**32 - 1), b"\xea\3", b"\xfa",
                  b"\xea\2")
        for line in 0, -1, 999, 1000, 2**31 - 1, -2**31:
            for table in tables:
                self.code(new_code(table=table, line=line))
            self.code(old_code(line=line))
            self.code(new_code(load(1), consts=(None, new_code(line=line))))

    def test_exception_tables_with_huge_numbers_end(self):
        for numbers in ((2**48, 1, 0, 0), (0, 2**48, 0, 0), (0, 1, 2**48, 0),
                        (0, 1, 0, 2**48), (2**31, 2**31, 2**31, 2**31),
                        (2**63, 2**63, 2**63, 2**63), (2**32 - 1,) * 4,
                        (2**62, 2**62, 0, 1),
                        (2**200,) * 4, (0, 0, 0, 0), (0, 3, 3, 3)):
            with self.subTest(numbers=numbers):
                self.code(new_code(exceptions=hostile.varint_exception(*numbers)))
        for table in b"\xff" * 99, b"\x7f" * many(MIB), b"\0" * 5, b"\x80":
            self.code(new_code(exceptions=table))

    def test_huge_exception_tables_end(self):
        entry = hostile.varint_exception(0, 1, 2, 0)
        self.code(new_code(exceptions=entry * 1000))
        self.code(new_code(exceptions=entry * many(250000)))

    def test_fields_of_the_code_at_their_edges_end(self):
        for number in 2**31 - 1, -1, -2**31:
            for layout in LAYOUTS:
                self.code(layout(flags=number))
            self.code(new_code(argcount=number))

    def test_many_names_and_kinds_end(self):
        count = many(300000)
        names = sequence(["x"] * count)
        self.code(new_code(local=names, kinds=b"\x20" * count))
        self.code(new_code(local=names, kinds=b"\x20" * (count - 1)))
        self.code(new_code(local=names, kinds=noise("kinds", count)))
        self.code(old_code(local=names, free=names, cell=names, flags=3))

    def test_a_code_object_cut_anywhere_is_refused(self):
        for layout in LAYOUTS:
            blob = layout(consts=(None, layout(name="within"), "text", 1.5, 2**70))
            for end in range(0, len(blob), 40 if SANITIZED else 5):
                done = self.show("--dis", self.file(blob[:end]))
                self.assertRefused(done, BROKEN, FOREIGN)
            self.assertShown(blob, "Disassembly of <code object within at 0x0")


if __name__ == "__main__":
    unittest.main()
