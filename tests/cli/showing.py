# SPDX-License-Identifier: Apache-2.0
"""Runs `tacfs show`, and checks what holds of it for any input at all."""
import dataclasses
import json
import os
import pathlib
import pickle
import re
import tempfile
import unittest

import hostile
import measure

TESTS = pathlib.Path(__file__).resolve().parents[1]
DATA = TESTS / "data/caches"
GOLDEN = TESTS / "golden"
CORPUS = TESTS / "corpus"
PYTHONS = ["3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14"]
MIB = 1 << 20
NOTICE = 4096  # what a text may have beyond its limit, to say that it was cut

SOUND, BROKEN, FOREIGN, FAILED, USAGE = 0, 1, 2, 3, 64
VERDICTS = {SOUND: "sound", BROKEN: "broken", FOREIGN: "foreign"}


def program():
    return os.environ["TACFS_BIN"]


def slowness():
    """How many times less is asked of a build with a sanitizer."""
    binary = pathlib.Path(program()).read_bytes()
    if b"__tsan_init" in binary:
        return 40  # and there is one thread only
    return 25 if b"__asan_init" in binary else 1


SLOWNESS = slowness()
SANITIZED = SLOWNESS > 1
TIMEOUT = 200 if SANITIZED else 20


def many(number):
    """A size for ordinary builds, or a part of it where a sanitizer is slow."""
    return number // SLOWNESS


def some(items):
    """All of them, or a few where a sanitizer is slow."""
    items = list(items)
    return items[::max(SLOWNESS // 3, 1)]


def modules():
    """Every real or golden compiled_module with its text."""
    found = {path.with_suffix("").with_suffix(""): path
             for path in (DATA / "readable").rglob("*.readable.py")}
    pairs = [(DATA / "trees" / module.relative_to(DATA / "readable"), path)
             for module, path in found.items()]
    pairs += [(path.with_suffix(".compiled_module"), path)
              for path in GOLDEN.glob("readable/*.readable")]
    return sorted(pairs)


class Parts(pickle.Unpickler):
    """Reads a module that is known to be good, with stand-ins for its classes."""

    def find_class(self, module, name):
        return type(name, (), {"package": module})


def parts(path):
    with open(path, "rb") as file:
        return Parts(file).load()


@dataclasses.dataclass
class Shown:
    status: int
    out: bytes
    err: bytes
    peak: int
    whole: bool = False  # examine() sets it: the text was not cut


class ShowTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.place.cleanup)
        # Looking for leaks takes longer than what is tested; test_cli.py does.
        os.environ["ASAN_OPTIONS"] = \
            os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
        cls.runner = measure.Runner()
        cls.addClassCleanup(cls.runner.close)

    def path(self, name):
        return os.path.join(self.place.name, name)

    def file(self, content, name="input"):
        path = self.path(name)
        pathlib.Path(path).write_bytes(content)
        return path

    def show(self, *arguments, stdin=os.devnull, stdout=None, memory=None):
        out, err = stdout or self.path("out"), self.path("err")
        arguments = [program(), "show", *map(str, arguments)]
        status, peak = self.runner.run(
            arguments=arguments, stdin=str(stdin), stdout=out, stderr=err,
            timeout=TIMEOUT, memory=memory)
        self.assertIsNotNone(status, f"{arguments}: no end after {TIMEOUT} s")
        text = b"" if stdout else pathlib.Path(out).read_bytes()
        done = Shown(status, text, pathlib.Path(err).read_bytes(), peak)
        if status not in (0, 1, 2, 3, 64):
            self.fail(f"{arguments}: status {status}: {done.err.decode()[-3000:]}")
        return done

    def assertOneLine(self, said):
        self.assertRegex(said, rb"\Atacfs: show: [^\n]+\n\Z")

    def assertRefused(self, done, *statuses):
        """Nothing on stdout, a line on stderr."""
        self.assertIn(done.status, statuses, done.err)
        self.assertEqual(done.out[:200], b"")
        self.assertOneLine(done.err)

    def assertBounded(self, done, size):
        """Neither the text nor the memory goes beyond what the input allows."""
        self.assertLessEqual(len(done.out), 32 * MIB + 4 * size + NOTICE)
        if not SANITIZED:
            self.assertLess(done.peak, 64 * MIB + 16 * size)

    def assertText(self, done):
        """A text of the default mode, of whatever input."""
        self.assertIn(done.status, (SOUND, BROKEN, FOREIGN), done.err)
        done.out.decode()  # UTF-8, or it raises
        self.assertTrue(done.out.startswith(b"# "), done.out[:200])
        if done.status != SOUND:
            self.assertOneLine(done.err)
            self.assertRegex(done.out[:4 * MIB], rb"(?m)^# .*\bat byte \d+")

    def assertCutIsTold(self, text):
        """A comment says it. (A text may be large, so lines are found by hand.)"""
        for found in re.finditer(rb"cut\b", text):
            start = text.rfind(b"\n", 0, found.start()) + 1
            if text.startswith(b"# ", start):
                return
        self.fail("the text is not whole, and no comment says that it was cut")

    def assertJudged(self, path, status):
        """--check says in one line what the default mode found."""
        line = self.show("--check", path)
        self.assertEqual((line.status, line.err), (status, b""), line.out)
        more = "" if status == SOUND else r" at byte \d+: [^\n]+"
        self.assertRegex(line.out.decode(),
                         f"\\A{re.escape(path)}: {VERDICTS[status]}{more}\n\\Z")

    def report(self, path, size, status):
        """The JSON object of --check, which says what the default mode found."""
        done = self.show("--check", "--json", path)
        self.assertBounded(done, size)
        self.assertEqual((done.status, done.err), (status, b""))
        report = json.loads(done.out.decode())
        self.assertEqual((report["file"], report["verdict"]), (path, VERDICTS[status]))
        if status == SOUND:
            self.assertIsNone(report.get("reason"))
            self.assertIn(report["python"], PYTHONS)
        else:
            self.assertIsInstance(report["offset"], int)
            self.assertLessEqual(report["offset"], size)
            self.assertTrue(report["reason"])
        return report

    def examine(self, content, *options):
        """What holds for any file; answers with the text of the default mode.
        The member whole says whether the text has not been cut."""
        path = self.file(content)
        done = self.show(*options, path)
        self.assertText(done)
        self.assertBounded(done, len(content))
        strict = self.show("--readable", *options, path)
        self.assertBounded(strict, len(content))
        done.whole = strict.status == SOUND
        if done.whole:
            self.assertEqual((done.status, done.err), (SOUND, b""))
            self.assertTrue(strict.out == done.out, "--readable shows another text")
        else:
            self.assertRefused(strict, done.status or FOREIGN)
        if done.status == SOUND and not done.whole:
            self.assertCutIsTold(done.out)
        if not options:
            self.report(path, len(content), done.status)
        return done

    def examine_code(self, blob, *options):
        """The same for a bare code object; answers with what --dis says."""
        path = self.file(blob, "code")
        done = self.show("--dis", *options, path)
        self.assertBounded(done, len(blob))
        if done.status == SOUND:
            self.assertEqual(done.err, b"")
            done.out.decode()
        else:
            self.assertRefused(done, BROKEN, FOREIGN)
        return done


class HostileTest(ShowTest):
    """Checks of code objects, and of the modules around them."""

    def assertRefusable(self, content):
        """Any verdict but sound, and all that holds for any file."""
        done = self.examine(content)
        self.assertNotEqual(done.status, SOUND)
        return done

    def code(self, blob):
        """Any verdict on the code, but the same of it alone and in a module, of
        which the rest is shown in any case. Answers with both."""
        bare = self.examine_code(blob)
        content = hostile.module(compiled_fn=blob)
        done = self.show(self.file(content))
        self.assertText(done)
        self.assertBounded(done, len(content))
        self.assertIn(done.status, (SOUND, FOREIGN))
        self.assertIn(b"name='f(x)'", done.out[:5000])
        self.assertTrue(done.out.endswith(b"pass\n"), done.out[-200:])
        if bare.status == SOUND:
            lines = b"# " + bare.out.replace(b"\n", b"\n# ")
            self.assertTrue(lines in done.out, "two texts of the same code")
        elif done.status == SOUND:
            self.assertCutIsTold(done.out)
        return bare, done

    def assertNoText(self, blob):
        """--dis refuses it, and show goes on."""
        bare, done = self.code(blob)
        self.assertRefused(bare, BROKEN, FOREIGN)
        return done

    def assertCut(self, blob):
        """Code whose text is too large, in every mode."""
        done = self.assertNoText(blob)
        content = hostile.module(compiled_fn=blob)
        self.report(self.file(content), len(content), done.status)
        return done

    def assertShown(self, blob, said):
        """Sound code, with this in its text."""
        bare, done = self.code(blob)
        self.assertEqual((bare.status, done.status), (SOUND, SOUND), bare.err)
        self.assertTrue(said.encode() in bare.out, bare.out[:500])
