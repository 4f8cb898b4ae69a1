"""The host: spool, pump, link and open turns of this hermes process, wired together. No hermes import.

Made when the adapter is, started by its connect(): a hermes process that only lists plugins never opens the
spool and never dials.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import ids
from .events import Body, Event
from .lanes import Lane
from .link import Backoff, Link
from .pump import Pump
from .settings import Settings
from .spool import Inbound, Spool
from .turns import Turns

log = logging.getLogger(__name__)

VERSION = "0.1.0"


class Host:
    """Takes events from any thread, gives inbound items to `deliver` (called on the link's thread)."""

    def __init__(
        self,
        settings: Settings,
        spool: Path,
        agent: Callable[[], Body],
        deliver: Callable[[Inbound], None],
        backoff: Backoff | None = None,
    ) -> None:
        self.turns = Turns()
        self._settings = settings
        self._path = spool
        self._agent = agent
        self._deliver = deliver
        self._backoff = backoff
        self._pump: Pump | None = None
        self._link: Link | None = None

    def start(self) -> list[Inbound]:
        """Open the spool and begin to dial; returns what an earlier process left to do. Blocks on the
        disk.
        """
        if self._pump:
            return []
        spool = Spool(self._path)
        unfinished, orphans = spool.unfinished(), spool.orphans()
        self._pump = Pump(spool)
        self._pump.start()
        for event in orphans:
            self._pump.emit(event)
        self._link = Link(self._settings, self._pump, self._hello, self._deliver, self._backoff)
        self._link.start()
        return unfinished

    def stop(self) -> None:
        """Flush, close, end both threads. Takes at most a few seconds."""
        link, pump, self._link, self._pump = self._link, self._pump, None, None
        if link:
            link.stop()
        if pump:
            pump.stop()

    def emit(self, event: Event) -> None:
        """Report what happened; never waits."""
        if self._pump:
            self._pump.emit(event)

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

    def _hello(self) -> dict[str, Any]:
        return {"process": ids.PROCESS, "plugin": VERSION, **self._agent()}
