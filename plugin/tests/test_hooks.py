"""Hooks → events: the lane, the turn, and what is no event."""

from __future__ import annotations

import unittest
from types import SimpleNamespace
from typing import Any
from unittest import mock

from support import LANE, OTHER

from iris import hermes
from iris.events import Event, now_ms
from iris.hooks import Hooks
from iris.prompts import Prompt, Prompts
from iris.turns import Turn, Turns

SESSION = {"session_id": "s_1", "task_id": "s_1"}


class HooksTest(unittest.TestCase):
    def setUp(self) -> None:
        self.events: list[Event] = []
        self.turns = Turns()
        self.turn = Turn(LANE, "m_u", "user", object(), "key")
        self.turns.start(self.turn)
        self.agent = SimpleNamespace(session_estimated_cost_usd=0.5, session_cost_status="estimated")
        runner = SimpleNamespace(_agent_cache={"key": (self.agent, 1)})
        self.prompts = Prompts(self.events.append)
        self.hooks = Hooks(self.events.append, self.turns, self.prompts, lambda: runner)
        self.env = {"PLATFORM": "iris", "CHAT_ID": "android~default", "THREAD_ID": "", "KEY": "key"}
        patch = mock.patch.object(hermes, "session_env", lambda name: self.env.get(name, ""))
        patch.start()
        self.addCleanup(patch.stop)

    def kinds(self) -> list[str]:
        return [e.kind for e in self.events]

    def model_end(self, **more: Any) -> None:
        message = SimpleNamespace(content="text", reasoning=None, reasoning_content="because")
        usage = {"input_tokens": 3, "output_tokens": 5, "cache_read_tokens": 7, "prompt_tokens": 10}
        self.hooks.post_api_request(
            **SESSION,
            platform="iris",
            assistant_message=message,
            usage=usage,
            finish_reason="stop",
            model="m",
            api_duration=1.5,
            **more,
        )

    def error(self, retry: int) -> None:
        self.hooks.api_request_error(
            **SESSION,
            platform="iris",
            status_code=500,
            reason="server_error",
            retryable=True,
            retry_count=retry,
            max_retries=3,
            error={"type": "E", "message": "boom"},
        )

    def test_a_turn(self) -> None:
        self.hooks.pre_llm_call(**SESSION, platform="iris", user_message="hi", model="m", unknown=1)
        self.model_end()
        self.hooks.post_llm_call(**SESSION, platform="iris", assistant_response="text")
        self.assertEqual(self.kinds(), ["model.start", "model.end", "answer"])
        start, end, answer = (e.body for e in self.events)
        self.assertEqual(start, {"text": "hi", "message_id": "m_u"})
        usage = {"input": 3, "output": 5, "cache_read": 7, "cache_write": 0, "reasoning": 0, "prompt": 10}
        self.assertEqual((end["usage"], end["duration"], end["reasoning"]), (usage, 1.5, "because"))
        self.assertEqual(answer, {"text": "text"})
        self.assertEqual({(e.lane, e.turn) for e in self.events}, {(LANE, self.turn.id)})
        self.assertEqual(
            (self.turn.output_tokens, self.turn.reasoning, self.turn.cost_before), (5, ["because"], 0.5)
        )

    def test_second_agent_turn_names_no_message(self) -> None:
        for text in ("one", "two"):
            self.hooks.pre_llm_call(**SESSION, user_message=text)
        self.assertEqual([e.body.get("message_id") for e in self.events], ["m_u", None])

    def test_hidden_review_subagents_cron_and_background_are_no_events(self) -> None:
        for kw in (
            {"session_id": "s_1", "task_id": "review", "platform": "iris"},
            {"session_id": "child", "task_id": "t", "platform": "subagent"},
            {"session_id": "cron_job_1", "task_id": "cron_job_1", "platform": "cron"},
            {"session_id": "bg_1", "task_id": "bg_1", "platform": "iris"},
        ):
            self.hooks.pre_llm_call(**kw, user_message="x")
            self.hooks.pre_tool_call(**{k: v for k, v in kw.items() if k != "platform"}, tool_call_id="c")
        self.assertEqual(self.events, [])

    def test_what_trails_in_after_the_turn_is_no_event(self) -> None:
        self.turns.end(LANE, self.turn.event)
        self.hooks.post_tool_call(**SESSION, tool_call_id="c", result="x")
        self.assertEqual(self.events, [])

    def test_lane_by_session_when_the_context_is_empty(self) -> None:
        self.hooks.pre_llm_call(**SESSION, user_message="hi")
        self.env = {}
        self.hooks.post_llm_call(**SESSION, assistant_response="text")
        self.hooks.post_llm_call(session_id="s_unknown", assistant_response="text")
        self.assertEqual(self.kinds(), ["model.start", "answer"])

    def test_other_platforms_are_none_of_ours(self) -> None:
        self.env["PLATFORM"] = "telegram"
        self.hooks.pre_llm_call(**SESSION, user_message="hi")
        self.assertEqual(self.events, [])

    def test_model_error_fails_the_turn_unless_something_better_follows(self) -> None:
        self.error(0)
        self.assertTrue(self.events[0].body["will_retry"])
        self.error(2)
        body = {"status": 500, "reason": "server_error", "message": "boom", "attempt": 3, "will_retry": False}
        self.assertEqual(self.events[1].body, body)
        self.assertEqual(self.turn.outcome(False, False), "failed")
        self.model_end()
        self.assertEqual(self.turn.outcome(False, False), "completed")

    def test_interrupted(self) -> None:
        self.hooks.on_session_end(**SESSION, interrupted=True)
        self.assertEqual(self.turn.outcome(False, False), "stopped")
        self.hooks.pre_llm_call(**SESSION, user_message="next")
        self.assertEqual(self.turn.outcome(False, False), "completed")

    def test_tools(self) -> None:
        tool = {"tool_name": "terminal", "args": {"command": "false"}, "tool_call_id": "c_1"}
        self.hooks.pre_tool_call(**SESSION, **tool)
        self.hooks.post_tool_call(
            **SESSION, **tool, result='{"output":"no","exit_code":1}', status="ok", duration_ms=250
        )
        start, end = (e.body for e in self.events)
        known = {
            "call": "c_1",
            "index": 1,
            "name": "terminal",
            "args": {"command": "false"},
            "preview": "false",
        }
        self.assertEqual(start, known)
        self.assertEqual(end, {**known, "ok": False, "duration": 0.25, "output_tail": "no"})

    def test_approval(self) -> None:
        about = {"session_key": "key", "surface": "gateway", "tool_call_id": "c_1"}
        for choice, surface, why in (
            ("once", "gateway", "answered"),
            ("timeout", "gateway", "expired"),
            ("once", "smart", None),
        ):
            self.hooks.pre_approval_request(**about | {"surface": surface})
            self.prompts.ask(Prompt("approval", LANE, "key", {}, lambda value, text: True))
            self.hooks.post_approval_response(**about | {"surface": surface}, choice=choice)
            self.assertEqual(self.events[-1].body.get("why"), why)

    def test_stop_while_an_approval_waits(self) -> None:
        about = {"session_key": "key", "surface": "gateway", "tool_call_id": "c_1"}
        self.hooks.pre_approval_request(**about)
        self.prompts.ask(Prompt("approval", LANE, "key", {}, lambda value, text: True))
        self.turn.stopped = True
        self.hooks.post_approval_response(**about, choice="deny")
        self.assertEqual(self.events[-1].body["why"], "turn ended")

    def test_typed_answer_to_a_clarify(self) -> None:
        self.prompts.ask(
            Prompt(
                "clarify", LANE, "key", {}, lambda *_: True, turn=self.turn.id, expires_at=now_ms() + 60_000
            )
        )
        self.hooks.post_tool_call(
            **SESSION, tool_name="clarify", tool_call_id="c_1", result='{"user_response":"Ada"}'
        )
        self.assertEqual(self.kinds(), ["prompt", "prompt.closed", "tool.end"])
        self.assertEqual(self.events[1].body["text"], "Ada")
        self.assertTrue(self.events[2].body["ok"])

    def test_subagent_shows_in_the_call_that_waits_for_it(self) -> None:
        child = {"session_id": "child", "task_id": "sa-1", "tool_name": "terminal", "args": {"command": "ls"}}
        delegate = {"tool_name": "delegate_task", "args": {"goal": "look"}, "tool_call_id": "c_1"}
        self.hooks.pre_llm_call(**SESSION, user_message="hi", is_first_turn=True)
        self.hooks.pre_tool_call(**SESSION, **delegate)
        self.hooks.subagent_start(parent_session_id="s_1", child_session_id="child")
        self.hooks.subagent_start(parent_session_id="child", child_session_id="grandchild")
        self.env = {}
        self.hooks.pre_tool_call(**child, tool_call_id="c_x")
        self.hooks.post_tool_call(**child, tool_call_id="c_x", result="x")
        self.hooks.pre_tool_call(**child | {"session_id": "grandchild"}, tool_call_id="c_y")
        self.hooks.pre_tool_call(session_id="stranger", task_id="sa-2", tool_call_id="c_z")
        self.hooks.post_tool_call(**SESSION, **delegate, result="{}")
        self.hooks.pre_tool_call(**child, tool_call_id="c_late")  # it works on in the background
        self.assertEqual(
            self.kinds(), ["model.start", "tool.start", "tool.progress", "tool.progress", "tool.end"]
        )
        self.assertEqual(self.events[2].body, {"call": "c_1", "note": "terminal: ls"})
        self.assertEqual((self.turn.session, self.turn.first), ("s_1", True))

    def test_answer_of_a_background_task(self) -> None:
        self.hooks.post_llm_call(session_id="bg_1", task_id="bg_1", assistant_response="It is done.")
        self.assertEqual(self.events, [])
        self.assertFalse(self.hooks.background_answer("A notice: It is done. Really."))
        self.assertTrue(self.hooks.background_answer("Background task complete\n\nIt is done."))
        self.assertFalse(self.hooks.background_answer("Background task complete\n\nIt is done."))

    def test_session_of_a_lane(self) -> None:
        self.assertEqual(self.hooks.session_of(LANE), "")
        for session in ("s_1", "s_2", "s_1"):
            self.hooks.pre_llm_call(session_id=session, task_id=session, user_message="hi")
        self.assertEqual((self.hooks.session_of(LANE), self.hooks.session_of(OTHER)), ("s_1", ""))

    def test_odd_values_do_no_harm(self) -> None:
        self.hooks.post_api_request(**SESSION)
        self.hooks.api_request_error(**SESSION, error="text")
        self.hooks.post_tool_call(**SESSION, args="text", result=None)
        self.assertEqual(self.kinds(), ["model.end", "model.error", "tool.end"])


class RuntimeTest(unittest.TestCase):
    def agent(self, **fields: Any) -> Any:
        return SimpleNamespace(context_compressor=SimpleNamespace(context_length=1000), **fields)

    def test_footer(self) -> None:
        agent = self.agent(session_estimated_cost_usd=0.75, session_cost_status="estimated")
        with mock.patch.dict("os.environ", {"TERMINAL_CWD": "/home/me/work", "HOME": "/home/me"}):
            body = hermes.runtime(agent, 380, 0.5)
        self.assertEqual(body, {"context_pct": 38, "cwd": "~/work", "cost": 0.25})

    def test_unknown_is_absent(self) -> None:
        with mock.patch.dict("os.environ", {"TERMINAL_CWD": ""}):
            self.assertEqual(hermes.runtime(None, 0, None), {})
            free = self.agent(session_estimated_cost_usd=0.0, session_cost_status="unknown")
            self.assertNotIn("cost", hermes.runtime(free, 10, None))

    def test_look_ups_never_raise(self) -> None:
        self.assertIsNone(hermes.agent_of(object(), "key"))
        self.assertIsNone(hermes.agent_of(SimpleNamespace(_agent_cache=None), "key"))


if __name__ == "__main__":
    unittest.main()
