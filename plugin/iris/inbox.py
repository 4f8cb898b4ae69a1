"""What people sent, given to hermes in the right measure (host-link.md, "Inbound").

One message per lane at a time, the next after the turn's end; commands, stops, steers, answers and what is
typed as one at once. Everything runs on hermes' loop. hermes itself is behind the Port, so that this can be
tested without it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

from .events import now_ms
from .lanes import DEFAULT, Lane
from .spool import Inbound

log = logging.getLogger(__name__)

#: Tasks with this name run our own inbound calls: a send made in one is `immediate` (hermes.md §4).
TASK_NAME = "iris-in-"
#: Seconds that hermes' own start-up may take before messages are handed over anyway.
RESTORE_WAIT = 10.0
#: Seconds after which a message that hermes took, but began no turn for, blocks its lane no longer.
PATIENCE = 60.0
_TICK = 0.05
_RETRIES = (1.0, 5.0, 15.0)  # seconds between the attempts of a deletion
_LOOK = 0.2
#: What the order to erase all is called in the log.
_ORDER = Inbound(0, 0, 1, "gateway.delete", DEFAULT, {})


class Port(Protocol):
    """What the inbox needs of hermes."""

    async def prepare(self, item: Inbound) -> None:
        """Fetch the files of a message; they may come late, but it comes back."""

    async def hand(self, item: Inbound) -> None:
        """Give a message, whose files have been fetched, to hermes."""

    async def stop(self, lane: Lane) -> None:
        """Stop what runs in the lane, without a word."""

    def steer(self, lane: Lane, text: str) -> bool:
        """Tell the running agent something; False when none runs in the lane."""

    async def answer(self, item: Inbound) -> str:
        """Give the answer to a prompt; returns the error, empty when it went well."""

    def busy_lanes(self, lane: Lane | None) -> list[Lane]:
        """The lanes in which something runs, of a channel those of its threads too; without a lane all."""

    def idle(self) -> bool:
        """Nothing runs anywhere, and hermes does not shut down."""

    async def forget(self, item: Inbound) -> None:
        """Remove messages from hermes' store; nothing runs in their lane."""

    async def forget_lane(self, lane: Lane) -> None:
        """Remove a lane from hermes' store, and with a channel its threads; nothing runs there."""

    async def forget_all(self) -> None:
        """Remove all lanes from hermes' store, and all that the plugin keeps; nothing runs there."""

    def confirm(self) -> None:
        """Tell the gateway, which was deleted, that nothing is left of it here."""

    def rename(self, lane: Lane, name: str) -> None:
        """A person gave the lane another name."""

    def become(self, item: Inbound) -> None:
        """Keep the item as what it is now."""

    def busy(self, lane: Lane) -> bool:
        """The lane takes no message now: a turn runs in it, or hermes shuts down."""

    def awaited(self, lane: Lane, text: str) -> bool:
        """The agent waits in the lane for an answer, and this plain text is one."""

    def restoring(self) -> bool:
        """hermes has not finished its start-up."""

    def finish(self, item: Inbound) -> None:
        """The item is done for good."""

    def report(self, item: Inbound, error: str) -> None:
        """Tell the gateway how an item that asked for something ended; error is empty when it went well."""


@dataclass
class _LaneQueue:
    waiting: deque[Inbound] = field(default_factory=deque)
    doomed: deque[Inbound] = field(default_factory=deque)  # deletions, in front of what waits
    erasing: bool = False  # one is being carried out
    handed: Inbound | None = None  # hermes has it, its turn has not started
    since: float = 0.0
    looking: bool = False  # a later look is on its way


class Inbox:
    """The lanes and their queues."""

    def __init__(self, port: Port, clock: Callable[[], float] = time.monotonic) -> None:
        self._port = port
        self._clock = clock
        self._lanes: dict[Lane, _LaneQueue] = {}
        self._ready = False
        self._held: list[Inbound] = []  # commands that came before hermes was ready
        self._fetching: set[tuple[int, int]] = set()  # messages whose files are on their way
        self._over = False  # the gateway was deleted: nothing is taken any more
        self._erasing = False  # all is being erased
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Wait for the end of hermes' start-up, then let messages through (hermes.md §3, start-up race)."""
        end = self._clock() + RESTORE_WAIT
        while self._port.restoring() and self._clock() < end:
            await asyncio.sleep(_TICK)
        self._ready = True
        held, self._held = self._held, []
        for item in held:
            self._at_once(item)
        for lane in list(self._lanes):
            self._advance(lane)

    def close(self) -> None:
        """hermes shuts down: hand nothing over any more; what waits is in the spool."""
        self._ready = False
        for task in self._tasks:
            task.cancel()

    def offer(self, item: Inbound) -> None:
        """Take a new item, in the order of the log."""
        if self._over:
            self._port.finish(item)
        elif item.kind == "message":
            self._offer_message(item)
        elif item.kind == "stop":
            self._run(item, self._stop(item))
        elif item.kind == "steer":
            self._run(item, self._steer(item))
        elif item.kind == "answer":
            self._run(item, self._answer(item))
        elif item.kind == "delete":
            self._delete(item)
        elif item.kind == "lane.delete":
            self._withdraw(lambda other: item.lane.covers(other.lane))
            self._run(item, self._delete_lane(item))
        else:
            if item.kind == "lane.rename":
                self._port.rename(item.lane, str(item.body.get("name") or ""))
            self._port.finish(item)  # what is unknown is ignored

    def _offer_message(self, item: Inbound) -> None:
        text = str(item.body.get("text") or "").strip()
        if text.split(" ")[0].lower() == "/stop" and self._port.busy(item.lane):
            self._run(item, self._stop(item, told=False))
        elif text.startswith("/") or (text and self._port.awaited(item.lane, text)):
            self._at_once(item)
        else:
            self._lanes.setdefault(item.lane, _LaneQueue()).waiting.append(item)
            if item.body.get("media"):
                self._fetching.add((item.cursor, item.item))
                self._run(item, self._fetch(item))
            self._advance(item.lane)

    async def _fetch(self, item: Inbound) -> None:
        """Fetch the files of a message that waits for its turn."""
        try:
            await self._port.prepare(item)
        finally:
            self._fetching.discard((item.cursor, item.item))
            self._advance(item.lane)

    def started(self, lane: Lane, message_id: str | None) -> None:
        """A turn began: its message is done, a restart of the host must not begin it again."""
        queue = self._lanes.get(lane)
        if queue and queue.handed and queue.handed.message_id == message_id:
            self._finish_handed(queue)

    def unbegun(self, lane: Lane) -> Inbound | None:
        """Return the message that hermes has and has begun no turn for."""
        queue = self._lanes.get(lane)
        return queue.handed if queue else None

    def ended(self, lane: Lane, answered: Inbound | None) -> None:
        """A turn is over, and hermes' task with it. answered is the message that was unbegun at its end:
        hermes has answered it inside. One that was handed over since begins a turn of its own.
        """
        queue = self._lanes.get(lane)
        if queue and answered and queue.handed is answered:
            self._finish_handed(queue)
        self._advance(lane)

    def _advance(self, lane: Lane) -> None:
        queue = self._lanes.get(lane)
        if not queue or not self._ready:
            return
        if queue.handed and self._clock() - queue.since > PATIENCE and not self._port.busy(lane):
            log.warning("iris: hermes began no turn for a message; going on with the next")
            self._finish_handed(queue)
        if not queue.waiting and not queue.doomed:
            if not queue.handed and not queue.erasing:
                del self._lanes[lane]
            return
        if queue.handed or queue.erasing or self._port.busy(lane):
            self._look_later(lane, queue)
            return
        if queue.doomed:
            item, queue.erasing = queue.doomed.popleft(), True
            self._run(item, self._erase(item, queue))
            return
        if (queue.waiting[0].cursor, queue.waiting[0].item) in self._fetching:
            return
        item = queue.handed = queue.waiting.popleft()
        queue.since = self._clock()
        self._run(item, self._hand(item))

    # --- deletions ---

    def _delete(self, item: Inbound) -> None:
        """Delete messages: those that wait are not handed over any more, the others go once the lane is
        idle.
        """
        listed = item.body.get("messages")
        gone = {str(m.get("message_id")) for m in listed or () if isinstance(m, dict)}
        self._withdraw(lambda other: other.message_id in gone)
        self._lanes.setdefault(item.lane, _LaneQueue()).doomed.append(item)
        self._advance(item.lane)

    def _withdraw(self, gone: Callable[[Inbound], bool]) -> None:
        """Do not hand over what waits and is gone."""
        for queue in self._lanes.values():
            for item in [item for item in (*queue.waiting, *queue.doomed) if gone(item)]:
                (queue.waiting if item in queue.waiting else queue.doomed).remove(item)
                self._port.finish(item)
        for item in [item for item in self._held if gone(item)]:
            self._held.remove(item)
            self._port.finish(item)

    async def _erase(self, item: Inbound, queue: _LaneQueue) -> None:
        try:
            await self._again(lambda: self._port.forget(item))
            self._port.finish(item)
        finally:
            queue.erasing = False
            self._advance(item.lane)

    async def _delete_lane(self, item: Inbound) -> None:
        """Stop what runs in the lane, and delete it once that is over."""
        while not self._ready:
            await asyncio.sleep(_TICK)
        for lane in self._port.busy_lanes(item.lane):
            await self._port.stop(lane)
        while any(map(self._port.busy, (item.lane, *self._port.busy_lanes(item.lane)))):
            await asyncio.sleep(_LOOK)
        await self._again(lambda: self._port.forget_lane(item.lane))
        self._port.finish(item)

    def erase(self) -> None:
        """The gateway was deleted: erase all that came from it, and confirm. Told again, it does it again."""
        self._over = True
        self._withdraw(lambda _: True)
        if not self._erasing:
            self._erasing = True
            self._run(_ORDER, self._erase_all())

    async def _erase_all(self) -> None:
        """Stop all that runs, and erase all once that is over."""
        try:
            while not self._ready:
                await asyncio.sleep(_TICK)
            for lane in self._port.busy_lanes(None):
                await self._port.stop(lane)
            while not self._port.idle():
                await asyncio.sleep(_LOOK)
            await self._again(self._port.forget_all)
            self._port.confirm()
        finally:
            self._erasing = False

    @staticmethod
    async def _again(work: Callable[[], Awaitable[None]]) -> None:
        """Do it, and again if hermes' store is busy; what fails in the end is done by the next process."""
        for wait in _RETRIES:
            try:
                return await work()
            except Exception as err:
                log.warning("iris: hermes' store did not take a deletion (%r), trying again", err)
                await asyncio.sleep(wait)
        await work()

    def _look_later(self, lane: Lane, queue: _LaneQueue) -> None:
        # hermes frees a lane a moment after the turn's task has ended, without a call: so look again.
        def look() -> None:
            queue.looking = False
            self._advance(lane)

        if not queue.looking:
            queue.looking = True
            asyncio.get_running_loop().call_later(_LOOK, look)

    async def _hand(self, item: Inbound) -> None:
        try:
            await self._port.hand(item)
        finally:
            queue = self._lanes.get(item.lane)
            if queue and queue.handed is item and not self._port.busy(item.lane):
                # hermes took it without a turn, e.g. as an answer.
                self._finish_handed(queue)
                self._advance(item.lane)

    def _at_once(self, item: Inbound) -> None:
        if self._ready:
            self._run(item, self._hand_at_once(item))
        else:
            self._held.append(item)

    async def _hand_at_once(self, item: Inbound) -> None:
        if item.body.get("media"):
            await self._port.prepare(item)
        try:
            await self._port.hand(item)
        finally:
            self._port.finish(item)

    async def _stop(self, item: Inbound, told: bool = True) -> None:
        error = ""
        if told and _expired(item):
            error = "expired"
        else:
            try:
                await self._port.stop(item.lane)
            except Exception as err:
                log.exception("iris: stop failed")
                error = type(err).__name__
        if told:
            self._port.report(item, error)
        self._port.finish(item)

    async def _steer(self, item: Inbound) -> None:
        if _expired(item):
            self._port.report(item, "expired")
            self._port.finish(item)
        elif self._port.steer(item.lane, str(item.body.get("text") or "")):
            self._port.report(item, "")
            self._port.finish(item)
        else:  # no turn runs: it is a message, also for the next process
            message = replace(item, kind="message")
            self._port.become(message)
            self._port.report(item, "")
            self._offer_message(message)

    async def _answer(self, item: Inbound) -> None:
        try:
            error = await self._port.answer(item)
        except Exception as err:
            log.exception("iris: an answer failed")
            error = str(err) or type(err).__name__
        self._port.report(item, error)
        self._port.finish(item)

    def _finish_handed(self, queue: _LaneQueue) -> None:
        if queue.handed:
            self._port.finish(queue.handed)
            queue.handed = None

    def _run(self, item: Inbound, work: Awaitable[None]) -> None:
        async def guarded() -> None:
            try:
                await work
            except Exception:
                log.exception("iris: an inbound %s failed", item.kind)

        task = asyncio.get_running_loop().create_task(guarded(), name=f"{TASK_NAME}{item.cursor}-{item.item}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _expired(item: Inbound) -> bool:
    """The person was told already that it did not work."""
    expires = item.body.get("expires_at")
    return isinstance(expires, int | float) and now_ms() > expires
