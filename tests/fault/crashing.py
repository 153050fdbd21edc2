# SPDX-License-Identifier: Apache-2.0
"""Records what tacfs does to a store, and looks at what crashes leave of it."""
import contextlib
import copy
import hashlib
import itertools
import os
import random
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "mount"))

import calls  # noqa: E402
import harness  # noqa: E402
import replay  # noqa: E402

MISS = None  # the name is not there
EXT4, TMPFS = "0xef53", "0x01021994"
MODELS = {"journal": (EXT4, replay.Journal), "weak": (TMPFS, replay.Weak)}


def built(name):
    return os.path.join(os.path.dirname(harness.binary()), "tests", "fault", name)


def preloaded():
    """The recorder, behind the sanitizer's runtime if there is one."""
    output = subprocess.run(["ldd", harness.binary()], capture_output=True,
                            check=True, text=True).stdout
    runtimes = [line.split()[2] for line in output.splitlines()
                if line.split()[0].startswith(("libasan.", "libtsan."))]
    return ":".join(runtimes + [built("libtacfs_record.so")])


def digest(content):
    return content if content is MISS else hashlib.sha256(content).hexdigest()


class Given:
    """What a name was given, from when on at the earliest, and at the latest."""

    def __init__(self, content, begun, durable):
        self.content = content
        self.begun = begun
        self.ended = None
        self.durable = durable


class History:
    """What names were given while a recording was made, and what may be seen."""

    def __init__(self):
        self.given = {}
        self.moves = []
        self.together = []

    def begin(self, name, content, at, durable):
        given = Given(content, at, durable)
        self.given.setdefault(name, []).append(given)
        return given

    def allowed(self, name, at):
        """The contents that a crash at this position may leave, MISS included.

        The last that was on disk by then, or a later one.
        """
        begun = [given for given in self.given.get(name, ()) if given.begun < at]
        sure = [number for number, given in enumerate(begun)
                if given.durable and given.ended is not None and given.ended <= at]
        since = begun[sure[-1]:] if sure else begun
        return {given.content for given in since} | (set() if sure else {MISS})

    def complaints(self, seen, at):
        """What is wrong with {name: digest, or MISS} after a crash there."""
        found = []
        for name in sorted(set(seen) | set(self.given)):
            got, allowed = seen.get(name), self.allowed(name, at)
            if got not in allowed:
                found.append(f"{name}: expected one of {allowed}, seen {got}")
        for given, names in self.moves:
            if self.is_last(given, names, at) and (
                    given.content not in map(seen.get, names)):
                found.append(f"{names}: expected one to have {given.content}")
        for names in self.together:
            if len({seen.get(name) is MISS for name in names}) > 1:
                found.append(f"{names}: expected all of them or none")
        return found

    def is_last(self, given, names, at):
        """Whether nothing was done to the names after that."""
        return given.begun < at and not any(
            given.ended <= later.begun < at
            for name in names for later in self.given[name])

    def marks(self):
        every = [given for name in self.given.values() for given in name]
        return {at for given in every for at in (given.begun, given.ended) if at >= 0}


class Recorder:
    """A store that calls are recorded of; `model` is a key of MODELS."""

    def __init__(self, model, name):
        self.root = harness.new_directory(f"{name}-{model}")
        self.store = os.path.join(self.root, "store")
        self.point = os.path.join(self.root, "mount")
        self.log = os.path.join(self.root, "log")
        self.history = History()
        self.type, self.model = MODELS[model]
        os.mkdir(self.store)

    def environment(self):
        return {**os.environ, "LD_PRELOAD": preloaded(),
                "TACFS_RECORD_ROOT": self.store, "TACFS_RECORD_LOG": self.log,
                "TACFS_RECORD_TYPE": self.type}

    def begin(self):
        """From here on; what is in the store is on disk."""
        self.recording = replay.Recording(self.store)
        with open(self.log, "wb"):
            pass
        if os.listdir(self.store):
            for name, content in look_at(self.store).items():
                self.history.begin(name, content, -1, True).ended = 0

    def prepared(self):
        """A mount that is not recorded."""
        return harness.Mount(self.store, self.point)

    def mounted(self, *options):
        return harness.Mount(self.store, self.point, options,
                             environment=self.environment())

    def tacfs_may_fail(self, *arguments):
        return harness.tacfs(*arguments, env=self.environment())

    def tacfs(self, *arguments):
        done = self.tacfs_may_fail(*arguments)
        if done.returncode:
            raise AssertionError(f"tacfs {arguments}: expected success, seen "
                                 f"{done.returncode}: {done.stderr.decode()}")

    def position(self):
        return os.path.getsize(self.log)

    @contextlib.contextmanager
    def gives(self, name, content, durable=True):
        """What is done meanwhile gives the name a content, or takes it away."""
        given = self.history.begin(name, digest(content), self.position(), durable)
        yield os.path.join(self.point, name)
        given.ended = self.position()

    def creates(self, name, content):
        """A plain file, which is empty at first and not on disk at the end."""
        with self.gives(name, b"", False), self.gives(name, content, False) as path:
            calls.write(path, content)

    @contextlib.contextmanager
    def moves(self, old, new, content):
        """A rename of what is on disk: one of both names has it all the time."""
        with self.gives(old, MISS, False), self.gives(new, content, False):
            yield os.path.join(self.point, old), os.path.join(self.point, new)
        self.history.moves.append((self.history.given[new][-1], (old, new)))

    @contextlib.contextmanager
    def evicts(self, *names):
        """Takes all of these names away; a crash leaves all or none."""
        with contextlib.ExitStack() as stack:
            for name in names:
                stack.enter_context(self.gives(name, MISS, False))
            yield
        self.history.together.append(names)
        for name in names:
            if os.path.lexists(os.path.join(self.store, "refs/default", name)):
                raise AssertionError(f"expected {name} to be evicted")

    def recorded(self, change=lambda lines: lines):
        """What was recorded, with other lines of the same lengths if need be."""
        with open(self.log, encoding="ascii") as log:
            lines = log.readlines()
        return copy.deepcopy(self.recording).read_log(change(lines))


class Looker:
    """look_at_stores, which reads all of a store that a crash has left."""

    def __init__(self):
        self.process = subprocess.Popen([built("look_at_stores")],
                                        stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)

    def look(self, path):
        """{name: digest, or MISS}, and what must not be."""
        self.process.stdin.write(os.fsencode(path) + b"\n")
        self.process.stdin.flush()
        seen, wrong = {}, []
        for line in iter(self.process.stdout.readline, b".\n"):
            if not line:
                raise AssertionError(f"look_at_stores ended: {self.process.wait()}")
            if line.startswith(b"! "):
                wrong.append(line.decode().strip())
            else:
                name, content = line.decode().split()
                seen[os.fsdecode(bytes.fromhex(name))] = (
                    MISS if content == "-" else content)
        return seen, wrong

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


def look_at(store):
    """What is in a store, by way of a copy."""
    copy = store + ".copy"
    shutil.copytree(store, copy, symlinks=True)
    with contextlib.closing(Looker()) as looker:
        seen, wrong = looker.look(copy)
    shutil.rmtree(copy)
    if wrong:
        raise AssertionError(f"expected a sound store, seen {wrong}")
    return seen


class Crashes:
    """All that a recording's crashes leave, each looked at once."""

    def __init__(self, recorder, recording, amount):
        self.recorder = recorder
        self.recording = recording
        self.model = recorder.model(recording, amount=amount)
        self.seen = {}
        self.images = []
        self.looker = Looker()
        self.count = itertools.count()

    def find(self):
        """Complaints about the first few bad crashes."""
        history = self.recorder.history
        found = []
        with contextlib.closing(self.looker):
            for at in self.recording.moments(history.marks()):
                for image in self.model.images(at):
                    seen, wrong = self.look(image)
                    wrong = wrong + history.complaints(seen, at)
                    if wrong:
                        found.append(f"crash at {at}: {'; '.join(wrong)}")
                        if len(found) > 2:
                            return found
        return found

    def look(self, image):
        key = image.key()
        if key not in self.seen:
            root = os.path.join(self.recorder.root, f"crash{next(self.count)}")
            image.make(root)
            self.seen[key] = self.looker.look(root)
            shutil.rmtree(root)
            self.images.append(image)
        return self.seen[key]

    def some(self, count):
        return random.Random(1).sample(self.images, min(count, len(self.images)))
