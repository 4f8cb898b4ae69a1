"""What people delete, in hermes' store (host-link.md, "Inbound").

After each turn it is noted which rows its messages became, since hermes does not know our ids; so they are
found later, also by the next process. Used on hermes' loop, the store itself in threads of its own.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from . import attachment, filenames, hermes, sessions
from .history import Doomed, Said
from .host import Host
from .lanes import Lane
from .spool import Inbound

log = logging.getLogger(__name__)

#: Seconds after which the spool is cleaned once more: by then the gateway has what still waited in it.
_LATER = 3.0


class Busy(Exception):
    """Something cannot be erased now."""


class Archive:
    """Knows the rows of messages, and removes them. `runner` gives hermes' GatewayRunner."""

    def __init__(self, host: Host, runner: Callable[[], Any]) -> None:
        self._host = host
        self._runner = runner
        self._noting: set[asyncio.Task[None]] = set()

    def turn_over(self, session: str, began: float, said: list[Said]) -> None:
        """A turn of a session that began at `began` (unix seconds) is over; these messages belong to it."""
        if session and said:
            task = asyncio.get_running_loop().create_task(self._note(session, began, said), name="iris-rows")
            self._noting.add(task)
            task.add_done_callback(self._noting.discard)

    def close(self) -> None:
        """hermes shuts down."""
        for task in self._noting:
            task.cancel()

    async def _note(self, session: str, began: float, said: list[Said]) -> None:
        history = sessions.history(self._runner())
        if history is None:
            return
        try:
            rows = await asyncio.to_thread(history.match, session, began, said)
        except Exception as err:
            log.warning("iris: the rows of a turn are not known: %r", err)
            return
        if rows:
            await self._host.map_rows(rows)

    async def forget(self, item: Inbound, key: str) -> None:
        """Remove the messages of a delete item from a lane in which nothing runs; `key` is its session's."""
        await asyncio.gather(*self._noting, return_exceptions=True)
        doomed = Doomed.of(item.body)
        ids = [message.message_id for message in doomed]
        for message_id in ids:
            await asyncio.to_thread(_remove_files, filenames.of_message(message_id))
        history = sessions.history(self._runner())
        if history is not None:
            known = await self._host.rows_of(ids)
            n = await asyncio.to_thread(history.remove, item.lane, doomed, known)
            # The live agent has them in its memory: the next turn makes another one, from the store.
            sessions.evict(self._runner(), key)
            log.info("iris: %d messages deleted, %d rows of hermes' store", len(ids), n)
        await self._host.unmap(ids)
        await self._purge()

    async def forget_lane(self, lane: Lane) -> None:
        """Remove all sessions of a lane in which nothing runs, and of a channel those of its threads."""
        await self._forget_sessions(lane, filenames.of_lane(lane))
        await self._purge()

    async def forget_all(self) -> None:
        """Remove all that hermes has of Iris while nothing runs there, and all that the plugin keeps. Raises
        Busy when that cannot be done to the last byte now.
        """
        clean = await self._forget_sessions(None, filenames.EVERY)
        await sessions.list_chats(self._runner())
        await self._host.forget()
        if not clean:
            raise Busy("hermes' store is not there, or its log is read by somebody and holds deleted texts")

    async def _forget_sessions(self, lane: Lane | None, files: str) -> bool:
        """Remove sessions with their files, of a lane or all; False when something may be left."""
        await asyncio.gather(*self._noting, return_exceptions=True)
        await asyncio.to_thread(_remove_files, files)
        runner = self._runner()
        history = sessions.history(runner)
        if history is None:
            return False
        doomed = await asyncio.to_thread(history.sessions, lane)
        keys = {key for key in doomed.values() if key}
        if lane is None:
            keys.update(await asyncio.to_thread(sessions.routed, runner))
        for key in keys:
            await asyncio.to_thread(sessions.reset, runner, key)
            sessions.evict(runner, key)
        doomed |= await asyncio.to_thread(history.sessions, lane)  # the fresh ones too
        for key in keys:
            await asyncio.to_thread(sessions.unroute, runner, key)
        clean = await asyncio.to_thread(history.remove_sessions, doomed, hermes.home() / "sessions")
        what = "all" if lane is None else "a lane"
        log.info("iris: %s was deleted, %d sessions of hermes' store", what, len(doomed))
        return clean

    async def _purge(self) -> None:
        await self._host.purge()
        asyncio.get_running_loop().call_later(_LATER, self._host.purge_soon)


def _remove_files(pattern: str) -> None:
    """Remove files that came with messages from hermes' cache."""
    for folder in map(hermes.cache, attachment.FOLDERS):
        for path in folder.glob(pattern) if folder else ():
            path.unlink(missing_ok=True)
