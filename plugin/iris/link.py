"""The link: one thread with its own event loop that owns the socket to the gateway (host-link.md,
"Opening").

It dials, says hello, sends again what was not acked, then what happens; takes inbound items and reports them
as received once they are safe. It comes back after every break, for ever.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import random
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .attachment import Attachment
from .clock import CLOCK
from .download import Downloads
from .events import dumps, fit
from .outgoing import Outgoing
from .pump import Pump, Snapshot
from .settings import BadSettings, Settings
from .spool import Inbound
from .upload import Uploads

log = logging.getLogger(__name__)

# At debug level the library logs the request's headers, and so the token.
_socket_log = logging.getLogger(__name__ + ".socket")
_socket_log.setLevel(logging.WARNING)

PROTOCOL = 1
PING, SILENCE = 25, 60  # seconds between pings, and without a sign of life
HELLO_TIMEOUT = 15
MAX_INBOUND = (
    4 * 1024 * 1024
)  # frames are up to 1 MiB; a bit of air, since too large a frame ends the connection

GOING_AWAY, BAD_TOKEN, REPLACED = 1001, 4401, 4409
SETTLED = 0.5  # seconds; a connection that ends sooner would end so again and again


class Backoff:
    """How long to wait before the next dial, given why the last connection ended."""

    def __init__(self, chance: Callable[[], float] = random.random) -> None:
        self._chance = chance
        self._next = 1.0

    def after(self, code: int | None, lived: float) -> float:
        """Return the seconds to wait after a connection that lived so long (0 if it was never accepted).

        code is the close code, None for a broken or refused connection.
        """
        if code == BAD_TOKEN:
            log.error("iris: the gateway refuses IRIS_TOKEN; asking again in 5 minutes")
            return 300.0
        if code == REPLACED:
            log.warning("iris: another host with the same token took over; coming back in a minute")
            return 60.0
        if lived > SETTLED:
            self._next = 1.0
            if code == GOING_AWAY:
                return 0.0
        delay, self._next = self._next, min(60.0, self._next * 2)
        return delay * (0.75 + self._chance() / 2)


class Link(threading.Thread):
    """The socket's thread. `hello` makes the opening frame; `deliver` takes each new inbound item, on the
    pump's thread; `deleted` is called, maybe several times, when the gateway was deleted: all of it must go.
    """

    def __init__(
        self,
        settings: Settings,
        pump: Pump,
        hello: Callable[[], dict[str, Any]],
        deliver: Callable[[Inbound], None],
        backoff: Backoff | None = None,
        deleted: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(name="iris-link", daemon=True)
        self._settings = settings
        self._pump = pump
        self._hello = hello
        self._deliver = deliver
        self._deleted = deleted
        self._session: _Session | None = None
        self._backoff = backoff or Backoff()
        self._loop = asyncio.new_event_loop()
        self._stopping = asyncio.Event()
        self._quiet = ""  # last failure that was logged
        self._uploads, self._downloads = Uploads(pump), Downloads()

    # --- any thread ---

    @property
    def media_most(self) -> int:
        """How many bytes a file may have that is sent."""
        return self._uploads.most

    def media_news(self) -> None:
        """There is a file to send."""
        with contextlib.suppress(RuntimeError):  # the loop has ended already
            self._loop.call_soon_threadsafe(self._uploads.news)

    def confirm(self) -> None:
        """Nothing is left here of the gateway, which was deleted. Without a connection nobody hears it: then
        the next one brings the order again.
        """
        session = self._session
        if session:
            session.control({"type": "gateway.deleted"})

    async def fetch(self, attachment: Attachment, into: Path) -> Path:
        """Bring a file of a message to `into`, once the gateway is there; raises Gone. On any loop."""

        async def fetch() -> Path:
            return await asyncio.wrap_future(self._downloads.want(attachment, into))

        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(fetch(), self._loop))

    def stop(self, timeout: float = 4.0) -> None:
        """Send what waits, as far as the gateway takes it in time, close, and end the thread."""
        with contextlib.suppress(RuntimeError):  # the loop has ended already
            self._loop.call_soon_threadsafe(self._stopping.set)
        self.join(timeout)

    # --- the link's thread ---

    def run(self) -> None:
        try:
            self._loop.run_until_complete(self._main())
        except Exception:
            log.exception("iris: the link ended")
        finally:
            self._loop.close()

    async def _main(self) -> None:
        stopping = asyncio.create_task(self._stopping.wait())
        while not self._stopping.is_set():
            session = self._session = _Session(
                self._pump,
                self._deliver,
                self._deleted,
                self._hello,
                self._stopping,
                self._uploads,
                self._downloads,
            )
            connection = asyncio.create_task(self._once(session))
            await asyncio.wait({connection, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if self._stopping.is_set():
                # An open session flushes and closes by itself; a dial is not waited for.
                await asyncio.wait({connection}, timeout=3 if session.open else 0)
                connection.cancel()
                await asyncio.gather(connection, return_exceptions=True)
                return
            delay = self._backoff.after(connection.result(), session.lived)
            await asyncio.wait({stopping}, timeout=delay)

    async def _once(self, session: _Session) -> int | None:
        """Hold one connection; returns its close code, None when it was lost or refused."""
        from websockets.exceptions import ConnectionClosed, InvalidStatus

        code: int | None = None
        try:
            async with self._dial() as socket:
                await session.run(socket)
        except ConnectionClosed as err:
            code = err.rcvd.code if err.rcvd else None
            self._say(f"connection closed ({code or 'lost'})", bool(session.lived))
        except InvalidStatus as err:
            status = err.response.status_code
            code = BAD_TOKEN if status in (401, 403) else None
            self._say(f"the gateway answered {status}")
        except _Again:
            code = GOING_AWAY
        except BadSettings as err:
            code = BAD_TOKEN
            self._say(str(err))
        except Exception as err:
            self._say(f"{type(err).__name__}: {err}")
        return code

    def _dial(self) -> Any:
        from websockets.asyncio.client import connect

        more: dict[str, Any] = {"proxy": None} if self._settings.loopback else {}
        return connect(
            self._settings.endpoint,
            additional_headers={"Authorization": f"Bearer {self._settings.token}"},
            user_agent_header="iris-hermes-plugin",
            compression=None,
            max_size=MAX_INBOUND,
            open_timeout=HELLO_TIMEOUT,
            ping_interval=PING,
            ping_timeout=SILENCE - PING,
            close_timeout=1,
            logger=_socket_log,
            **more,
        )

    def _say(self, what: str, always: bool = False) -> None:
        # A gateway that is away for a day makes one line, not a thousand.
        (log.info if always or what != self._quiet else log.debug)("iris: %s", what)
        self._quiet = what


class _Again(Exception):
    """Dial again at once."""


class _Session:
    """One connection, from hello to its end. Lives on the link's loop."""

    def __init__(
        self,
        pump: Pump,
        deliver: Callable[[Inbound], None],
        deleted: Callable[[], None],
        hello: Callable[[], dict[str, Any]],
        stopping: asyncio.Event,
        uploads: Uploads,
        downloads: Downloads,
    ) -> None:
        loop = asyncio.get_running_loop()
        self._pump = pump
        self._deliver = deliver
        self._deleted = deleted
        self._hello = hello
        self._stopping = stopping
        self._uploads, self._downloads = uploads, downloads
        self._news = asyncio.Event()
        self._acks = asyncio.Event()
        self._acked = 0
        self._out = Outgoing(lambda: _wake(loop, self._news))
        self._since: float | None = None
        self.open = False

    @property
    def lived(self) -> float:
        """Seconds since hello.ack, 0 before it."""
        return 0.0 if self._since is None else time.monotonic() - self._since

    def control(self, frame: dict[str, Any]) -> None:
        """Send a frame that is no event. On any thread."""
        self._out.control(dumps(frame))

    async def run(self, socket: Any) -> None:
        """Say hello, then read and write until the connection ends or the plugin stops."""
        self.open = True
        CLOCK.meet(socket.response.headers.get("Date"))
        snapshot = await asyncio.wrap_future(self._pump.attach(self._out))
        tasks: set[asyncio.Task[None]] = set()
        try:
            await self._greet(socket, snapshot)
            log.info("iris: connected to the gateway")
            work = (self._write(socket, snapshot), self._read(socket), self._flush())
            media = (self._uploads.run(socket.send), self._downloads.run(socket.send))
            tasks = {asyncio.create_task(one) for one in (*work, *media)}
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            self._pump.detach(self._out)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _greet(self, socket: Any, snapshot: Snapshot) -> None:
        head = {"type": "hello", "protocol": PROTOCOL, "epoch": snapshot.epoch, "last_seq": snapshot.last_seq}
        head |= {"received": snapshot.received, **self._hello()}
        await socket.send(fit(head, "turns", snapshot.turns))
        ack = await asyncio.wait_for(self._hello_ack(socket), HELLO_TIMEOUT)
        self._acked = int(ack.get("acked") or 0)
        gateway, received = str(ack.get("gateway_id") or ""), int(ack.get("received") or 0)
        self._uploads.most = int(ack.get("media_max_bytes") or 0)
        same = await asyncio.wrap_future(
            self._pump.ask(lambda spool: spool.meet(gateway, self._acked, received))
        )
        self._since = time.monotonic()
        if not same:
            raise _Again
        self._pump.ack(min(self._acked, snapshot.last_seq))

    @staticmethod
    async def _hello_ack(socket: Any) -> dict[str, Any]:
        while True:
            frame = _parse(await socket.recv())
            if frame.get("type") == "hello.ack":
                return frame
            if frame.get("type") == "error":
                log.error("iris: the gateway says: %s (%s)", frame.get("message"), frame.get("code"))

    async def _write(self, socket: Any, snapshot: Snapshot) -> None:
        """Send the spooled events up to the snapshot, then what came after it, in order."""
        at = self._acked
        while at < snapshot.last_seq:
            rows = await asyncio.wrap_future(self._pump.pending(at, snapshot.last_seq))
            for _, frame in rows:
                await socket.send(frame)
            at = rows[-1][0] if rows else snapshot.last_seq
        while True:
            self._news.clear()
            while (waiting := self._out.pop()) is not None:
                await socket.send(waiting)
                if self._out.full:
                    raise _Again  # the spool has it all
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._news.wait(), self._out.wait())

    async def _read(self, socket: Any) -> None:
        async for data in socket:
            if isinstance(data, bytes):
                self._downloads.take(data)
                continue
            frame = _parse(data)
            kind = str(frame.get("type") or "")
            if kind.startswith("media.put."):
                self._uploads.take(frame)
            elif kind.startswith("media.get."):
                self._downloads.take(frame)
            elif kind == "acked":
                self._acked = max(self._acked, int(frame.get("seq") or 0))
                self._pump.ack(self._acked)
                self._acks.set()
            elif kind == "inbound":
                await self._take(frame)
            elif kind == "gateway.delete":
                log.warning("iris: the gateway was deleted; what came from it is erased here, too")
                self._deleted()
            elif kind == "error":
                log.error("iris: the gateway says: %s (%s)", frame.get("message"), frame.get("code"))
        raise _closed(socket)

    async def _take(self, frame: dict[str, Any]) -> None:
        """Keep an inbound item, say so once its whole entry is safe, hand it on (host-link.md, "Inbound")."""
        try:
            item = Inbound.of_frame(frame)
        except (KeyError, TypeError, ValueError):
            log.warning("iris: an inbound frame without its numbers was ignored")
            return
        received = await asyncio.wrap_future(self._pump.store(item, frame, self._deliver))
        if received >= item.cursor:
            self.control({"type": "received", "cursor": received})

    async def _flush(self) -> None:
        """Once the plugin stops: wait until the gateway has everything, at most 2 s."""
        await self._stopping.wait()
        last = await asyncio.wrap_future(self._pump.ask(lambda spool: spool.last_seq))
        with contextlib.suppress(asyncio.TimeoutError):
            async with asyncio.timeout(2):
                while self._acked < last:
                    self._acks.clear()
                    await self._acks.wait()


def _closed(socket: Any) -> Exception:
    """Return the error that tells how a connection ended: `async for` swallows a normal close."""
    from websockets.exceptions import ConnectionClosedOK

    protocol = socket.protocol
    err: Exception = ConnectionClosedOK(
        protocol.close_rcvd, protocol.close_sent, protocol.close_rcvd_then_sent
    )
    return err


def _wake(loop: asyncio.AbstractEventLoop, news: asyncio.Event) -> None:
    with contextlib.suppress(RuntimeError):  # the loop has ended
        loop.call_soon_threadsafe(news.set)


def _parse(data: Any) -> dict[str, Any]:
    """Read a frame; garbage is an empty object, and so ignored."""
    if not isinstance(data, str):
        return {}
    try:
        frame = json.loads(data)
    except ValueError:
        return {}
    return frame if isinstance(frame, dict) else {}
