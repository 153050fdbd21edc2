#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`tacfs show` of pickles that were made to crash it, to take its memory or its
time, or to make it say what is not so."""
import unittest

import hostile
from hostile import MEMOIZE, Raw, get, holding, load, module, new_code, noise
from showing import BROKEN, FOREIGN, MIB, SOUND, HostileTest, many

LENGTHS = (2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**62, 2**63 - 1, 2**63, 2**64 - 9,
           2**64 - 1)


class Pickles(HostileTest):
    def test_lengths_beyond_the_file_are_broken_and_what_was_before_is_shown(self):
        for length in LENGTHS:
            for opcode, field in (b"\x8d", "py_code"), (b"\x8e", "signature"):
                wrong = Raw(opcode + hostile.u64(length) + b"x")
                with self.subTest(length=length, opcode=opcode, field=field):
                    done = self.examine(module(**{field: wrong}))
                    self.assertEqual(done.status, BROKEN)
                    self.assertIn(b"name='f(x)'", done.out)
                    self.assertIn(b"LOAD_CONST", done.out)

    def test_short_lengths_beyond_the_file_are_broken(self):
        for length in (300, 2**16, 2**31 - 1, 2**31, 2**32 - 1):
            for opcode in b"X", b"B":
                wrong = Raw(opcode + hostile.u32(length) + b"x")
                with self.subTest(length=length, opcode=opcode):
                    self.assertEqual(self.examine(module(name=wrong)).status, BROKEN)
        wrong = Raw(b"\x8c\xff" + b"x")
        content = hostile.protocol(hostile.text("a") + wrong)
        self.assertEqual(self.examine(content).status, BROKEN)

    def test_frames_of_wrong_lengths_are_refused(self):
        body = module()[2:]
        for length in (*LENGTHS, len(body) + 1, 2**32 + len(body)):
            with self.subTest(length=length):
                done = self.examine(b"\x80\4\x95" + hostile.u64(length) + body)
                self.assertEqual(done.status, BROKEN)
        framed = b"\x80\4\x95" + hostile.u64(len(body)) + body
        self.assertEqual(self.examine(framed).status, SOUND)

    def test_memo_numbers_take_no_memory(self):
        for number in (0, 1, 255, 2**16, 2**24, 2**31 - 1, 2**31, 2**32 - 1):
            put = Raw(hostile.text("f") + b"r" + hostile.u32(number))
            self.examine(module(name=put))
            self.examine(hostile.protocol(module(name=put)[2:-1], 3))
            self.assertRefusable(module(name=get(number)))
        self.assertRefusable(module(name=Raw(b"h\xff")))

    def test_many_memo_entries_take_little_memory(self):
        name = Raw(hostile.text("f") + MEMOIZE * many(4 * MIB))
        self.examine(module(name=name))
        name = Raw(hostile.text("f") + MEMOIZE * many(50000) + b"".join(
            b"r" + hostile.u32(number) for number in range(many(50000))))
        self.examine(module(name=name))

    def test_trees_of_2_to_the_60_leaves_are_never_walked(self):
        tuples = b")" + MEMOIZE + b"".join(
            get(level) * 2 + b"\x86" + MEMOIZE for level in range(60))
        lists = b"](" + hostile.text("x") * 2 + b"e" + MEMOIZE + b"".join(
            b"](" + get(level) * 2 + b"e" + MEMOIZE for level in range(60))
        for tree in Raw(tuples), Raw(lists):
            for field in "name", "signature", "py_code", "input_parameters", "more":
                with self.subTest(field=field):
                    self.assertRefusable(module(**{field: tree}))
            self.assertRefusable(hostile.protocol(tree))

    def test_shared_parameters_are_as_good_as_others(self):
        """They come in batches of a thousand, as pickle writes them."""
        first = hostile.text("x") + b"\x88\x86" + MEMOIZE
        batch = b"(" + get(0) * 1000 + b"e"
        items = Raw(b"](" + first + b"e" + batch * many(500))
        self.assertEqual(self.examine(module(input_parameters=items)).status, SOUND)
        self.assertRefusable(module(input_parameters=Raw(items + b"()e")))
        self.examine(module(input_parameters=Raw(
            b"](" + first + get(0) * many(500000) + b"e")))

    def test_deep_values_need_no_recursion(self):
        for opening, closing in ((b"]", b"a"), (b"(", b""), (b"}" + b"\x8c\1k", b"s"),
                                 (b"](", b"e"), (b")", b""), (b"N", b"")):
            deep = opening * many(100000) + b"]" + closing * many(100000)
            with self.subTest(opening=opening):
                self.assertRefusable(hostile.protocol(deep))
                self.assertRefusable(module(input_parameters=Raw(deep)))
        pairs = hostile.text("x") + b"\x88\x86" * many(100000)
        self.assertRefusable(module(input_parameters=Raw(b"](" + pairs + b"e")))

    def test_a_value_that_contains_itself_is_refused(self):
        for tree in (b"]" + MEMOIZE + get(0) + b"a", b"}" + MEMOIZE + hostile.text("k")
                     + get(0) + b"s", b"]" + MEMOIZE + b"(" + get(0) * 3 + b"e"):
            self.assertRefusable(module(input_parameters=Raw(tree)))
            self.assertRefusable(hostile.protocol(tree))
        itself = (hostile.text(hostile.PACKAGE) + hostile.text("CompiledFX")
                  + b"\x93)\x81" + MEMOIZE + b"}(" + hostile.text("signature")
                  + get(0) + b"ub")
        self.assertRefusable(module(compiled_fx=Raw(itself)))

    def test_floods_of_one_opcode_are_refused(self):
        for opcode in b"(N)]}0123abesuRQ.\0\x80\x81\x85\x86\x88\x8f\x93\x94\x95\xff":
            flood = bytes([opcode]) * many(200000)
            self.assertText(self.show(self.file(b"\x80\4" + flood)))
            self.assertText(self.show(self.file(module(name=Raw(flood)))))

    def test_noise_is_refused(self):
        for number in range(20):
            raw = noise(f"noise {number}", 40 + number * 97)
            self.assertText(self.show(self.file(raw)))
            self.assertText(self.show(self.file(b"\x80\4" + raw)))
            at = 5 + number * 10
            content = module()
            self.assertText(self.show(self.file(content[:at] + raw + content[at:])))

    def test_numbers_for_huge_ints_are_refused(self):
        for size in (0, 255, 2**31 - 1, 2**31, 2**32 - 1):
            self.assertRefusable(module(more=Raw(b"\x8b" + hostile.u32(size) + b"\1")))
        self.assertRefusable(module(more=Raw(b"I" + b"9" * many(1000000) + b"\n")))

    def test_what_is_no_utf_8_is_broken_and_shown_as_utf_8(self):
        for raw in (b"\xff", b"\xc0\x80", b"\xe0\x80\x80", b"\xf4\x90\x80\x80", b"\xc3",
                    b"\xf0\x80\x80\x80", b"\x80", b"\xed\xa0", b"a\xfe" * 1000):
            for field in "name", "version", "signature", "py_code":
                with self.subTest(raw=raw[:9], field=field):
                    self.assertRefusable(module(**{field: hostile.text(raw)}))
            self.assertRefusable(module(hostile.text(raw)))

    def test_lone_surrogates_are_never_written(self):
        for field in "name", "date", "version", "signature", "py_code":
            for bad in "\ud800", "a\udfff" * 1000:
                with self.subTest(field=field, bad=bad[:9]):
                    self.examine(module(**{field: bad}))
        out = self.examine(module(name="\ud800")).out
        self.assertIn(b"(name='\\ud800', date=", out)


class LargeTexts(HostileTest):
    def test_one_string_for_everything(self):
        for unit, size in (("\x01", many(10 * MIB)), ("\n", many(MIB)),
                           ("\U000e0001", many(MIB)), ("\ud800", many(MIB))):
            first = Raw(hostile.text(unit * size) + MEMOIZE)
            with self.subTest(unit=unit):
                self.examine(module(name=first, **{key: get(0) for key in (
                    "date", "version", "signature", "py_code")}))

    def test_titles_that_grow_on_escape_do_not_go_beyond_the_limit(self):
        first = Raw(hostile.text("\x01" * many(8 * MIB)) + MEMOIZE)
        done = self.examine(module(name=first, date=get(0)))
        self.assertTrue(done.out.endswith(b"pass\n"))

    def test_a_signature_of_newlines_is_a_comment_for_each(self):
        signature = "\n" * many(4 * MIB)
        expected = hostile.readable(hostile.NEW_TEXT, signature=signature)
        done = self.examine(module(signature=signature))
        self.assertEqual((done.status, done.whole), (SOUND, True))
        self.assertTrue(done.out == expected, "another text")

    def test_a_large_py_code_is_written_whole(self):
        code = "x = 1\n" * many(MIB)
        done = self.examine(module(py_code=code))
        self.assertEqual((done.status, done.whole), (SOUND, True))
        self.assertTrue(done.out.endswith(b"\n# \n" + code.encode()))
        done = self.examine(module(py_code=code, version="9.9.9"))
        self.assertTrue(done.out.endswith(b"\n# \n" + code.encode()))

    def test_a_cut_text_says_so_and_is_sound(self):
        done = self.assertCut(holding(hostile.nested_doubles(60)))
        self.assertEqual(done.status, SOUND)
        path = self.file(module(compiled_fn=holding(hostile.nested_doubles(60))))
        self.assertRefused(self.show("--dis", path), FOREIGN)
        self.assertRefused(self.show("--readable", path), FOREIGN)
        self.assertEqual(self.show("--check", path).status, SOUND)
        again = self.show("-", stdin=path)
        self.assertTrue(again.out == self.show(path).out, "another text")

    def test_the_limit_of_a_text_that_is_not_sound_is_the_same(self):
        blob = holding(hostile.nested_doubles(60))
        done = self.examine(module(compiled_fn=blob, version="9.9.9"))
        self.assertEqual(done.status, FOREIGN)
        self.assertIn(b"not known", done.out[:500])
        self.assertTrue(done.out.endswith(b"pass\n"))

    def test_a_text_just_below_the_limit_is_whole(self):
        """12 MiB of constant, loaded twice with four bytes to each of its own."""
        blob = new_code(load(1) * 2, consts=(None, b"\x01" * many(3 * MIB)))
        bare, done = self.code(blob)
        self.assertEqual(bare.status, SOUND, bare.err)
        self.assertEqual(bare.out.count(b"\\x01"), 2 * many(3 * MIB))


if __name__ == "__main__":
    unittest.main()
