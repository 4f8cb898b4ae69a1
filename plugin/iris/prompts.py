"""Questions that wait for a person: approvals, clarifies, confirmations, pickers (host-link.md, "Events";
hermes.md §6). No hermes import: what a question asks of hermes is in its functions.

They live in this process only. After a restart they are dead: the spool knows which were open, and host.py
closes them. Callbacks come on hermes' loop, hooks on agent threads: one lock guards all.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from .events import Body, Event, now_ms
from .ids import mint
from .lanes import Lane
from .text import ARGS_LIMIT, cut
from .tools import UNANSWERED

ANSWERED, EXPIRED, TURN_ENDED = "answered", "expired", "turn ended"

#: An answer to a prompt that is not open, in words for people.
GONE = "expired"

#: Prompts that end with their turn; the others stay open after it.
OF_TURN = frozenset({"approval", "clarify"})

#: What a typed reply means to a confirmation (hermes takes exactly these).
_TYPED = {
    **dict.fromkeys(("approve", "approve once", "once", "yes", "ok", "confirm"), "once"),
    **dict.fromkeys(("always", "always approve", "remember"), "always"),
    **dict.fromkeys(("cancel", "no", "deny", "nevermind"), "cancel"),
}
#: What a plain message may say to answer an approval (hermes takes exactly these).
APPROVAL_WORDS = frozenset(
    {"approve", "yes", "ok", "okay", "confirm", "y", "👍", "deny", "no", "reject", "cancel", "n", "👎"}
    | {"always", "approve always", "always approve", "session", "approve session", "session approve"}
)

#: Tells hermes the answer (a choice's value, or free text); False when hermes waits no longer.
Take = Callable[[str | None, str], bool]
#: Says whether hermes gives the next answer to this approval.
Next = Callable[[], bool]
#: What a command does with the answer; returns its reply.
Follow = Callable[[str], Awaitable[object]]


@dataclass
class Prompt:
    """A question. `ref` is what hermes calls it: the tool call, the clarify or the confirmation."""

    kind: str
    lane: Lane
    key: str  # hermes' session
    body: Body  # the fields of its kind
    take: Take
    follow: Follow | None = None
    turn: str | None = None
    ref: str = ""
    entry: object = None  # an approval's place in hermes' own queue
    next: Next = lambda: True
    expires_at: int = 0  # ms; 0 = hermes waits for ever
    shown: bool = False
    id: str = field(default_factory=lambda: mint("pr_"))

    def fault(self, value: str | None, text: str) -> str:
        """Say why this cannot be an answer; empty when it can."""
        if value is None:
            return "" if text and self.body.get("allow_text") else "choose one of the choices"
        return "" if value in self.values() else "not one of the choices"

    def values(self) -> set[str]:
        """Return what may be answered."""
        if self.kind == "model":
            providers = self.body["providers"]
            return {f"{p['id']}/{m['id']}" for p in providers for m in p["models"]}
        return {str(choice["value"]) for choice in self.body.get("choices", ())}


class Prompts:
    """The open prompts, oldest first."""

    def __init__(self, emit: Callable[[Event], None]) -> None:
        self._emit = emit
        self._lock = threading.RLock()
        self._open: dict[str, Prompt] = {}
        # session → tool calls whose approval is about to be asked, with their commands
        self._calls: dict[str, list[tuple[str, str]]] = {}

    # --- hermes asks ---

    def ask(self, prompt: Prompt) -> None:
        """hermes asks something. Of the approvals of one session only the oldest is shown: hermes answers
        them in that order, whatever was pressed.
        """
        with self._lock:
            if prompt.kind == "approval":
                prompt.ref = self._call_of(prompt)
                if prompt.ref:
                    prompt.body["call"] = prompt.ref
                self._open[prompt.id] = prompt
                self._show_next(prompt.key)
            else:
                self._supersede(prompt)
                self._open[prompt.id] = prompt
                self._show(prompt)

    def _call_of(self, prompt: Prompt) -> str:
        """Return the tool call that an approval is for. Its command tells, if no secret in it is hidden."""
        calls = self._calls.get(prompt.key, [])
        if not calls:
            return ""
        same = (pair for pair in calls if pair[1] == prompt.body.get("command"))
        found = next(same, calls[0])
        calls.remove(found)
        return found[0]

    def _supersede(self, prompt: Prompt) -> None:
        """A confirmation replaces the session's last one (in hermes too), a picker the same picker."""
        for old in self._of(prompt.key, prompt.kind):
            if prompt.kind == "confirm" or (prompt.kind != "clarify" and _name(old) == _name(prompt)):
                self.close(old.id, EXPIRED)

    def _show_next(self, key: str) -> None:
        approvals = self._of(key, "approval")
        if any(prompt.shown for prompt in approvals):
            return
        for prompt in approvals:
            if prompt.next():
                self._show(prompt)
                return

    def _show(self, prompt: Prompt) -> None:
        prompt.shown = True
        body: Body = {"prompt_id": prompt.id, "kind": prompt.kind, **cut(prompt.body, ARGS_LIMIT)}
        if prompt.expires_at:
            body["expires_at"] = prompt.expires_at
        self._emit(Event("prompt", prompt.lane, body, prompt.turn))

    # --- people answer ---

    async def answer(self, prompt_id: str, value: str | None, text: str) -> tuple[str, object]:
        """Give an answer to hermes; returns the error, empty if all went well, and the command's reply."""
        with self._lock:
            prompt = self._open.get(prompt_id)
            if prompt is None or not prompt.shown:
                return GONE, None
            fault = prompt.fault(value, text)
            if fault:
                return fault, None
            if not prompt.take(value, text):
                self.close(prompt_id, EXPIRED)
                return GONE, None
            self.close(prompt_id, ANSWERED, value, text)
        return "", await prompt.follow(value or "") if prompt.follow else None

    # --- they end ---

    def close(self, prompt_id: str, why: str, value: str | None = None, text: str = "") -> None:
        """hermes waits for a prompt no longer. A second time changes nothing."""
        with self._lock:
            prompt = self._open.pop(prompt_id, None)
            if prompt is None:
                return
            if prompt.shown:
                body: Body = {"prompt_id": prompt_id, "why": why}
                if why == ANSWERED and value is not None:
                    body["value"] = value
                elif why == ANSWERED and text:
                    body["text"] = text
                self._emit(Event("prompt.closed", prompt.lane, body, prompt.turn))
            if prompt.kind == "approval":
                self._show_next(prompt.key)

    def approval_asked(self, key: str, call: str, command: str = "") -> None:
        """An approval is about to be asked for a tool call (pre_approval_request)."""
        with self._lock:
            self._calls.setdefault(key, []).append((call, command))

    def approval_over(self, key: str, call: str, choice: str, stopped: bool) -> None:
        """An approval was given, denied, or nobody answered in time (post_approval_response)."""
        with self._lock:
            left = [pair for pair in self._calls.pop(key, []) if pair[0] != call]
            if left:
                self._calls[key] = left
            over = [prompt for prompt in self._of(key, "approval") if prompt.ref == call]
            for prompt in over[:1]:
                why = TURN_ENDED if stopped else EXPIRED if choice == "timeout" else ANSWERED
                self.close(prompt.id, why, choice)
            self._show_next(key)

    def clarify_over(self, turn: str, result: object, stopped: bool) -> None:
        """A clarify has its answer, or none (post_tool_call): typed ones are learned of only here."""
        with self._lock:
            prompt = next((p for p in self._open.values() if p.kind == "clarify" and p.turn == turn), None)
            if prompt is None:
                return
            answer = _response(result)
            if stopped:
                self.close(prompt.id, TURN_ENDED)
            elif answer is None or now_ms() >= prompt.expires_at - 1000 or answer.startswith(UNANSWERED):
                self.close(prompt.id, EXPIRED)
            elif answer in prompt.values():
                self.close(prompt.id, ANSWERED, answer)
            else:
                self.close(prompt.id, ANSWERED, text=answer)

    def confirm_over(self, key: str, pending: str, typed: str) -> None:
        """A message was handled: was it the answer to a confirmation? pending is the one hermes waits for."""
        with self._lock:
            for prompt in self._of(key, "confirm"):
                if prompt.ref != pending:
                    value = meaning(typed)
                    self.close(prompt.id, ANSWERED if value else EXPIRED, value)

    def turn_over(self, turn: str) -> None:
        """A turn ended, and what it asked with it."""
        with self._lock:
            over = [p for p in self._open.values() if p.turn == turn and p.kind in OF_TURN]
            for prompt in reversed(over):  # the newest first, so that none is shown for a moment
                self.close(prompt.id, TURN_ENDED)

    # --- looking ---

    def waiting(self, lane: Lane, kind: str) -> bool:
        """A prompt of this kind waits in the lane."""
        with self._lock:
            return any(p.lane == lane and p.kind == kind for p in self._open.values())

    def entries(self) -> list[object]:
        """Return the places in hermes' queue that have their prompt."""
        with self._lock:
            return [p.entry for p in self._open.values() if p.entry is not None]

    def _of(self, key: str, kind: str) -> list[Prompt]:
        return [p for p in self._open.values() if p.key == key and p.kind == kind]


def _name(picker: Prompt) -> str:
    # Under a picker's first line comes what is chosen now.
    return str(picker.body.get("title") or "").partition("\n")[0]


def meaning(typed: str) -> str | None:
    """Return what a typed reply means to a confirmation, None when nothing."""
    said = typed.strip().lstrip("/!").lower()
    return _TYPED.get(said) or _TYPED.get(said.split(" ")[0])


def _response(result: object) -> str | None:
    """Return the answer in the result of the clarify tool."""
    if isinstance(result, str):
        try:
            result = json.loads(result)
        except ValueError:
            return None
    found = result.get("user_response") if isinstance(result, dict) else None
    return str(found) if found else None
