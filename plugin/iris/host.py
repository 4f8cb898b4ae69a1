"""The host: spool, pump, link and open turns of this hermes process, wired together. No hermes import.

Made when the adapter is, started by its connect(): a hermes process that only lists plugins never opens the
spool and never dials.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import ids, outbox
from .attachment import Attachment, Gone
from .events import Body, Event
from .fetch import Fetcher
from .lanes import Lane
from .link import Backoff, Link
from .medium import Medium
from .pump import Pump
from .settings import Settings
from .spool import Inbound, Spool
from .turns import Turns

log = logging.getLogger(__name__)

VERSION = "0.1.0"


class Host:
    """Takes events from any thread, gives inbound items to `deliver` (called on the pump's thread, or that of
    `start`), and calls `deleted` (on the link's) when the gateway was.
    """

    def __init__(
        self,
        settings: Settings,
        spool: Path,
        agent: Callable[[], Body],
        deliver: Callable[[Inbound], None],
        backoff: Backoff | None = None,
        deleted: Callable[[], None] = lambda: None,
    ) -> None:
        self.turns = Turns()
        self._settings = settings
        self._path = spool
        self._agent = agent
        self._deliver = deliver
        self._deleted = deleted
        self._backoff = backoff
        self._pump: Pump | None = None
        self._link: Link | None = None
        self._fetcher: Fetcher | None = None

    def start(self) -> None:
        """Open the spool, deliver what an earlier process left to do, and then begin to dial: what is new
        comes behind it. Blocks on the disk.
        """
        if self._pump:
            return
        spool = Spool(self._path)
        unfinished, orphans, unfetched = spool.unfinished(), spool.orphans(), spool.media.unfetched()
        self._pump = Pump(spool)
        self._pump.start()
        for event in orphans:
            self._pump.emit(event)
        link = self._link = Link(
            self._settings, self._pump, self._hello, self._deliver, self._backoff, self._deleted
        )
        self._fetcher = Fetcher(self._pump.copy_of, lambda: link.media_most, self._fetched, self._unsendable)
        for item in unfinished:
            self._deliver(item)  # which may ask for its files at once
        link.start()
        for medium in unfetched:
            self._fetcher.want(medium)

    def stop(self) -> None:
        """Flush, close, end both threads. Takes at most a few seconds."""
        link, pump, self._link, self._pump = self._link, self._pump, None, None
        if self._fetcher:
            self._fetcher.stop()
        if link:
            link.stop()
        if pump:
            pump.stop()

    def emit(self, event: Event) -> None:
        """Report what happened; never waits."""
        if self._pump:
            self._pump.emit(event)

    def share(self, medium: Medium, source: str | None) -> None:
        """Take a file that people are to get: its copy when the method returns; without a source, from its
        address later. Blocks on the disk, never on the network, and does not fail: people are told.
        """
        pump, link, fetcher = self._pump, self._link, self._fetcher
        if not (pump and link and fetcher):
            return
        copy = pump.copy_of(medium.media_id)
        try:
            if source is not None:
                medium = medium.with_bytes(*outbox.copy(source, copy, link.media_most))
            pump.ask(lambda spool: spool.media.add(medium)).result()
        except Exception as err:
            copy.unlink(missing_ok=True)
            self._unsendable(medium, str(err) if isinstance(err, outbox.Unsendable) else repr(err))
            return
        if source is None:
            fetcher.want(medium)
        link.media_news()

    def _fetched(self, medium: Medium) -> None:
        pump, link = self._pump, self._link
        if pump and link:
            pump.ask(lambda spool: spool.media.fetched(medium)).result()
            link.media_news()

    def _unsendable(self, medium: Medium, why: str) -> None:
        log.warning("iris: a file could not be sent: %s", why)
        pump, link = self._pump, self._link
        if pump and link:

            def settle(spool: Spool) -> Event:
                spool.media.remove(medium)
                return medium.lost(why)

            pump.exchange(settle)
            link.media_news()

    async def fetch(self, attachment: Attachment, into: Path) -> Path | str:
        """Bring a file of a message to `into`; returns the path, or why it cannot be had."""
        link = self._link
        if not link:
            return "the host shuts down"
        try:
            return await link.fetch(attachment, into)
        except Gone as err:
            return str(err)

    def finish(self, item: Inbound) -> None:
        """An inbound item is done."""
        if self._pump:
            self._pump.ask(lambda spool: spool.finish(item.cursor, item.item))

    def become(self, item: Inbound) -> None:
        """An inbound item has become another kind."""
        if self._pump:
            self._pump.ask(lambda spool: spool.become(item))

    def report(self, item: Inbound, error: str = "", text: str = "") -> None:
        """Tell the gateway how an inbound item that asked for something ended (`done`)."""
        body: Body = {"cursor": item.cursor, "item": item.item, "ok": not error}
        if error:
            body["error"] = error
        if text:
            body["text"] = text
        self.emit(Event("done", Lane(item.lane.chat_id, item.lane.thread_id), body))

    async def map_rows(self, rows: dict[str, int]) -> None:
        """Remember which rows of hermes' store messages became."""
        if self._pump:
            await asyncio.wrap_future(self._pump.ask(lambda spool: spool.map_rows(rows)))

    async def rows_of(self, message_ids: list[str]) -> dict[str, int]:
        """Return the rows of messages, as far as they are known."""
        if not self._pump:
            return {}
        return await asyncio.wrap_future(self._pump.ask(lambda spool: spool.rows_of(message_ids)))

    async def unmap(self, message_ids: list[str]) -> None:
        """Forget the rows of messages, which are gone."""
        if self._pump:
            await asyncio.wrap_future(self._pump.ask(lambda spool: spool.unmap(message_ids)))

    async def purge(self) -> None:
        """Leave nothing in the spool's files of what is done."""
        if self._pump:
            await asyncio.wrap_future(self._pump.purge())

    def purge_soon(self) -> None:
        """As purge, without waiting for it."""
        if self._pump:
            self._pump.purge()

    async def forget(self) -> None:
        """The gateway was deleted: keep nothing of what is here, nor of what comes."""
        if self._fetcher:
            self._fetcher.stop()
        if self._pump:
            await asyncio.wrap_future(self._pump.forget())

    def confirm(self) -> None:
        """Tell the gateway, which was deleted, that nothing is left of it here."""
        if self._link:
            self._link.confirm()

    def _hello(self) -> dict[str, Any]:
        return {"process": ids.PROCESS, "plugin": VERSION, **self._agent()}
