"""Hooks of hermes → events of the agent: model calls, answers, tools (host-link.md, "Events"; hermes.md §5).

They run on agent threads and hold the agent up while they run: they look up the lane, put an event into the
queue, and return None.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from . import hermes, tools
from .events import Body, Event
from .lanes import Lane
from .prompts import Prompts
from .text import ARGS_LIMIT, cut_text
from .turns import Call, Turn, Turns

log = logging.getLogger(__name__)

Emit = Callable[[Event], None]
Hook = Callable[..., None]


class Hooks:
    """Turns hook calls into events. `runner` gives hermes' GatewayRunner, for the footer."""

    def __init__(self, emit: Emit, turns: Turns, prompts: Prompts, runner: Callable[[], Any]) -> None:
        self._emit = emit
        self._turns = turns
        self._prompts = prompts
        self._runner = runner
        self._sessions: OrderedDict[str, Lane] = OrderedDict()  # session id → lane
        self._children: OrderedDict[str, str] = OrderedDict()  # subagent's session → the one that began it
        self._background: OrderedDict[str, str] = OrderedDict()  # /background's session → its answer

    # --- which lane, which turn ---

    def _turn(self, kw: dict[str, Any]) -> Turn | None:
        """Return the open turn that a hook call belongs to, or None for what is no event.

        No event: subagents (but see pre_tool_call) and the hidden review (task_id is not the session's own,
        hermes.md §0.9b), cron and background runs, and what trails in after the turn's end.
        """
        session, task = str(kw.get("session_id") or ""), str(kw.get("task_id") or "")
        if task and session and task != session:
            return None
        if kw.get("platform") not in (None, "", "iris") or session.startswith(("cron_", "bg_")):
            return None
        lane = self._lane(session)
        return self._turns.of(lane, hermes.session_env("MESSAGE_ID")) if lane else None

    def _lane(self, session: str) -> Lane | None:
        chat = hermes.session_env("CHAT_ID")
        if hermes.session_env("PLATFORM") == "iris" and chat:
            lane = Lane.of_hermes(chat, hermes.session_env("THREAD_ID"))
            with self._turns.lock:
                self._sessions[session] = lane
                self._sessions.move_to_end(session)
                while len(self._sessions) > 1000:
                    self._sessions.popitem(last=False)
            return lane
        return self._sessions.get(session)

    def session_of(self, lane: Lane) -> str:
        """Return the session that last answered in the lane, "" if this process has seen none."""
        with self._turns.lock:
            return next((s for s, known in reversed(self._sessions.items()) if known == lane), "")

    def _put(self, turn: Turn, kind: str, body: Body) -> None:
        self._emit(Event(kind, turn.lane, body, turn.id))

    # --- model ---

    def pre_llm_call(self, **kw: Any) -> None:
        """An agent turn begins → model.start."""
        turn = self._turn(kw)
        if turn is None:
            return
        with self._turns.lock:
            first = turn.models == 0
            turn.session_key = hermes.session_env("KEY") or turn.session_key
            turn.session = str(kw.get("session_id") or "")
            turn.first = turn.first or bool(kw.get("is_first_turn"))
            turn.begin_answer(str(kw.get("model") or ""))
            if first:
                turn.cost_before = hermes.cost_of(hermes.agent_of(self._runner(), turn.session_key))
        body: Body = {"text": cut_text(_text(kw.get("user_message")), ARGS_LIMIT)}
        if first and turn.trigger:
            # Of a later agent turn in the same processing hermes does not say which message it answers.
            body["message_id"] = turn.trigger
        self._put(turn, "model.start", body)

    def post_api_request(self, **kw: Any) -> None:
        """A model call ended → model.end."""
        turn = self._turn(kw)
        if turn is None:
            return
        message, usage = kw.get("assistant_message"), kw.get("usage") or {}
        reasoning = str(
            getattr(message, "reasoning", None) or getattr(message, "reasoning_content", None) or ""
        )
        model = str(kw.get("model") or kw.get("response_model") or "")
        counts = {
            "input": _int(usage.get("input_tokens")),
            "output": _int(usage.get("output_tokens")),
            "cache_read": _int(usage.get("cache_read_tokens")),
            "cache_write": _int(usage.get("cache_write_tokens")),
            "reasoning": _int(usage.get("reasoning_tokens")),
            "prompt": _int(usage.get("prompt_tokens")),
        }
        with self._turns.lock:
            turn.error, turn.model = "", model or turn.model
            turn.prompt_tokens = counts["prompt"] or turn.prompt_tokens
            turn.output_tokens += counts["output"]
            if reasoning:
                turn.reasoning.append(reasoning)
        body: Body = {
            "finish_reason": str(kw.get("finish_reason") or ""),
            "text": _text(getattr(message, "content", None)),
            "model": model,
            "usage": counts,
            "duration": _seconds(kw.get("api_duration")),
        }
        if reasoning:
            body["reasoning"] = reasoning
        self._put(turn, "model.end", body)

    def api_request_error(self, **kw: Any) -> None:
        """A model call failed → model.error; the turn has failed if nothing better is heard of the model."""
        turn = self._turn(kw)
        if turn is None:
            return
        error = kw.get("error") if isinstance(kw.get("error"), dict) else {"message": kw.get("error")}
        message = cut_text(str((error or {}).get("message") or kw.get("reason") or "model error"), 2048)
        attempt = _int(kw.get("retry_count")) + 1
        with self._turns.lock:
            turn.error = message
        body: Body = {
            "status": _int(kw.get("status_code")),
            "reason": str(kw.get("reason") or ""),
            "message": message,
            "attempt": attempt,
            "will_retry": bool(kw.get("retryable")) and attempt < _int(kw.get("max_retries")),
        }
        self._put(turn, "model.error", body)

    def post_llm_call(self, **kw: Any) -> None:
        """An agent turn has its final text → answer."""
        session = str(kw.get("session_id") or "")
        if session.startswith("bg_"):
            self._remember(self._background, session, _text(kw.get("assistant_response")), 20)
        turn = self._turn(kw)
        if turn is None:
            return
        with self._turns.lock:
            turn.error = ""
        self._put(turn, "answer", {"text": _text(kw.get("assistant_response"))})

    def on_session_end(self, **kw: Any) -> None:
        """An agent turn ended; only its verdict is of interest (the name misleads, hermes.md §5)."""
        turn = self._turn(kw)
        if turn is None:
            return
        with self._turns.lock:
            turn.interrupted = bool(kw.get("interrupted"))
            if kw.get("failed") and not turn.error:
                turn.error = str(kw.get("turn_exit_reason") or "the agent failed")

    # --- tools ---

    def pre_tool_call(self, **kw: Any) -> None:
        """A tool call begins → tool.start; a subagent's → tool.progress of the call that waits for it."""
        turn = self._turn(kw)
        if turn is None:
            self._child_call(kw)
            return
        call_id, call = self._call(turn, kw)
        body = {
            "call": call_id,
            "index": call.index,
            "name": call.name,
            "args": call.args,
            "preview": call.preview,
        }
        self._put(turn, "tool.start", body)

    def post_tool_call(self, **kw: Any) -> None:
        """A tool call ended → tool.end, with all that tool.start said."""
        turn = self._turn(kw)
        if turn is None:
            return
        call_id, call = self._call(turn, kw)
        result = kw.get("result")
        if call.name == "clarify":
            self._prompts.clarify_over(turn.id, result, turn.stopped)
        body: Body = {
            "call": call_id,
            "index": call.index,
            "name": call.name,
            "args": call.args,
            "preview": call.preview,
            "ok": tools.ok(kw.get("status"), result),
            "duration": _seconds(kw.get("duration_ms"), 1000),
            "output_tail": tools.output_tail(result) or tools.output_tail(kw.get("error_message")),
        }
        call.over = True
        self._put(turn, "tool.end", body)

    # --- subagents and /background: they work beside the turns, and speak by sends ---

    def subagent_start(self, **kw: Any) -> None:
        """A subagent begins. Its hooks carry its own session and no lane."""
        self._remember(
            self._children, str(kw.get("child_session_id") or ""), str(kw.get("parent_session_id") or "")
        )

    def _child_call(self, kw: dict[str, Any]) -> None:
        parent = self._children.get(str(kw.get("session_id") or ""), "")
        for _ in range(8):  # subagents may have subagents
            if parent not in self._children:
                break
            parent = self._children[parent]
        lane = self._sessions.get(parent)
        turn = self._turns.of(lane) if lane else None
        call = turn.waiting_call("delegate_task") if turn else ""
        if turn and call:
            args = tools.args_of(kw.get("args"))
            note = f"{kw.get('tool_name') or 'tool'}: {tools.preview(args)}".removesuffix(": ")
            self._put(turn, "tool.progress", {"call": call, "note": note})

    def background_answer(self, text: str) -> bool:
        """This text, sent by hermes, holds the answer of a /background task."""
        with self._turns.lock:
            for session, answer in self._background.items():
                if answer.strip() and text.rstrip().endswith(answer.strip()):
                    del self._background[session]
                    return True
        return False

    def _remember(self, what: OrderedDict[str, str], key: str, value: str, most: int = 1000) -> None:
        with self._turns.lock:
            what[key] = value
            while len(what) > most:
                what.popitem(last=False)

    # --- approvals ---

    def pre_approval_request(self, **kw: Any) -> None:
        """A tool call needs somebody's leave: the adapter is asked next (hermes.md §6)."""
        if kw.get("surface") == "gateway":
            key, call = str(kw.get("session_key") or ""), str(kw.get("tool_call_id") or "")
            self._prompts.approval_asked(key, call, str(kw.get("command") or ""))

    def post_approval_response(self, **kw: Any) -> None:
        """An approval is over → prompt.closed; of a timeout no adapter call tells."""
        if kw.get("surface") != "gateway":
            return
        key = str(kw.get("session_key") or "")
        stopped = any(turn.stopped for turn in self._turns.with_key(key))
        call, choice = str(kw.get("tool_call_id") or ""), str(kw.get("choice") or "")
        self._prompts.approval_over(key, call, choice, stopped)

    def _call(self, turn: Turn, kw: dict[str, Any]) -> tuple[str, Call]:
        call_id = str(kw.get("tool_call_id") or "")
        args = tools.args_of(kw.get("args"))
        with self._turns.lock:
            return call_id, turn.number(call_id, str(kw.get("tool_name") or ""), args, tools.preview(args))


def _text(value: object) -> str:
    """Return the text of a message's content, which may be a list of parts."""
    if isinstance(value, list):
        return "".join(str(part.get("text") or "") for part in value if isinstance(part, dict))
    return "" if value is None else str(value)


def _int(value: object) -> int:
    return int(value) if isinstance(value, int | float) else 0


def _seconds(value: object, per_second: int = 1) -> float:
    return round(value / per_second, 3) if isinstance(value, int | float) else 0.0
