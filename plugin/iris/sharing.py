"""Files that hermes sends: the adapter's methods for media (hermes.md §2).

Each copies the file, which the agent may delete right afterwards, and is done: the link's thread brings it to
the gateway. hermes' send_multiple_images calls these one by one.
"""

from __future__ import annotations

import asyncio
from typing import Any

from gateway.platforms.base import SendResult

from . import filenames
from .events import Body, now_ms
from .fetch import name_of
from .host import Host
from .ids import mint
from .lanes import Lane
from .medium import Medium

#: Sounds that are somebody speaking, when hermes does not say: what voice notes are recorded as.
_SPOKEN = ("audio/ogg",)


class Sharing:
    """Base class of the adapter."""

    _host: Host

    def _turn_id(self, lane: Lane, answers: str | None = None) -> str | None:
        """Return the open turn that a callback of this lane belongs to."""
        raise NotImplementedError

    async def send_image_file(
        self,
        chat_id: str,
        image_path: str,
        caption: str | None = None,
        reply_to: str | None = None,
        metadata: Body | None = None,
        **kw: Any,
    ) -> SendResult:
        """A picture on this machine → media."""
        return await self._share("image", chat_id, image_path, caption, reply_to, metadata)

    async def send_image(
        self,
        chat_id: str,
        image_url: str,
        caption: str | None = None,
        reply_to: str | None = None,
        metadata: Body | None = None,
        **kw: Any,
    ) -> SendResult:
        """A picture on the internet → media, once it has been fetched."""
        if image_url.startswith("file://"):
            path = filenames.path_of(image_url)
            return await self._share("image", chat_id, path, caption, reply_to, metadata)
        medium = self._medium("image", chat_id, name_of(image_url), caption, reply_to, metadata, image_url)
        await asyncio.to_thread(self._host.share, medium, None)
        return SendResult(success=True, message_id=medium.message_id)

    async def send_animation(
        self,
        chat_id: str,
        animation_url: str,
        caption: str | None = None,
        reply_to: str | None = None,
        metadata: Body | None = None,
        **kw: Any,
    ) -> SendResult:
        """A moving picture → media, as send_image."""
        return await self.send_image(chat_id, animation_url, caption, reply_to, metadata)

    async def send_voice(
        self,
        chat_id: str,
        audio_path: str,
        caption: str | None = None,
        reply_to: str | None = None,
        metadata: Body | None = None,
        **kw: Any,
    ) -> SendResult:
        """A sound → media; hermes sends every kind of sound this way."""
        kind = "voice" if filenames.mime_of(str(audio_path)) in _SPOKEN else "audio"
        return await self._share(kind, chat_id, audio_path, caption, reply_to, metadata)

    async def play_tts(self, chat_id: str, audio_path: str, **kw: Any) -> SendResult:
        """An answer read out → media."""
        known = (kw.get("caption"), kw.get("reply_to"), kw.get("metadata"))
        return await self._share("voice", chat_id, audio_path, *known)

    async def send_video(
        self,
        chat_id: str,
        video_path: str,
        caption: str | None = None,
        reply_to: str | None = None,
        metadata: Body | None = None,
        **kw: Any,
    ) -> SendResult:
        """A film → media."""
        return await self._share("video", chat_id, video_path, caption, reply_to, metadata)

    async def send_document(
        self,
        chat_id: str,
        file_path: str,
        caption: str | None = None,
        file_name: str | None = None,
        reply_to: str | None = None,
        metadata: Body | None = None,
        **kw: Any,
    ) -> SendResult:
        """Any file → media."""
        return await self._share("document", chat_id, file_path, caption, reply_to, metadata, file_name)

    async def _share(
        self,
        kind: str,
        chat_id: str,
        path: str,
        caption: str | None,
        reply_to: str | None,
        metadata: Body | None,
        name: str | None = None,
    ) -> SendResult:
        name = filenames.clean(str(name or path))
        medium = self._medium(kind, chat_id, name, caption, reply_to, metadata)
        await asyncio.to_thread(self._host.share, medium, str(path))
        # A failure would only make hermes tell of it in the log; people get a notice.
        return SendResult(success=True, message_id=medium.message_id)

    def _medium(
        self,
        kind: str,
        chat_id: str,
        name: str,
        caption: str | None,
        reply_to: str | None,
        metadata: Body | None,
        url: str = "",
    ) -> Medium:
        lane = Lane.of_hermes(chat_id, (metadata or {}).get("thread_id"))
        return Medium(
            media_id=mint("md_"),
            message_id=mint("m_"),
            lane=lane,
            turn=self._turn_id(lane, reply_to),
            at=now_ms(),
            kind=kind,
            mime=filenames.mime_of(name),
            filename=name,
            caption=str(caption or ""),
            reply_to=reply_to,
            url=url,
        )
