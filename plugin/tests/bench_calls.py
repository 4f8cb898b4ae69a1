"""How long hermes waits inside the plugin: the time spent in the adapter's methods and the hooks while a
turn is streamed, with a gateway that is near, slow, stuck, or away (host-link.md, "Principles").

    python tests/bench_calls.py [turns]

Needs hermes' environment. Prints one line per gateway; the numbers should not differ.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import tempfile
import threading
import time
from typing import Any

import support  # noqa: F401
from fake_gateway import FakeGateway

EDITS = 30  # live edits of one answer


class Proxy:
    """Between host and gateway: each byte arrives `delay` seconds later; once `jam` is set, none does."""

    def __init__(self, port: int, delay: float) -> None:
        self.port, self._to, self._delay = 0, port, delay
        self.jam = threading.Event()
        up = threading.Event()
        threading.Thread(target=lambda: asyncio.run(self._serve(up)), daemon=True).start()
        assert up.wait(10)

    async def _serve(self, up: threading.Event) -> None:
        server = await asyncio.start_server(self._pair, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        up.set()
        await server.serve_forever()

    async def _pair(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        other_reader, other_writer = await asyncio.open_connection("127.0.0.1", self._to)
        await asyncio.gather(
            self._pump(reader, other_writer), self._pump(other_reader, writer), return_exceptions=True
        )

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

        async def deliver() -> None:
            while True:
                due, data = await line.get()
                await asyncio.sleep(max(0.0, due - time.monotonic()))
                writer.write(data)
                await writer.drain()

        task = asyncio.create_task(deliver())
        while data := await reader.read(65536):
            while self.jam.is_set():
                await asyncio.sleep(0.05)
            line.put_nowait((time.monotonic() + self._delay, data))
        task.cancel()
        writer.close()


async def turn(adapter: Any, n: int, spent: dict[str, list[float]]) -> None:
    """One turn as hermes calls it: text, tool, answer."""
    from gateway.platforms.base import MessageEvent, ProcessingOutcome

    from iris.lanes import Lane

    async def timed(name: str, call: Any) -> Any:
        start = time.perf_counter()
        result = call() if name.startswith("hook") else await call()
        spent.setdefault(name, []).append(time.perf_counter() - start)
        return result

    chat, session = "android~default", {"session_id": "s", "task_id": "s", "platform": "iris"}
    adapter.hooks._sessions["s"] = Lane("android:default")
    event = MessageEvent(text="hi", source=adapter._source(Lane("android:default"), {}), message_id=f"m_{n}")
    await timed("on_processing_start", lambda: adapter.on_processing_start(event))
    await timed("hook pre_llm_call", lambda: adapter.hooks.pre_llm_call(**session, user_message="hi"))
    meta = {"expect_edits": True, "reply_to_message_id": f"m_{n}"}
    sent = await timed("send", lambda: adapter.send(chat, "so ▉", f"m_{n}", meta))
    text = "so"
    for i in range(EDITS):
        text += " it goes on and on" * 5
        final = i == EDITS - 1
        await timed(
            "edit_message", lambda t=text, f=final: adapter.edit_message(chat, sent.message_id, t, finalize=f)
        )
        await asyncio.sleep(0.002)
    tool = {"tool_name": "terminal", "args": {"command": "x" * 20_000}, "tool_call_id": f"c_{n}"}
    await timed("hook pre_tool_call", lambda: adapter.hooks.pre_tool_call(**session, **tool))
    await timed(
        "hook post_tool_call", lambda: adapter.hooks.post_tool_call(**session, **tool, result="y" * 50_000)
    )
    await timed("send_clarify", lambda: adapter.send_clarify(chat, "Which?", ["a", "b"], "cl", "key"))
    await timed(
        "on_processing_complete", lambda: adapter.on_processing_complete(event, ProcessingOutcome.SUCCESS)
    )


async def measure(name: str, url: str, jam: threading.Event | None, turns: int) -> None:
    from gateway.config import PlatformConfig
    from test_adapter import registered

    from iris.adapter import Adapter

    with tempfile.TemporaryDirectory() as home:
        os.environ |= {"HERMES_HOME": home, "IRIS_URL": url, "IRIS_TOKEN": "secret"}
        registered()
        adapter = Adapter(PlatformConfig(enabled=True))
        await adapter.connect()
        await asyncio.sleep(1.5)
        if jam:
            jam.set()
        spent: dict[str, list[float]] = {}
        start = time.perf_counter()
        for n in range(turns):
            await turn(adapter, n, spent)
        whole = time.perf_counter() - start
        every = sorted(t for times in spent.values() for t in times)
        worst = max(spent, key=lambda call: max(spent[call]))
        print(
            f"{name:22} {len(every):6} calls  median {statistics.median(every) * 1e6:4.0f} µs"
            f"  p99 {every[len(every) * 99 // 100] * 1e6:6.0f} µs  max {every[-1] * 1e3:6.2f} ms ({worst})"
            f"  a turn: {sum(every) / turns * 1e3:5.2f} ms of {whole / turns * 1e3:4.0f} ms",
            flush=True,
        )
        if os.environ.get("EACH"):
            for call, times in spent.items():
                mean, most = statistics.mean(times), max(times)
                print(f"    {call:24} mean {mean * 1e6:6.0f} µs  max {most * 1e3:6.2f} ms")
        await adapter.disconnect()


async def main(turns: int) -> None:
    gateway = FakeGateway().start()
    slow, stuck = Proxy(gateway.port, 0.2), Proxy(gateway.port, 0.0)
    for name, port, jam in (
        ("gateway near", gateway.port, None),
        ("each byte 200 ms late", slow.port, None),
        ("gateway does not read", stuck.port, stuck.jam),
        ("gateway away", 9, None),
    ):
        await measure(name, f"http://127.0.0.1:{port}", jam, turns)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 50))
