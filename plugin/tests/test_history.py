"""hermes' own store: which rows messages became, and that nothing is left of what is removed."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from support import LANE, TempDir, has, needs_hermes

from iris import sessions
from iris.history import Doomed, History, Said
from iris.lanes import Lane

if has("hermes_state"):
    from hermes_state import SessionDB

SECRET = "xyzzysecret"
THREAD = Lane("android:chan", "t1")


def doomed(message: str, text: str = "", role: str = "assistant", ts: float = 0) -> Doomed:
    return Doomed(message, role, int(ts * 1000), hashlib.sha256(text.encode()).hexdigest() if text else "")


@needs_hermes
class HistoryCase(TempDir):
    def setUp(self) -> None:
        super().setUp()
        self.path = self.dir / "state.db"
        self.db = SessionDB(self.path)
        self.addCleanup(self.db.close)
        self.history = History(self.db)

    def session(self, session: str, lane: Lane = LANE, **more: Any) -> str:
        self.db.create_session(
            session,
            "iris",
            chat_id=lane.hermes_chat,
            thread_id=lane.hermes_thread,
            session_key=f"key:{lane.hermes_chat}:{lane.hermes_thread}",
            **more,
        )
        return session

    def say(self, session: str, role: str, content: str, **more: Any) -> int:
        return int(self.db.append_message(session, role, content, **more))

    def rows(self, session: str) -> list[int]:
        with self.db._lock:
            found = self.db._conn.execute(
                "SELECT id FROM messages WHERE session_id=? ORDER BY id", (session,)
            ).fetchall()
        return [row[0] for row in found]

    def left(self, text: str = SECRET) -> list[str]:
        """The files of the store that hold a text."""
        return [path.name for path in self.dir.rglob("*") if path.is_file() and text in _read(path)]


def _read(path: Path) -> str:
    return path.read_bytes().decode("latin-1")


class MatchTest(HistoryCase):
    def test_the_rows_of_a_turn(self) -> None:
        session = self.session("s1")
        self.say(session, "user", "look")  # an earlier turn
        with self.db._lock:
            self.db._conn.execute("UPDATE messages SET timestamp=timestamp-100")
        since = time.time()
        user = self.say(session, "user", '[Replying to your previous message: "x"]\n\nlook')
        beat = self.say(session, "assistant", "I look", tool_calls=[{"id": "c1"}])
        self.say(session, "tool", "found", tool_call_id="c1")
        answer = self.say(session, "assistant", "Here:\nMEDIA:/tmp/a.png\n\nit is")
        said = [
            Said("m_1", "user", "look"),
            Said("m_2", "assistant", "\n\nI look ▉"),
            Said("m_3", "assistant", "Here:\n\nit is"),
            Said("m_4", "assistant", "a notice"),
        ]
        self.assertEqual(self.history.match(session, since, said), {"m_1": user, "m_2": beat, "m_3": answer})

    def test_the_same_text_twice(self) -> None:
        session, since = self.session("s1"), time.time()
        rows = [self.say(session, "assistant", "yes"), self.say(session, "assistant", "yes")]
        said = [Said("m_1", "assistant", "yes"), Said("m_2", "assistant", "yes")]
        self.assertEqual(list(self.history.match(session, since, said).values()), rows)


class RemoveTest(HistoryCase):
    def test_nothing_is_left(self) -> None:
        session = self.session("s1")
        keep = self.say(session, "user", "please look it up")
        beat = self.say(
            session,
            "assistant",
            f"looking for {SECRET}",
            tool_calls=[{"id": "c1", "function": {"name": "t", "arguments": json.dumps({"q": SECRET})}}],
            reasoning=f"they want {SECRET}",
        )
        self.say(session, "tool", f"{SECRET} was found", tool_call_id="c1", tool_name="t")
        for i in range(300):  # so that there are pages and parts of the index enough
            self.say(session, "user", f"other words {i} " * 20)
        user = self.say(session, "user", f"what is {SECRET}?")
        self.assertIn("state.db", self.left())
        removed = self.history.remove(LANE, [doomed("m_1"), doomed("m_2")], {"m_1": beat, "m_2": user})
        self.assertEqual(removed, 3)
        self.assertEqual(self.left(), [])
        self.assertIn(keep, self.rows(session))
        self.assertEqual(len(self.rows(session)), 301)
        self.assertEqual(self.db.search_messages("words")[0]["session_id"], session)
        self.assertEqual(self.db.search_messages(SECRET), [])
        self.say(session, "user", "and now?")  # the store still works
        self.assertEqual(self.history.remove(LANE, [doomed("m_1")], {"m_1": beat}), 0)  # again

    def test_the_hash_finds_what_the_map_lost(self) -> None:
        session, other = self.session("s1", THREAD), self.session("s2", Lane("android:chan", "t2"))
        first = self.say(session, "user", "yes")
        second = self.say(session, "user", "yes")
        with self.db._lock:
            self.db._conn.execute("UPDATE messages SET timestamp=1000 WHERE id=?", (first,))
            self.db._conn.execute("UPDATE messages SET timestamp=2000 WHERE id=?", (second,))
        self.say(other, "user", "yes")
        media = self.say(session, "assistant", "Look:\nMEDIA:/tmp/a.png")
        quoting = self.say(session, "user", '[Replying to your previous message: "Look"]\n\nnice')
        self.assertEqual(self.history.remove(THREAD, [doomed("m", "yes", "user", 1990)], {}), 1)
        self.assertEqual(self.rows(session), [first, media, quoting])
        self.history.remove(THREAD, [doomed("m", "yes", "assistant"), doomed("m", "", "user")], {})
        self.assertEqual(self.rows(session), [first, media, quoting])  # not its role; no hash
        self.history.remove(THREAD, [doomed("m", "Look:"), doomed("m", "nice", "user")], {})
        self.assertEqual(self.rows(session), [first])
        self.assertEqual(len(self.rows(other)), 1)

    def test_somebody_reads_meanwhile(self) -> None:
        session = self.session("s1")
        row = self.say(session, "user", SECRET)
        reader = SessionDB(self.path)
        self.addCleanup(reader.close)
        reader._conn.execute("BEGIN")
        reader._conn.execute("SELECT count(*) FROM messages").fetchone()
        ended = threading.Timer(0.3, reader._conn.rollback)
        # A connection of sqlite3 may be used by other threads here: hermes opens it so.
        ended.start()
        self.history.remove(LANE, [doomed("m")], {"m": row})
        ended.join()
        self.assertEqual(self.left(), [])


class LaneTest(HistoryCase):
    def test_sessions(self) -> None:
        channel, thread = Lane("android:chan"), THREAD
        for name, lane in {"flat": channel, "in": thread, "sibling": Lane("android:chan", "t2")}.items():
            self.session(name, lane)
        self.session("other")
        self.db.create_session("child", "subagent", parent_session_id="in")
        self.db.create_session("grandchild", "subagent", parent_session_id="child")
        self.assertEqual(set(self.history.sessions(thread)), {"in", "child", "grandchild"})
        self.assertEqual(
            set(self.history.sessions(channel)), {"flat", "in", "sibling", "child", "grandchild"}
        )
        self.assertEqual(self.history.sessions(thread)["in"], "key:android~chan:t1")

    def test_nothing_is_left(self) -> None:
        session, other = self.session("s1", THREAD), self.session("s2")
        for i in range(200):
            self.say(session, "user", f"{SECRET} {i} " * 5)
            self.say(other, "user", f"something else {i} " * 5)
        folder = self.dir / "sessions"
        folder.mkdir()
        (folder / "s1.jsonl").write_text(SECRET)
        for name, of in ("d1", session), ("d2", other):  # background work that has ended
            with self.db._lock:
                self.db._conn.execute(
                    "INSERT INTO async_delegations (delegation_id, origin_session, parent_session_id, state,"
                    " dispatched_at, updated_at, result_json) VALUES (?, '', ?, 'done', 0, 0, ?)",
                    (name, of, SECRET if of == session else "else"),
                )
        self.history.remove_sessions(self.history.sessions(THREAD), folder)
        self.assertEqual(self.left(), [])
        self.assertEqual(len(self.rows(other)), 200)
        with self.db._lock:
            kept = self.db._conn.execute("SELECT delegation_id FROM async_delegations").fetchall()
        self.assertEqual([row[0] for row in kept], ["d2"])
        self.history.remove_sessions(self.history.sessions(THREAD), folder)  # again


class GuardTest(TempDir):
    def test_another_hermes(self) -> None:
        for runner in (None, SimpleNamespace(), SimpleNamespace(_session_db=None)):
            self.assertIsNone(sessions.history(runner))
            sessions.evict(runner, "key")
            sessions.reset(runner, "key")
            sessions.unroute(runner, "key")

    def test_a_wrapped_store(self) -> None:
        wrapped = SimpleNamespace(_session_db=SimpleNamespace(_db=SimpleNamespace(_lock=None)))
        self.assertIsNotNone(sessions.history(wrapped))


class DoomedTest(TempDir):
    def test_odd_bodies(self) -> None:
        for body in ({}, {"messages": None}, {"messages": "x"}, {"messages": [1, None]}):
            self.assertEqual(Doomed.of(body), [])
        self.assertEqual(Doomed.of({"messages": [{"message_id": "m"}]}), [Doomed("m", "", 0, "")])
