"""Pictures that the agent only has an address of, from a server on this machine."""

from __future__ import annotations

import http.server
import threading
import unittest
from unittest import mock

from support import TempDir, has
from test_media import medium

from iris import fetch, hermes
from iris.fetch import Fetcher
from iris.medium import Medium

PNG = b"\x89PNG\r\n\x1a\n" + b"x" * 100_000


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        path, _, target = self.path.partition("?to=")
        if target:
            self.send_response(302)
            self.send_header("Location", target)
            self.end_headers()
            return
        self.send_response(404 if path == "/missing" else 200)
        self.send_header("Content-Type", "text/html" if path == "/page" else "image/png; charset=x")
        self.end_headers()
        self.wfile.write(PNG)

    def log_message(self, *args: object) -> None:
        pass


@unittest.skipUnless(has("httpx"), "httpx is not installed (hermes brings it)")
class FetchTest(TempDir):
    def setUp(self) -> None:
        super().setUp()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.base = f"http://127.0.0.1:{self.server.server_address[1]}"
        # This machine is not the internet.
        patch = mock.patch.object(hermes, "safe_url", lambda url: "inside" not in url)
        patch.start()
        self.addCleanup(patch.stop)
        self.over = threading.Event()
        self.most = 2**20

    def fetch(self, path: str, name: str = "plot") -> Medium | str:
        """Return what became of a picture."""
        result: list[Medium | str] = []

        def failed(_: Medium, why: str) -> None:
            done(why)

        def done(what: Medium | str) -> None:
            result.append(what)
            self.over.set()

        fetcher = Fetcher(lambda media_id: self.dir / media_id, lambda: self.most, done, failed)
        self.over.clear()
        fetcher.want(medium(name, url=self.base + path))
        self.assertTrue(self.over.wait(30))
        fetcher.stop()
        assert fetcher._thread
        fetcher._thread.join(30)
        return result[0]

    def test_picture(self) -> None:
        got = self.fetch("/plot?to=/real")
        assert isinstance(got, Medium)
        self.assertEqual((got.size, got.mime, got.filename, got.url), (len(PNG), "image/png", "plot.png", ""))
        self.assertEqual((self.dir / "md_1").read_bytes(), PNG)

    def test_what_is_none(self) -> None:
        self.assertEqual(self.fetch("/missing"), "its address answered 404")
        self.assertEqual(self.fetch("/page"), "there is a page at its address, no picture")
        self.assertEqual(self.fetch("/inside"), "its address is not on the internet")
        self.assertEqual(self.fetch("/x?to=/inside"), "its address is not on the internet")
        self.assertIn("too many", str(self.fetch("/x?to=/y?to=/x?to=/y?to=/x?to=/y?to=/x?to=/y?to=/x?to=/y")))
        self.most = 1000
        self.assertIn("more than 1000 bytes", str(self.fetch("/plot")))
        with mock.patch.object(fetch, "LIMIT", -1):
            self.assertIn("longer than", str(self.fetch("/plot")))
        self.server.shutdown()
        self.server.server_close()
        self.assertEqual(self.fetch("/plot"), "it could not be fetched (ConnectError)")
        self.assertEqual(list(self.dir.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
