"""What hermes asks people, and their answers: the adapter's methods for prompts (hermes.md §2, §6).

hermes looks for these methods on the adapter's class. Each must be back within 15 s, or hermes asks by text
as well: they put a prompt into the queue and are done.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from gateway.platforms.base import SendResult

from . import hermes
from .events import Body, now_ms
from .lanes import Lane
from .prompts import EXPIRED, Prompt, Prompts

#: Bytes of a value that a device may send back.
MAX_VALUE = 1024
#: hermes notices by itself that an approval or clarify is too old; this is later, if it does not.
GRACE = 5.0


class Asking:
    """Base class of the adapter."""

    prompts: Prompts

    def _turn_id(self, lane: Lane, answers: str | None = None) -> str | None:
        """Return the open turn that a callback of this lane belongs to."""
        raise NotImplementedError

    async def send_exec_approval(
        self,
        chat_id: str,
        command: str,
        session_key: str,
        description: str = "dangerous command",
        metadata: Body | None = None,
        allow_permanent: bool = True,
        smart_denied: bool = False,
        allow_session: bool = True,
        **kw: Any,
    ) -> SendResult:
        """May this command run? → prompt of kind approval."""
        values = ["once"]
        if not smart_denied:
            values += ["session"] if allow_session else []
            values += ["always"] if allow_permanent else []
        body: Body = {"command": command, "description": description}
        body["choices"] = [{"value": value} for value in (*values, "deny")]
        entry = self._entry(session_key, command)

        def oldest() -> bool:
            waiting = hermes.approvals(session_key)
            return entry is None or not waiting or waiting[0] is entry

        def take(value: str | None, text: str) -> bool:
            # hermes gives the answer to the oldest: it must be the command that was shown.
            return oldest() and hermes.resolve_approval(session_key, value or "deny") > 0

        prompt = self._prompt("approval", chat_id, metadata, session_key, body, take)
        prompt.entry, prompt.next = entry, oldest
        return self._ask(prompt)

    def _entry(self, key: str, command: str) -> object:
        """Return the place in hermes' queue of the approval that is asked now."""
        taken = self.prompts.entries()
        free = [e for e in hermes.approvals(key) if all(e is not t for t in taken)]
        return next((e for e in free if hermes.command_of(e) == command), free[0] if free else None)

    async def send_clarify(
        self,
        chat_id: str,
        question: str,
        choices: list[Any] | None,
        clarify_id: str,
        session_key: str,
        metadata: Body | None = None,
        **kw: Any,
    ) -> SendResult:
        """What do you mean? → prompt of kind clarify."""
        offered = {_value(str(choice), i): str(choice) for i, choice in enumerate(choices or (), 1)}
        # Also of a question with choices a message is the answer, whatever it says: hermes 0.20.0 takes it
        # only then.
        hermes.await_text(clarify_id)
        body: Body = {"question": question, "allow_text": True}
        body["choices"] = [{"value": value, "label": label} for value, label in offered.items()]

        def take(value: str | None, text: str) -> bool:
            if value is None:
                return hermes.resolve_clarify(clarify_id, text)
            return hermes.resolve_clarify(clarify_id, offered[value], chosen=True)

        return self._ask(self._prompt("clarify", chat_id, metadata, session_key, body, take))

    async def send_slash_confirm(
        self,
        chat_id: str,
        title: str,
        message: str,
        session_key: str,
        confirm_id: str,
        metadata: Body | None = None,
        **kw: Any,
    ) -> SendResult:
        """Shall the command go on? → prompt of kind confirm."""
        body: Body = {"title": title, "text": message}
        body["choices"] = [{"value": value} for value in ("once", "always", "cancel")]

        def take(value: str | None, text: str) -> bool:
            return hermes.confirm_pending(session_key) == confirm_id

        async def follow(value: str) -> object:
            return await hermes.resolve_confirm(session_key, confirm_id, value)

        prompt = self._prompt("confirm", chat_id, metadata, session_key, body, take, follow)
        prompt.ref = confirm_id
        return self._ask(prompt)

    async def send_choice_picker(
        self,
        chat_id: str,
        title: str,
        choices: list[Body],
        session_key: str,
        on_choice_selected: Callable[[str, str], Awaitable[object]],
        metadata: Body | None = None,
        **kw: Any,
    ) -> SendResult:
        """Which setting? → prompt of kind choice."""
        offered = [{key: c[key] for key in ("value", "label", "is_current") if key in c} for c in choices]

        async def follow(value: str) -> object:
            return await on_choice_selected(chat_id, value)

        body: Body = {"title": title, "choices": offered}
        return self._ask(self._prompt("choice", chat_id, metadata, session_key, body, _always, follow))

    async def send_model_picker(
        self,
        chat_id: str,
        providers: list[Body],
        current_model: str,
        current_provider: str,
        session_key: str,
        on_model_selected: Callable[[str, str, str], Awaitable[object]],
        metadata: Body | None = None,
        **kw: Any,
    ) -> SendResult:
        """Which model? → prompt of kind model."""
        offered = [_provider(provider) for provider in providers]

        async def follow(value: str) -> object:
            provider, _, model = value.partition("/")
            return await on_model_selected(chat_id, model, provider)

        body: Body = {"current_model": current_model or "", "current_provider": current_provider or ""}
        body["providers"] = offered
        return self._ask(self._prompt("model", chat_id, metadata, session_key, body, _always, follow))

    def _prompt(
        self,
        kind: str,
        chat_id: str,
        metadata: Body | None,
        key: str,
        body: Body,
        take: Callable[[str | None, str], bool],
        follow: Callable[[str], Awaitable[object]] | None = None,
    ) -> Prompt:
        lane = Lane.of_hermes(chat_id, (metadata or {}).get("thread_id"))
        return Prompt(kind, lane, key, body, take, follow, self._turn_id(lane))

    def _ask(self, prompt: Prompt) -> SendResult:
        seconds = hermes.patience(prompt.kind)
        if seconds:
            prompt.expires_at = now_ms() + seconds * 1000
            grace = 0.0 if prompt.kind == "confirm" else GRACE
            loop = asyncio.get_running_loop()
            loop.call_later(seconds + grace, self.prompts.close, prompt.id, EXPIRED)
        self.prompts.ask(prompt)
        return SendResult(success=True, message_id=prompt.id)


def _always(value: str | None, text: str) -> bool:
    return True


def _value(choice: str, number: int) -> str:
    """Return what a device sends back for a choice: hermes' own words, unless they are too long."""
    return choice if len(choice.encode("utf-8", "replace")) <= MAX_VALUE else f"choice {number}"


def _provider(provider: Body) -> Body:
    slug = str(provider.get("slug") or "")
    models = [str(model) for model in provider.get("models") or ()][:1000]
    return {
        "id": slug,
        "label": str(provider.get("name") or slug),
        "models": [{"id": model, "label": model} for model in models],
    }
