"""Open prompts: which are shown, answered, closed."""

from __future__ import annotations

import asyncio
import unittest
from typing import Any

from support import LANE, OTHER

from iris.events import Event, now_ms
from iris.prompts import Prompt, Prompts, meaning


class PromptsTest(unittest.TestCase):
    def setUp(self) -> None:
        self.events: list[Event] = []
        self.prompts = Prompts(self.events.append)
        self.taken: list[tuple[str | None, str]] = []
        self.alive = True

    def take(self, value: str | None, text: str) -> bool:
        self.taken.append((value, text))
        return self.alive

    def ask(self, kind: str, key: str = "key", lane: Any = LANE, **fields: Any) -> Prompt:
        body = {
            name: fields.pop(name)
            for name in ("title", "allow_text", "choices", "providers")
            if name in fields
        }
        body.setdefault("choices", [{"value": v} for v in ("once", "always", "deny")])
        prompt = Prompt(kind, lane, key, body, self.take, turn="tn_1", **fields)
        self.prompts.ask(prompt)
        return prompt

    def approval(self, call: str, key: str = "key") -> Prompt:
        self.prompts.approval_asked(key, call)
        return self.ask("approval", key)

    def answer(self, prompt: Prompt, value: str | None, text: str = "") -> str:
        error, _ = asyncio.run(self.prompts.answer(prompt.id, value, text))
        return error

    def told(self) -> list[tuple[Any, ...]]:
        """What was said: (kind, prompt) or (why, prompt, value or text)."""
        out: list[tuple[Any, ...]] = []
        for event in self.events:
            b = event.body
            if event.kind == "prompt":
                out.append((b["kind"], b["prompt_id"]))
            else:
                out.append((b["why"], b["prompt_id"], b.get("value", b.get("text"))))
        return out

    def test_answered_once(self) -> None:
        p = self.approval("c_1")
        self.assertEqual(self.events[0].body["call"], "c_1")
        self.assertEqual(self.answer(p, "once"), "")
        self.assertEqual(self.told(), [("approval", p.id), ("answered", p.id, "once")])
        self.assertEqual(self.answer(p, "deny"), "expired")
        self.prompts.approval_over("key", "c_1", "once", False)
        self.assertEqual((len(self.events), self.taken), (2, [("once", "")]))

    def test_unknown_prompt(self) -> None:
        self.assertEqual(asyncio.run(self.prompts.answer("pr_old", "once", "")), ("expired", None))

    def test_what_is_no_answer_changes_nothing(self) -> None:
        p = self.ask("approval")
        self.assertEqual(self.answer(p, "perhaps"), "not one of the choices")
        self.assertEqual(self.answer(p, None, "yes"), "choose one of the choices")
        self.assertEqual((self.taken, len(self.events)), ([], 1))
        self.assertEqual(self.answer(p, "once"), "")

    def test_hermes_waits_no_longer(self) -> None:
        p = self.ask("approval")
        self.alive = False
        self.assertEqual(self.answer(p, "once"), "expired")
        self.assertEqual(self.told()[-1], ("expired", p.id, None))

    def test_only_the_oldest_approval_of_a_session_is_shown(self) -> None:
        a, b, c = self.approval("c_1"), self.approval("c_2"), self.approval("c_3", "other")
        self.assertEqual(self.told(), [("approval", a.id), ("approval", c.id)])
        self.assertEqual(self.answer(b, "once"), "expired")  # nobody can know it
        self.prompts.approval_over("key", "c_1", "deny", False)
        self.assertEqual(self.told()[2:], [("answered", a.id, "deny"), ("approval", b.id)])

    def test_hermes_decides_which_is_the_oldest(self) -> None:
        first = [False]
        self.prompts.approval_asked("key", "c_1", "rm a")
        self.prompts.approval_asked("key", "c_2", "rm b")
        b = Prompt("approval", LANE, "key", {"command": "rm b"}, self.take, next=lambda: first[0])
        self.prompts.ask(b)
        self.assertEqual((b.ref, self.events), ("c_2", []))
        a = Prompt("approval", LANE, "key", {"command": "rm a"}, self.take)
        self.prompts.ask(a)
        self.assertEqual((a.ref, self.told()), ("c_1", [("approval", a.id)]))
        first[0] = True
        self.prompts.approval_over("key", "c_1", "once", False)
        self.assertEqual(self.told()[1:], [("answered", a.id, "once"), ("approval", b.id)])

    def test_hidden_approval_that_times_out_is_never_told(self) -> None:
        a, _ = self.approval("c_1"), self.approval("c_2")
        self.prompts.approval_over("key", "c_2", "timeout", False)
        self.prompts.approval_over("key", "c_1", "timeout", False)
        self.assertEqual(self.told(), [("approval", a.id), ("expired", a.id, None)])

    def test_approval_that_a_stop_denied(self) -> None:
        a, b = self.approval("c_1"), self.approval("c_2")
        self.prompts.approval_over("key", "c_1", "deny", True)
        self.assertEqual(self.told()[1:], [("turn ended", a.id, None), ("approval", b.id)])

    def test_approval_without_a_prompt_leaves_no_call_behind(self) -> None:
        self.prompts.approval_asked("key", "c_1")
        self.prompts.approval_over("key", "c_1", "deny", False)
        self.assertEqual(self.approval("c_2").ref, "c_2")

    def test_turn_takes_its_questions_along(self) -> None:
        a, _, c = self.approval("c_1"), self.approval("c_2"), self.ask("clarify", ref="cl")
        model = self.ask("model", providers=[])
        self.prompts.turn_over("tn_1")
        ends = [t for t in self.told() if t[0] == "turn ended"]
        self.assertEqual({t[1] for t in ends}, {a.id, c.id})
        self.assertEqual(sum(t[0] == "approval" for t in self.told()), 1)
        self.assertTrue(self.prompts.waiting(LANE, "model"))
        self.assertFalse(self.prompts.waiting(OTHER, "model"))
        self.assertEqual(model.turn, "tn_1")

    def test_clarify(self) -> None:
        choices = [{"value": "red", "label": "red"}]
        for result, stopped, said in (
            ('{"user_response":"red"}', False, ("answered", "red", None)),
            ('{"user_response":"mauve"}', False, ("answered", None, "mauve")),
            ('{"user_response":"[user did not respond within 60m]"}', False, ("expired", None, None)),
            ('{"user_response":"red"}', True, ("turn ended", None, None)),
            ("not JSON", False, ("expired", None, None)),
        ):
            self.ask("clarify", choices=choices, allow_text=True, expires_at=now_ms() + 60_000)
            self.prompts.clarify_over("tn_other", result, stopped)
            self.prompts.clarify_over("tn_1", result, stopped)
            body = self.events[-1].body
            self.assertEqual((body["why"], body.get("value"), body.get("text")), said)
        self.assertEqual(len(self.events), 10)

    def test_clarify_answered_by_a_text(self) -> None:
        p = self.ask("clarify", choices=[], allow_text=True)
        self.assertEqual(self.answer(p, None), "choose one of the choices")
        self.assertEqual(self.answer(p, None, "Ada"), "")
        self.assertEqual((self.taken, self.told()[-1]), ([(None, "Ada")], ("answered", p.id, "Ada")))
        self.prompts.clarify_over("tn_1", '{"user_response":"Ada"}', False)
        self.assertEqual(len(self.events), 2)

    def test_confirmation_that_was_typed(self) -> None:
        p = self.ask("confirm", ref="1")
        self.prompts.confirm_over("key", "1", "/new")
        self.assertEqual(len(self.events), 1)
        self.prompts.confirm_over("key", "", "/approve")
        self.assertEqual(self.told()[-1], ("answered", p.id, "once"))
        p = self.ask("confirm", ref="2")
        self.prompts.confirm_over("key", "", "/model x")
        self.assertEqual(self.told()[-1], ("expired", p.id, None))

    def test_what_typed_replies_mean(self) -> None:
        for typed, value in (
            ("/approve", "once"),
            ("ALWAYS", "always"),
            ("/no thanks", "cancel"),
            ("hm", None),
        ):
            self.assertEqual(meaning(typed), value)

    def test_newer_one_takes_the_place(self) -> None:
        old = [
            self.ask("confirm", ref="1", title="/new"),
            self.ask("choice", title="Effort\nnow: low"),
            self.ask("model", providers=[]),
        ]
        kept = self.ask("choice", title="Voice")
        for kind, more in (
            ("confirm", {"title": "/undo"}),
            ("choice", {"title": "Effort\nnow: high"}),
            ("model", {"providers": []}),
        ):
            self.ask(kind, **more)
        ends = [t[1] for t in self.told() if t[0] == "expired"]
        self.assertEqual(ends, [p.id for p in old])
        self.assertNotIn(kept.id, ends)

    def test_model_is_answered_by_provider_and_model(self) -> None:
        said: list[str] = []

        async def follow(value: str) -> object:
            said.append(value)
            return "switched"

        p = Prompt(
            "model",
            LANE,
            "key",
            {"providers": [{"id": "or", "models": [{"id": "vendor/m"}]}]},
            self.take,
            follow,
        )
        self.prompts.ask(p)
        self.assertEqual(self.answer(p, "vendor/m"), "not one of the choices")
        self.assertEqual(asyncio.run(self.prompts.answer(p.id, "or/vendor/m", "")), ("", "switched"))
        self.assertEqual(said, ["or/vendor/m"])


if __name__ == "__main__":
    unittest.main()
