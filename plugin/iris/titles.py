"""Titles that hermes gives its sessions (host-link.md, "Events"; hermes.md §9).

hermes makes a title by an extra model call some seconds after a session's first answer, and tells nobody: its
store is read until it is there. Later ones (`/title`) are seen at the end of the next turn.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable

from .events import Event
from .lanes import Lane

#: Seconds between the looks after a session's first answer.
WAITS = (2.0, 2.0, 4.0, 8.0, 15.0, 30.0)
#: So many sessions are known; of an older one a title is not told again.
REMEMBERED = 1000


class Titles:
    """What each session is called. `read` asks hermes' store. Used on hermes' loop only."""

    def __init__(
        self,
        emit: Callable[[Event], None],
        read: Callable[[str], Awaitable[str]],
        waits: tuple[float, ...] = WAITS,
    ) -> None:
        self._emit = emit
        self._read = read
        self._waits = waits
        self._known: OrderedDict[str, str] = OrderedDict()  # session → title
        self._tasks: set[asyncio.Task[None]] = set()

    def turn_over(self, lane: Lane, session: str, first: bool) -> None:
        """A turn of this session ended; `first` if it was the session's first one."""
        if first:
            self._know(session, self._known.get(session, ""))
        task = asyncio.get_running_loop().create_task(self._look(lane, session, first), name="iris-title")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def close(self) -> None:
        """hermes shuts down."""
        for task in self._tasks:
            task.cancel()

    async def _look(self, lane: Lane, session: str, first: bool) -> None:
        for wait in (0.0, *self._waits) if first else (0.0,):
            await asyncio.sleep(wait)
            title = await self._read(session)
            if session not in self._known:
                # It began in an earlier process, which told of its title.
                self._know(session, title)
            if title and title != self._known[session]:
                self._know(session, title)
                self._emit(Event("title", lane, {"title": title}))
                return

    def _know(self, session: str, title: str) -> None:
        self._known[session] = title
        self._known.move_to_end(session)
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
