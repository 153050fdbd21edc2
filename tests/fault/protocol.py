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
- a collector, that goes on for ever.
"""
import collections

# Where the pack is, and whether it was set aside before the mark began; the slots:
# drafts of two publishers, a guard's link that is held, one that was left, a name
# in two directories, the trash, names that the publishers give, the draft of an
# exchange; whether a directory's move (moves.h) is counted; how far everybody is.
FIELDS = ("pack", "old", "draft1", "draft2", "guard", "left", "here", "there", "trash",
          "name1", "name2", "swapped", "begun", "collecting", "seen", "disturbed",
          "publisher1", "publisher2", "mover", "changer", "collector")
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

INTENTS = ("draft1", "draft2", "guard", "left", "swapped")
REFS = ("here", "name1", "name2", "there")
ORDER = INTENTS + REFS + ("trash",) + INTENTS


class Protocol:
    """The steps; `without` names one that is left out, and that must show."""

    def __init__(self, without=None, new=False, publishers=(1, 2), moves=True,
                 changes=False):
        self.without = without
        self.new = new  # the first publisher places the pack
        self.publishers = publishers
        self.moves = moves
        self.changes = changes
        self.order = self.mark_order()

    def has(self, step):
        return self.without != step

    def mark_order(self):
        if self.without == "the order of the mark":
            return ("trash",) + REFS[::-1] + INTENTS
        if self.without == "the second look into intents":
            return ORDER[:-len(INTENTS)]
        if self.without == "intents":
            return REFS + ("trash",)
        return ORDER

    def start(self):
        state = State(*[None] * len(FIELDS)).to(
            pack=None if self.new else PACKS, old=False, begun=0, collecting=False,
            seen=False, disturbed=False, publisher1="find", publisher2="find",
            mover="idle", changer="idle", collector="idle")
        return state if self.new else state.to(here=NEEDS)

    def steps(self, state):
        """Every state that one step leads to."""
        for number in self.publishers:
            yield from self.publish(state, number)
        if self.moves:
            yield from self.move(state)
        if self.changes:
            yield from self.change(state)
        yield from self.collect(state)

    # Publishing

    def publish(self, state, number):
        at = getattr(state, f"publisher{number}")
        places = self.new and number == 1
        if at in ("done", "end"):
            return
        where, draft, name = f"publisher{number}", f"draft{number}", f"name{number}"
        if places and not self.changes:
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
        if state.begun and state.changer == "idle":
            yield state.to(begun=0)

    def read(self, state, at):
        seen = state.seen or getattr(state, self.order[at]) == NEEDS
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
        if state.pack != GONE:
            return False
        if NEEDS in (state.here, state.there, state.trash):
            return True
        return any(getattr(state, f"name{n}") == NEEDS and
                   getattr(state, f"publisher{n}") == "done" for n in (1, 2))

    def is_torn(self, state):
        """The same, while the publisher may still notice."""
        return state.pack == GONE and NEEDS in (state.here, state.there, state.trash,
                                                state.name1, state.name2)


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
