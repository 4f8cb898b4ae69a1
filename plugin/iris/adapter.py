"""The adapter: hermes' calls → events, people's messages → hermes (hermes.md §2, §7).

Every method returns at once and never fails: a send that fails or waits makes hermes repeat and double texts
(hermes.md §0.2). Prompts and pickers are in its base class Asking, files that hermes sends in Sharing.
"""

from __future__ import annotations

import asyncio
import logging
import time
from pathlib import Path
from typing import Any

from gateway.config import Platform
from gateway.platforms.base import (
    BasePlatformAdapter,
    MessageEvent,
    MessageType,
    ProcessingOutcome,
    SendResult,
)

from . import attachment, hermes, jobs, settings
from .archive import Archive
from .asking import Asking
from .attachment import Attachment, Files
from .events import Body, Event
from .history import Said
from .hooks import Hooks
from .host import Host
from .ids import mint
from .inbox import TASK_NAME, Inbox
from .lanes import Lane
from .prompts import APPROVAL_WORDS, Prompts
from .sent import Sent, SentMessages
from .sharing import Sharing
from .spool import Inbound
from .titles import Titles
from .turns import Turn

log = logging.getLogger(__name__)

NAME = "iris"
MAX_MESSAGE = 100_000  # characters; a 60 kB answer stays one message
INTERRUPT = 5.0  # seconds after which an agent is released from its clarify though nobody told it to stop

#: The person behind all devices: hermes would keep apart what belongs together if each device were a user.
USER = "owner"


class Adapter(Asking, Sharing, BasePlatformAdapter):  # type: ignore[misc]  # hermes is not there when types are checked
    """Platform `iris` of one hermes process."""

    MAX_MESSAGE_LENGTH = MAX_MESSAGE
    REQUIRES_EDIT_FINALIZE = True
    splits_long_messages = True
    supports_code_blocks = True

    #: The adapter of this process; the hooks, registered before it exists, go to it.
    current: Adapter | None = None

    def __init__(self, config: Any) -> None:
        super().__init__(config=config, platform=Platform(NAME))
        self._host = Host(settings.load(), hermes.home() / "iris" / "spool.db", hermes.hello, self._arrived)
        self._inbox = Inbox(self)
        self._sent = SentMessages()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._opening: asyncio.Task[None] | None = None
        self._names: dict[str, str] = {}  # chat → how people call it
        self._files: dict[tuple[int, int], Files] = {}  # of messages that hermes has not been given yet
        self.prompts = Prompts(lambda event: self._host.emit(event))
        self._titles = Titles(
            lambda event: self._host.emit(event), lambda session: hermes.title(self.gateway_runner, session)
        )
        self._archive = Archive(self._host, lambda: self.gateway_runner)
        self.hooks = Hooks(self._host.emit, self._host.turns, self.prompts, lambda: self.gateway_runner)

    @property
    def authorization_is_upstream(self) -> bool:
        """Only paired devices reach the gateway: hermes needs no allow-list of its own."""
        return True

    # --- life cycle ---

    async def connect(self, *, is_reconnect: bool = False) -> bool:
        """Start the link. Succeeds also while the gateway cannot be reached (host-link.md, Opening)."""
        self._loop = asyncio.get_running_loop()
        unfinished = await asyncio.to_thread(self._host.start)
        Adapter.current = self
        for item in unfinished:
            self._inbox.offer(item)
        self._opening = asyncio.create_task(self._inbox.open(), name="iris-open")
        self._mark_connected()
        return True

    async def disconnect(self) -> None:
        """Flush and close, within a few seconds."""
        self._inbox.close()
        self._titles.close()
        self._archive.close()
        if self._opening:
            self._opening.cancel()
        await asyncio.to_thread(self._host.stop)
        self._mark_disconnected()

    async def get_chat_info(self, chat_id: str) -> dict[str, Any]:
        return {"name": Lane.of_hermes(chat_id).chat_id, "type": "dm"}

    # --- what the agent says ---

    async def send(
        self, chat_id: str, content: str, reply_to: str | None = None, metadata: Body | None = None, **kw: Any
    ) -> SendResult:
        """A message → send, or cron when a job made it (hermes.md §4)."""
        meta = metadata or {}
        lane = Lane.of_hermes(chat_id, meta.get("thread_id"))
        message_id = mint("m_")
        if meta.get("job_id"):
            job = await asyncio.to_thread(jobs.name_of, content, str(meta["job_id"]))
            body: Body = {"message_id": message_id, "text": content, "job": job}
            self._emit("cron", lane, body)
            return SendResult(success=True, message_id=message_id)
        answers = reply_to or meta.get("reply_to_message_id")
        turn = self._turn_id(lane, answers)
        sent = Sent(lane, turn, answers, text=content)
        self._sent.add(message_id, sent)
        body = {
            "message_id": message_id,
            "text": content,
            "reply_to": answers,
            "streaming": bool(meta.get("expect_edits")),
            # The result of a /background task is an answer, though hermes sends it like a notice.
            "notify": bool(meta.get("notify")) or (not answers and self.hooks.background_answer(content)),
            "immediate": _inbound_task(),
        }
        self._emit("send", lane, body, turn, sent.began)
        if body["streaming"] and body["notify"]:
            # A segment that was complete before any of it was shown: hermes sends it whole, and no edit
            # follows (after the last segment one does, the same again). Nothing durable may hang on a
            # live event.
            await self.edit_message(chat_id, message_id, content, finalize=True)
        return SendResult(success=True, message_id=message_id)

    async def edit_message(
        self,
        chat_id: str,
        message_id: str,
        content: str,
        *,
        finalize: bool = False,
        metadata: Body | None = None,
    ) -> SendResult:
        """The text of a message so far, or at its end → edit."""
        lane = Lane.of_hermes(chat_id, (metadata or {}).get("thread_id"))
        sent = self._sent.edited(message_id, lane, self._turn_id(lane), content, finalize)
        if sent:
            body = {
                "message_id": message_id,
                "text": content,
                "final": finalize,
                "reply_to": sent.reply_to,
                "began": sent.began,
            }
            # The message's own lane: metadata is missing when hermes has nothing to say.
            self._emit("edit", sent.lane, body, sent.turn)
        return SendResult(success=True, message_id=message_id)

    async def delete_message(self, chat_id: str, message_id: str) -> bool:
        """hermes takes a message back → delete."""
        sent = self._sent.get(message_id)
        lane = sent.lane if sent else Lane.of_hermes(chat_id)
        self._emit("delete", lane, {"message_ids": [message_id]}, sent.turn if sent else self._turn_id(lane))
        return True

    async def send_or_update_status(
        self, chat_id: str, status_key: str, content: str, metadata: Body | None = None, **kw: Any
    ) -> SendResult:
        """A status of hermes (retries, context pressure) → notice."""
        lane = Lane.of_hermes(chat_id, (metadata or {}).get("thread_id"))
        self._emit("notice", lane, {"key": str(status_key), "text": content}, self._turn_id(lane))
        return SendResult(success=True, message_id=mint("m_"))

    async def create_handoff_thread(self, parent_chat_id: str, name: str) -> str | None:
        """hermes wants a thread of its own for something → thread.create."""
        thread = mint("t_")
        lane = Lane.of_hermes(parent_chat_id, thread)
        self._emit("thread.create", lane, {"thread_id": thread, "name": str(name or "")[:200]})
        return lane.hermes_thread

    async def send_typing(self, chat_id: str, metadata: Body | None = None) -> None:
        """Nothing: the gateway derives it from the turns, hermes' own loop leaks (hermes.md §0.9)."""

    async def stop_typing(self, chat_id: str, metadata: Body | None = None) -> None:
        """Nothing, as send_typing."""

    # --- turns ---

    async def on_processing_start(self, event: MessageEvent) -> None:
        """hermes begins with a message → turn.start. The turn waits for this method."""
        lane = self._lane(event)
        # What hermes says to itself may carry the id of a message that was answered long ago.
        trigger = None if event.internal else event.message_id
        turn = Turn(lane, trigger, _source(event), event, self._key(event.source))
        self._host.turns.start(turn)
        body = {"trigger": turn.trigger, "source": turn.source}
        self._emit("turn.start", lane, body, turn.id, turn.started_at)
        self._inbox.started(lane, event.message_id)

    async def on_processing_complete(self, event: MessageEvent, outcome: ProcessingOutcome) -> None:
        """The certain end of a turn (hermes.md §0.3) → turn.end."""
        lane = self._lane(event)
        turn = self._host.turns.end(lane, event)
        self._settle(lane, event.text or "")
        if turn:
            self.prompts.turn_over(turn.id)
            with self._host.turns.lock:
                cancelled = outcome is ProcessingOutcome.CANCELLED
                verdict = turn.outcome(cancelled, outcome is ProcessingOutcome.FAILURE)
                runtime: Body = {}
                if turn.models:
                    agent = hermes.agent_of(self.gateway_runner, turn.session_key)
                    runtime = hermes.runtime(agent, turn.prompt_tokens, turn.cost_before)
                body = turn.end_body(verdict, runtime)
            self._emit("turn.end", lane, body, turn.id)
            session = turn.session or self.hooks.session_of(lane)
            if session:
                self._titles.turn_over(lane, session, turn.first)
                self._archive.turn_over(session, turn.started_at / 1000, self._said(turn, event))
        task = asyncio.current_task()
        if task:
            # hermes frees the lane only when its task ends, after this call.
            answered = self._inbox.unbegun(lane)
            task.add_done_callback(lambda _: self._inbox.ended(lane, answered))

    async def interrupt_session_activity(
        self, session_key: str, chat_id: str, metadata: Body | None = None
    ) -> None:
        """Somebody stops the turn: ours, or hermes' own /stop and /new."""
        for lane_turn in self._host.turns.with_key(session_key):
            lane_turn.stopped = True
        await super().interrupt_session_activity(session_key, chat_id)

    # --- inbox.Port: what people say ---

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

    def busy_lanes(self, lane: Lane) -> list[Lane]:
        """The lanes in which something runs, of a channel those of its threads too."""
        return [other for other in self._host.turns.lanes() if lane.covers(other)]

    async def forget(self, item: Inbound) -> None:
        await self._archive.forget(item, self._key(self._source(item.lane, {})))

    async def forget_lane(self, lane: Lane) -> None:
        await self._archive.forget_lane(lane)

    # --- helpers ---

    def _said(self, turn: Turn, event: MessageEvent) -> list[Said]:
        """What people know of a turn, for the rows that it became."""
        said = [Said(i, "assistant", sent.text) for i, sent in self._sent.of_turn(turn.id)]
        if turn.trigger and turn.source == "user":
            said.insert(0, Said(turn.trigger, "user", event.text or ""))
        return said

    def _arrived(self, item: Inbound) -> None:
        """An inbound item, on the link's thread."""
        if self._loop:
            self._loop.call_soon_threadsafe(self._inbox.offer, item)

    def _emit(
        self, kind: str, lane: Lane, body: Body, turn: str | None = None, at: int | None = None
    ) -> None:
        self._host.emit(Event(kind, lane, body, turn) if at is None else Event(kind, lane, body, turn, at))

    def _turn_id(self, lane: Lane, answers: str | None = None) -> str | None:
        turn = self._host.turns.of(lane, answers)
        return turn.id if turn else None

    def _settle(self, lane: Lane, typed: str) -> None:
        """A message was handled: it may have been the answer to a confirmation."""
        if self.prompts.waiting(lane, "confirm"):
            key = self._key(self._source(lane, {}))
            self.prompts.confirm_over(key, hermes.confirm_pending(key), typed)

    def _lane(self, event: MessageEvent) -> Lane:
        return Lane.of_hermes(event.source.chat_id, event.source.thread_id)

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


def _source(event: MessageEvent) -> str:
    """Who began the turn (host-link.md, turn.start)."""
    if event.internal:
        return "internal"
    return "command" if (event.text or "").lstrip().startswith("/") else "user"


def _inbound_task() -> bool:
    """This call runs inside one of our own inbound calls: an acknowledgement."""
    task = asyncio.current_task()
    return bool(task and task.get_name().startswith(TASK_NAME))
