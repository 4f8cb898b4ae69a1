"""Delivery from another process, against a small HTTP server."""

from __future__ import annotations

import json
import os
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from unittest import mock

from support import has

from iris import standalone


class Gateway(BaseHTTPRequestHandler):
    """Answers with the next of `answers`: (status, body)."""

    answers: list[tuple[int, str]]
    got: list[tuple[str, str, dict[str, Any]]]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.got.append((self.path, self.headers["Authorization"], body))
        status, text = self.answers.pop(0)
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *args: Any) -> None:
        pass


@unittest.skipUnless(has("httpx"), "httpx is not installed (hermes brings it)")
class StandaloneTest(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.handler = type("Handler", (Gateway,), {"answers": [], "got": []})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self.handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        url = f"http://127.0.0.1:{self.server.server_port}"
        for patch in (
            mock.patch.dict(os.environ, {"IRIS_URL": url, "IRIS_TOKEN": "secret"}),
            mock.patch.object(standalone, "PAUSES", (0.0, 0.0)),
        ):
            patch.start()
            self.addCleanup(patch.stop)

    async def send(self, *answers: tuple[int, str], **kw: Any) -> dict[str, Any]:
        self.handler.answers[:] = answers
        return await standalone.send(None, "android~default", "Report", **kw)

    async def test_delivered(self) -> None:
        result = await self.send((200, "{}"), thread_id="t~1", media_files=[("/tmp/a.png", False)])
        self.assertTrue(result["success"])
        ((path, token, body),) = self.handler.got
        self.assertEqual((path, token), ("/host/send", "Bearer secret"))
        self.assertEqual((body["chat_id"], body["thread_id"]), ("android:default", "t:1"))
        self.assertEqual(body["text"], "Report\n[a.png could not be attached]")
        self.assertEqual((body["message_id"], body["job"]), (result["message_id"], ""))

    async def test_job(self) -> None:
        text = "Cronjob Response: the daily report\n(job_id: 4071d0447e7b)\n-------------\n\nHello"
        self.handler.answers[:] = [(200, "")]
        await standalone.send(None, "android~default", text)
        self.assertEqual(self.handler.got[0][2]["job"], "the daily report")

    async def test_repeated_under_the_same_id(self) -> None:
        result = await self.send((503, ""), (500, ""), (204, ""))
        self.assertTrue(result["success"])
        self.assertEqual({body["message_id"] for _, _, body in self.handler.got}, {result["message_id"]})

    async def test_what_is_not_repeated(self) -> None:
        for answer, said in (
            ((401, "{}"), "refuses IRIS_TOKEN"),
            ((400, '{"message":"text is missing"}'), "400: text is missing"),
            ((404, '{"error":{"code":"not_found","message":"unknown channel"}}'), "lane: unknown channel"),
            ((404, "404 page not found\n"), "older than this plugin"),
        ):
            self.handler.got.clear()
            with self.assertLogs("iris.standalone", "ERROR"):
                result = await self.send(answer)
            self.assertIn(said, result["error"])
            self.assertEqual(len(self.handler.got), 1)

    async def test_away_or_not_configured(self) -> None:
        for url, said in (
            ("http://127.0.0.1:1", "cannot be reached"),
            ("http://far", "https"),
            ("", "not set"),
        ):
            with mock.patch.dict(os.environ, {"IRIS_URL": url}), self.assertLogs("iris.standalone", "ERROR"):
                result = await self.send()
            self.assertIn(said, result["error"])
            self.assertNotIn("secret", result["error"])


if __name__ == "__main__":
    unittest.main()
