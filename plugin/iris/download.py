"""Fetches the files of people's messages from the gateway, one after the other (host-link.md, "Media").

Lives on the link's loop, longer than a connection: a transfer that was cut goes on at its offset.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from .attachment import Attachment, Gone
from .events import dumps

log = logging.getLogger(__name__)

Send = Callable[[str | bytes], Awaitable[None]]

#: Seconds without a byte after which a connection is given up.
STALL = 60.0
#: Attempts that bring nothing new, after which a file is.
ATTEMPTS = 5
#: Seconds before the next attempt on the same connection.
PAUSE = 2.0
_NOT_NOW = frozenset({"internal", "unavailable"})


@dataclass
class _Wanted:
    attachment: Attachment
    into: Path
    got: Future[Path] = field(default_factory=Future)
    fruitless: int = 0  # attempts that brought nothing new

    @property
    def part(self) -> Path:
        return self.into.with_name(self.into.name + ".part")

    @property
    def offset(self) -> int:
        """How much of it is here."""
        try:
            return self.part.stat().st_size
        except OSError:
            return 0


class _Transfer:
    """One media.get on one connection."""

    def __init__(self, wanted: _Wanted) -> None:
        self.wanted = wanted
        self.start: dict[str, Any] = {}
        self.size = wanted.offset  # bytes that are here
        self.end: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._file: BinaryIO | None = None
        self._failed: OSError | None = None

    def begin(self, frame: dict[str, Any]) -> None:
        self.start = frame

    def write(self, chunk: bytes) -> None:
        """Take bytes. What does not fit the file is not kept: the check at the end finds it."""
        size = self.start.get("size")
        if self._failed or not isinstance(size, int) or self.size + len(chunk) > size:
            return
        try:
            self._file = self._file or self._open()
            self._file.write(chunk)
            self.size += len(chunk)
        except OSError as err:
            self._failed = err

    def _open(self) -> BinaryIO:
        return self.wanted.part.open("ab")

    def finish(self, frame: dict[str, Any]) -> None:
        if not self.end.done():
            self.end.set_result(frame)

    def close(self) -> str:
        """Close the file; returns why it could not be written, if so."""
        try:
            if self._file:
                self._file.close()
        except OSError as err:
            self._failed = self._failed or err
        return f"the host cannot keep it ({self._failed.strerror})" if self._failed else ""


class Downloads:
    """The files that come in."""

    def __init__(self) -> None:
        self._queue: deque[_Wanted] = deque()
        self._news = asyncio.Event()
        self._transfer: _Transfer | None = None

    def want(self, attachment: Attachment, into: Path) -> Future[Path]:
        """Ask for a file, to be written to `into`; Gone if it cannot be had. On the link's loop."""
        wanted = _Wanted(attachment, into)
        self._queue.append(wanted)
        self._news.set()
        return wanted.got

    def take(self, frame: dict[str, Any] | bytes) -> None:
        """Take what the gateway sends. Frames of a get that is over are void."""
        transfer = self._transfer
        if transfer is None:
            return
        if isinstance(frame, bytes):
            transfer.write(frame)
        elif frame.get("media_id") == transfer.wanted.attachment.media_id:
            (transfer.begin if frame["type"] == "media.get.start" else transfer.finish)(frame)

    async def run(self, send: Send) -> None:
        """Fetch what is wanted, on this connection."""
        while True:
            self._news.clear()
            if not self._queue:
                await self._news.wait()
                continue
            wanted = self._queue[0]
            try:
                await self._fetch(wanted, send)
            except Gone as err:
                log.warning("iris: a file of a message cannot be had: %s", err)
                _settle(wanted, err)
            if wanted.got.done():
                self._queue.popleft()

    async def _fetch(self, wanted: _Wanted, send: Send) -> None:
        """Make one attempt; the file is there afterwards, or another attempt makes sense. Raises Gone."""
        if wanted.into.exists():  # another message has the same file, or an earlier process fetched it
            _settle(wanted, wanted.into)
        if wanted.got.done():
            return
        if wanted.fruitless >= ATTEMPTS:
            raise Gone("the gateway did not bring it, however often it was asked")
        if wanted.offset > wanted.attachment.size:
            wanted.part.unlink()
        before = wanted.offset
        wanted.fruitless += 1
        try:
            await self._get(wanted, send)
        finally:
            if wanted.offset > before:
                wanted.fruitless = 0

    async def _get(self, wanted: _Wanted, send: Send) -> None:
        transfer = self._transfer = _Transfer(wanted)
        broken = ""
        try:
            request = {"type": "media.get", "media_id": wanted.attachment.media_id, "offset": transfer.size}
            await send(dumps(request))
            end = await self._ended(transfer)
        finally:
            self._transfer, broken = None, transfer.close()
        if broken:
            raise Gone(broken)
        if end.get("ok") is not True:
            if end.get("code") not in _NOT_NOW:
                wanted.part.unlink(missing_ok=True)
                raise Gone(str(end.get("message") or end.get("code") or "the gateway does not have it"))
            await asyncio.sleep(PAUSE)
        elif await asyncio.to_thread(_whole, wanted.part, transfer.start, wanted.attachment):
            wanted.part.replace(wanted.into)
            _settle(wanted, wanted.into)
        else:
            log.warning("iris: a file of a message came damaged")
            wanted.part.unlink(missing_ok=True)

    async def _ended(self, transfer: _Transfer) -> dict[str, Any]:
        while True:
            before = transfer.size, bool(transfer.start)
            await asyncio.wait({transfer.end}, timeout=STALL)
            if transfer.end.done():
                return transfer.end.result()
            if before == (transfer.size, bool(transfer.start)):
                # Only a new connection makes sure that nothing of this transfer comes any more.
                raise ConnectionError(f"no byte of a file for {STALL:.0f} s")


def _settle(wanted: _Wanted, result: Path | Gone) -> None:
    if not wanted.got.set_running_or_notify_cancel():
        return
    if isinstance(result, Path):
        wanted.got.set_result(result)
    else:
        wanted.got.set_exception(result)


def _whole(part: Path, start: dict[str, Any], attachment: Attachment) -> bool:
    """The file is what the gateway said it is, to the last byte."""
    if not part.exists():
        part.touch()  # of no bytes, none came
    with part.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    expected = {str(start.get("sha256") or "").lower(), attachment.sha256} - {""}
    return part.stat().st_size == start.get("size") and expected <= {digest}
