"""No call of hermes waits for the gateway: a turn's callbacks and hooks return while each byte is late, and
while nobody reads. How long they take measures bench_calls.py.
"""

from __future__ import annotations

import asyncio
import os
import threading
import unittest
from unittest import mock

from support import TempDir, has, hush, needs_hermes

if has("gateway.platforms.base"):
    from bench_calls import Proxy, turn
    from fake_gateway import FakeGateway
    from gateway.config import PlatformConfig
    from test_adapter import registered

    from iris.adapter import Adapter

LATE = 600.0  # seconds: a call that waits for one answer would not return in this test


@needs_hermes
class CallsTest(TempDir):
    def calls(self, port: int) -> dict[str, list[float]]:
        """Make all calls of two turns, on a thread of their own: one that blocks must not block the test."""
        spent: dict[str, list[float]] = {}

        async def turns() -> None:
            registered()
            adapter = Adapter(PlatformConfig(enabled=True))
            await adapter.connect()
            for n in range(2):
                await turn(adapter, n, spent)
            await adapter.disconnect()

        env = {"HERMES_HOME": str(self.dir), "IRIS_URL": f"http://127.0.0.1:{port}", "IRIS_TOKEN": "secret"}
        with mock.patch.dict(os.environ, env):
            thread = threading.Thread(target=lambda: asyncio.run(turns()), daemon=True)
            thread.start()
            thread.join(60)
        self.assertFalse(thread.is_alive(), f"a call waits; these returned: {list(spent)}")
        return spent

    def test_gateway_that_is_late_or_stuck(self) -> None:
        hush(self, "websockets")
        gateway = FakeGateway().start()
        self.addCleanup(gateway.stop)
        stuck = Proxy(gateway.port, 0)
        stuck.jam.set()
        for name, proxy in (("late", Proxy(gateway.port, LATE)), ("stuck", stuck)):
            with self.subTest(name):
                spent = self.calls(proxy.port)
                self.assertEqual(len(spent["edit_message"]), 60)
                self.assertEqual(len(spent["on_processing_complete"]), 2)
        self.assertEqual(gateway.frames, [])  # nothing has come through yet


if __name__ == "__main__":
    unittest.main()
