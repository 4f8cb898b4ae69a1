"""Turns that run now: from hermes' on_processing_start to on_processing_complete, with what the hooks
gather for the footer (hermes.md §3, §5.1; host-link.md, "Events").

Callbacks come from hermes' loop, hooks from agent threads: one lock guards all.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Any

from .events import Body, now_ms
from .ids import mint
from .lanes import Lane


@dataclass
class Call:
    """A tool call: what its tool.end repeats."""

    index: int
    name: str
    args: dict[str, Any]
    preview: str
    over: bool = False


@dataclass
class Turn:
    """One processing of hermes. It may hold several agent turns, or none (hermes.md §0.4)."""

    lane: Lane
    trigger: str | None
    source: str
    event: object  # hermes' MessageEvent: the same object comes with start and complete
    session_key: str = ""
    session: str = ""  # hermes' session, once an agent answers
    first: bool = False  # it is the session's first turn
    id: str = field(default_factory=lambda: mint("tn_"))
    started_at: int = field(default_factory=now_ms)
    began: float = field(default_factory=time.monotonic)
    since: float = field(default_factory=time.time)  # by hermes' clock, as its rows have it
    calls: dict[str, Call] = field(default_factory=dict)
    models: int = 0  # agent turns so far
    stopped: bool = False  # somebody asked to stop
    interrupted: bool = False  # the last agent turn was
    error: str = ""  # of the model, while it is the last thing heard of it
    cost_before: float | None = None
    # Of the answer: emptied when another one begins.
    model: str = ""
    prompt_tokens: int = 0
    output_tokens: int = 0
    reasoning: list[str] = field(default_factory=list)

    def begin_answer(self, model: str) -> None:
        """The agent begins to answer (pre_llm_call)."""
        self.models += 1
        self.model, self.error, self.interrupted = model or self.model, "", False
        self.prompt_tokens = self.output_tokens = 0
        self.reasoning = []

    def number(self, call: str, name: str, args: dict[str, Any], preview: str) -> Call:
        """Return the tool call, numbered from 1 in the order they began."""
        known = self.calls.get(call)
        if known is None:
            known = self.calls[call] = Call(len(self.calls) + 1, name, args, preview)
        return known

    def waiting_call(self, name: str) -> str:
        """Return the newest call of this tool that has not ended, "" if there is none."""
        waiting = [call_id for call_id, call in self.calls.items() if call.name == name and not call.over]
        return waiting[-1] if waiting else ""

    def outcome(self, cancelled: bool, failed: bool) -> str:
        """Judge the end: hermes says success of failed model calls and of interrupts (hermes.md §0.3)."""
        if cancelled or self.stopped or self.interrupted:
            return "stopped"
        return "failed" if failed or self.error else "completed"

    def end_body(self, outcome: str, runtime: Body) -> Body:
        """Return the body of turn.end."""
        body: Body = {
            "outcome": outcome,
            "runtime": {**runtime, "latency": round(time.monotonic() - self.began, 3)},
        }
        if self.model:
            body["runtime"]["model"] = self.model.rsplit("/", 1)[-1]  # the bare id, as devices show it
        if outcome == "failed" and self.error:
            body["error"] = self.error
        body["tokens"] = self.output_tokens
        body["reasoning"] = "\n\n".join(self.reasoning)
        return body


class Turns:
    """The open turns of all lanes."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._open: dict[Lane, list[Turn]] = {}

    def start(self, turn: Turn) -> None:
        """A turn began."""
        with self.lock:
            self._open.setdefault(turn.lane, []).append(turn)

    def end(self, lane: Lane, event: object) -> Turn | None:
        """The turn of this event is over; returns it."""
        with self.lock:
            turns = self._open.get(lane, [])
            # The object is the surest sign, the newest turn a fair guess.
            turn = next((t for t in turns if t.event is event), turns[-1] if turns else None)
            if turn:
                turns.remove(turn)
            if not turns:
                self._open.pop(lane, None)
            return turn

    def of(self, lane: Lane, message_id: str | None = None) -> Turn | None:
        """Return the open turn that a callback of this lane belongs to: the one that answers message_id,
        else the newest one that is no command, else the newest.
        """
        with self.lock:
            turns = self._open.get(lane, ())
            for turn in reversed(turns):
                if message_id and turn.trigger == message_id:
                    return turn
            for turn in reversed(turns):
                if turn.source != "command":
                    return turn
            return turns[-1] if turns else None

    def all_of(self, lane: Lane) -> list[Turn]:
        """Return every open turn of the lane."""
        with self.lock:
            return list(self._open.get(lane, ()))

    def lanes(self) -> list[Lane]:
        """Return the lanes in which turns are open."""
        with self.lock:
            return list(self._open)

    def with_key(self, session_key: str) -> list[Turn]:
        """Return the open turns of a hermes session."""
        with self.lock:
            return [
                turn for turns in self._open.values() for turn in turns if turn.session_key == session_key
            ]
