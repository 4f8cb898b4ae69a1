"""hello.turns: what runs, with every message whose end is still to come."""

from __future__ import annotations

import json
import unittest
from pathlib import Path
from typing import Any

from support import LANE, edit, event

from iris.events import Event
from iris.recap import Recap

# The gateway's own example of a hello, with every field that it reads.
GOLDEN_HELLO = Path(__file__).parents[2] / "handlers" / "link" / "testdata" / "hello.json"


class RecapTest(unittest.TestCase):
    def setUp(self) -> None:
        self.recap = Recap()
        self.seq = 0
        self.do(event("turn.start", source="user"))

    def do(self, *events: Event) -> None:
        for e in events:
            if e.durable:
                self.seq += 1
            self.recap.apply(e, self.seq if e.durable else None)

    def turn(self) -> dict[str, Any]:
        return self.recap.snapshot()[0]

    def messages(self) -> dict[str, str]:
        return {m["message_id"]: m["text"] for m in self.turn()["messages"]}

    def stream(self, text: str, message: str = "m_1") -> Event:
        return event("send", message_id=message, text=text, streaming=True, notify=False)

    def test_text_so_far(self) -> None:
        self.do(self.stream("a"), edit("ab"))
        self.assertEqual(self.messages(), {"m_1": "ab"})
        self.do(edit("abc", final=True))  # final is not over: the footer is still to come
        self.assertEqual(self.messages(), {"m_1": "abc"})
        self.assertGreater(self.turn()["messages"][0]["began"], 0)
        self.assertEqual((self.turn()["source"], self.turn()["thread_id"]), ("user", None))

    def test_beat_is_listed_until_its_end_is_acked(self) -> None:
        self.do(self.stream("look"), event("model.end", finish_reason="tool_calls", text="looking"))
        end = self.seq
        self.do(edit("looking", final=True), self.stream("answer", "m_2"))
        self.assertEqual(self.messages(), {"m_1": "looking", "m_2": "answer"})
        self.recap.ack(end - 1)
        self.assertIn("m_1", self.messages())
        self.recap.ack(end)
        self.assertEqual(self.messages(), {"m_2": "answer"})

    def test_beat_that_is_sent_after_its_call(self) -> None:
        self.do(event("model.end", finish_reason="tool_calls", text="Short."))
        end = self.seq
        self.do(self.stream("Short. ▉"))
        self.assertEqual(list(self.messages()), ["m_1"])
        self.recap.ack(end)
        self.assertEqual(self.messages(), {})
        self.do(self.stream("Short. And the answer", "m_2"))
        self.assertEqual(list(self.messages()), ["m_2"])

    def test_call_without_text_ends_no_later_message(self) -> None:
        self.do(event("model.end", finish_reason="tool_calls", text=""))
        self.recap.ack(self.seq)
        self.do(self.stream("answer"))
        self.assertEqual(list(self.messages()), ["m_1"])

    def test_next_answer_ends_the_last(self) -> None:
        self.do(self.stream("one"), event("model.end", finish_reason="stop", text="one", reasoning="why"))
        self.assertEqual(self.turn()["reasoning"], "why")
        self.do(event("model.start", text="second question"))
        self.recap.ack(self.seq)
        self.assertEqual(self.messages(), {})
        self.assertEqual(self.turn()["reasoning"], "")

    def test_non_streamed_answer_waits_for_its_footer(self) -> None:
        def send(message: str, notify: bool, immediate: bool = False) -> Event:
            return event(
                "send", message_id=message, text="x", streaming=False, notify=notify, immediate=immediate
            )

        self.do(
            send("m_ack", notify=False), send("m_now", notify=True, immediate=True), send("m_a", notify=True)
        )
        self.assertEqual(list(self.messages()), ["m_a"])

    def test_tools(self) -> None:
        start = event(
            "tool.start", call="c_1", index=1, name="terminal", args={"command": "ls"}, preview="ls"
        )
        self.do(start)
        tool = {"call": "c_1", "index": 1, "name": "terminal", "args": {"command": "ls"}}
        self.assertEqual(self.turn()["tools"], [tool])
        self.do(event("tool.end", call="c_1", ok=True))
        self.assertEqual(self.turn()["tools"], [])

    def test_delete_and_end(self) -> None:
        self.do(self.stream("a"), event("delete", message_ids=["m_1"]))
        self.assertEqual(self.messages(), {})
        self.do(event("turn.end"))
        end = self.seq
        self.do(event("tool.end", call="late"), edit("late"))  # trails in: no harm
        self.recap.ack(end)
        self.assertEqual(self.recap.snapshot(), [])
        self.do(event("tool.end", call="later"))
        self.assertEqual(self.recap.snapshot(), [])

    def test_turn_is_listed_as_it_stood_until_its_end_is_acked(self) -> None:
        self.do(self.stream("a"), edit("ab", final=True))
        before = self.turn()
        self.do(event("turn.end"))
        end = self.seq
        self.do(edit("trails in"), event("turn.start", "tn_2", source="user"))
        self.assertEqual(self.turn(), {**before, "ended": end})
        self.recap.ack(end - 1)
        self.assertEqual([t["turn"] for t in self.recap.snapshot()], ["tn_1", "tn_2"])
        self.recap.ack(end)
        self.assertEqual([t["turn"] for t in self.recap.snapshot()], ["tn_2"])

    def test_of_many_turns_that_are_over_the_oldest_are_listed(self) -> None:
        self.do(event("turn.end"))
        for i in range(1000):
            self.do(event("turn.start", f"tn_x{i}", source="user"), event("turn.end", f"tn_x{i}"))
        self.do(event("turn.start", "tn_now", source="user"))
        turns = [t["turn"] for t in self.recap.snapshot()]
        self.assertEqual((len(turns), turns[:2], turns[-1]), (51, ["tn_1", "tn_x0"], "tn_now"))

    def test_what_a_message_answers_and_whether_it_was_streamed(self) -> None:
        self.do(
            event("send", message_id="m_1", text="x", streaming=True, reply_to="m_u"),
            event("send", message_id="m_2", text="y", streaming=False, notify=True, reply_to="m_u"),
        )
        streamed, whole = self.turn()["messages"]
        self.assertEqual((streamed["reply_to"], "streamed" in streamed), ("m_u", False))
        self.assertEqual((whole["reply_to"], whole["streamed"]), ("m_u", False))

    def test_open_prompts(self) -> None:
        for prompt, kind in (("pr_1", "approval"), ("pr_2", "clarify"), ("pr_3", "model")):
            self.do(Event("prompt", LANE, {"prompt_id": prompt, "kind": kind}, "tn_1"))
        self.do(event("prompt.closed", prompt_id="pr_1"))
        self.assertEqual(self.turn()["prompts"], ["pr_2"])


if __name__ == "__main__":
    unittest.main()

    def test_the_gateway_reads_every_field(self) -> None:
        turns = json.loads(GOLDEN_HELLO.read_text(encoding="utf-8"))["turns"]
        known = {key for turn in turns for key in turn}
        known_of_messages = {key for turn in turns for message in turn["messages"] for key in message}
        self.do(event("send", message_id="m_9", text="whole", notify=True, reply_to="m_0"), self.stream("a"))
        self.do(event("turn.end"))
        turn = self.turn()
        self.assertLessEqual(set(turn), known)
        self.assertLessEqual({key for message in turn["messages"] for key in message}, known_of_messages)
        self.assertIn("ended", turn)
