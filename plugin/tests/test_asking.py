"""hermes' own prompts through the adapter: the bodies, and hermes' resolvers behind the answers."""

from __future__ import annotations

import asyncio
import unittest
from types import SimpleNamespace
from typing import Any
from unittest import mock

from support import LANE, needs_hermes
from test_adapter import AdapterCase, runner

from iris import hermes
from iris.events import now_ms
from iris.lanes import Lane
from iris.spool import Inbound

CHAT, KEY = "android~default", "agent:main:iris:dm:android~default"


@needs_hermes
class AskingTest(AdapterCase):
    def body(self) -> dict[str, Any]:
        body = dict(self.last().body)
        self.assertEqual(self.last().kind, "prompt")
        self.assertTrue(body.pop("prompt_id").startswith("pr_"))
        return body

    async def answer(self, value: str | None, text: str = "", lane: Lane = LANE) -> str:
        prompts = [e.body["prompt_id"] for e in self.events if e.kind == "prompt"]
        body = {"prompt_id": prompts[-1], "value": value, "text": text}
        return await asyncio.create_task(
            self.adapter.answer(Inbound(1, 0, 1, "answer", lane, body)), name="iris-in-1-0"
        )

    def waiting(self, command: str) -> Any:
        from tools import approval

        entry = approval._ApprovalEntry({"command": command})
        approval._gateway_queues.setdefault(KEY, []).append(entry)
        self.addCleanup(approval._gateway_queues.pop, KEY, None)
        return entry

    async def test_approval(self) -> None:
        first, second = self.waiting("rm a"), self.waiting("rm b")
        self.adapter.hooks.pre_approval_request(session_key=KEY, surface="gateway", tool_call_id="c_1")
        result = await self.adapter.send_exec_approval(CHAT, "rm a", KEY, "delete", allow_permanent=False)
        self.assertTrue(result.success)
        body = self.body()
        self.assertGreater(body.pop("expires_at"), now_ms())
        choices = [{"value": "once"}, {"value": "session"}, {"value": "deny"}]
        expected = {"kind": "approval", "command": "rm a", "description": "delete", "call": "c_1"}
        self.assertEqual(body, {**expected, "choices": choices})
        await self.adapter.send_exec_approval(CHAT, "rm b", KEY, smart_denied=True)
        self.assertEqual(len(self.events), 1)
        self.assertEqual(await self.answer("session"), "")
        self.assertEqual((first.result, second.result), ("session", None))
        self.assertEqual([e.kind for e in self.events], ["prompt", "prompt.closed", "prompt"])
        self.assertEqual(self.body()["choices"], [{"value": "once"}, {"value": "deny"}])

    async def test_approval_for_one_command_is_not_given_to_another(self) -> None:
        from tools import approval

        self.waiting("rm a")
        await self.adapter.send_exec_approval(CHAT, "rm a", KEY)
        second = self.waiting("rm b")
        approval.resolve_gateway_approval(KEY, "deny")  # typed; the hook that tells is on its way
        self.assertEqual(await self.answer("once"), "expired")
        self.assertIsNone(second.result)

    async def test_approvals_that_are_asked_in_another_order(self) -> None:
        first, second = self.waiting("rm a"), self.waiting("rm b")
        await self.adapter.send_exec_approval(CHAT, "rm b", KEY)
        self.assertEqual(self.events, [])
        await self.adapter.send_exec_approval(CHAT, "rm a", KEY)
        self.assertEqual(self.body()["command"], "rm a")
        self.assertEqual(await self.answer("deny"), "")
        self.assertEqual((first.result, self.body()["command"]), ("deny", "rm b"))
        self.assertEqual(await self.answer("once"), "")
        self.assertEqual(second.result, "once")

    async def test_words_that_answer_an_approval(self) -> None:
        self.assertFalse(self.adapter.awaited(LANE, "Yes"))
        self.waiting("rm a")
        await self.adapter.send_exec_approval(CHAT, "rm a", KEY)
        self.assertTrue(self.adapter.awaited(LANE, "Yes"))
        self.assertFalse(self.adapter.awaited(LANE, "yes but first tell me why"))

    async def test_clarify(self) -> None:
        from tools import clarify_gateway

        entry = clarify_gateway.register("cl_1", KEY, "Which?", ["red", "x" * 2000])
        self.addCleanup(clarify_gateway.clear_session, KEY)
        await self.adapter.send_clarify(CHAT, "Which?", ["red", "x" * 2000], "cl_1", KEY)
        body = self.body()
        self.assertEqual(body["choices"][0], {"value": "red", "label": "red"})
        self.assertEqual(body["choices"][1], {"value": "choice 2", "label": "x" * 2000})
        self.assertEqual((body["question"], body["allow_text"]), ("Which?", True))
        self.assertEqual(await self.answer("choice 2"), "")
        self.assertEqual(entry.response, "x" * 2000)
        self.assertEqual(await self.answer("red"), "expired")

    async def test_a_message_answers_a_clarify_with_choices(self) -> None:
        from tools import clarify_gateway

        entry = clarify_gateway.register("cl_3", KEY, "Which?", ["red", "blue"])
        self.addCleanup(clarify_gateway.clear_session, KEY)
        await self.adapter.send_clarify(CHAT, "Which?", ["red", "blue"], "cl_3", KEY)
        self.assertTrue(clarify_gateway.resolve_text_response_for_session(KEY, "none of these"))
        self.assertEqual(entry.response, "none of these")

    async def test_choice_of_a_clarify_that_takes_several(self) -> None:
        from tools import clarify_gateway

        entry = clarify_gateway.register("cl_4", KEY, "Which?", ["red, dark", "blue"])
        self.addCleanup(clarify_gateway.clear_session, KEY)
        entry.multi_select = True  # of hermes 0.20.0
        await self.adapter.send_clarify(CHAT, "Which?", ["red, dark", "blue"], "cl_4", KEY)
        self.assertEqual(await self.answer("red, dark"), "")
        self.assertEqual(entry.response, '["red, dark"]')

    async def test_open_clarify(self) -> None:
        from tools import clarify_gateway

        entry = clarify_gateway.register("cl_2", KEY, "Name?", None)
        self.addCleanup(clarify_gateway.clear_session, KEY)
        await self.adapter.send_clarify(CHAT, "Name?", None, "cl_2", KEY, metadata={"thread_id": "t~1"})
        self.assertEqual((self.body()["choices"], self.last().lane), ([], Lane("android:default", "t:1")))
        self.assertTrue(entry.awaiting_text)
        self.assertEqual(await self.answer(None, "Ada"), "")
        self.assertEqual((entry.response, self.last().body["text"]), ("Ada", "Ada"))

    async def test_stop_releases_a_clarify_when_the_agent_knows(self) -> None:
        from tools import clarify_gateway

        entry = clarify_gateway.register("cl_3", KEY, "Which?", ["red"])
        self.addCleanup(clarify_gateway.clear_session, KEY)
        agent = SimpleNamespace(is_interrupted=False, interrupt=mock.Mock())
        self.adapter.gateway_runner = runner(KEY, agent)
        stop = asyncio.create_task(self.adapter.stop(LANE))
        await asyncio.sleep(0.1)
        self.assertFalse(entry.event.is_set())
        agent.is_interrupted = True  # hermes has looked
        await asyncio.wait_for(stop, 30)
        self.assertTrue(entry.event.is_set())
        agent.interrupt.assert_not_called()  # a second interrupt would hit the next message

    async def test_stop_of_an_agent_that_nobody_tells(self) -> None:
        from tools import clarify_gateway

        entry = clarify_gateway.register("cl_6", KEY, "Which?", ["red"])
        self.addCleanup(clarify_gateway.clear_session, KEY)
        self.adapter.gateway_runner = runner(KEY, SimpleNamespace(is_interrupted=False))
        with mock.patch("iris.serving.INTERRUPT", 0.1):
            await self.adapter.stop(LANE)
        self.assertTrue(entry.event.is_set())

    async def test_confirm(self) -> None:
        from tools import slash_confirm

        async def handler(choice: str) -> str:
            return f"did {choice}"

        for choice in ("once", "cancel"):
            slash_confirm.register(KEY, choice, "new", handler)
            await self.adapter.send_slash_confirm(CHAT, "/new", "Sure?", KEY, choice)
            body = self.body()
            self.assertGreater(body["expires_at"], now_ms() + 290_000)
            self.assertEqual((body["title"], body["text"]), ("/new", "Sure?"))
            self.assertEqual([c["value"] for c in body["choices"]], ["once", "always", "cancel"])
            self.adapter.prompts.confirm_over(KEY, hermes.confirm_pending(KEY), "a word meanwhile")
            self.assertEqual(self.last().kind, "prompt")  # hermes waits for it all the same
            self.assertEqual(await self.answer(choice), "")
            sent = self.last().body
            self.assertEqual(
                (sent["text"], sent["immediate"], sent["notify"]), (f"did {choice}", True, False)
            )
        self.assertEqual(await self.answer("once"), "expired")

    async def test_pickers(self) -> None:
        picked: list[tuple[str, ...]] = []

        async def on_choice(chat: str, value: str) -> str:
            picked.append((chat, value))
            return "set"

        async def on_model(chat: str, model: str, provider: str) -> str:
            picked.append((chat, model, provider))
            return "switched"

        choices = [{"value": "low", "label": "Low", "is_current": True, "odd": object()}]
        await self.adapter.send_choice_picker(CHAT, "Effort", choices, KEY, on_choice)
        offered = [{"value": "low", "label": "Low", "is_current": True}]
        self.assertEqual(self.body(), {"kind": "choice", "title": "Effort", "choices": offered})
        self.assertEqual(await self.answer("low"), "")
        providers = [{"slug": "or", "name": "Router", "models": ["vendor/m"], "api_url": "http://x"}]
        await self.adapter.send_model_picker(
            CHAT, providers, "m", "p", KEY, on_model, metadata={"thread_id": "t"}
        )
        body = {"kind": "model", "current_model": "m", "current_provider": "p"}
        models = [{"id": "vendor/m", "label": "vendor/m"}]
        self.assertEqual(
            self.body(), {**body, "providers": [{"id": "or", "label": "Router", "models": models}]}
        )
        self.assertEqual(await self.answer("or/vendor/m", lane=Lane("android:default", "t")), "")
        self.assertEqual(picked, [(CHAT, "low"), (CHAT, "vendor/m", "or")])
        sends = [(e.lane.thread_id, e.body["text"]) for e in self.events if e.kind == "send"]
        self.assertEqual(sends, [(None, "set"), ("t", "switched")])

    async def test_end_of_the_turn_closes_its_questions_first(self) -> None:
        from gateway.platforms.base import ProcessingOutcome

        event = await self.start()
        await self.adapter.send_clarify(CHAT, "Name?", None, "cl_9", KEY)
        await self.adapter.on_processing_complete(event, ProcessingOutcome.CANCELLED)
        self.assertEqual([e.kind for e in self.events[-2:]], ["prompt.closed", "turn.end"])
        self.assertEqual(self.events[-2].body["why"], "turn ended")


if __name__ == "__main__":
    unittest.main()
