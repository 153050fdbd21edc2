#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What tacfs(1) promises of `tacfs show`: texts, verdicts and statuses."""
import csv
import json
import os
import pathlib
import subprocess
import unittest

import hostile
from hostile import Raw, module
from showing import (BROKEN, CORPUS, DATA, FAILED, FOREIGN, GOLDEN, MIB, PYTHONS,
                     SANITIZED, SLOWNESS, SOUND, USAGE, ShowTest, modules, parts,
                     program, some)

REAL = next(DATA.glob("trees/official/*/prompt/compiled_module"))
OLD = GOLDEN / "readable/3.8-01.compiled_module"
STEP = 97


def version_of(path):
    """The Python that a golden file's name or directory tells."""
    name = path.parent.name if path.parent.name in PYTHONS else path.name
    return name.split("-")[0]


class Sound(ShowTest):
    def test_a_sound_module_has_the_text_of_readable_cache(self):
        for path, text in modules():
            with self.subTest(path=path):
                expected = text.read_bytes()
                for options in (), ("--readable",):
                    done = self.show(*options, path)
                    self.assertEqual((done.status, done.err), (SOUND, b""))
                    self.assertTrue(done.out == expected, "another text")

    def test_standard_input_is_shown_as_a_file_is(self):
        for path, text in modules()[::7]:
            for options in (), ("--readable",):
                done = self.show(*options, "-", stdin=path)
                self.assertEqual((done.status, done.out), (SOUND, text.read_bytes()))
        done = self.show("--check", "-", stdin=REAL)
        self.assertEqual((done.status, done.out), (SOUND, b"-: sound\n"))

    def test_standard_input_may_be_a_pipe_and_come_in_pieces(self):
        content, text = REAL.read_bytes(), self.show(REAL).out
        child = subprocess.Popen([program(), "show", "-"], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE)
        for start in range(0, len(content), 5000):
            child.stdin.write(content[start:start + 5000])
            child.stdin.flush()
        self.assertEqual((child.communicate()[0], child.returncode), (text, SOUND))

    def test_check_tells_version_module_and_python(self):
        for path, _ in modules():
            with self.subTest(path=path):
                report = self.report(str(path), path.stat().st_size, SOUND)
                artifact = parts(path)
                self.assertEqual(report["version"], artifact.meta.version)
                self.assertEqual(report["module"], artifact.package)
                if path.name[0] == "3" and "3.8" not in path.name:
                    self.assertEqual(report["python"], version_of(path))

    def test_check_says_it_in_one_line(self):
        for content, status in ((REAL.read_bytes(), SOUND), (b"", BROKEN),
                                (REAL.read_bytes()[:999], BROKEN), (b"text", BROKEN),
                                (module(version="9.9.9"), FOREIGN),
                                (module(version="9\n9"), FOREIGN),
                                (module("a\nb"), FOREIGN)):
            self.assertJudged(self.file(content), status)

    def test_check_json_names_any_file(self):
        for name in 'a"b', "a\\b", "a\nb\tc", "\x01\x7f", "späße", "\U0001f600":
            path = self.file(REAL.read_bytes(), name)
            self.assertEqual(self.report(path, MIB, SOUND)["file"], path)
        path = os.fsencode(self.place.name) + b"/\xff\xed\xa0\x80"
        pathlib.Path(os.fsdecode(path)).write_bytes(b"")
        done = subprocess.run([program(), "show", "--check", "--json", path],
                              stdout=subprocess.PIPE)
        json.loads(done.stdout.decode())

    def test_a_module_made_by_hand_has_the_text_known_from_python(self):
        text = hostile.readable(hostile.NEW_TEXT)
        self.assertEqual(self.examine(module()).out.decode(), text.decode())
        text = hostile.readable(hostile.OLD_TEXT)
        old = module(compiled_fn=hostile.old_code())
        self.assertEqual(self.examine(old).out.decode(), text.decode())

    def test_every_known_package_is_sound(self):
        for package in (hostile.PACKAGE, hostile.OTHER_PACKAGE,
                        "torchair.inference.cache_compiler"):
            self.assertEqual(self.examine(module(package)).status, SOUND)

    def test_py_code_stays_as_it_is(self):
        for code in "", "x", "\n", "a\r\nb\0\x1b[m\n\n", "# ende: äöü \U0001f600":
            done = self.examine(module(py_code=code))
            self.assertEqual(done.status, SOUND)
            self.assertTrue(done.out.endswith(b"\n# \n" + code.encode()))

    def test_the_signature_is_split_at_newlines_only(self):
        signature = "a\r\nb\u2028c\x0cd\x85e\n\n"
        expected = hostile.readable(hostile.NEW_TEXT, signature=signature)
        self.assertEqual(self.examine(module(signature=signature)).out, expected)

    def test_fields_may_share_one_string(self):
        shared = hostile.text("1.0.5") + hostile.MEMOIZE
        content = module(name=Raw(shared), **{
            key: hostile.get(0) for key in ("date", "version", "signature", "py_code")})
        text = hostile.readable(hostile.NEW_TEXT, *["1.0.5"] * 5)
        self.assertEqual(self.examine(content).out, text)

    def test_user_classes_are_restored_in_the_outermost_constants_only(self):
        content = module(compiled_fn=hostile.new_code(
            hostile.load(1) + hostile.load(2) + hostile.load(3),
            consts=(None, "<user_class>a.b|C", "<user_class>a|b|C",
                    ("<user_class>a|B",))))
        out = self.examine(content).out
        self.assertIn(b"(<class 'a.b.C'>)\n", out)
        self.assertIn(b"('<user_class>a|b|C')\n", out)
        self.assertIn(b"(('<user_class>a|B',))\n", out)

    def test_the_text_depends_on_the_bytes_only(self):
        self.show(REAL)
        for content in (REAL.read_bytes(), REAL.read_bytes()[:9000],
                        module(version="9.9.9"), b"\0" * 5000):
            path = self.file(content)
            first = self.show(path)
            again = self.show(self.file(content, "other name"))
            self.assertEqual((again.status, again.out), (first.status, first.out))
            piped = self.show("-", stdin=path)
            self.assertEqual((piped.status, piped.out), (first.status, first.out))
            strange = dict(os.environ, LC_ALL="de_DE.UTF-8", COLUMNS="20", TZ="X-9",
                           MALLOC_PERTURB_="85", TERM="xterm")
            done = subprocess.run([program(), "show", path], env=strange, cwd="/",
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            self.assertTrue(done.stdout == first.out, "another text")


class Disassembly(ShowTest):
    def golden(self):
        return sorted(GOLDEN.glob("dis/*/*.marshal"))

    def test_dis_with_the_right_python_writes_what_that_python_does(self):
        for path in self.golden()[::16 if SANITIZED else 8]:
            with self.subTest(path=path):
                done = self.show("--dis", "--python", version_of(path), path)
                self.assertEqual((done.status, done.err), (SOUND, b""))
                self.assertEqual(done.out, path.with_suffix(".dis").read_bytes())

    def test_dis_and_detect_find_the_python(self):
        for path in some(self.golden()):
            if "dyn-" in path.name and "tracer" in path.name:
                found = self.show("--detect", path).out.decode().strip()
                expected = version_of(path)
                self.assertIn(found, {expected, expected.replace("3.8", "3.9")})
                done = self.show("--dis", path)
                self.assertEqual(done.out, path.with_suffix(".dis").read_bytes())

    def test_dis_and_detect_take_a_module_for_its_code(self):
        for path, _ in modules()[::5] + [(REAL, None)]:
            code = parts(path).compiled_fn
            if b"<user_class>" in code:
                continue  # restored in a module, but not in a bare code object
            code = self.file(code, "code")
            for options in ("--dis",), ("--detect",):
                inside, bare = self.show(*options, path), self.show(*options, code)
                self.assertEqual((inside.status, inside.err), (SOUND, b""))
                self.assertEqual(inside.out, bare.out)
        done = self.show("--dis", "-", stdin=REAL)
        self.assertEqual(done.out, self.show("--dis", REAL).out)

    def test_python_overrides_what_would_be_found(self):
        """U+1F972 came with Unicode 13, which 3.9 has and 3.8 has not."""
        code = hostile.holding("\U0001f972", hostile.old_code)
        content = module(compiled_fn=code)
        bare, inside = self.file(code, "code"), self.file(content, "module")
        for options, said in (((), "('\U0001f972')\n"), (("--python", "3.9"),
                              "('\U0001f972')\n"), (("--python", "3.8"),
                              "('\\U0001f972')\n")):
            done = self.examine(content, *options)
            self.assertEqual(done.status, SOUND)
            for out in (done.out, self.show("--dis", *options, bare).out,
                        self.show("--dis", *options, inside).out):
                self.assertIn(said, out.decode())
        self.assertEqual(self.show("--detect", inside).out, b"3.9\n")

    def test_python_that_cannot_have_written_the_code_makes_it_foreign(self):
        for path, wrong in (REAL, "3.8"), (OLD, "3.13"), (OLD, "3.12"):
            done = self.examine(path.read_bytes(), "--python", wrong)
            self.assertEqual(done.status, FOREIGN)
            self.assertTrue(done.out.endswith(parts(path).compiled_fx.py_code.encode()))
            self.assertRefused(self.show("--dis", "--python", wrong, path), FOREIGN)

    def test_every_python_is_taken_and_none_crashes(self):
        for path in REAL, OLD:
            for python in PYTHONS:
                self.examine(path.read_bytes(), "--python", python)
                self.examine_code(path.read_bytes(), "--python", python)
        for blob in sorted(GOLDEN.glob("dis/*/*every-opcode.marshal")):
            self.examine_code(blob.read_bytes(), "--python",
                              PYTHONS[PYTHONS.index(blob.parent.name) - 1])


class Broken(ShowTest):
    def test_a_module_cut_anywhere_is_broken(self):
        content = REAL.read_bytes()
        step = STEP * min(SLOWNESS, 16)
        for end in range(0, len(content), step):
            with self.subTest(end=end):
                path = self.file(content[:end])
                done = self.show(path)
                self.assertText(done)
                self.assertEqual(done.status, BROKEN)
                if end % 9 == 0:
                    self.examine(content[:end])

    def test_the_modules_of_every_python_cut_anywhere_are_broken(self):
        for python in PYTHONS:
            path = GOLDEN / f"readable/{python}-01.compiled_module"
            content = path.read_bytes()
            for end in range(1, len(content), STEP * 11 * SLOWNESS):
                done = self.show(self.file(content[:end]))
                self.assertText(done)
                self.assertEqual(done.status, BROKEN)

    def test_what_stands_before_the_cut_is_shown(self):
        content, artifact = REAL.read_bytes(), parts(REAL)
        end = content.index(artifact.compiled_fx.py_code[:60].encode())
        done = self.examine(content[:end])
        whole = self.show(REAL).out
        comments = whole[:whole.index(b"\n# \n") + 1]
        title = comments.split(b"\n")[1]
        self.assertIn(title, done.out)
        self.assertIn(b"# " + artifact.compiled_fx.signature.encode().split(b"\n")[0],
                      done.out)
        dis = self.show("--dis", REAL).out
        self.assertIn(b"".join(b"# " + line + b"\n" for line in dis.splitlines()),
                      done.out)
        end = content.index(artifact.compiled_fn) + 50
        self.assertIn(title, self.examine(content[:end]).out)

    def test_bytes_after_the_end_and_none_at_all_are_broken(self):
        self.assertEqual(self.examine(b"").status, BROKEN)
        for more in b"\0", b".", module(), b"x" * 100000:
            content = module() + more
            done = self.examine(content)
            self.assertEqual(done.status, BROKEN)
            self.assertIn(b"pass\n", done.out)
            self.assertIn(b"at byte %d" % len(module()), done.out)

    def test_what_is_no_pickle_is_broken_or_foreign(self):
        blob = hostile.new_code()
        for content in (b"text\n", b"\0" * 100, b"\x80", b"\x80\4", b"\x7fELF" * 99,
                        blob, b"PK\3\4", b"\n" * 9999, b"\xff" * 9999, b"." * 9999):
            self.assertIn(self.examine(content).status, (BROKEN, FOREIGN))

    def flips(self, content, start, end, number):
        """Copies of the content that differ in one bit each."""
        number = number // 8 if SANITIZED else number
        step = max((end - start) // number, 1)
        for position in range(start, end, step):
            changed = bytearray(content)
            changed[position] ^= 1 << position // step % 8
            yield position, bytes(changed)

    def test_no_single_bit_makes_it_crash(self):
        for path, number in ((REAL, 120), (OLD, 30)):
            content = path.read_bytes()
            for position, changed in self.flips(content, 0, len(content), number):
                with self.subTest(path=path, position=position):
                    self.assertText(self.show(self.file(changed)))

    def test_bits_changed_in_the_opcodes_are_told(self):
        content = REAL.read_bytes()
        for position, changed in self.flips(content, 0, 400, 40):
            with self.subTest(position=position):
                self.examine(changed)

    def test_py_code_is_shown_whatever_compiled_fn_is(self):
        for path in (REAL, OLD, GOLDEN / "readable/3.10-01.compiled_module",
                     GOLDEN / "readable/3.14-01.compiled_module"):
            content, artifact = path.read_bytes(), parts(path)
            start = content.index(artifact.compiled_fn)
            end = start + len(artifact.compiled_fn)
            title = self.show(path).out.split(b"\n")[1]
            for position, changed in self.flips(content, start, end, 20):
                with self.subTest(path=path, position=position):
                    done = self.show(self.file(changed))
                    self.assertText(done)
                    self.assertIn(done.status, (SOUND, FOREIGN))
                    self.assertTrue(
                        done.out.endswith(artifact.compiled_fx.py_code.encode()))
                    self.assertIn(b"\n" + title + b"\n", done.out)


class Foreign(ShowTest):
    def assertForeign(self, content, *said):
        done = self.examine(content)
        self.assertEqual(done.status, FOREIGN)
        for words in said:
            self.assertIn(words, done.out.decode())
        return done

    def test_an_unknown_version_is_named_and_all_is_shown(self):
        content = module(version="9.9.9")
        out = self.assertForeign(content, "not known").out.decode()
        reason = out.split("\n# " + "=" * 100)[0]
        self.assertIn("9.9.9", reason)
        text = hostile.readable(hostile.NEW_TEXT, version="9.9.9").decode()
        self.assertTrue(out.endswith(text), out)
        known = (CORPUS / "readable/unsupported-version").read_bytes()
        self.assertForeign(known, "9.9.9", "not known")

    def test_an_unknown_package_is_named_and_all_is_shown(self):
        for package in "mine.inference._cache_compiler", "torchair", "__main__":
            done = self.assertForeign(module(package), package, "not known")
            self.assertIn(b"pass\n", done.out)

    def test_an_unknown_class_is_named(self):
        self.assertForeign(module(root="ModelCacheArtifactV2"), "ModelCacheArtifactV2",
                           "not known")
        other = hostile.instance(hostile.PACKAGE, "Metadata", name="f", date="d",
                                 version="1.0.5")
        done = self.assertForeign(module(meta=other), "Metadata", "not known")
        self.assertIn(b"pass\n", done.out)
        other = hostile.instance("os", "system")
        self.assertForeign(hostile.protocol(other), "system", "not known")

    def test_module_and_class_are_compared_apart(self):
        package = hostile.PACKAGE.rpartition(".")[0]
        name = "_cache_compiler.ModelCacheMeta"
        self.assertForeign(module(meta=hostile.instance(
            package, name, name="f", date="d", version="1.0.5")), "not known")
        self.assertForeign(module(hostile.PACKAGE + "\0"), "not known")

    def test_two_packages_in_one_file_are_foreign(self):
        content = module(meta=hostile.meta(hostile.OTHER_PACKAGE))
        self.assertForeign(content)

    def test_names_in_the_file_cannot_leave_the_comments(self):
        for bad in ("1\nevil()\n", "1\revil()", "\n\nevil()\n", "\x1b[2Jevil()",
                    "1\n'''\nevil()", "\ud800\nevil()"):
            for content in (module(version=bad), module(bad), module(root=bad),
                            module(name=bad, version="9.9.9"),
                            module(**{"field" + bad: "x"})):
                with self.subTest(bad=bad):
                    done = self.examine(content)
                    self.assertEqual(done.status, FOREIGN)
                    self.assertNotRegex(done.out.decode(), r"(?m)(^|\r)evil")
                    said = done.out.split(b"\n# ====")[0]
                    self.assertNotIn(b"\x1b", said + done.err)

    def test_fields_of_other_types_or_numbers_are_foreign(self):
        for changed in ({"name": Raw(b"\x88")},
                        {"py_code": Raw(b")")}, {"date": hostile.data(b"x")},
                        {"input_parameters": Raw(b")")}, {"more": "x"},
                        {"input_parameters": Raw(b"](" + hostile.text("x") + b"e")},
                        {"compiled_fx": hostile.meta()}, {"meta": hostile.fx()}):
            with self.subTest(changed=changed):
                self.assertForeign(module(**changed))

    def test_a_missing_field_is_foreign_and_the_others_are_shown(self):
        graph = hostile.instance(hostile.PACKAGE, "CompiledFX", signature="graph",
                                 input_parameters=hostile.parameters())
        self.assertForeign(module(compiled_fx=graph), "name='f(x)'", "# graph")
        graph = hostile.instance(hostile.PACKAGE, "CompiledFX", py_code="pass\n",
                                 input_parameters=hostile.parameters())
        done = self.assertForeign(module(compiled_fx=graph), "name='f(x)'", "RESUME")
        self.assertTrue(done.out.endswith(b"\npass\n"))

    def test_opcodes_that_torchair_does_not_write_are_foreign(self):
        for opcode in (b"K\1", b"M\1\1", b"J\1\1\1\1", b"\x8a\1\1", b"G" + b"\0" * 8,
                       b"\x8f", b"N", b"\x96" + hostile.u64(1) + b"x"):
            with self.subTest(opcode=opcode):
                done = self.assertForeign(module(more=Raw(opcode)))
                self.assertIn(b"name='f(x)'", done.out)

    def test_calls_are_never_made(self):
        """The classic: a pickle that would run a command."""
        victim = self.path("victim")
        call = (hostile.text("os") + hostile.text("system") + b"\x93"
                + hostile.text(f"touch {victim}") + b"\x85R")
        for content in (hostile.protocol(call), module(name=Raw(call)),
                        b"cos\nsystem\n(S'touch " + os.fsencode(victim) + b"'\ntR."):
            self.assertIn(self.examine(content).status, (BROKEN, FOREIGN))
            self.assertFalse(os.path.exists(victim))

    def test_code_of_no_known_python_is_foreign_and_the_rest_is_shown(self):
        for code in (b"", b"code", b"\xff" * 500, hostile.new_code(bytecode=b"\xff\0"),
                     hostile.new_code()[:-1], hostile.new_code() + b"\0", b"N"):
            done = self.assertForeign(module(compiled_fn=code), "name='f(x)'",
                                      "\n# graph\n")
            self.assertTrue(done.out.endswith(b"\npass\n"))

    def test_good_code_within_or_beside_bad_code_is_shown(self):
        good = hostile.new_code(name="within", names=("a_name",),
                                body=hostile.instruction(hostile.LOAD_NAME) + b"\1\0")
        bad = hostile.new_code(name="beside", bytecode=b"\xff\0")
        for code in (hostile.new_code(consts=(None, good, bad)),
                     hostile.new_code(consts=(None, bad, good)),
                     hostile.new_code(consts=(None, good), bytecode=b"\xff\0"),
                     hostile.new_code(consts=(None, good))[:-30]):
            self.assertForeign(module(compiled_fn=code), "within", "(a_name)")


class CommandLine(ShowTest):
    def wrong(self, *arguments):
        with self.subTest(arguments=arguments):
            done = self.show(*arguments)
            self.assertEqual((done.status, done.out), (USAGE, b""))
            self.assertNotEqual(done.err, b"")

    def test_a_wrong_command_line_has_status_64(self):
        self.wrong()
        self.wrong(REAL, REAL)
        self.wrong("--frobnicate", REAL)
        self.wrong("-x", REAL)
        self.wrong("--readable")
        self.wrong("--check")
        self.wrong("--readable", REAL, REAL)
        self.wrong("--check", REAL, REAL)
        self.wrong("--python")
        self.wrong("--python", "3.11")
        self.wrong("--json", REAL)
        self.wrong("--dis", "--detect", REAL)
        self.wrong("--dis", "--check", REAL)

    def test_other_values_for_python_have_status_64(self):
        for value in ("", "3", "3.", ".11", "3.7", "3.15", "3.1", "3.011", "3.08",
                      "2.7", "4.11", "3.11.0", "3.11 ", " 3.11", "+3.11", "-3.11",
                      "3.-11", "3,11", "3.11x", "x", "3.8\n", "3.267", "3.4294967307", "03.11",
                      "python3.11", "3.1e1", "3.0xb", "3.x"):
            self.wrong("--python", value, REAL)
        for mode in "--readable", "--dis":
            self.wrong(mode, "--python", "3.7", REAL)

    def test_detect_and_check_take_no_python(self):
        for mode in "--detect", "--check":
            self.wrong(mode, "--python", "3.11", REAL)
            self.wrong("--python", "3.11", mode, REAL)

    def test_what_cannot_be_read_has_status_3(self):
        for path in self.path("missing"), self.place.name, "", "/dev/mem/x":
            for mode in (), ("--readable",), ("--dis",), ("--detect",), ("--check",):
                with self.subTest(path=path, mode=mode):
                    self.assertRefused(self.show(*mode, path), FAILED)
        self.assertRefused(self.closed("<&-", "-"), FAILED)

    def closed(self, redirection, *arguments):
        """The command with one of its descriptors closed."""
        line = ["sh", "-c", f'"$0" show "$@" {redirection}', program()]
        done = subprocess.run([*line, *map(str, arguments)], capture_output=True)
        done.status, done.out, done.err = done.returncode, done.stdout, done.stderr
        return done

    def test_output_that_cannot_be_written_has_status_3(self):
        for mode in (), ("--readable",), ("--dis",), ("--detect",), ("--check",), \
                ("--check", "--json"):
            with self.subTest(mode=mode):
                self.assertRefused(self.show(*mode, REAL, stdout="/dev/full"), FAILED)
                self.assertRefused(self.closed(">&-", *mode, REAL), FAILED)
        broken = self.file(b"no pickle")
        for mode in (), ("--check",):
            done = self.show(*mode, broken, stdout="/dev/full")
            self.assertEqual(done.status, FAILED)

    def test_a_reader_that_goes_early_is_no_reason_to_hang(self):
        path = self.file(module(py_code="x" * (4 * MIB)))
        child = subprocess.Popen([program(), "show", path], stderr=subprocess.PIPE,
                                 stdout=subprocess.PIPE)
        child.stdout.read(10)
        child.stdout.close()
        self.assertIn(child.wait(timeout=60), (FAILED, -13))
        child.stderr.close()

    def test_endless_input_is_refused(self):
        for mode in (), ("--check",), ("--dis",):
            self.assertIn(self.show(*mode, "/dev/zero").status,
                          (BROKEN, FOREIGN, FAILED))

    @unittest.skipIf(SANITIZED, "a sanitizer needs any amount of memory")
    def test_too_little_memory_has_status_3(self):
        path = self.file(module(py_code="x" * (20 * MIB)))
        self.assertRefused(self.show("--readable", path, memory=16 * MIB), FAILED)
        whole = self.show(path).out
        for memory in range(8 * MIB, 120 * MIB, 12 * MIB):
            done = self.show("--readable", path, memory=memory)
            if done.status == SOUND:
                self.assertTrue(done.out == whole, "another text")
            else:
                self.assertRefused(done, FAILED, 127)


class Corpus(ShowTest):
    """Inputs that once were, or are likely to be, trouble."""

    # Decodable, but no disassembly of it is due.
    EITHER = {"good-laughs-2-30", "unsupported-deep-1900", "good-name-surrogate",
              "good-dict-unhashable", "good-set-unhashable", "good-exc-out",
              "unsupported-exc-huge", "unsupported-lt-varint-long", "good-lt-short",
              "good-extended-only", "good-firstline-negative", "good-stacksize-huge",
              "good-utf8-surrogate", "good-frame-zero", "good-p3-binput",
              "good-exc-open"}

    def assertAsNamed(self, name, done):
        if name not in self.EITHER:
            self.assertEqual(done.status == SOUND, name.startswith("good-"), done.err)

    def test_code_is_refused_or_accepted_as_its_name_says(self):
        for path in some(sorted((CORPUS / "marshal").iterdir())):
            with self.subTest(path=path.name):
                blob = path.read_bytes()
                self.assertAsNamed(path.name, self.examine_code(blob))
                done = self.show(self.file(module(compiled_fn=blob)))
                self.assertText(done)
                self.assertIn(done.status, (SOUND, FOREIGN))
                self.assertTrue(done.out.endswith(b"\npass\n"))

    def test_modules_are_refused_or_accepted_as_their_names_say(self):
        for path in some(sorted((CORPUS / "pickle").iterdir())):
            with self.subTest(path=path.name):
                done = self.examine(path.read_bytes())
                self.assertAsNamed(path.name, done)

    def test_modules_of_the_readable_corpus_have_the_verdict_in_their_names(self):
        expected = {"good": SOUND, "bad": BROKEN, "unsupported": FOREIGN}
        for path in some(sorted((CORPUS / "readable").iterdir())):
            with self.subTest(path=path.name):
                done = self.examine(path.read_bytes())
                self.assertEqual(done.status, expected[path.name.split("-")[0]])

    def index(self):
        shared = os.environ.get("TACFS_SHARED", "")
        path = pathlib.Path(shared) / "cpython/hostile/index.tsv"
        if not shared or not path.exists():
            self.skipTest("TACFS_SHARED has no hostile inputs")
        with open(path, newline="") as file:
            for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
                yield path.parent / row["file"], row["verdict"]

    def test_the_large_collection_is_refused_or_accepted_as_listed(self):
        for path, verdict in some(self.index()):
            with self.subTest(path=path.name):
                content = path.read_bytes()
                bare = path.suffix == ".marshal"
                done = self.examine_code(content) if bare else self.examine(content)
                if verdict in ("accept", "refuse"):
                    self.assertEqual(done.status == SOUND, verdict == "accept")
                if bare:
                    self.assertText(self.show(self.file(module(compiled_fn=content))))


if __name__ == "__main__":
    unittest.main()
