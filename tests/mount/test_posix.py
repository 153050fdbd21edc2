# SPDX-License-Identifier: Apache-2.0
"""What POSIX calls give on a mount is what they give on the file system below.

Each case of posix_*.py is run in a directory there and in one of the mount. What
every call gave must be equal, but for what docs/posix.md says, and must still say.
"""
import os
import pickle
import re
import unittest

import harness
import posix_artifacts  # noqa: F401
import posix_attributes  # noqa: F401
import posix_content  # noqa: F401
import posix_names  # noqa: F401
import posix_open  # noqa: F401
from posix_script import CASES, Script

DOCUMENT = os.path.join(harness.HERE, "..", "..", "docs", "posix.md")
SOUND = pickle.dumps({"some": "content"})


def documented():
    """The ids in docs/posix.md: the first column of its tables, in backquotes."""
    with open(DOCUMENT, encoding="utf-8") as file:
        return re.findall(r"^\| `([a-z-]+)` \|", file.read(), re.MULTILINE)


def file_system_of(path):
    """The type of the file system that a path is on."""
    best = ("", "")
    with open("/proc/self/mounts", encoding="utf-8") as file:
        for line in file:
            point, kind = line.split()[1:3]
            if os.path.commonpath((point, path)) == point:
                best = max(best, (point, kind), key=lambda pair: len(pair[0]))
    return best[1]


def play(case, directory, *arguments):
    """The results of a case in a directory."""
    script = Script(*arguments)
    home = os.getcwd()
    os.chdir(directory)
    try:
        case.run(script)
    finally:
        os.chdir(home)
        script.end()
    return script.results


class Posix(harness.MountTest):
    """One test for each case; `add_tests` makes them."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.kind = file_system_of(cls.store)
        if cls.kind != "ext4":
            print(f"compared with {cls.kind}, not ext4: what differs may be its own")

    def compare(self, case, *arguments):
        reference = harness.new_directory(self._testMethodName)
        expected = play(case, reference, *arguments)
        seen = play(case, self.dir, *arguments)
        self.assertEqual([label for label, _ in seen],
                         [label for label, _ in expected], "expected the same calls")
        differing = [(label, wanted, got) for (label, wanted), (_, got)
                     in zip(expected, seen) if wanted != got]
        allowed = [] if harness.PLAIN else case.gives or []
        if [got for _, _, got in differing] != allowed:
            self.fail(self.describe(allowed, differing))

    def describe(self, allowed, differing):
        lines = [f"  {label}: {self.kind} gives {wanted}, the mount {got}"
                 for label, wanted, got in differing]
        return (f"expected {allowed or 'nothing'} to differ, seen {len(lines)}:\n" +
                "\n".join(lines[:40]))


class Document(unittest.TestCase):
    def test_every_difference_is_documented_and_has_a_case(self):
        named = {case.differs for case in CASES.values() if case.differs}
        self.assertEqual(named, set(documented()),
                         "expected docs/posix.md to have the differences of the cases")


def add_test(name, case, *arguments):
    def test(self):
        self.compare(case, *arguments)
    if case.root:
        test = unittest.skipUnless(harness.is_root(), "needs root")(test)
    setattr(Posix, f"test_{name}", test)


def add_tests():
    for name, case in CASES.items():
        add_test(name, case)
        if case.artifact:
            add_test(f"{name}_of_an_artifact", case, "compiled_module", SOUND)


add_tests()

if __name__ == "__main__":
    harness.main()
