# SPDX-License-Identifier: Apache-2.0
"""All orders in which publishers, movers and a collector can make their steps.

The model is protocol.py. What it says of the protocol without one of its steps
says that the model can tell.
"""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import protocol  # noqa: E402

LONG = os.environ.get("TACFS_LONG") == "1"


class Explored(unittest.TestCase):
    def explore(self, torn=True, undone=False, **keywords):
        model = protocol.Protocol(**keywords)
        is_bad = (model.is_undone if undone else model.is_torn if torn else
                  model.is_lost)
        count, way = protocol.explore(model, is_bad)
        print(f"\n  {count} states", end="")
        return way

    def assertSafe(self, **keywords):
        way = self.explore(**keywords)
        self.assertIsNone(way, "expected no lost pack, seen one after:\n"
                          + "\n".join(way or ()))

    def assertUnsafe(self, **keywords):
        self.assertIsNotNone(self.explore(**keywords),
                             f"expected a lost pack with {keywords}")


class Protocol(Explored):
    """No name ever shows what needs a pack that is gone."""

    def test_one_reuses_what_another_moves(self):
        self.assertSafe(publishers=(1,))

    def test_a_new_pack_while_it_is_moved(self):
        self.assertSafe(publishers=(1,), new=True)

    def test_two_publish_and_one_changes(self):
        self.assertSafe(new=True, changes=True, moves=False)

    def test_one_rewrites_what_another_publishes(self):
        self.assertSafe(rewrites=True, publishers=(1,), moves=False)
        self.assertSafe(rewrites=True, publishers=(1,), moves=False, undone=True)

    def test_one_reuses_what_another_evicts(self):
        self.assertSafe(publishers=(1,), moves=False, evicts=True)

    def test_a_new_pack_is_published_while_its_directory_is_evicted(self):
        self.assertSafe(publishers=(1,), new=True, moves=False, evicts=True)

    @unittest.skipUnless(LONG, "takes minutes: TACFS_LONG=1")
    def test_two_reuse_what_another_moves(self):
        self.assertSafe()

    @unittest.skipUnless(LONG, "takes minutes: TACFS_LONG=1")
    def test_one_reuses_what_another_has_placed(self):
        self.assertSafe(new=True)


class Mutants(Explored):
    """Each of these steps is needed."""

    def test_moving(self):
        for step in ("the guard's link", "leaving the link",
                     "the second look into intents"):
            with self.subTest(step):
                self.assertUnsafe(publishers=(1,), without=step)

    def test_marking(self):
        for step in ("the order of the mark", "intents", "the second mark"):
            with self.subTest(step):
                self.assertUnsafe(publishers=(1,), without=step)

    def test_publishing(self):
        for step in ("the draft before the look", "the first look"):
            with self.subTest(step):
                self.assertUnsafe(publishers=(1,), without=step)

    def test_changing(self):
        self.assertUnsafe(publishers=(1,), new=True, changes=True, moves=False,
                          without="counting what is put back")

    def test_rewriting(self):
        for step in ("the rewriter's draft before its look", "the rewriter's look"):
            with self.subTest(step):
                self.assertUnsafe(rewrites=True, publishers=(), moves=False,
                                  without=step)
        self.assertUnsafe(rewrites=True, publishers=(1,), moves=False, undone=True,
                          without="putting back")

    def test_evicting(self):
        for step in ("what is being evicted", "its guard", "leaving its link",
                     ("the look for it", "the link back")):
            with self.subTest(step):
                self.assertUnsafe(publishers=(1,), new=True, moves=False, evicts=True,
                                  without=step)

    def test_a_look_or_a_link_back_is_enough(self):
        for step in ("the look for it", "the link back"):
            with self.subTest(step):
                self.assertSafe(publishers=(1,), new=True, moves=False, evicts=True,
                                without=step)

    def test_either_look_is_enough_in_the_end(self):
        """With the second alone a name may show what is lost, but not for long."""
        self.assertSafe(publishers=(1,), without="the second look")
        self.assertSafe(publishers=(1,), without="the first look", torn=False)
        self.assertUnsafe(publishers=(1,), without="both looks", torn=False)


if __name__ == "__main__":
    unittest.main(verbosity=2)
