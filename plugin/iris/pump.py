"""The pump: one thread that gives events their order, their seq and their place on disk.

Callbacks and hooks only put into its queue (host-link.md, "Principles"). Whatever is taken out is committed
together, then handed to the socket's queue in the same order, durable and live alike.
"""

from __future__ import annotations

import contextlib
import logging
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from .events import Body, Event
from .held import Held
from .lanes import Lane
from .outgoing import Outgoing
from .recap import Recap
from .spool import Inbound, Spool

log = logging.getLogger(__name__)

T = TypeVar("T")

#: How many operations one transaction takes at most.
BATCH = 500


@dataclass(frozen=True)
class Snapshot:
    """The state at one point of the event stream: what `hello` says."""

    epoch: str
    last_seq: int
    received: int
    turns: list[dict[str, Any]]


@dataclass
class _Ask:
    """Work with the spool, at its place among the events."""

    work: Callable[[Spool], Any]
    answer: Future[Any]
    after: Callable[[Any], Any]  # runs once it is committed, and makes the answer

    def finish(self, result: Any) -> None:
        """The work is safe on disk."""
        try:
            self.answer.set_result(self.after(result))
        except Exception as err:
            self.answer.set_exception(err)


class _Stop:
    pass


class Stopped(Exception):
    """The pump has ended: it does no work any more."""


class Pump(threading.Thread):
    """Owns the spool, the recap, and which queue the events go to."""

    def __init__(self, spool: Spool) -> None:
        super().__init__(name="iris-pump", daemon=True)
        self._spool = spool
        self._recap = Recap()
        self._out: Outgoing | None = None
        self._queue: queue.SimpleQueue[Event | _Ask | _Stop] = queue.SimpleQueue()
        self._held = Held()
        self._ended = threading.Event()

    # --- any thread ---

    def emit(self, event: Event) -> None:
        """Take an event; never waits."""
        self._queue.put(event)

    def ask(self, work: Callable[[Spool], T]) -> Future[T]:
        """Run work on the pump's thread; the future is done when its changes are safe on disk. Stopped, if
        the pump has ended; one that is cancelled in time does nothing.
        """
        return self._put(work, lambda result: result)

    def exchange(self, work: Callable[[Spool], Event]) -> Future[None]:
        """Do work and report the durable event that it returns: both happen, or neither does."""

        def both(spool: Spool) -> tuple[Event, int, str]:
            event = work(spool)
            return event, *spool.append(event)

        def after(kept: tuple[Event, int, str]) -> None:
            event, seq, frame = kept
            self._recap.apply(event, seq)
            if self._out:
                self._out.push(event, frame)

        return self._put(both, after)

    def store(self, item: Inbound, frame: Body, deliver: Callable[[Inbound], None]) -> Future[int]:
        """Keep an inbound item and deliver it, on the pump's thread, once it is safe: both, also when the
        connection that brought it ends meanwhile. Returns up to which cursor all is safe.
        """

        def after(kept: tuple[bool, int]) -> int:
            new, received = kept
            if new:
                deliver(item)
            return received

        return self._put(lambda spool: spool.store(item, frame), after)

    def copy_of(self, media_id: str) -> Path:
        """Where the copy of a file is that is on its way out."""
        return self._spool.media.path(media_id)

    def ack(self, seq: int) -> Future[None]:
        """The gateway has everything up to seq."""
        return self._put(lambda spool: spool.ack(seq), lambda _: self._recap.ack(seq))

    def pending(self, after: int, upto: int) -> Future[list[tuple[int, str]]]:
        """Read the next spooled events in (after, upto]."""
        return self.ask(lambda spool: spool.pending(after, upto))

    def attach(self, out: Outgoing) -> Future[Snapshot]:
        """Let all later events go to out; the snapshot is the state before them."""

        def work(spool: Spool) -> Snapshot:
            for seq, _, event in spool.report_lost():
                self._recap.apply(event, seq)
            return Snapshot(spool.epoch, spool.last_seq, spool.received, [])

        def after(snapshot: Snapshot) -> Snapshot:
            self._out = out
            return Snapshot(snapshot.epoch, snapshot.last_seq, snapshot.received, self._recap.snapshot())

        return self._put(work, after)

    def purge(self) -> Future[None]:
        """Empty the spool's write-ahead log of what was deleted."""
        return self._put(lambda _: None, lambda _: self._spool.empty_log())

    def forget(self) -> Future[None]:
        """Keep nothing, from now on: the gateway has been deleted."""

        def after(_: None) -> None:
            self._recap = Recap()
            self._spool.media.sweep()
            self._spool.empty_log()

        return self._put(lambda spool: spool.forget(), after)

    def detach(self, out: Outgoing) -> None:
        """Send nothing to out any more."""

        def after(_: None) -> None:
            if self._out is out:
                self._out = None

        self._put(lambda _: None, after)

    def stop(self) -> None:
        """Finish what is queued, close the spool, end the thread."""
        self._queue.put(_Stop())
        self.join(timeout=5)

    def _put(self, work: Callable[[Spool], Any], after: Callable[[Any], Any]) -> Future[Any]:
        ask = _Ask(work, Future(), after)
        self._queue.put(ask)
        if self._ended.is_set():  # perhaps nobody takes it out any more
            self._refuse()
        return ask.answer

    def _refuse(self) -> None:
        """Tell those who have asked that nobody does it: they may wait for the answer."""
        with contextlib.suppress(queue.Empty):
            while True:
                op = self._queue.get_nowait()
                if isinstance(op, _Ask) and op.answer.set_running_or_notify_cancel():
                    op.answer.set_exception(Stopped())

    # --- the pump's thread ---

    def run(self) -> None:
        running = True
        while running:
            batch = self._next()
            running = not any(isinstance(op, _Stop) for op in batch)
            try:
                self._work([op for op in batch if not isinstance(op, _Stop)], last=not running)
            except Exception:
                log.exception("iris: the pump stumbled")
        if self._held.events:
            log.error("iris: %d events are lost, the disk did not take them", len(self._held.events))
        self._ended.set()
        self._refuse()
        self._spool.close()

    def _next(self) -> list[Event | _Ask | _Stop]:
        """Return what is to be done next; nothing, when the disk is only to be asked again."""
        try:
            batch = [self._queue.get(timeout=self._held.patience)]
        except queue.Empty:
            return []
        while len(batch) < BATCH and not self._queue.empty():
            batch.append(self._queue.get())
        return batch

    def _work(self, batch: list[Event | _Ask], last: bool) -> None:
        # Who does not want an answer any more must not get one; from here on nobody changes his mind.
        batch = [op for op in batch if isinstance(op, Event) or op.answer.set_running_or_notify_cancel()]
        if self._held.patience and not last:
            return self._put_off(batch)
        for attempt in (1, 2, 3):
            try:
                after = self._commit([*self._held.events, *batch], self._held.lost)
                break
            except sqlite3.Error as err:
                log.error("iris: the spool could not be written (%s), attempt %d", err, attempt)
                self._recover()
                if attempt == 3:
                    self._held.refused()
                    return self._put_off(batch)
                time.sleep(0.2 * attempt)
        self._held.clear()
        self._finish(after)

    def _put_off(self, batch: list[Event | _Ask]) -> None:
        """The disk takes no events: hold them, show at least the live ones, and do what is asked if that
        needs no room.
        """
        events = [op for op in batch if isinstance(op, Event)]
        asks = [op for op in batch if isinstance(op, _Ask)]
        self._held.add(event for event in events if event.durable)
        after = [self._keep(event) for event in events if not event.durable]
        try:
            after += self._commit(asks)
        except sqlite3.Error as err:
            self._recover()
            after += [partial(ask.answer.set_exception, err) for ask in asks]
        self._finish(after)

    @staticmethod
    def _finish(after: list[Callable[[], None]]) -> None:
        for step in after:
            try:
                step()
            except Exception:
                log.exception("iris: the pump stumbled")

    def _commit(
        self, batch: Sequence[Event | _Ask], lost: Mapping[Lane, int] = MappingProxyType({})
    ) -> list[Callable[[], None]]:
        """Do the batch in one transaction, and note what was lost before it; returns what is to happen once
        it is safe, in order.
        """
        after: list[Callable[[], None]] = []
        self._spool.begin()
        for lane, n in lost.items():
            self._spool.lose(lane, n)
        for op in batch:
            if isinstance(op, Event):
                after.append(self._keep(op))
            else:
                after.append(self._answer(op))
        self._spool.commit()
        return after

    def _keep(self, event: Event) -> Callable[[], None]:
        try:
            seq, frame = self._spool.append(event) if event.durable else (None, "")
        except sqlite3.Error:
            raise
        except Exception as err:
            log.error("iris: an event %s cannot be encoded (%s)", event.kind, type(err).__name__)
            return lambda: None

        def step() -> None:
            self._recap.apply(event, seq)
            if self._out:
                self._out.push(event, frame or event.frame(None))

        return step

    def _answer(self, ask: _Ask) -> Callable[[], None]:
        try:
            result = ask.work(self._spool)
        except sqlite3.Error:
            raise
        except Exception as err:
            failure = err
            return lambda: ask.answer.set_exception(failure)
        return lambda: ask.finish(result)

    def _recover(self) -> None:
        try:
            self._spool.rollback()
        except sqlite3.Error as err:
            log.error("iris: the spool could not be rolled back (%s)", err)
