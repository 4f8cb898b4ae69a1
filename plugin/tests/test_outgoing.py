"""The queue in front of the socket: thinning, order, replacement."""

from __future__ import annotations

import unittest

from support import LANE, OTHER, edit, event

from iris.events import Event
from iris.lanes import Lane
from iris.outgoing import EDIT_GAP, Outgoing


class OutgoingTest(unittest.TestCase):
    def setUp(self) -> None:
        self.now = 0.0
        self.woken = 0
        self.out = Outgoing(self.wake, lambda: self.now)

    def wake(self) -> None:
        self.woken += 1

    def push(self, *events: Event) -> None:
        for e in events:
            self.out.push(e, e.body.get("text") or e.kind)

    def drain(self) -> list[str]:
        frames = []
        while (frame := self.out.pop()) is not None:
            frames.append(frame)
        return frames

    def test_order_is_kept(self) -> None:
        self.push(event("turn.start"), event("send", text="s", streaming=True), edit("a"), event("model.end"))
        self.assertEqual(self.drain(), ["turn.start", "s", "a", "model.end"])
        self.assertTrue(self.out.empty)

    def test_unsent_edit_is_replaced_where_the_new_one_belongs(self) -> None:
        self.push(edit("a"), event("tool.end"), edit("ab"), edit("x", message="m_2"))
        self.assertEqual(self.drain(), ["tool.end", "ab", "x"])

    def test_ten_a_second_and_the_last_one_goes(self) -> None:
        sent = []
        for i in range(100):  # an edit each 20 ms, for 2 s
            self.push(edit(str(i)))
            sent += self.drain()
            self.now += 0.02
        self.assertLessEqual(len(sent), 20)
        self.assertGreaterEqual(len(sent), 16)
        wait = self.out.wait()
        if wait is not None:
            self.now += wait
            sent += self.drain()
        self.assertEqual(sent[-1], "99")
        self.assertTrue(self.out.empty)

    def test_held_edit_waits(self) -> None:
        self.push(edit("a"))
        self.drain()
        self.push(edit("ab"))
        self.assertEqual(self.drain(), [])
        self.assertFalse(self.out.empty)
        self.now += EDIT_GAP / 4
        wait = self.out.wait()
        assert wait is not None
        self.assertAlmostEqual(wait, EDIT_GAP * 3 / 4)
        self.now += wait
        self.assertEqual(self.drain(), ["ab"])
        self.assertIsNone(self.out.wait())

    def test_final_edit_supersedes_what_was_on_its_way(self) -> None:
        self.push(edit("a"))
        self.drain()
        self.push(edit("ab"), edit("abc", final=True))  # ab is held
        self.assertEqual(self.drain(), ["abc"])
        self.push(edit("x", message="m_2"), edit("xy", final=True, message="m_2"))  # x is queued
        self.assertEqual(self.drain(), ["xy"])

    def test_held_edit_goes_before_a_later_event_of_its_lane_only(self) -> None:
        self.push(edit("a"), edit("o", message="m_2", lane=OTHER))
        self.drain()
        self.push(edit("ab"), edit("op", message="m_2", lane=OTHER), event("model.end", lane=LANE))
        self.assertEqual(self.drain(), ["ab", "model.end"])
        self.now += EDIT_GAP
        self.assertEqual(self.drain(), ["op"])

    def test_control_goes_first_and_everything_wakes(self) -> None:
        self.push(event("answer"))
        self.out.control("received")
        self.assertEqual(self.drain(), ["received", "answer"])
        self.assertEqual(self.woken, 2)

    def test_full(self) -> None:
        for _ in range(5001):
            self.push(event("notice", lane=Lane("a")))
        self.assertTrue(self.out.full)


if __name__ == "__main__":
    unittest.main()
