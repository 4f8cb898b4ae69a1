"""The spool: what must survive until the gateway has it, or until hermes has it (host-link.md, "The
plugin as a program").

SQLite in WAL mode in hermes' home, used by one thread (the pump's). It holds unacknowledged events, inbound
items not yet done, files to be sent (outbox.py), the ids of the last messages, the epoch and the counters.
`synchronous=NORMAL` survives a SIGKILL.
"""

from __future__ import annotations

import json
import logging
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .events import LAST, Event, now_ms
from .ids import mint
from .lanes import Lane
from .outbox import SCHEMA as _MEDIA
from .outbox import Outbox

log = logging.getLogger(__name__)

#: Bound of the waiting events.
LIMIT = 64 * 1024 * 1024
#: So many numbers of events are left out when the spool is opened. A power cut may have taken the last
#: commits back (`synchronous=NORMAL`), whose events the gateway has: a new one of the same number would be
#: dropped as a repetition.
GAP = 100_000
#: How many messages' rows in hermes' store are known at most.
MAPPED = 200_000
#: How many message ids are remembered against a second delivery (hermes.md §7.1).
REMEMBERED = 1000

_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS events (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,  -- never given twice, also after a deletion
  rank INTEGER NOT NULL, chat_id TEXT NOT NULL, thread_id TEXT, size INTEGER NOT NULL, frame TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS events_rank ON events (rank, seq);
CREATE TABLE IF NOT EXISTS lost (
  chat_id TEXT NOT NULL, thread_id TEXT NOT NULL, n INTEGER NOT NULL,
  PRIMARY KEY (chat_id, thread_id)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS inbound (
  cursor INTEGER NOT NULL, item INTEGER NOT NULL, done INTEGER NOT NULL, frame TEXT NOT NULL,
  PRIMARY KEY (cursor, item)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS prompts (
  prompt_id TEXT PRIMARY KEY, chat_id TEXT NOT NULL, thread_id TEXT, turn TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS rows (
  n INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT NOT NULL UNIQUE, row_id INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS seen (n INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT NOT NULL UNIQUE);
"""


@dataclass(frozen=True)
class Inbound:
    """What came from people (host-link.md, "Inbound"): one of `items` of the log entry at `cursor`."""

    cursor: int
    item: int
    items: int
    kind: str
    lane: Lane
    body: dict[str, Any]

    @classmethod
    def of_frame(cls, frame: dict[str, Any]) -> Inbound:
        """Read an inbound frame; raises on one without its numbers."""
        body = frame.get("body")
        return cls(
            cursor=int(frame["cursor"]),
            item=int(frame.get("item") or 0),
            items=max(1, int(frame.get("items") or 1)),
            kind=str(frame.get("kind") or ""),
            lane=Lane(str(frame.get("chat_id") or ""), str(frame.get("thread_id") or "") or None),
            body=body if isinstance(body, dict) else {},
        )

    def frame(self) -> dict[str, Any]:
        """Return the item as of_frame reads it."""
        frame = {name: getattr(self, name) for name in ("cursor", "item", "items", "kind", "body")}
        return frame | {"chat_id": self.lane.chat_id, "thread_id": self.lane.thread_id}

    @property
    def message_id(self) -> str:
        """Id of the person's message, if it is one."""
        return str(self.body.get("message_id") or "") if self.kind == "message" else ""


class Spool:
    """The database. Every method runs on the pump's thread, inside its transaction."""

    def __init__(self, path: Path, limit: int = LIMIT) -> None:
        self._limit = limit
        self._over = False  # the gateway has been deleted: nothing is kept any more
        self._db = _open(path)
        self.media = Outbox(self._db, path.with_name("media"))
        self.media.sweep()
        self.reload()
        self._floor = self.last_seq + GAP if self.last_seq else 0
        self._met = False  # the gateway, since the spool was opened
        if not self.epoch:
            self._restart()

    def reload(self) -> None:
        """Read counters from the database: at the start, and after a transaction that failed."""
        meta = dict(self._db.execute("SELECT name, value FROM meta").fetchall())
        self.epoch = str(meta.get("epoch") or "")
        self.gateway = str(meta.get("gateway") or "")
        self.acked = int(meta.get("acked") or 0)
        self.received = int(meta.get("received") or 0)
        row = self._db.execute("SELECT seq FROM sqlite_sequence WHERE name='events'").fetchone()
        self.last_seq = int(row[0]) if row else 0
        self.size = int(self._db.execute("SELECT coalesce(sum(size), 0) FROM events").fetchone()[0])

    def begin(self) -> None:
        self._db.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        self._db.execute("COMMIT")

    def rollback(self) -> None:
        """Forget the transaction and what the counters learned in it."""
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")
        self.reload()

    def close(self) -> None:
        self._db.close()

    # --- events ---

    def append(self, event: Event, rank: int | None = None) -> tuple[int, str]:
        """Keep a durable event; returns its seq and frame. Its rank, if not its kind's, tells how soon a
        full spool gives it up.
        """
        seq = max(self.last_seq, self._floor) + 1
        frame = event.frame(seq)
        if self._over:
            return seq, frame
        size = len(frame.encode())
        rank, lane = event.rank if rank is None else rank, event.lane
        row = (seq, rank, lane.chat_id, lane.thread_id, size, frame)
        self._db.execute(
            "INSERT INTO events (seq, rank, chat_id, thread_id, size, frame) VALUES (?, ?, ?, ?, ?, ?)", row
        )
        self._note_prompt(event)
        self.last_seq = seq
        self.size += size
        if self.size > self._limit:
            self._shed()
        return seq, frame

    def _note_prompt(self, event: Event) -> None:
        """Remember which prompts are open: the next process closes them."""
        prompt = str(event.body.get("prompt_id") or "")
        if event.kind == "prompt":
            row = (prompt, event.lane.chat_id, event.lane.thread_id, event.turn)
            self._db.execute("INSERT OR IGNORE INTO prompts VALUES (?, ?, ?, ?)", row)
        elif event.kind == "prompt.closed":
            self._db.execute("DELETE FROM prompts WHERE prompt_id=?", (prompt,))

    def orphans(self) -> list[Event]:
        """Return the ends of prompts that an earlier process left open: nobody can answer them any more."""
        rows = self._db.execute("SELECT prompt_id, chat_id, thread_id, turn FROM prompts").fetchall()
        return [
            Event("prompt.closed", Lane(chat_id, thread_id), {"prompt_id": prompt, "why": "expired"}, turn)
            for prompt, chat_id, thread_id, turn in rows
        ]

    def _shed(self) -> None:
        """Let go of old events until there is room again: beats and tools first, answers last."""
        rows = self._db.execute("SELECT seq, size, chat_id, thread_id FROM events ORDER BY rank, seq")
        gone: list[tuple[int]] = []
        for seq, size, chat_id, thread_id in rows:
            # A bit more than needed, or the next event would shed again.
            if self.size <= self._limit - self._limit // 16:
                break
            gone.append((seq,))
            self.size -= size
            self.lose(Lane(chat_id, thread_id), 1)
        rows.close()
        self._db.executemany("DELETE FROM events WHERE seq=?", gone)
        log.warning("iris: the spool is full, %d events were given up", len(gone))

    def lose(self, lane: Lane, n: int) -> None:
        """Note that so many events of a lane are lost."""
        self._db.execute(
            "INSERT INTO lost VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n",
            (lane.chat_id, lane.thread_id or "", n),
        )

    def report_lost(self) -> list[tuple[int, str, Event]]:
        """Keep a notice for each lane that lost events, now that somebody will read it."""
        rows = self._db.execute("SELECT chat_id, thread_id, n FROM lost").fetchall()
        self._db.execute("DELETE FROM lost")
        out = []
        for chat_id, thread_id, n in rows:
            why = "for too long the gateway was away, or the host's disk full"
            text = f"{n} older events of this chat are lost: {why}."
            event = Event("notice", Lane(chat_id, thread_id or None), {"key": "spool", "text": text})
            # A spool full of answers would give up an ordinary notice at once.
            out.append((*self.append(event, rank=LAST), event))
        return out

    def ack(self, seq: int) -> None:
        """Everything up to seq is in the gateway's log."""
        if seq <= self.acked:
            return
        size = self._db.execute("SELECT coalesce(sum(size), 0) FROM events WHERE seq<=?", (seq,)).fetchone()[
            0
        ]
        self._db.execute("DELETE FROM events WHERE seq<=?", (seq,))
        self.size -= int(size)
        self.acked = seq
        self._set("acked", seq)

    def pending(self, after: int, upto: int, most: int = 256 * 1024) -> list[tuple[int, str]]:
        """Return the next events in (after, upto], about `most` bytes of them."""
        out: list[tuple[int, str]] = []
        rows = self._db.execute(
            "SELECT seq, frame FROM events WHERE seq>? AND seq<=? ORDER BY seq LIMIT 500", (after, upto)
        )
        for seq, frame in rows:
            out.append((seq, frame))
            most -= len(frame)
            if most <= 0:
                break
        rows.close()
        return out

    # --- inbound ---

    def store(self, item: Inbound, frame: dict[str, Any]) -> tuple[bool, int]:
        """Keep an inbound item; returns whether it is new work, and up to which cursor all is safe."""
        if item.cursor <= self.received:
            return False, self.received
        done = bool(item.message_id and self._remember(item))
        found = self._db.execute(
            "INSERT OR IGNORE INTO inbound VALUES (?, ?, ?, ?)",
            (item.cursor, item.item, int(done), json.dumps(frame, ensure_ascii=True)),
        ).rowcount
        n = self._db.execute("SELECT count(*) FROM inbound WHERE cursor=?", (item.cursor,)).fetchone()[0]
        if n >= item.items:
            self._set_received(item.cursor)
        return bool(found) and not done, self.received

    def _remember(self, item: Inbound) -> bool:
        """Note a message id; True when another cursor brought it before."""
        there = self._db.execute("SELECT 1 FROM inbound WHERE cursor=? AND item=?", (item.cursor, item.item))
        if there.fetchone():
            return False  # the same item again, known by its key
        new = self._db.execute(
            "INSERT OR IGNORE INTO seen (message_id) VALUES (?)", (item.message_id,)
        ).rowcount
        self._db.execute("DELETE FROM seen WHERE n <= (SELECT max(n) FROM seen) - ?", (REMEMBERED,))
        return not new

    def finish(self, cursor: int, item: int) -> None:
        """An inbound item is done: a restart must not bring it again."""
        self._db.execute("UPDATE inbound SET done=1 WHERE cursor=? AND item=?", (cursor, item))
        self._tidy()

    def become(self, item: Inbound) -> None:
        """An item is from now on what it has become (a steer that found no turn is a message)."""
        self._db.execute(
            "UPDATE inbound SET frame=? WHERE cursor=? AND item=?",
            (json.dumps(item.frame(), ensure_ascii=True), item.cursor, item.item),
        )

    def unfinished(self) -> list[Inbound]:
        """Return what an earlier process left to do, in order."""
        rows = self._db.execute("SELECT frame FROM inbound WHERE done=0 ORDER BY cursor, item").fetchall()
        return [Inbound.of_frame(json.loads(frame)) for (frame,) in rows]

    def _set_received(self, cursor: int) -> None:
        self.received = cursor
        self._set("received", cursor)
        self._tidy()

    def _tidy(self) -> None:
        # A done item of an entry that is not complete yet stays, as the mark against its repetition.
        self._db.execute("DELETE FROM inbound WHERE done=1 AND cursor<=?", (self.received,))

    # --- hermes' rows ---

    def map_rows(self, rows: dict[str, int]) -> None:
        """Remember which row of hermes' store a message became."""
        self._db.executemany("INSERT OR REPLACE INTO rows (message_id, row_id) VALUES (?, ?)", rows.items())
        self._db.execute("DELETE FROM rows WHERE n <= (SELECT max(n) FROM rows) - ?", (MAPPED,))

    def rows_of(self, message_ids: list[str]) -> dict[str, int]:
        """Return the rows of messages, as far as they are known."""
        found = {}
        for message_id in message_ids:
            row = self._db.execute("SELECT row_id FROM rows WHERE message_id=?", (message_id,)).fetchone()
            if row:
                found[message_id] = int(row[0])
        return found

    def unmap(self, message_ids: list[str]) -> None:
        """Forget the rows of messages, which are gone."""
        self._db.executemany("DELETE FROM rows WHERE message_id=?", [(i,) for i in message_ids])

    def forget(self) -> None:
        """Keep nothing of what is here, nor of what comes: the gateway has been deleted."""
        self._over = self.media.over = True
        self._restart()

    def empty_log(self) -> None:
        """Empty the write-ahead log, which still holds what was deleted; outside of a transaction."""
        try:
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except sqlite3.Error as err:
            log.warning("iris: the spool's log could not be emptied: %s", err)

    # --- the gateway ---

    def meet(self, gateway: str, acked: int, received: int) -> bool:
        """Take in a hello.ack; False when a new epoch begins with it, since this is another gateway than
        before, or since the spool is a copy too old for GAP (a disk that was restored).
        """
        if self.gateway and gateway and gateway != self.gateway:
            log.warning("iris: this is another gateway than before; starting a new epoch")
            self._restart()
            self._set("gateway", gateway)
            self.gateway = gateway
            return False
        if gateway and gateway != self.gateway:
            self.gateway = gateway
            self._set("gateway", gateway)
            if received > self.received:
                self._set_received(received)  # a new spool learns where its gateway stands
        if not self._met and acked > self._floor:
            log.warning("iris: the gateway knows more than this old copy of the spool; starting a new epoch")
            self._renew()
            return False
        self._met = True
        self.ack(min(acked, self.last_seq))
        return True

    def _renew(self) -> None:
        """Begin a new epoch with what happened since the spool was opened: the gateway has what is older,
        and other events of the numbers that would come.
        """
        self._db.execute("DELETE FROM events WHERE seq<=?", (self._floor,))
        self._set("acked", 0)
        self._set("epoch", mint("e_"))
        self.reload()

    def _restart(self) -> None:
        """Begin a new epoch: nothing waits, nothing is known. seq goes on counting, which is legal."""
        for table in ("events", "lost", "inbound", "prompts", "rows", "seen", "media", "meta"):
            self._db.execute(f"DELETE FROM {table}")
        self._set("epoch", mint("e_"))
        self._set("made", now_ms())
        self.reload()

    def _set(self, name: str, value: str | int) -> None:
        self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))


def _open(path: Path) -> sqlite3.Connection:
    """Open or make the database; a broken one is put aside, since a plugin that cannot start helps nobody."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        return _connect(path)
    except sqlite3.DatabaseError as err:
        if isinstance(err, sqlite3.OperationalError):
            raise  # locked, no permission, no space: the file is fine
        aside = path.with_name(f"{path.name}.broken-{now_ms()}")
        log.error("iris: the spool is damaged and was put aside as %s", aside.name)
        path.replace(aside)
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        return _connect(path)


def _connect(path: Path) -> sqlite3.Connection:
    # Made by one thread, used by the pump's alone afterwards.
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=10)
    try:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=NORMAL")
        db.execute("PRAGMA secure_delete=ON")  # what is acked or done leaves no text behind
        db.executescript(_SCHEMA + _MEDIA)
        # Or a damaged page is met later, again and again. It takes 30 ms for 20 MiB.
        (verdict,) = db.execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            raise sqlite3.DatabaseError(verdict)
    except BaseException:
        db.close()
        raise
    path.chmod(0o600)  # it holds texts of people
    return db
