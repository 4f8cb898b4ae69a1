"""What people delete, in hermes' store (host-link.md, Inbound: delete and lane.delete).

After each turn it is noted which rows its messages became, since hermes does not know our ids; so they are
found later, also by the next process. Used on hermes' loop, the store itself in threads of its own.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from . import attachment, filenames, hermes
from .history import Doomed, Said
from .host import Host
from .lanes import Lane
from .spool import Inbound

log = logging.getLogger(__name__)

#: Seconds after which the spool is cleaned once more: by then the gateway has what still waited in it.
_LATER = 3.0


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
        history = hermes.history(self._runner())
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
        history = hermes.history(self._runner())
        if history is not None:
            known = await self._host.rows_of(ids)
            n = await asyncio.to_thread(history.remove, item.lane, doomed, known)
            # The live agent has them in its memory: the next turn makes another one, from the store.
            hermes.evict(self._runner(), key)
            log.info("iris: %d messages deleted, %d rows of hermes' store", len(ids), n)
        await self._host.unmap(ids)
        await self._purge()

    async def forget_lane(self, lane: Lane) -> None:
        """Remove all sessions of a lane in which nothing runs, and of a channel those of its threads."""
        await asyncio.gather(*self._noting, return_exceptions=True)
        await asyncio.to_thread(_remove_files, filenames.of_lane(lane))
        runner = self._runner()
        history = hermes.history(runner)
        if history is not None:
            sessions = await asyncio.to_thread(history.sessions, lane)
            keys = {key for key in sessions.values() if key}
            for key in keys:
                await asyncio.to_thread(hermes.reset, runner, key)
                hermes.evict(runner, key)
            sessions |= await asyncio.to_thread(history.sessions, lane)  # the fresh ones too
            for key in keys:
                await asyncio.to_thread(hermes.unroute, runner, key)
            await asyncio.to_thread(history.remove_sessions, sessions, hermes.home() / "sessions")
            log.info("iris: a lane was deleted, %d sessions of hermes' store", len(sessions))
        await self._purge()

    async def _purge(self) -> None:
        await self._host.purge()
        asyncio.get_running_loop().call_later(_LATER, self._host.purge_soon)


def _remove_files(pattern: str) -> None:
    """Remove files that came with messages from hermes' cache."""
    for folder in map(hermes.cache, attachment.FOLDERS):
        for path in folder.glob(pattern) if folder else ():
            path.unlink(missing_ok=True)
