"""Sends the files of the outbox to the gateway, one after the other (host-link.md, "Media").

Lives on the link's loop, longer than a connection: a transfer that was cut begins again on the next one, a
large file where the gateway has it up to.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from .events import Event, dumps
from .medium import Medium
from .outbox import mib
from .pump import Pump
from .spool import Spool

log = logging.getLogger(__name__)

Send = Callable[[str | bytes], Awaitable[None]]

CHUNK = 64 * 1024
#: Larger files ask where to go on: for others beginning anew is cheaper than asking.
RESUMED = 1024 * 1024
#: Bytes of a file that any gateway takes, until one has said more.
MOST = 64 * 1024 * 1024
#: Seconds that the gateway may take to answer, e.g. to put a file together.
PATIENCE = 120.0
#: Seconds before the next attempt, when the gateway says that it cannot just now. Then it is given up.
PAUSES = (1.0, 5.0, 20.0, 60.0)
#: Connections that may break in the middle of one file.
CUTS = 50
#: "conflict": the connection before this one has not quite ended.
_NOT_NOW = frozenset({"internal", "unavailable", "conflict"})


class Uploads:
    """The files that go out. `most` is what the gateway takes, in bytes."""

    def __init__(self, pump: Pump) -> None:
        self.most = MOST
        self._pump = pump
        self._news = asyncio.Event()
        self._answers: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._under_way = ""  # media_id
        self._cuts: dict[str, int] = {}

    def news(self) -> None:
        """There may be something to send. On the link's loop."""
        self._news.set()

    def take(self, frame: dict[str, Any]) -> None:
        """Take an answer of the gateway."""
        if frame.get("media_id") == self._under_way:
            self._answers.put_nowait(frame)

    async def run(self, send: Send) -> None:
        """Send what waits, on this connection."""
        while True:
            self._news.clear()
            medium = await self._ask(lambda spool: spool.media.first())
            if medium is None or medium.url:
                await self._news.wait()
                continue
            with self._counted(medium):
                why = await self._send(medium, send)
            self._cuts.pop(medium.media_id, None)
            if why:
                log.warning("iris: a file could not be sent: %s", why)
            await self._over(medium, why)

    @contextlib.contextmanager
    def _counted(self, medium: Medium) -> Any:
        try:
            yield
        except BaseException:
            self._cuts[medium.media_id] = self._cuts.get(medium.media_id, 0) + 1
            raise

    async def _send(self, medium: Medium, send: Send) -> str:
        """Bring a file to the gateway; returns why not, "" if it has it."""
        if self._cuts.get(medium.media_id, 0) > CUTS:
            return f"the connection broke {CUTS} times in the middle of it"
        if medium.size > self.most:
            takes = f"takes {mib(self.most)} at most" if self.most else "takes no files"
            return f"it has {mib(medium.size)}, the gateway {takes}"
        for pause in (*PAUSES, None):
            answer = await self._put(medium, send)
            if answer.get("ok") is True:
                return ""
            why = str(answer.get("message") or answer.get("code") or "the gateway refused it")
            if pause is None or answer.get("code") not in _NOT_NOW:
                break
            log.info("iris: the gateway cannot take a file now, again in %d s: %s", pause, why)
            await asyncio.sleep(pause)
        return why

    async def _put(self, medium: Medium, send: Send) -> dict[str, Any]:
        """Make one attempt; returns the gateway's verdict."""
        self._answers, self._under_way = asyncio.Queue(), medium.media_id
        try:
            file = self._pump.copy_of(medium.media_id).open("rb")
        except OSError as err:
            return {"message": f"its copy is gone ({err.strerror})"}
        with file:
            header = medium.header()
            if medium.size > RESUMED:
                await send(dumps({**header, "resume": True}))
                ready = await self._answer("media.put.ready")
                if ready["type"] == "media.put.ack":
                    return ready
                file.seek(max(0, int(ready.get("offset") or 0)))
            else:
                await send(dumps(header))
            # It may answer before the last byte: it has the file already, or does not want it.
            while self._answers.empty() and (chunk := file.read(CHUNK)):
                await send(chunk)
                await asyncio.sleep(0)  # send waits only when the socket is full: others have their turn
            if self._answers.empty():
                await send(dumps({"type": "media.put.end", "media_id": medium.media_id}))
            return await self._answer()

    async def _answer(self, *kinds: str) -> dict[str, Any]:
        """Wait for the verdict, or another frame of these types."""
        while True:
            frame = await asyncio.wait_for(self._answers.get(), PATIENCE)
            if frame["type"] in ("media.put.ack", *kinds):
                return frame

    async def _over(self, medium: Medium, why: str) -> None:
        """Tell people of the file, or why they do not get it: together with the end of its row, so that it
        happens once.
        """

        def settle(spool: Spool) -> Event:
            spool.media.remove(medium)
            return medium.lost(why) if why else medium.event()

        await asyncio.wrap_future(self._pump.exchange(settle))
        self._pump.copy_of(medium.media_id).unlink(missing_ok=True)

    async def _ask(self, work: Callable[[Spool], Medium | None]) -> Medium | None:
        return await asyncio.wrap_future(self._pump.ask(work))
