"""The fake gateway's part that moves media (host-link.md, "Media")."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

from websockets.asyncio.server import ServerConnection

Frame = dict[str, Any]

CHUNK = 64 * 1024


class FakeMedia:
    """What the gateway has stored, and how rude it is. Lives longer than a connection."""

    def __init__(self) -> None:
        self.most = 2**26
        self.stored: dict[str, bytes] = {}
        self.mimes: dict[str, str] = {}
        self.headers: list[Frame] = []  # every media.put
        self.gets: list[Frame] = []  # every media.get
        self.verdicts: list[Frame] = []  # answers to the next puts, before their last byte
        self.refusals: list[Frame] = []  # answers to the next gets, instead of bytes
        self.lies: list[bytes] = []  # what the next gets bring instead
        self.mute = 0  # gets that are not answered
        self.cut_after: int | None = None  # bytes of a transfer, either way: then the connection breaks, once
        self.kept: dict[str, bytearray] = {}  # what cut puts have brought
        self.on_chunk: Callable[[], None] = lambda: None  # of a put
        self._put: Frame | None = None

    def offer(self, media_id: str, data: bytes, mime: str = "image/png", **more: Any) -> Frame:
        """Store a medium; returns what a message says of it."""
        self.stored[media_id], self.mimes[media_id] = data, mime
        described = {"media_id": media_id, "kind": "image", "mime": mime, "size": len(data)}
        return {**described, "filename": "a.png", "sha256": hashlib.sha256(data).hexdigest(), **more}

    def chunk(self, socket: ServerConnection, data: bytes) -> None:
        if self._put is None:
            return
        kept = self.kept[self._put["media_id"]]
        kept += data
        self.on_chunk()
        if self.cut_after is not None and len(kept) >= self.cut_after:
            self.cut_after, self._put = None, None
            socket.transport.abort()

    async def take(self, socket: ServerConnection, frame: Frame) -> None:
        match frame["type"]:
            case "media.put":
                await self._begin(socket, frame)
            case "media.put.end" if self._put:
                put, self._put = self._put, None
                data = bytes(self.kept.pop(put["media_id"]))
                whole = hashlib.sha256(data).hexdigest() == put["sha256"] and len(data) == put["size"]
                if whole:
                    self.stored[put["media_id"]] = data
                await self._ack(socket, put, {"ok": whole, "message": "the bytes are others"})
            case "media.get":
                await self._get(socket, frame)

    async def _begin(self, socket: ServerConnection, put: Frame) -> None:
        self.headers.append(put)
        media_id = put["media_id"]
        self._put = None
        if media_id in self.stored:
            return await self._ack(socket, put, {"ok": True})
        if self.verdicts:
            return await self._ack(socket, put, self.verdicts.pop(0))
        self._put = put
        if put.get("resume"):
            kept = self.kept.setdefault(media_id, bytearray())
            ready = {"type": "media.put.ready", "media_id": media_id, "offset": len(kept)}
            await socket.send(json.dumps(ready))
        else:
            self.kept[media_id] = bytearray()

    async def _ack(self, socket: ServerConnection, put: Frame, verdict: Frame) -> None:
        await socket.send(json.dumps({"type": "media.put.ack", "media_id": put["media_id"], **verdict}))

    async def _get(self, socket: ServerConnection, frame: Frame) -> None:
        self.gets.append(frame)
        if self.mute:
            self.mute -= 1
            return
        media_id = frame["media_id"]
        end = {"type": "media.get.end", "media_id": media_id, "ok": True}
        if self.refusals:
            await socket.send(json.dumps({**end, "ok": False, **self.refusals.pop(0)}))
            return
        if media_id not in self.stored:
            missing = {"ok": False, "code": "not_found", "message": "it was deleted"}
            await socket.send(json.dumps({**end, **missing}))
            return
        data = self.stored[media_id]
        start = {"type": "media.get.start", "media_id": media_id, "size": len(data)}
        start |= {"mime": self.mimes[media_id], "sha256": hashlib.sha256(data).hexdigest()}
        await socket.send(json.dumps(start))
        data = self.lies.pop(0) if self.lies else data[frame["offset"] :]
        for at in range(0, len(data), CHUNK):
            await socket.send(data[at : at + CHUNK])
            if self.cut_after is not None and at + CHUNK >= self.cut_after:
                self.cut_after = None
                await (await socket.ping())  # the host has all so far
                socket.transport.abort()
                return
        await socket.send(json.dumps(end))
