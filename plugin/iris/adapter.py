"""The adapter: hermes' calls → events (hermes.md §2).

Every method returns at once and never fails: a send that fails or waits makes hermes repeat and double texts
(hermes.md §0.2). In its base classes: prompts and pickers in Asking, files that hermes sends in Sharing, what
people say in Serving.
"""

from __future__ import annotations

import asyncio
from typing import Any

from gateway.config import Platform
from gateway.platforms.base import (
    BasePlatformAdapter,
    MessageEvent,
    ProcessingOutcome,
    SendResult,
)

from . import hermes, jobs, settings
from .archive import Archive
from .asking import Asking
from .attachment import Files
from .events import Body, Event
from .history import Said
from .hooks import Hooks
from .host import Host
from .ids import mint
from .inbox import TASK_NAME, Inbox
from .lanes import Lane
from .prompts import Prompts
from .sent import Sent, SentMessages
from .serving import Serving
from .sharing import Sharing
from .spool import Inbound
from .titles import Titles
from .turns import Turn

NAME = "iris"
MAX_MESSAGE = 100_000  # characters; a 60 kB answer stays one message


class Adapter(Asking, Sharing, Serving, BasePlatformAdapter):  # type: ignore[misc]  # hermes is not there when types are checked
    """Platform `iris` of one hermes process."""

    MAX_MESSAGE_LENGTH = MAX_MESSAGE
    REQUIRES_EDIT_FINALIZE = True
    splits_long_messages = True
    supports_code_blocks = True

    #: The adapter of this process; the hooks, registered before it exists, go to it.
    current: Adapter | None = None

    def __init__(self, config: Any) -> None:
        super().__init__(config=config, platform=Platform(NAME))
        spool = hermes.home() / "iris" / "spool.db"
        self._host = Host(settings.load(), spool, hermes.hello, self._arrived, deleted=self._deleted)
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
        """Start the link. Succeeds also while the gateway cannot be reached (host-link.md, "Opening")."""
        self._loop = asyncio.get_running_loop()
        await asyncio.to_thread(self._host.start)
        Adapter.current = self
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
                self._archive.turn_over(session, turn.since, self._said(turn, event))
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

    # --- helpers ---

    def _said(self, turn: Turn, event: MessageEvent) -> list[Said]:
        """What people know of a turn, for the rows that it became."""
        said = [Said(i, "assistant", sent.text) for i, sent in self._sent.of_turn(turn.id)]
        if turn.trigger and turn.source == "user":
            said.insert(0, Said(turn.trigger, "user", event.text or ""))
        return said

    def _arrived(self, item: Inbound) -> None:
        """An inbound item, on another thread: they are offered in the order in which they come here."""
        if self._loop:
            self._loop.call_soon_threadsafe(self._inbox.offer, item)

    def _deleted(self) -> None:
        """The gateway was deleted, on the link's thread."""
        if self._loop:
            self._loop.call_soon_threadsafe(self._inbox.erase)

    def _emit(
        self, kind: str, lane: Lane, body: Body, turn: str | None = None, at: int | None = None
    ) -> None:
        self._host.emit(Event(kind, lane, body, turn) if at is None else Event(kind, lane, body, turn, at))

    def _turn_id(self, lane: Lane, answers: str | None = None) -> str | None:
        turn = self._host.turns.of(lane, answers)
        return turn.id if turn else None

    def _lane(self, event: MessageEvent) -> Lane:
        return Lane.of_hermes(event.source.chat_id, event.source.thread_id)


def _source(event: MessageEvent) -> str:
    """Who began the turn (host-link.md, "Events")."""
    if event.internal:
        return "internal"
    return "command" if (event.text or "").lstrip().startswith("/") else "user"


def _inbound_task() -> bool:
    """This call runs inside one of our own inbound calls: an acknowledgement."""
    task = asyncio.current_task()
    return bool(task and task.get_name().startswith(TASK_NAME))
