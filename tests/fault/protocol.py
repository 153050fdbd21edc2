# SPDX-License-Identifier: Apache-2.0
"""A model of publishing, moving and collecting (docs/format.md), to be explored.

There is one pack. A manifest that names it is in a slot or in none; a state says
what is in every slot, where the pack is, and how far every process has come. A
step is one call that changes or looks at the file system. Time is not in the
model: what may be old enough to be dropped may be dropped.

The processes, each of which may be killed, and started again, before any step:

- two publishers, that reuse the pack, or the first of which places it;
- one that deletes, moves (between two directories), and brings back a manifest;
- one that changes the attributes of what another publishes (an exchange);
- one that rewrites packs: it places the pack, and exchanges what a name shows for
  the same content in this pack, while a publisher publishes there;
- a collector, that goes on for ever;
- an evictor of the directory that has "here" and name1, beside that collector, as
  one that was stopped, and superseded, may be.
"""
import collections

# Where the pack is, and whether it was set aside before the mark began; the slots:
# drafts of two publishers, a guard's link that is held, one that was left, a name
# in two directories, the trash, names that the publishers give, the draft of an
# exchange, the draft of a rewriter; what of an evicted directory is in the trash, old
# and published there since, and a guard's link to that; whether there is such a
# directory, where the one is that the first publisher has open, and whether what it
# published there was dropped; whether a directory's move (moves.h) is counted; how far
# everybody is.
FIELDS = ("pack", "old", "draft1", "draft2", "guard", "left", "here", "there", "trash",
          "name1", "name2", "swapped", "rewritten", "old1", "young1", "back", "away",
          "opened", "dropped", "begun", "collecting", "seen", "disturbed", "publisher1",
          "publisher2", "mover", "changer", "rewriter", "evictor", "collector")
INDEX = {field: index for index, field in enumerate(FIELDS)}


class State(collections.namedtuple("State", FIELDS)):
    __slots__ = ()

    def to(self, **changes):
        """_replace(), but fast."""
        values = list(self)
        for field, value in changes.items():
            values[INDEX[field]] = value
        return tuple.__new__(State, values)

PACKS, TRASH, GONE = "packs", "trash", "gone"
NEEDS, OTHER = "needs", "other"  # a manifest that names the pack; one that does not
COPY = "copy"  # one that names the pack, of a rewriter

INTENTS = ("draft1", "draft2", "guard", "back", "left", "swapped", "rewritten")
REFS = ("here", "name1", "name2", "there")
EVICTED = ("old1", "young1")
ORDER = INTENTS + REFS + EVICTED + ("trash",) + INTENTS


class Protocol:
    """The steps; `without` names one that is left out, and that must show."""

    def __init__(self, without=None, new=False, publishers=(1, 2), moves=True,
                 changes=False, rewrites=False, evicts=False):
        self.without = without
        self.new = new  # the first publisher places the pack
        self.publishers = publishers
        self.moves = moves
        self.changes = changes
        self.rewrites = rewrites
        self.evicts = evicts
        self.order = self.mark_order()

    def has(self, step):
        return self.without != step and step not in (self.without or ())

    def mark_order(self):
        if self.without == "the order of the mark":
            return ("trash",) + EVICTED + REFS[::-1] + INTENTS
        if self.without == "what is being evicted":
            return INTENTS + REFS + ("trash",) + INTENTS
        if self.without == "the second look into intents":
            return ORDER[:-len(INTENTS)]
        if self.without == "intents":
            return REFS + ("trash",)
        return ORDER

    def start(self):
        state = State(*[None] * len(FIELDS)).to(
            pack=None if self.new else PACKS, old=False, begun=0, collecting=False,
            seen=False, disturbed=False, publisher1="find", publisher2="find",
            mover="idle", changer="idle", rewriter="place", evictor="idle",
            collector="idle", away=False, opened="there", dropped=False)
        if self.rewrites:
            return state.to(pack=None, name1=OTHER)
        if self.new:
            return state.to(here=OTHER) if self.evicts else state
        return state.to(here=NEEDS)

    def steps(self, state):
        """Every state that one step leads to."""
        for number in self.publishers:
            yield from self.publish(state, number)
        if self.moves:
            yield from self.move(state)
        if self.changes:
            yield from self.change(state)
        if self.rewrites:
            yield from self.rewrite(state)
        if self.evicts:
            yield from self.evict(state)
        yield from self.collect(state)

    # Publishing

    def publish(self, state, number):
        at = getattr(state, f"publisher{number}")
        places = self.new and number == 1 and state.pack is None
        if at in ("done", "end"):
            return
        where, draft, name = f"publisher{number}", f"draft{number}", f"name{number}"
        if self.new and number == 1 and not self.changes and not self.evicts:
            name = "here"
        yield state.to(**{where: "end"})  # killed
        if at == "find":
            found = places or state.pack in (PACKS, TRASH)
            first = "draft" if self.has("the draft before the look") else "look"
            yield state.to(**{where: first if found else "end"})
        elif at == "draft":
            skips = places or self.without in ("the draft before the look",
                                               "the first look", "both looks")
            yield state.to(**{draft: NEEDS, where: "place" if skips else "look"})
        elif at in ("look", "look again"):
            yield self.look(state, where, draft, name)
        elif at in ("bring back", "bring back again"):
            back = {"pack": PACKS} if state.pack == TRASH else {}
            yield state.to(**back, **{where: at.replace("bring back", "look")})
        elif at == "place":
            placed = {"pack": PACKS} if places and state.pack is None else {}
            yield state.to(**placed, **{where: "name"})
        elif at == "name":
            yield self.give_name(state, where, draft, name)
        elif at == "look for directory":  # made anew, and published once more
            moved = state.opened != "there"
            yield state.to(opened="there", **{where: "find" if moved else "look again"})

    def look(self, state, where, draft, name):
        again = getattr(state, where) == "look again"
        if state.pack == PACKS:
            after = "place" if self.has("the draft before the look") else "draft"
            return state.to(**{where: "done" if again else after})
        if state.pack == TRASH:
            back = "bring back again" if again else "bring back"
            return state.to(**{where: back})
        if again:  # published once more, with a pack of its own
            shows = OTHER if getattr(state, name) else None
            return state.to(**{where: "end", name: shows})
        return state.to(**{where: "end", draft: None})

    def give_name(self, state, where, draft, name):
        if getattr(state, draft) is None:  # expired: again, with a pack of its own
            return state.to(**{where: "end"})
        skips = self.without in ("the second look", "both looks")
        after = "done" if skips else "look again"
        if self.evicts and where == "publisher1":
            after = "look for directory" if self.has("the look for it") else after
            if state.opened == "away":
                return state.to(draft1=None, young1=state.draft1, publisher1=after)
            if state.opened == "gone":  # ENOENT: it is made anew
                return state.to(draft1=None, opened="there", publisher1="find")
            state = state.to(dropped=False)
        return state.to(**{where: after, draft: None, name: getattr(state, draft)})

    # Deleting, moving, bringing back

    def move(self, state):
        at = state.mover
        if at == "idle":
            yield from self.begin_move(state)
            return
        # Killed; somebody else may begin. What it linked stays.
        yield state.to(mover="idle", guard=None, left=state.left or state.guard)
        action, _, source = at.partition(" ")
        target = {"here": "there", "there": "here", "trash": "here"}[source]
        if action == "move":
            yield from self.do_move(state, source, target)
        elif action == "unlink":
            yield state.to(trash=None, mover="look here")
        elif action == "look":
            stays = state.collecting and self.has("leaving the link")
            yield state.to(mover=("leave " if stays else "drop ") + source)
        elif action == "drop":
            yield state.to(guard=None, mover="idle")
        elif action == "leave":
            yield state.to(guard=None, left=state.left or state.guard,
                                 mover="idle")

    def begin_move(self, state):
        for source in ("here", "there", "trash"):
            if getattr(state, source) == NEEDS:
                link = NEEDS if self.has("the guard's link") else None
                yield state.to(guard=link, mover=f"move {source}")
            if (source != "trash" and getattr(state, source) == NEEDS and
                    not state.trash):
                yield state.to(**{source: None}, trash=NEEDS)

    def do_move(self, state, source, target):
        if getattr(state, source) != NEEDS or getattr(state, target):
            yield state.to(mover="look here")
        elif source == "trash":  # at once, or a link, and then the old name goes
            yield state.to(trash=None, here=NEEDS, mover="look here")
            yield state.to(here=NEEDS, mover="unlink trash")
        else:
            yield state.to(**{source: None, target: NEEDS}, mover="look here")

    # Changing attributes: name1 has a version that does not need the pack, and is
    # exchanged for another of these; a publisher may have been there before.

    def change(self, state):
        at = state.changer
        counted = self.has("counting what is put back")
        if at == "idle":
            if state.name1:
                yield state.to(swapped=OTHER, changer="swap")
            return
        # Killed: what is under the draft's name stays, and so does the count.
        left = state.left or (NEEDS if state.swapped == NEEDS else None)
        yield state.to(changer="idle", swapped=None, left=left)
        if at == "swap":
            yield state.to(swapped=state.name1, name1=OTHER, changer="judge")
        elif at == "judge":
            good = state.swapped == OTHER
            yield state.to(changer="close" if good else
                                 "begin" if counted else "put back")
        elif at == "begin":
            yield state.to(begun=1, disturbed=True, changer="put back")
        elif at == "put back":
            yield state.to(swapped=state.name1, name1=state.swapped,
                                 changer="end" if counted else "close")
        elif at == "end":
            yield state.to(begun=0, changer="close")
        elif at == "close":
            yield state.to(swapped=None, changer="idle")

    # Rewriting: name1 has what is to be replaced, unless a publisher was there.

    def rewrite(self, state):
        at = state.rewriter
        if at in ("end", "killed"):
            return
        left = state.left or (NEEDS if state.rewritten == NEEDS else None)
        yield state.to(rewriter="killed", rewritten=None, left=left)
        early = not self.has("the rewriter's draft before its look")
        if at == "place":
            yield state.to(pack=PACKS, rewriter="look" if early else "draft")
        elif at == "draft":
            looks = not early and self.has("the rewriter's look")
            yield state.to(rewritten=COPY, rewriter="look" if looks else "swap")
        elif at == "look":
            yield state.to(rewriter={PACKS: "draft" if early else "swap",
                                     TRASH: "bring back", GONE: "close"}[state.pack])
        elif at == "bring back":
            back = {"pack": PACKS} if state.pack == TRASH else {}
            yield state.to(**back, rewriter="look")
        elif at == "swap" and not state.rewritten:
            yield state.to(rewriter="end")  # expired
        elif at == "swap":
            yield state.to(rewritten=state.name1, name1=state.rewritten,
                           rewriter="judge")
        else:
            yield self.judge_swap(state)

    def judge_swap(self, state):
        at = state.rewriter
        if at == "judge":
            good = state.rewritten == OTHER or not self.has("putting back")
            return state.to(rewriter="close" if good else "begin")
        if at == "begin":
            return state.to(begun=1, disturbed=True, rewriter="put back")
        if at == "put back":
            return state.to(rewritten=state.name1, name1=state.rewritten,
                            rewriter="finish")
        if at == "finish":
            return state.to(begun=0, rewriter="close")
        return state.to(rewritten=None, rewriter="end")

    # Evicting: all that is in the directory when it is moved is old. Another that
    # is made in its place has room for what is linked back.

    def evict(self, state):
        at = state.evictor
        if at == "idle":
            if not state.away and (state.here or state.name1):
                old = NEEDS if NEEDS in (state.here, state.name1) else OTHER
                opened = "away" if state.opened == "there" else state.opened
                yield state.to(away=True, here=None, name1=None, old1=old,
                               opened=opened, evictor="clear")
            elif state.away:  # what a killed one has left
                yield state.to(evictor="clear")
            return
        yield state.to(evictor="idle", back=None, left=state.left or state.back)
        if at == "clear":
            if state.old1:
                yield state.to(old1=None)
            elif state.young1:
                link = state.young1 if self.has("its guard") else None
                yield state.to(back=link, evictor="link" if self.has(
                    "the link back") else "drop")
            else:
                opened = "gone" if state.opened == "away" else state.opened
                yield state.to(away=False, opened=opened, evictor="idle")
        elif at == "drop":
            yield state.to(young1=None, dropped=not state.name1, evictor="clear")
        elif at == "link":
            yield state.to(name1=state.name1 or state.young1, evictor="unlink")
        elif at == "unlink":
            yield state.to(young1=None, evictor="leave")
        elif at == "leave":
            stays = state.collecting and self.has("leaving its link")
            yield state.to(back=None, evictor="clear",
                           left=state.left or (state.back if stays else None))

    # Collecting

    def collect(self, state):
        at = state.collector
        if at == "idle":
            yield state.to(collecting=True, collector="expire")
            return
        yield state.to(collector="idle")  # killed, and superseded
        if at == "expire":
            yield from self.expire(state)
        elif at == "mark":
            if not state.begun:
                yield state.to(old=state.pack == TRASH, seen=False,
                                     disturbed=False, collector=0)
        elif isinstance(at, int):
            yield from self.read(state, at)
        elif at == "judge trash":
            yield self.judge_trash(state)
        elif at == "restore":
            yield state.to(pack=PACKS if state.pack == TRASH else state.pack,
                                 collector="judge packs")
        elif at == "delete":
            yield state.to(pack=GONE if state.pack == TRASH else state.pack,
                                 collector="judge packs")
        elif at == "judge packs":
            needless = state.pack == PACKS and not state.seen
            yield state.to(collector="set aside" if needless else "end")
        elif at == "set aside":
            aside = {"pack": TRASH, "old": False} if state.pack == PACKS else {}
            after = "end" if self.has("the second mark") else "delete"
            yield state.to(**aside, collector=after)
        elif at == "end":
            yield state.to(collector="mark")
            yield state.to(collecting=False, collector="idle")

    def expire(self, state):
        yield state.to(collector="mark")
        for slot in ("draft1", "draft2", "left", "trash"):
            if getattr(state, slot):
                yield state.to(**{slot: None})
        if state.rewritten == COPY:
            yield state.to(rewritten=None)
        if (state.begun and state.changer == "idle" and
                state.rewriter in ("place", "end", "killed")):
            yield state.to(begun=0)

    def read(self, state, at):
        seen = state.seen or getattr(state, self.order[at]) in (NEEDS, COPY)
        if at + 1 < len(self.order):
            yield state.to(seen=seen, collector=at + 1)
        elif state.begun or state.disturbed:
            yield state.to(seen=seen, collector="mark")
        else:
            yield state.to(seen=seen, collector="judge trash")

    def judge_trash(self, state):
        if state.pack != TRASH:
            return state.to(collector="judge packs")
        if state.seen:
            return state.to(collector="restore")
        return state.to(collector="delete" if state.old else "judge packs")

    # What must hold

    def is_lost(self, state):
        """A manifest that shows names a pack that is gone."""
        if state.dropped and state.publisher1 == "done" and not state.name1:
            return True
        if state.pack != GONE:
            return False
        if NEEDS in (state.here, state.there, state.trash) or state.name1 == COPY:
            return True
        return any(getattr(state, f"name{n}") == NEEDS and
                   getattr(state, f"publisher{n}") == "done" for n in (1, 2))

    def is_torn(self, state):
        """The same, while the publisher may still notice."""
        shown = (state.here, state.there, state.trash, state.name1, state.name2)
        return (self.is_lost(state) or
                state.pack == GONE and (NEEDS in shown or COPY in shown))

    def is_undone(self, state):
        """A rewriter has ended, by itself, and what was published is not shown."""
        return (state.rewriter == "end" and state.publisher1 == "done" and
                state.name1 != NEEDS)


def explore(protocol, is_bad, limit=5000000):
    """(how many states, the way to the first bad one or None)."""
    start = protocol.start()
    came_from = {start: None}
    frontier = [start]
    while frontier:
        following = []
        for state in frontier:
            for after in protocol.steps(state):
                if after in came_from:
                    continue
                came_from[after] = state
                if is_bad(after):
                    return len(came_from), way_to(after, came_from)
                following.append(after)
        if len(came_from) > limit:
            raise AssertionError(f"expected at most {limit} states")
        frontier = following
    return len(came_from), None


def way_to(state, came_from):
    """What changed in each step, one line a step."""
    lines = []
    while came_from[state]:
        before = came_from[state]
        lines.append(", ".join(f"{field}={now}" for field, then, now in
                               zip(FIELDS, before, state) if then != now))
        state = before
    return lines[::-1]
