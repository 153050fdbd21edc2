# SPDX-License-Identifier: Apache-2.0
"""What a directory may be after a crash: from what it was, and a log of calls.

record.c writes the log. An event's position is where its line ends; a crash "at"
a position comes after the events up to there, of which those that were not
brought to disk may be lost. Two models say which:

`Journal`, as ext4 and xfs: changes of names persist in the order in which they
were made. An fsync brings a file's data to disk, and all changes of names up to
the last that concerned this file (or directory). sync_file_range() that waits
brings the data to disk, and is a step in that order: whoever has a later name has
the data.

`Weak`, what POSIX promises and little more: a changed name persists after an fsync
of its directory, for sure; else in any order, except that changes of one name
keep theirs. A rename is one change, in both directories. Data persists after
an fsync of the file, and only then.

In both, data that is not on disk may be lost, zeroed, cut, torn between sectors
or there.
"""
import collections
import os
import random
import stat

SECTOR = 512
FEW = 4
FILE, DIRECTORY, LINK = "file", "directory", "link"
WRITE_AND_WAIT = 2 | 4  # flags of sync_file_range()

# `sets`: ((directory, name), node or None) of each name that changes. `nodes`:
# what has another name now.
Names = collections.namedtuple("Names", "at sets nodes")
# `kind`: "fsync", "data", "all"
Sync = collections.namedtuple("Sync", "at kind node")


class Node:
    """A file, directory or symbolic link; its content follows from its changes."""

    def __init__(self, kind, mode, content=b""):
        self.kind = kind
        self.mode = mode
        self.changes = [(-1, lambda _: content)]
        self.contents = {}

    def change(self, at, change):
        self.changes.append((at, change))

    def content(self, at):
        """What it holds after the changes up to there."""
        count = sum(1 for position, _ in self.changes if position <= at)
        if count not in self.contents:
            content = b""
            for _, change in self.changes[:count]:
                content = change(content)
            self.contents[count] = content
        return self.contents[count]


def writing(offset, data):
    def change(content):
        content = content.ljust(offset, b"\0")
        return content[:offset] + data + content[offset + len(data):]
    return change


def cutting(size):
    return lambda content: content[:size].ljust(size, b"\0")


class Recording:
    """A directory as it was, and what was done to it since."""

    def __init__(self, root):
        self.root = root
        self.start = {}
        self.by_inode = {}
        self.events = []
        self.top = self.add(os.lstat(root), root)
        self.take(root, self.top)

    # What was there

    def add(self, st, path):
        kind = (DIRECTORY if stat.S_ISDIR(st.st_mode) else
                LINK if stat.S_ISLNK(st.st_mode) else FILE)
        if st.st_ino not in self.by_inode:
            content = (os.readlink(path).encode() if kind == LINK else
                       read(path) if kind == FILE else b"")
            self.by_inode[st.st_ino] = Node(kind, st.st_mode & 0o7777, content)
        return self.by_inode[st.st_ino]

    def take(self, path, directory):
        for entry in os.scandir(path):
            node = self.add(entry.stat(follow_symlinks=False), entry.path)
            self.start[directory, entry.name] = node
            if node.kind == DIRECTORY:
                self.take(entry.path, node)

    # What was done

    def read_log(self, lines):
        """A line that begins with # says nothing."""
        names = dict(self.start)
        self.end = 0
        for line in lines:
            self.end += len(line)
            word, *arguments = line.rstrip("\n").split(" ")
            if not word.startswith("#"):
                getattr(self, f"on_{word}")(self.end, names, *arguments)
        return self

    def made(self, kind, inode, mode, content=b""):
        node = Node(kind, int(mode, 8), content)
        self.by_inode[int(inode)] = node
        return node

    def entry(self, directory, name):
        return self.by_inode[int(directory)], os.fsdecode(bytes.fromhex(name))

    def set_names(self, at, names, *sets):
        nodes = [node for _, node in sets] + [names.get(entry) for entry, _ in sets]
        self.events.append(Names(at, sets, {node for node in nodes if node}))
        for entry, node in sets:
            names[entry] = node

    def on_tmpfile(self, _at, _names, inode, mode):
        self.made(FILE, inode, mode)

    def on_file(self, at, names, inode, mode, directory, name):
        self.set_names(at, names, (self.entry(directory, name),
                                   self.made(FILE, inode, mode)))

    def on_mkdir(self, at, names, inode, mode, directory, name):
        self.set_names(at, names, (self.entry(directory, name),
                                   self.made(DIRECTORY, inode, mode)))

    def on_symlink(self, at, names, inode, directory, name, target):
        node = self.made(LINK, inode, "777", bytes.fromhex(target))
        self.set_names(at, names, (self.entry(directory, name), node))

    def on_link(self, at, names, inode, directory, name):
        self.set_names(at, names, (self.entry(directory, name),
                                   self.by_inode[int(inode)]))

    def on_rename(self, at, names, from_dir, old, to_dir, new, exchanges):
        source, target = self.entry(from_dir, old), self.entry(to_dir, new)
        left = names.get(target) if int(exchanges) else None
        if names[source] is not names.get(target):  # else rename() does nothing
            self.set_names(at, names, (source, left), (target, names[source]))

    def on_unlink(self, at, names, directory, name):
        self.set_names(at, names, (self.entry(directory, name), None))

    def on_chmod(self, _at, _names, inode, mode):
        self.by_inode[int(inode)].mode = int(mode, 8)

    def on_write(self, at, _names, inode, offset, data):
        self.by_inode[int(inode)].change(at, writing(int(offset),
                                                     bytes.fromhex(data)))

    def on_truncate(self, at, _names, inode, size):
        self.by_inode[int(inode)].change(at, cutting(int(size)))

    def on_fsync(self, at, _names, inode):
        self.events.append(Sync(at, "fsync", self.by_inode[int(inode)]))

    def on_fdatasync(self, at, _names, inode):
        self.events.append(Sync(at, "fdatasync", self.by_inode[int(inode)]))

    def on_range(self, at, _names, inode, offset, size, flags):
        waits = int(flags, 8) & WRITE_AND_WAIT == WRITE_AND_WAIT
        if waits and offset == size == "0":
            self.events.append(Sync(at, "range", self.by_inode[int(inode)]))

    def on_syncfs(self, at, _names, _inode):
        self.events.append(Sync(at, "all", None))

    # What it is

    def names(self, changes):
        """The names after some of the changes, in their order."""
        names = dict(self.start)
        for event in changes:
            names.update(event.sets)
        return names

    def whole(self, at=None):
        """The tree if nothing is lost."""
        at = self.end if at is None else at
        names = self.names(event for event in self.changes(at))
        return Image(self.tree(names), {}, at)

    def changes(self, at):
        return [event for event in self.events
                if isinstance(event, Names) and event.at <= at]

    def syncs(self, at):
        return [event for event in self.events
                if isinstance(event, Sync) and event.at <= at]

    def tree(self, names):
        """[(path, node)], a directory before what is in it."""
        below = collections.defaultdict(list)
        for (directory, name), node in names.items():
            if node:
                below[directory].append((name, node))
        found = []
        pending = [("", self.top)]
        while pending:
            path, directory = pending.pop()
            for name, node in sorted(below[directory], key=lambda pair: pair[0]):
                found.append((os.path.join(path, name), node))
                if node.kind == DIRECTORY:
                    pending.append(found[-1])
        return found

    def moments(self, marks=()):
        """When there are the most ways to crash: before each sync; and the marks."""
        before = 0
        moments = set(marks) | {self.end}
        for event in self.events:
            if isinstance(event, Sync):
                moments.add(before)
            before = event.at
        return sorted(moments)


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Image:
    """A tree, and what its files hold."""

    def __init__(self, tree, data, at):
        self.tree = tree
        self.data = data  # {node: content}, where it is not node.content(at)
        self.at = at

    def content(self, node):
        return self.data[node] if node in self.data else node.content(self.at)

    def key(self):
        return hash(tuple((path, node.kind, self.content(node))
                          for path, node in self.tree))

    def make(self, root):
        os.mkdir(root, 0o700)
        made = {}
        for path, node in self.tree:
            full = os.path.join(root, path)
            if node.kind == DIRECTORY:
                os.mkdir(full)
                os.chmod(full, node.mode)
            elif node.kind == LINK:
                os.symlink(self.content(node), os.fsencode(full))
            elif node in made:
                os.link(made[node], full)
            else:
                self.write(full, node)
                made[node] = full

    def write(self, path, node):
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, node.mode)
        os.write(fd, self.content(node))
        os.close(fd)

    def files(self):
        """{path: (kind, mode, content)}; the modes of links are no modes."""
        return {path: (node.kind, 0 if node.kind == LINK else node.mode,
                       self.content(node)) for path, node in self.tree}


def sectors(content):
    return range(0, len(content), SECTOR)


def damages(durable, whole, chance):
    """What may be left of a file, of which `durable` was on disk."""
    if durable == whole:
        return [whole]
    zeroed = b"".join(
        whole[i:i + SECTOR] if durable[i:i + SECTOR] == whole[i:i + SECTOR]
        else bytes(len(whole[i:i + SECTOR])) for i in sectors(whole))
    half = len(whole) // 2 // SECTOR * SECTOR
    torn = b"".join(chance.choice((whole, zeroed))[i:i + SECTOR]
                    for i in sectors(whole))
    cut = whole[:max(half, min(len(durable), len(whole)))]
    found = [durable, whole, zeroed, torn, cut, whole[:half] + zeroed[half:]]
    return list(dict.fromkeys(found))


class Model:
    """Crashes of a recording: each loss alone, all of them, and some at random."""

    def __init__(self, recording, amount, seed=1):
        """`amount`: how many at random at each position."""
        self.recording = recording
        self.amount = amount
        self.chance = random.Random(seed)

    def images(self, at):
        """Images of the directory after a crash at this position."""
        ways = list(self.kept(at))
        for names, durable in ways:
            tree = self.recording.tree(names)
            for data in self.losses(self.unsure(tree, durable, at)):
                yield Image(tree, data, at)
        for _ in range(self.amount):
            names, durable = self.any_kept(at, ways)
            tree = self.recording.tree(names)
            unsure = self.unsure(tree, durable, at)
            yield Image(tree, {node: self.chance.choice(choices)
                               for node, choices in unsure.items()}, at)

    def unsure(self, tree, durable, at):
        """{file: what it may hold}, if it may hold more than one thing."""
        found = {}
        for node in dict.fromkeys(node for _, node in tree if node.kind == FILE):
            choices = damages(node.content(durable(node)), node.content(at),
                              self.chance)
            if len(choices) > 1:
                found[node] = choices
        return found

    @staticmethod
    def losses(unsure):
        lost = {node: choices[0] for node, choices in unsure.items()}
        yield {}
        yield lost
        for node, choices in unsure.items():
            for choice in choices:
                yield {node: choice}


class Journal(Model):
    def kept(self, at):
        """(names, function that says up to where a file is on disk)"""
        recording = self.recording
        committed = self.committed(at)
        changes = recording.changes(at)
        syncs = recording.syncs(at)
        ends = {event.at for event in changes} | {
            event.at for event in syncs if event.kind != "fsync"} | {0}
        for end in sorted(end for end in ends if end >= committed):
            names = recording.names(c for c in changes if c.at <= end)
            yield names, self.durability(syncs, end)

    def any_kept(self, _at, ways):
        return self.chance.choice(ways)

    def committed(self, at):
        """Up to where the changes of names are on disk."""
        committed = 0
        changes = []
        for event in self.recording.events:
            if event.at > at:
                break
            if isinstance(event, Names):
                changes.append(event)
            elif event.kind == "all":
                committed = event.at
            elif event.kind == "fsync":
                committed = max([committed] + [
                    c.at for c in changes if concerns(c, event.node)])
        return committed

    @staticmethod
    def durability(syncs, end):
        last = {}
        every = -1
        for event in syncs:
            if event.kind == "all":
                every = event.at
            elif event.kind == "fsync" or event.at <= end:
                last[event.node] = event.at
        return lambda node: max(every, last.get(node, -1))


class Weak(Model):
    def kept(self, at):
        changes, needs, sure, durable = self.state(at)
        tried = set()
        for kept in self.subsets(needs, sure):
            kept = frozenset(closed(needs, kept))
            if kept not in tried:
                tried.add(kept)
                yield self.recording.names(changes[i] for i in sorted(kept)), durable

    def any_kept(self, at, _ways):
        changes, needs, sure, durable = self.state(at)
        share = self.chance.random()
        kept = closed(needs, sure | {number for number in range(len(needs))
                                     if self.chance.random() < share})
        return self.recording.names(changes[i] for i in sorted(kept)), durable

    def state(self, at):
        """Changes of names, what each needs, which are on disk; up to where files are"""
        changes = self.recording.changes(at)
        syncs = self.recording.syncs(at)
        needs = needed(changes)
        sure = closed(needs, {
            number for number, change in enumerate(changes)
            if any(self.makes_durable(sync, change) for sync in syncs)})
        last = {}
        every = -1
        for event in syncs:
            if event.kind == "all":
                every = event.at
            elif event.kind in ("fsync", "fdatasync"):
                last[event.node] = event.at
        return changes, needs, sure, lambda node: max(every, last.get(node, -1))

    @staticmethod
    def makes_durable(sync, change):
        if change.at > sync.at:
            return False
        return sync.kind == "all" or (sync.kind == "fsync" and any(
            directory is sync.node for (directory, _), _ in change.sets))

    def subsets(self, needs, sure):
        """All of few; else none and all, one kept alone, one lost alone."""
        free = [number for number in range(len(needs)) if number not in sure]
        every = set(range(len(needs)))
        if len(free) <= FEW:
            for bits in range(2 ** len(free)):
                yield sure | {n for i, n in enumerate(free) if bits >> i & 1}
            return
        yield sure
        yield every
        for number in free:
            yield sure | {number}
            yield without(needs, every, {number})


def concerns(change, node):
    return node in change.nodes or any(
        directory is node for (directory, _), _ in change.sets)


def needed(changes):
    """For each change the earlier ones of the same names."""
    last = {}
    needs = []
    for number, change in enumerate(changes):
        needs.append({last[entry] for entry, _ in change.sets if entry in last})
        for entry, _ in change.sets:
            last[entry] = number
    return needs


def closed(needs, kept):
    kept = set(kept)
    for number in sorted(kept, reverse=True):
        add_needs(needs, number, kept)
    return kept


def add_needs(needs, number, kept):
    pending = [number]
    while pending:
        for need in needs[pending.pop()]:
            if need not in kept:
                kept.add(need)
                pending.append(need)


def without(needs, kept, dropped):
    """`kept`, but not those, nor what needs them."""
    gone = set(dropped)
    for number, need in enumerate(needs):
        if need & gone:
            gone.add(number)
    return kept - gone
