"""hermes' store of what was said (hermes.md §9), as far as the plugin changes it: which row a message became,
and the removal of rows and sessions so that no page of the file keeps a text.

Everything here blocks on the disk. `db` is hermes' SessionDB; what is private of it is equal in 0.19.0 and
0.20.0.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
import sqlite3
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .lanes import Lane

log = logging.getLogger(__name__)

#: Seconds that hermes' clock of a row and the plugin's of its turn may differ.
SLACK = 2.0
#: How often the write-ahead log is tried to be emptied: somebody may be reading.
_TRIES, _WAIT = 10, 0.1

_MEDIA = re.compile(r"^\s*MEDIA:.*$", re.MULTILINE)
_QUOTE = re.compile(r"^\[Replying to [^\n]*\]\s*")


@dataclass(frozen=True)
class Said:
    """A message as people know it, whose row is looked for."""

    message_id: str
    role: str
    text: str


@dataclass(frozen=True)
class Doomed:
    """A message that people have deleted (host-link.md, "Inbound")."""

    message_id: str
    role: str
    ts: int
    sha256: str

    @classmethod
    def of(cls, body: dict[str, Any]) -> list[Doomed]:
        """Read the body of a delete item."""
        listed = body.get("messages")
        return [
            cls(
                str(m.get("message_id") or ""),
                str(m.get("role") or ""),
                int(m.get("ts") or 0),
                str(m.get("sha256") or ""),
            )
            for m in (listed if isinstance(listed, list) else ())
            if isinstance(m, dict)
        ]


class History:
    """The sessions and messages of hermes."""

    def __init__(self, db: Any) -> None:
        self._db = db

    # --- which row a message became ---

    def match(self, session: str, since: float, said: Iterable[Said]) -> dict[str, int]:
        """Return the rows of messages said in a turn that began at `since` (unix seconds), by message id.

        hermes' rows do not know our ids; they are in the same order, and hold the same text, sometimes with
        something around it.
        """
        rows = self._read(
            "SELECT id, role, content FROM messages WHERE session_id=? AND timestamp>=? ORDER BY id",
            (session, since - SLACK),
        )
        found: dict[str, int] = {}
        for message in said:
            for row_id, role, content in rows:
                if role == message.role and row_id not in found.values() and _alike(content, message.text):
                    found[message.message_id] = row_id
                    break
        return found

    # --- removal ---

    def remove(self, lane: Lane, doomed: Iterable[Doomed], known: dict[str, int]) -> int:
        """Remove the rows of messages, with the tool results that an assistant's row led to; returns how
        many rows. `known` maps ids to rows; the hash finds a row that is not in it.
        """
        rows = set()
        for message in doomed:
            row = known.get(message.message_id) or self._by_hash(lane, message)
            if row:
                rows.add(row)
        if not rows:
            return 0
        self._secure()
        removed: int = self._db._execute_write(lambda conn: _remove_rows(conn, rows))
        self._purge()
        return removed

    def _by_hash(self, lane: Lane, message: Doomed) -> int | None:
        """Find the row by the hash of its text; of several the one said nearest to the message's time."""
        if not message.sha256:
            return None
        rows = self._read(
            "SELECT m.id, m.content, m.timestamp FROM messages m JOIN sessions s ON s.id=m.session_id"
            " WHERE s.source='iris' AND s.chat_id=? AND coalesce(s.thread_id,'')=? AND m.role=?",
            (lane.hermes_chat, lane.hermes_thread or "", message.role),
        )
        same = [
            (abs(1000 * (at or 0) - message.ts), row_id)
            for row_id, content, at in rows
            if message.sha256 in map(_sha256, _forms(content or ""))
        ]
        return min(same)[1] if same else None

    def sessions(self, lane: Lane | None) -> dict[str, str]:
        """Return the sessions of a lane, of a channel those of its threads, or all of Iris, with what came of
        them (subagents, continuations after a compression): id → session key.
        """
        chat = lane.hermes_chat if lane else ""
        thread = lane.hermes_thread if lane else None
        rows = self._read(
            "WITH RECURSIVE tree(id) AS ("
            "SELECT id FROM sessions WHERE source='iris' AND (? OR chat_id=?) AND (? OR thread_id=?)"
            " UNION SELECT s.id FROM sessions s JOIN tree ON s.parent_session_id=tree.id)"
            " SELECT s.id, coalesce(s.session_key,'') FROM sessions s JOIN tree USING (id)",
            (lane is None, chat, thread is None, thread or ""),
        )
        return dict(rows)

    def remove_sessions(self, sessions: Iterable[str], folder: Path) -> bool:
        """Remove sessions with all that was said in them, and their files in the folder. False when hermes'
        store is so busy that its log still holds deleted texts.
        """
        ids = list(sessions)
        if ids:
            self._secure()
            self._db.delete_sessions(ids, sessions_dir=folder)
            self._db._execute_write(lambda conn: _remove_delegations(conn, ids))
        return self._purge()

    def _read(self, sql: str, values: tuple[object, ...]) -> list[tuple[Any, ...]]:
        with self._db._lock:
            return [tuple(row) for row in self._db._conn.execute(sql, values).fetchall()]

    def _secure(self) -> None:
        """Let freed pages be overwritten, on hermes' own connection."""
        with self._db._lock:
            self._db._conn.execute("PRAGMA secure_delete=ON").fetchall()

    def _purge(self) -> bool:
        """Take the words out of the search index, which keeps those of deleted rows until its parts are
        merged, and out of the write-ahead log; False when somebody reads that all the time.
        """
        optimize = getattr(self._db, "optimize_fts", None)
        if optimize:
            optimize()
        for _ in range(_TRIES):
            with self._db._lock:
                busy = self._db._conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            if not busy:
                return True
            time.sleep(_WAIT)
        log.info("iris: hermes' store is busy; its log keeps deleted texts until it is overwritten")
        return False


def _remove_rows(conn: sqlite3.Connection, rows: set[int]) -> int:
    removed = 0
    for row_id in rows:
        row = conn.execute("SELECT session_id, tool_calls FROM messages WHERE id=?", (row_id,)).fetchone()
        if row is None:
            continue
        for call in _call_ids(row[1]):
            removed += conn.execute(
                "DELETE FROM messages WHERE session_id=? AND role='tool' AND tool_call_id=?", (row[0], call)
            ).rowcount
        removed += conn.execute("DELETE FROM messages WHERE id=?", (row_id,)).rowcount
    return removed


def _remove_delegations(conn: sqlite3.Connection, sessions: list[str]) -> None:
    """Remove what hermes keeps of finished background work for sessions that are gone."""
    try:
        for session in sessions:
            conn.execute("DELETE FROM async_delegations WHERE parent_session_id=?", (session,))
    except sqlite3.OperationalError as err:  # another version of hermes
        log.debug("iris: delegations: %s", err)


def _call_ids(tool_calls: str | None) -> Iterator[str]:
    try:
        calls = json.loads(tool_calls or "[]")
    except ValueError:
        return
    for call in calls if isinstance(calls, list) else ():
        if isinstance(call, dict) and call.get("id"):
            yield str(call["id"])


def _plain(text: str) -> str:
    """Return a text as people see it, in one line: without the mark of a cursor and lines that name files."""
    return " ".join(_MEDIA.sub("", text.replace("▉", " ")).split())


def _alike(content: str | None, text: str) -> bool:
    kept, shown = _plain(content or ""), _plain(text)
    return kept == shown or bool(kept and shown and (shown in kept or kept in shown))


def _forms(content: str) -> Iterator[str]:
    """Yield what the gateway may have made of a row's text before it took the hash."""
    for text in (content, _QUOTE.sub("", content), _MEDIA.sub("", content)):
        yield text
        yield text.strip()
        yield text.lstrip("\n")


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
