"""hermes' sessions: its store of what was said, the live agents, and which session a lane leads to. As in
hermes.py, each look is guarded: if hermes is not as expected, less is erased, and nothing breaks.
"""

from __future__ import annotations

import logging
from typing import Any

from .hermes import guarded
from .history import History

log = logging.getLogger(__name__)


@guarded(None)
def history(runner: Any) -> History | None:
    """Return hermes' store of what was said."""
    db = getattr(runner, "_session_db", None)
    db = getattr(db, "_db", db)  # an asynchronous one wraps the store
    return None if db is None else History(db)


@guarded(None)
def evict(runner: Any, key: str) -> None:
    """Let go of the live agent of a session: what it remembers is read anew by the next one."""
    runner._evict_cached_agent(key)


@guarded(None)
def reset(runner: Any, key: str) -> None:
    """Begin a new session in the lane of a session key."""
    runner.session_store.reset_session(key)


@guarded(None)
def unroute(runner: Any, key: str) -> None:
    """Forget a lane: its last session, and what the chat is called."""
    store = runner.session_store
    with store._lock:
        if store._entries.pop(key, None) is not None:
            store._save()


@guarded([])
def routed(runner: Any) -> list[str]:
    """Return the session keys of the lanes that hermes knows of Iris."""
    store = runner.session_store
    store._ensure_loaded()  # takes the lock itself
    with store._lock:
        return [
            key for key, entry in store._entries.items() if getattr(entry.platform, "value", "") == "iris"
        ]


async def list_chats(runner: Any) -> None:
    """Let hermes write its list of chats anew: it holds their names."""
    try:
        from gateway.channel_directory import build_channel_directory

        await build_channel_directory(runner.adapters)
    except Exception as err:
        log.debug("iris: list of chats: %r", err)
