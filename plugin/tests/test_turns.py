"""Open turns and what the hooks gather; messages and their edits."""

from __future__ import annotations

import unittest
from unittest import mock

from support import LANE, OTHER

from iris.sent import Sent, SentMessages
from iris.turns import Turn, Turns


def turn(trigger: str | None = "m_u", source: str = "user", event: object = None) -> Turn:
    return Turn(LANE, trigger, source, event or object(), "key")


class TurnsTest(unittest.TestCase):
    def test_which_turn(self) -> None:
        turns, first, command = Turns(), turn("m_1"), turn("m_2", "command")
        turns.start(first)
        turns.start(command)
        self.assertIs(turns.of(LANE), first)  # the agent's, though the command is newer
        self.assertIs(turns.of(LANE, "m_2"), command)
        self.assertIs(turns.of(LANE, "m_unknown"), first)
        self.assertIsNone(turns.of(OTHER))
        self.assertEqual(turns.with_key("key"), [first, command])
        self.assertIs(turns.end(LANE, first.event), first)
        self.assertIs(turns.of(LANE), command)
        self.assertIs(turns.end(LANE, object()), command)
        self.assertIsNone(turns.end(LANE, object()))
        self.assertEqual(turns.all_of(LANE), [])

    def test_outcome(self) -> None:
        for set_up, arguments, expected in (
            ({}, (False, False), "completed"),
            ({"error": "500"}, (False, False), "failed"),
            ({}, (False, True), "failed"),
            ({}, (True, False), "stopped"),
            ({"stopped": True}, (False, False), "stopped"),
            ({"interrupted": True, "error": "x"}, (False, False), "stopped"),
        ):
            t = turn()
            for name, value in set_up.items():
                setattr(t, name, value)
            self.assertEqual(t.outcome(*arguments), expected)

    def test_footer_is_of_the_last_answer(self) -> None:
        t = turn()
        t.begin_answer("vendor/big-model")
        t.output_tokens, t.error = 10, "gone"
        t.reasoning.append("old")
        t.begin_answer("")
        t.reasoning += ["a", "b"]
        t.output_tokens += 5
        body = t.end_body(t.outcome(False, False), {"cwd": "~"})
        self.assertEqual((body["outcome"], body["tokens"], body["reasoning"]), ("completed", 5, "a\n\nb"))
        self.assertEqual((body["runtime"]["model"], body["runtime"]["cwd"]), ("big-model", "~"))
        self.assertNotIn("error", body)
        self.assertLess(body["runtime"]["latency"], 60)
        t.error = "500"
        self.assertEqual(t.end_body(t.outcome(False, False), {})["error"], "500")

    def test_a_turn_starts_with_an_empty_footer(self) -> None:
        body = turn().end_body("completed", {})
        self.assertEqual((body["tokens"], body["reasoning"]), (0, ""))
        self.assertNotIn("model", body["runtime"])

    def test_tools_are_numbered_by_call(self) -> None:
        t = turn()
        self.assertEqual(t.number("c_1", "a", {}, "").index, 1)
        self.assertEqual(t.number("c_2", "b", {}, "").index, 2)
        self.assertEqual(t.number("c_1", "a", {}, "").index, 1)


class SentTest(unittest.TestCase):
    def test_second_final_edit_is_no_event(self) -> None:
        sent = SentMessages()
        sent.add("m_1", Sent(LANE, "tn_1", "m_u"))
        began = sent.get("m_1").began  # type: ignore[union-attr]
        self.assertIsNotNone(sent.edited("m_1", LANE, None, "a", False))
        self.assertIsNone(sent.edited("m_1", LANE, None, "a", False))
        final = sent.edited("m_1", LANE, None, "a", True)
        self.assertEqual((final.turn, final.reply_to, final.began), ("tn_1", "m_u", began))  # type: ignore[union-attr]
        self.assertIsNone(sent.edited("m_1", LANE, None, "a", True))
        self.assertIsNotNone(sent.edited("m_1", LANE, None, "a rewrite", True))

    def test_the_oldest_are_forgotten(self) -> None:
        sent = SentMessages()
        with mock.patch("iris.sent.REMEMBERED", 2):
            for name in ("m_1", "m_2", "m_3"):
                sent.add(name, Sent(LANE, "tn_1", None))
        self.assertEqual([name for name, _ in sent.of_turn("tn_1")], ["m_2", "m_3"])

    def test_unknown_message(self) -> None:
        self.assertIsNotNone(SentMessages().edited("m_x", LANE, "tn_1", "a", False))


if __name__ == "__main__":
    unittest.main()
