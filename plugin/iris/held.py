"""Events that the disk did not take (it is full, or broken), in memory until it does.

Were they dropped, a turn whose end is among them would run for ever on people's phones.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable

from .events import Event
from .lanes import Lane

log = logging.getLogger(__name__)

#: Bytes of frames that are held.
LIMIT = 16 * 1024 * 1024
#: Seconds until the disk is asked again.
AGAIN = 5.0


class Held:
    """Durable events in their order. Beyond the limit the oldest are given up, as by the spool: beats and
    tools first, answers last. Used by the pump's thread only.
    """

    def __init__(self, limit: int = LIMIT, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit = limit
        self._clock = clock
        self._events: list[tuple[Event, int]] = []  # with the bytes of its frame
        self._size = 0
        self._until = 0.0
        #: How many events of each lane were given up: the spool is told when it takes something again.
        self.lost: Counter[Lane] = Counter()

    @property
    def events(self) -> list[Event]:
        """What is held."""
        return [event for event, _ in self._events]

    @property
    def patience(self) -> float | None:
        """Seconds until the disk is to be asked again, None when nothing is held."""
        return max(0.0, self._until - self._clock()) if self._events else None

    def refused(self) -> None:
        """The disk has refused just now."""
        self._until = self._clock() + AGAIN

    def add(self, events: Iterable[Event]) -> None:
        """Hold events behind the others."""
        for event in events:
            try:
                size = len(event.frame(None).encode())
            except Exception as err:
                log.error("iris: an event %s cannot be encoded (%s)", event.kind, type(err).__name__)
                continue
            self._events.append((event, size))
            self._size += size
        if self._size > self._limit:
            self._shed()

    def _shed(self) -> None:
        gone: set[int] = set()
        for i in sorted(range(len(self._events)), key=lambda i: self._events[i][0].rank):
            # A bit more than needed, as the spool does.
            if self._size <= self._limit - self._limit // 16:
                break
            event, size = self._events[i]
            gone.add(i)
            self._size -= size
            self.lost[event.lane] += 1
        self._events = [held for i, held in enumerate(self._events) if i not in gone]
        log.warning("iris: the disk takes nothing, %d events were given up", len(gone))

    def clear(self) -> None:
        """The disk has taken all."""
        self._events.clear()
        self.lost.clear()
        self._size = 0
