"""What runs now, as `hello.turns` tells it (host-link.md, "Opening"), so that a gateway that died can go on.

It is fed with the events themselves, in the order they are numbered. So a snapshot taken between two events
is exact: it is the state after event `last_seq` and before whatever comes next.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .events import Event
from .lanes import Lane
from .prompts import OF_TURN

# hello must stay under 1 MiB, whatever runs.
_MAX_TEXT = 100_000
#: So many turns that are over are remembered, the oldest: it can only be them that the gateway knows already.
_MAX_ENDED = 50


@dataclass
class _Message:
    text: str
    began: int
    reply_to: str | None
    streamed: bool
    stopped: int | None = None  # seq of the event that ends it; it is listed until that is acked


@dataclass
class _Turn:
    lane: Lane
    source: str
    started_at: int
    messages: dict[str, _Message] = field(default_factory=dict)
    tools: dict[str, dict[str, Any]] = field(default_factory=dict)
    prompts: dict[str, None] = field(default_factory=dict)
    reasoning: list[str] = field(default_factory=list)
    ended: int | None = None  # seq of its turn.end: it is listed, as it stood then, until that is acked
    beat: str = ""  # text of a beat whose first send is still to come
    beat_seq: int = 0


class Recap:
    """Open turns with their unfinished messages and tools. Used by the pump's thread only."""

    def __init__(self) -> None:
        self._turns: dict[str, _Turn] = {}
        self._seq = 0
        self._acked = 0

    def apply(self, event: Event, seq: int | None) -> None:
        """Take in an event; seq is None for a live one."""
        self._seq = seq or self._seq
        if not event.turn:
            return
        if event.kind == "turn.start":
            self._turns[event.turn] = _Turn(event.lane, str(event.body.get("source", "")), event.at)
            return
        turn = self._turns.get(event.turn)
        if turn is None or turn.ended is not None:
            return
        if event.kind == "turn.end":
            self._end(event.turn, turn)
            return
        step = getattr(self, "_" + event.kind.replace(".", "_"), None)
        if step:
            step(turn, event)

    def _end(self, turn_id: str, turn: _Turn) -> None:
        turn.ended = self._seq
        over = sum(t.ended is not None for t in self._turns.values())
        if turn.ended <= self._acked or over > _MAX_ENDED:
            del self._turns[turn_id]

    def ack(self, seq: int) -> None:
        """Turns and messages whose end the gateway has are not listed any more."""
        self._acked = max(self._acked, seq)
        for turn_id, turn in list(self._turns.items()):
            if turn.ended is not None and turn.ended <= self._acked:
                del self._turns[turn_id]
            for message_id, message in list(turn.messages.items()):
                if message.stopped is not None and message.stopped <= self._acked:
                    del turn.messages[message_id]

    def snapshot(self) -> list[dict[str, Any]]:
        """Return `hello.turns`."""
        return [self._picture(turn_id, turn) for turn_id, turn in self._turns.items()]

    @staticmethod
    def _picture(turn_id: str, turn: _Turn) -> dict[str, Any]:
        out = {
            "turn": turn_id,
            "chat_id": turn.lane.chat_id,
            "thread_id": turn.lane.thread_id,
            "started_at": turn.started_at,
            "source": turn.source,
            "messages": [_message(message_id, message) for message_id, message in turn.messages.items()],
            "tools": list(turn.tools.values()),
            "prompts": list(turn.prompts),
            "reasoning": "\n\n".join(turn.reasoning)[:_MAX_TEXT],
        }
        if turn.ended is not None:
            # A gateway whose ack was lost has this event already, and must not open the turn again.
            out["ended"] = turn.ended
        return out

    def _send(self, turn: _Turn, event: Event) -> None:
        body = event.body
        # A send without streaming is over at once, except the answer, which waits for its footer.
        if not body.get("streaming") and (not body.get("notify") or body.get("immediate")):
            return
        late = self._late(turn, event)
        if late is None or late > self._acked:
            turn.messages[event.message_id] = _Message(
                str(body.get("text", "")), event.at, body.get("reply_to"), bool(body.get("streaming")), late
            )

    @staticmethod
    def _late(turn: _Turn, event: Event) -> int | None:
        """A short beat may be sent only after its call has ended: then it is over already."""
        shown = str(event.body.get("text", "")).rstrip("▉ \n").lstrip("\n")
        if not turn.beat or not shown or not event.body.get("streaming"):
            return None
        if not turn.beat.strip().startswith(shown):
            return None
        turn.beat = ""
        return turn.beat_seq

    @staticmethod
    def _edit(turn: _Turn, event: Event) -> None:
        message = turn.messages.get(event.message_id)
        if message:
            message.text = str(event.body.get("text", ""))

    @staticmethod
    def _delete(turn: _Turn, event: Event) -> None:
        for message_id in event.body.get("message_ids", ()):
            turn.messages.pop(message_id, None)

    def _model_start(self, turn: _Turn, event: Event) -> None:
        self._stop_all(turn)  # another answer begins
        turn.reasoning.clear()

    def _model_end(self, turn: _Turn, event: Event) -> None:
        if event.body.get("reasoning"):
            turn.reasoning.append(str(event.body["reasoning"]))
        if event.body.get("finish_reason") != "tool_calls":
            return
        beat = str(event.body.get("text") or "")
        turn.beat, turn.beat_seq = ("", 0) if self._stop_all(turn) else (beat, self._seq)

    def _stop_all(self, turn: _Turn) -> bool:
        """The open messages are over with the newest event; says whether there were any."""
        some = False
        for message in turn.messages.values():
            if message.stopped is None:
                message.stopped, some = self._seq, True
        return some

    @staticmethod
    def _prompt(turn: _Turn, event: Event) -> None:
        if event.body.get("kind") in OF_TURN:  # the others need no turn
            turn.prompts[str(event.body["prompt_id"])] = None

    @staticmethod
    def _prompt_closed(turn: _Turn, event: Event) -> None:
        turn.prompts.pop(str(event.body["prompt_id"]), None)

    @staticmethod
    def _tool_start(turn: _Turn, event: Event) -> None:
        body = event.body
        turn.tools[body["call"]] = {key: body[key] for key in ("call", "index", "name", "args")}

    @staticmethod
    def _tool_end(turn: _Turn, event: Event) -> None:
        turn.tools.pop(event.body["call"], None)


def _message(message_id: str, message: _Message) -> dict[str, Any]:
    out: dict[str, Any] = {"message_id": message_id, "text": message.text[:_MAX_TEXT], "began": message.began}
    if message.reply_to:
        out["reply_to"] = message.reply_to
    if not message.streamed:
        out["streamed"] = False
    return out
