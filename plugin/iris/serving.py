"""What people say, on its way into hermes: the adapter's methods that serve the inbox (inbox.Port; hermes.md
§7).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gateway.platforms.base import MessageEvent, MessageType, SendResult

from . import attachment, hermes
from .archive import Archive
from .attachment import Attachment, Files
from .events import Body
from .host import Host
from .lanes import Lane
from .prompts import APPROVAL_WORDS, Prompts
from .spool import Inbound

INTERRUPT = 5.0  # seconds after which an agent is released from its clarify though nobody told it to stop

#: The person behind all devices: hermes would keep apart what belongs together if each device were a user.
USER = "owner"


class Serving:
    """Base class of the adapter."""

    prompts: Prompts
    _host: Host
    _archive: Archive
    _names: dict[str, str]  # chat → how people call it
    _files: dict[tuple[int, int], Files]  # of messages that hermes has not been given yet

    # hermes' own, which the adapter inherits.
    config: Any
    gateway_runner: Any
    build_source: Callable[..., Any]
    handle_message: Callable[[Any], Awaitable[None]]
    _unwrap_ephemeral: Callable[[object], tuple[object, object]]

    if TYPE_CHECKING:  # not stubs: super() of the adapter's own would find them

        async def send(
            self, chat_id: str, content: str, reply_to: str | None = None, metadata: Body | None = None
        ) -> SendResult: ...

        async def interrupt_session_activity(
            self, session_key: str, chat_id: str, metadata: Body | None = None
        ) -> None: ...

    async def prepare(self, item: Inbound) -> None:
        """Bring the files of a person's message into hermes' cache."""
        got = [(a, await self._bring(item, a)) for a in map(Attachment.of, item.body["media"])]
        self._files[item.cursor, item.item] = await asyncio.to_thread(attachment.gather, got)

    async def _bring(self, item: Inbound, wanted: Attachment) -> Path | str:
        """Fetch a file; returns its path, or why it cannot be had."""
        limit = hermes.inbound_limit()
        if limit and wanted.size > limit:
            return f"it has {wanted.size} bytes, gateway.max_inbound_media_bytes allows {limit}"
        folder = hermes.cache(wanted.folder)
        if folder is None:
            return "hermes has no cache folder"
        return await self._host.fetch(wanted, folder / wanted.name(item.lane, item.message_id))

    async def hand(self, item: Inbound) -> None:
        """Give a person's message to hermes (hermes.md §7.1)."""
        body = item.body
        files = self._files.pop((item.cursor, item.item), Files("TEXT"))
        quoted = body.get("reply_to") if isinstance(body.get("reply_to"), dict) else None
        event = MessageEvent(
            text="\n\n".join((str(body.get("text") or ""), *files.notes)).strip(),
            message_type=MessageType[files.type],
            media_urls=list(files.paths),
            media_types=list(files.mimes),
            source=self._source(item.lane, body),
            message_id=item.message_id or None,
            reply_to_message_id=quoted.get("message_id") if quoted else None,
            reply_to_text=quoted.get("text") if quoted else None,
            reply_to_is_own_message=bool(quoted and quoted.get("role") == "assistant"),
        )
        await self.handle_message(event)
        self._settle(item.lane, event.text)

    async def answer(self, item: Inbound) -> str:
        """Give an answer to hermes; what the command says to it is sent here, since nobody else does."""
        value, text = item.body.get("value"), str(item.body.get("text") or "")
        prompt = str(item.body.get("prompt_id") or "")
        error, reply = await self.prompts.answer(prompt, None if value is None else str(value), text)
        said, _ = self._unwrap_ephemeral(reply)
        if said:
            thread = item.lane.hermes_thread
            await self.send(
                item.lane.hermes_chat, str(said), metadata={"thread_id": thread} if thread else None
            )
        return error

    def steer(self, lane: Lane, text: str) -> bool:
        return hermes.steer(self.gateway_runner, self._key(self._source(lane, {})), text)

    def rename(self, lane: Lane, name: str) -> None:
        if name and not lane.thread_id:
            self._names[lane.chat_id] = name

    def become(self, item: Inbound) -> None:
        self._host.become(item)

    async def stop(self, lane: Lane) -> None:
        """Interrupt what runs, and release a clarify that waits (hermes.md §7.2)."""
        key = self._key(self._source(lane, {}))
        await self.interrupt_session_activity(key, lane.hermes_chat)
        if hermes.clarify_open(key):
            await self._interrupted(key)
            hermes.clear_clarify(key)

    async def _interrupted(self, key: str) -> None:
        """Wait until hermes has told the agent, which it does within 200 ms. One released from its clarify
        before that calls the model once more. To tell it from here as well is no cure: then hermes' word
        comes after the turn, and the agent takes it for the next message.
        """
        until = time.monotonic() + INTERRUPT
        while not hermes.interrupted(self.gateway_runner, key) and time.monotonic() < until:
            await asyncio.sleep(0.02)

    def busy(self, lane: Lane) -> bool:
        if hermes.refusing(self.gateway_runner):
            # A message would only get a refusal now; in the spool it waits for the next start.
            return True
        if self._host.turns.all_of(lane):
            return True
        # hermes keeps a lane for a moment after its turn: a message then would count as an interruption.
        return self._key(self._source(lane, {})) in getattr(self, "_active_sessions", {})

    def awaited(self, lane: Lane, text: str) -> bool:
        if self.prompts.waiting(lane, "approval") and text.lower() in APPROVAL_WORDS:
            return True
        return hermes.clarify_open(self._key(self._source(lane, {})))

    def restoring(self) -> bool:
        runner = self.gateway_runner
        return runner is None or bool(getattr(runner, "_startup_restore_in_progress", False))

    def finish(self, item: Inbound) -> None:
        self._files.pop((item.cursor, item.item), None)
        self._host.finish(item)

    def report(self, item: Inbound, error: str) -> None:
        self._host.report(item, error)

    def busy_lanes(self, lane: Lane | None) -> list[Lane]:
        """The lanes in which something runs, of a channel those of its threads too; without a lane all."""
        return [other for other in self._host.turns.lanes() if lane is None or lane.covers(other)]

    def idle(self) -> bool:
        runner = self.gateway_runner
        if hermes.refusing(runner) or hermes.in_background(runner):
            return False
        return not self._host.turns.lanes() and not getattr(self, "_active_sessions", {})

    async def forget(self, item: Inbound) -> None:
        await self._archive.forget(item, self._key(self._source(item.lane, {})))

    async def forget_lane(self, lane: Lane) -> None:
        await self._archive.forget_lane(lane)

    async def forget_all(self) -> None:
        await self._archive.forget_all()

    def confirm(self) -> None:
        self._host.confirm()

    # --- helpers ---

    def _settle(self, lane: Lane, typed: str) -> None:
        """A message was handled: it may have been the answer to a confirmation."""
        if self.prompts.waiting(lane, "confirm"):
            key = self._key(self._source(lane, {}))
            self.prompts.confirm_over(key, hermes.confirm_pending(key), typed)

    def _source(self, lane: Lane, body: Body) -> Any:
        channel = body.get("channel") if isinstance(body.get("channel"), dict) else None
        if channel and channel.get("name"):
            self._names[lane.chat_id] = str(channel["name"])
        return self.build_source(
            chat_id=lane.hermes_chat,
            chat_name=self._names.get(lane.chat_id) or lane.chat_id,
            chat_type="dm",
            user_id=USER,
            thread_id=lane.hermes_thread,
            message_id=str(body.get("message_id") or "") or None,
        )

    def _key(self, source: Any) -> str:
        return hermes.session_key(source, getattr(self.config, "extra", None) or {})
