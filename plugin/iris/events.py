"""Events: what hermes did, in the words of host-link.md, "Events".

An event is durable (● there: it gets a seq and stays in the spool until it is acked) or live (sent only while
the socket is up, the newest replacing an unsent older one of the same message).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from .clock import CLOCK
from .lanes import Lane
from .text import cut

Body = dict[str, Any]

#: Bytes of a frame that the gateway surely takes (its limit is 1 MiB).
MAX_FRAME = 1_000_000

#: What is left of a frame that is too large: bytes of a text, items of a list.
_CUTS = ((200_000, None), (60_000, None), (16_384, None), (2_048, None), (2_048, 100), (256, 10))

LIVE = frozenset({"tool.start", "tool.progress"})

#: Ranks: what a full spool gives up first, next and last.
FIRST, NEXT, LAST = range(3)
_FIRST = frozenset({"tool.end", "model.end", "model.error", "notice", "title"})
_LAST = frozenset({"turn.start", "answer", "turn.end", "cron", "done"})


def now_ms() -> int:
    """Return the time in the link's unit, by the gateway's clock."""
    return CLOCK.now_ms()


@dataclass(frozen=True)
class Event:
    """One thing that happened in a lane; `turn` names the running turn it belongs to."""

    kind: str
    lane: Lane
    body: Body
    turn: str | None = None
    at: int = field(default_factory=now_ms)

    @property
    def durable(self) -> bool:
        """It must not be lost."""
        if self.kind == "send":
            return not self.body.get("streaming")
        if self.kind == "edit":
            return bool(self.body.get("final"))
        return self.kind not in LIVE

    @property
    def rank(self) -> int:
        """Beats and tools are FIRST, answers LAST: the order in which a full spool lets go."""
        return FIRST if self.kind in _FIRST else LAST if self.kind in _LAST else NEXT

    @property
    def message_id(self) -> str:
        """The message that a send or an edit is about."""
        return str(self.body.get("message_id", ""))

    def frame(self, seq: int | None) -> str:
        """Return the JSON text frame; texts are cut until it fits."""
        head: Body = {"type": "event"}
        if seq is not None:
            head["seq"] = seq
        head |= {"at": self.at, "kind": self.kind, "chat_id": self.lane.chat_id}
        head |= {"thread_id": self.lane.thread_id, "turn": self.turn}
        return fit(head, "body", self.body)


def fit(head: Body, name: str, value: Any) -> str:
    """Encode head with value under name, cutting the longest texts of value, then its longest lists, until
    the frame is small enough: one that is not would end every connection on which it is sent.
    """
    frame = dumps({**head, name: value})
    for limit, most in _CUTS:
        if len(frame.encode()) <= MAX_FRAME:
            return frame
        frame = dumps({**head, name: cut(value, limit, most)})
    return frame if len(frame.encode()) <= MAX_FRAME else dumps({**head, name: type(value)()})


def dumps(value: Any) -> str:
    """Compact JSON that is always valid UTF-8 (models do produce lone surrogates)."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    return text.encode("utf-8", "replace").decode()
