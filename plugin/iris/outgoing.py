"""What waits for the socket, in the order it happened (host-link.md, "Events").

Live edits are thinned here: at most ten a second per message, a newer one replacing an unsent older one, and
a durable event never overtaken by, nor overtaking, what was shown before it.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from .events import Event

#: Seconds between two live edits of one message.
EDIT_GAP = 0.1
#: So many waiting frames mean that the socket is stuck: better a new one and a resend from the spool.
FULL = 5000


@dataclass
class _Item:
    frame: str
    event: Event | None = None
    dead: bool = False


class Outgoing:
    """Queue between the pump's thread (push) and the link's (pop). Its lock guards all fields."""

    def __init__(self, wake: Callable[[], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._wake = wake
        self._clock = clock
        self._lock = threading.Lock()
        self._control: deque[str] = deque()
        self._queue: deque[_Item] = deque()
        self._edits: dict[str, _Item] = {}  # message → its live edit in the queue
        self._held: dict[str, _Item] = {}  # message → its live edit that came too early
        self._sent: dict[str, float] = {}  # message → when its last live edit went

    def control(self, frame: str) -> None:
        """Queue a frame that is no event; it goes first."""
        with self._lock:
            self._control.append(frame)
        self._wake()

    def push(self, event: Event, frame: str) -> None:
        """Queue an event, encoded as frame."""
        item = _Item(frame, event)
        with self._lock:
            if event.kind == "edit" and not event.durable:
                self._push_edit(item, event.message_id)
            else:
                self._push_other(item, event)
        self._wake()

    def _push_edit(self, item: _Item, message: str) -> None:
        waiting = self._edits.pop(message, None)
        if waiting:
            waiting.dead = True
        self._held.pop(message, None)
        if self._clock() - self._sent.get(message, -EDIT_GAP) < EDIT_GAP:
            self._held[message] = item
        else:
            self._queue_edit(message, item)

    def _push_other(self, item: _Item, event: Event) -> None:
        if event.kind == "edit":  # the final text: what was on its way before is void
            self._held.pop(event.message_id, None)
            self._sent.pop(event.message_id, None)
            waiting = self._edits.pop(event.message_id, None)
            if waiting:
                waiting.dead = True
        for message, held in list(self._held.items()):
            # Shown before this event, so it goes before it.
            if held.event and held.event.lane == event.lane:
                self._queue_edit(message, self._held.pop(message))
        self._queue.append(item)

    def _queue_edit(self, message: str, item: _Item) -> None:
        self._edits[message] = item
        self._queue.append(item)

    def pop(self) -> str | None:
        """Return the next frame, or None when nothing may be sent now."""
        with self._lock:
            if self._control:
                return self._control.popleft()
            now = self._clock()
            for message in list(self._held):
                if now - self._sent.get(message, -EDIT_GAP) >= EDIT_GAP:
                    self._queue_edit(message, self._held.pop(message))
            while self._queue:
                item = self._queue.popleft()
                if item.dead:
                    continue
                if item.event and item.event.kind == "edit" and not item.event.durable:
                    self._edits.pop(item.event.message_id, None)
                    self._sent[item.event.message_id] = now
                return item.frame
        return None

    def wait(self) -> float | None:
        """Return the seconds until a held edit may go, None when none is held."""
        with self._lock:
            due = [self._sent.get(message, 0.0) + EDIT_GAP for message in self._held]
        return max(0.0, min(due) - self._clock()) if due else None

    @property
    def empty(self) -> bool:
        """Nothing waits."""
        with self._lock:
            return not (self._control or self._queue or self._held)

    @property
    def full(self) -> bool:
        """The socket takes nothing any more."""
        with self._lock:
            return len(self._queue) > FULL
