"""Pictures that the agent only has an address of: fetched at once, since addresses expire (host-link.md,
"Media").

One daemon thread, started with the first of them: nobody waits for the internet, and hermes' end neither.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from . import filenames, hermes
from .medium import Medium
from .outbox import Unsendable, store

log = logging.getLogger(__name__)

#: Seconds for a picture, and for each wait of it.
LIMIT, TIMEOUT = 60.0, 15.0
_REDIRECTS = 5
_HEADERS = {"User-Agent": "Mozilla/5.0 (compatible; HermesAgent/1.0)", "Accept": "image/*,*/*;q=0.8"}


class Fetcher:
    """Fetches in the order it is asked. `most` says how many bytes the gateway takes; `done` and `failed`
    are called on the thread.
    """

    def __init__(
        self,
        copy_of: Callable[[str], Path],
        most: Callable[[], int],
        done: Callable[[Medium], None],
        failed: Callable[[Medium, str], None],
    ) -> None:
        self._copy_of, self._most = copy_of, most
        self._done, self._failed = done, failed
        self._queue: queue.SimpleQueue[Medium | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._stopped = False

    def want(self, medium: Medium) -> None:
        """Fetch a picture from its address."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="iris-fetch", daemon=True)
            self._thread.start()
        self._queue.put(medium)

    def stop(self) -> None:
        """End the thread after what it does now; does not wait. The rest is in the spool."""
        self._stopped = True
        self._queue.put(None)

    def _run(self) -> None:
        while (medium := self._queue.get()) and not self._stopped:
            try:
                self._done(self._fetch(medium))
            except Unsendable as err:
                self._failed(medium, str(err))
            except Exception as err:
                log.debug("iris: fetch: %r", err)
                self._failed(medium, f"it could not be fetched ({type(err).__name__})")

    def _fetch(self, medium: Medium) -> Medium:
        import httpx

        end, url = time.monotonic() + LIMIT, medium.url
        with httpx.Client(timeout=TIMEOUT, headers=_HEADERS) as client:
            for _ in range(_REDIRECTS + 1):
                if not hermes.safe_url(url):
                    raise Unsendable("its address is not on the internet")
                with client.stream("GET", url) as answer:
                    if answer.next_request is not None:
                        url = str(answer.next_request.url)
                        continue
                    return self._keep(medium, answer, end)
        raise Unsendable("its address leads to too many others")

    def _keep(self, medium: Medium, answer: Any, end: float) -> Medium:
        if not answer.is_success:
            raise Unsendable(f"its address answered {answer.status_code}")
        mime = str(answer.headers.get("content-type") or filenames.UNKNOWN).split(";")[0].strip().lower()
        if mime.startswith("text/"):
            raise Unsendable("there is a page at its address, no picture")
        chunks = answer.iter_bytes(64 * 1024)

        def read() -> bytes:
            if time.monotonic() > end:
                raise Unsendable(f"it took longer than {LIMIT:.0f} s to fetch it")
            return next(chunks, b"")

        size, sha256 = store(read, self._copy_of(medium.media_id), self._most())
        name = filenames.with_ending(medium.filename, mime)
        return replace(medium, mime=mime, filename=name).with_bytes(size, sha256)


def name_of(url: str) -> str:
    """Return the file's name in an address."""
    return filenames.clean(filenames.path_of(url), "picture")
