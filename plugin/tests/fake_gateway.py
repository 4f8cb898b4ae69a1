"""A gateway for tests: speaks the host link on a loopback port, remembers what it got, can be cut and told
to be rude.

    python fake_gateway.py --port 8799 --log frames.jsonl --inbox inbox.jsonl

As a program it appends each frame it gets to the log and sends each line of the inbox to the host. An inbox
line is an inbound frame without `type` (cursor is counted when missing), `{"op":"close","code":1001}`, or
`{"op":"ack","on":false}`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from confide import confide
from fake_media import FakeMedia
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

Frame = dict[str, Any]


class FakeGateway:
    """Runs in a thread of its own. `start` again after `stop` to come back on the same port, with its
    memory.
    """

    def __init__(self, token: str = "secret", port: int = 0, log: Path | None = None) -> None:
        self.token, self.port, self.log = token, port, log
        confide({"token": token})
        self.gateway_id = "g_fake"
        self.acking = True  # answer events with acked
        self.refuse: int | None = None  # close code right after the socket opens
        self.status: int | None = None  # of HTTP, instead of a socket
        self.frames: list[Frame] = []  # all that came, in order, of all connections
        self.hellos: list[Frame] = []
        self.acked: dict[str, int] = {}  # epoch → last event taken
        self.media = FakeMedia()
        self.inbound: list[Frame] = []  # the log, as far as the host is concerned
        self._changed = threading.Condition()
        self._sockets: list[ServerConnection] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._thread: threading.Thread | None = None

    # --- the test's thread ---

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> FakeGateway:
        up = threading.Event()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve(up)), name="fake-gateway", daemon=True
        )
        self._thread.start()
        assert up.wait(10), "the fake gateway did not start"
        return self

    def stop(self) -> None:
        """Vanish like a killed process: no close frames."""
        loop, stop = self._loop, self._stop
        if loop and stop and self._thread:
            for socket in list(self._sockets):
                loop.call_soon_threadsafe(socket.transport.abort)
            loop.call_soon_threadsafe(stop.set)
            self._thread.join(10)
        self._thread = None

    def cut(self, code: int | None = None) -> None:
        """End the open connections: with a close code, or without a word."""
        loop = self._loop
        assert loop
        for socket in list(self._sockets):
            if code is None:
                loop.call_soon_threadsafe(socket.transport.abort)
            else:
                asyncio.run_coroutine_threadsafe(socket.close(code), loop).result(10)

    def send(self, frame: Frame) -> None:
        """Send any frame to the host."""
        assert self._loop
        confide(frame)
        for socket in list(self._sockets):
            asyncio.run_coroutine_threadsafe(socket.send(json.dumps(frame)), self._loop).result(10)

    def say(
        self, text: str, chat_id: str = "android:default", thread_id: str | None = None, **body: Any
    ) -> Frame:
        """A person sends a message."""
        cursor = (self.inbound[-1]["cursor"] if self.inbound else 0) + 1
        body = {"message_id": f"m_user{cursor}", "text": text, **body}
        return self.put({"kind": "message", "chat_id": chat_id, "thread_id": thread_id, "body": body})

    def put(self, item: Frame) -> Frame:
        """Log an inbound item and send it, if the host is here."""
        item.setdefault("cursor", (self.inbound[-1]["cursor"] if self.inbound else 0) + 1)
        frame = {"type": "inbound", "item": 0, "items": 1, **item}
        self.inbound.append(frame)
        self.send(frame)
        return frame

    def events(self, kind: str | None = None) -> list[Frame]:
        """Return the events that came, maybe of one kind only."""
        with self._changed:
            return [f for f in self.frames if f.get("type") == "event" and kind in (None, f["kind"])]

    def wait(self, ready: Callable[[], Any], timeout: float = 15, what: str = "") -> Any:
        """Wait until ready() says something; called again at each frame."""
        end = time.monotonic() + timeout
        with self._changed:
            while not (found := ready()):
                left = end - time.monotonic()
                if left <= 0:
                    raise AssertionError(f"timeout waiting for {what or ready}; last: {self.frames[-5:]}")
                self._changed.wait(left)
        return found

    def wait_event(self, kind: str, count: int = 1, timeout: float = 15) -> Frame:
        """Wait for the count-th event of a kind."""
        found = self.wait(lambda: len(self.events(kind)) >= count and self.events(kind), timeout, kind)
        return found[count - 1]

    def wait_frame(self, kind: str, count: int = 1, timeout: float = 15) -> Frame:
        """Wait for the count-th frame of a type."""

        def ready() -> list[Frame]:
            found = [f for f in self.frames if f.get("type") == kind]
            return found if len(found) >= count else []

        return self.wait(ready, timeout, kind)[count - 1]

    # --- the gateway's thread ---

    async def _serve(self, up: threading.Event) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        options: dict[str, Any] = {"max_size": 2**20, "ping_interval": None, "process_request": self._answer}
        async with serve(self._host, "127.0.0.1", self.port, **options) as server:
            self.port = server.sockets[0].getsockname()[1]
            up.set()
            await self._stop.wait()

    def _answer(self, socket: ServerConnection, _: Request) -> Response | None:
        return socket.respond(self.status, "no socket here") if self.status else None

    async def _host(self, socket: ServerConnection) -> None:
        self._sockets.append(socket)
        try:
            assert socket.request is not None
            if socket.request.headers.get("Authorization") != f"Bearer {self.token}":
                await socket.send('{"type":"error","code":"auth","message":"wrong token"}')
                await socket.close(4401)
                return
            if self.refuse:
                await socket.close(self.refuse)
                return
            hello = json.loads(await socket.recv())
            await self._greet(socket, hello)
            async for data in socket:
                if isinstance(data, bytes):
                    self.media.chunk(socket, data)
                else:
                    await self._take(socket, hello["epoch"], json.loads(data))
        except ConnectionClosed:
            pass
        finally:
            self._sockets.remove(socket)

    async def _greet(self, socket: ServerConnection, hello: Frame) -> None:
        self._note(hello)
        self.hellos.append(hello)
        ack = {"type": "hello.ack", "gateway_id": self.gateway_id, "acked": self.acked.get(hello["epoch"], 0)}
        await socket.send(
            json.dumps({**ack, "received": hello["received"], "media_max_bytes": self.media.most})
        )
        for frame in list(self.inbound):
            if frame["cursor"] > hello["received"]:
                await socket.send(json.dumps(frame))

    async def _take(self, socket: ServerConnection, epoch: str, frame: Frame) -> None:
        try:
            if self.acking and frame.get("seq"):
                self.acked[epoch] = max(self.acked.get(epoch, 0), frame["seq"])
                await socket.send(json.dumps({"type": "acked", "seq": self.acked[epoch]}))
            if str(frame.get("type")).startswith("media."):
                await self.media.take(socket, frame)
        finally:  # also when the connection broke before the answer: it came
            self._note(frame)

    def _note(self, frame: Frame) -> None:
        confide(frame)
        with self._changed:
            self.frames.append(frame)
            self._changed.notify_all()
        if self.log:
            with open(self.log, "a", encoding="utf-8") as out:
                out.write(json.dumps({"t": round(time.time(), 3), **frame}, ensure_ascii=False) + "\n")


def main() -> None:
    """Run as a program until SIGTERM; see the module's docstring."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--port", type=int, default=8799)
    options.add_argument("--token", default="secret")
    options.add_argument("--log", type=Path, default=Path("frames.jsonl"))
    options.add_argument("--inbox", type=Path, default=Path("inbox.jsonl"))
    opt = options.parse_args()
    gateway = FakeGateway(opt.token, opt.port, opt.log).start()
    print("fake gateway on", gateway.url, flush=True)
    done = 0
    while True:
        time.sleep(0.05)
        lines = opt.inbox.read_text(encoding="utf-8").splitlines(True) if opt.inbox.exists() else []
        for line in lines[done:]:
            if line.endswith("\n"):
                done += 1
                _order(gateway, json.loads(line))


def _order(gateway: FakeGateway, order: Frame) -> None:
    match order.pop("op", "put"):
        case "say":
            gateway.say(**order)
        case "close":
            gateway.cut(order.get("code"))
        case "ack":
            gateway.acking = bool(order.get("on"))
        case _:
            gateway.put(order)


if __name__ == "__main__":
    main()
