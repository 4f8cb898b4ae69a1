"""The gateway was deleted: everything that came from it goes, also from hermes' own store."""

from __future__ import annotations

import asyncio
import threading
import time
import unittest.mock
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from support import LANE, OTHER, TempDir, event, has, hush, needs_hermes, needs_websockets
from test_adapter import AdapterCase
from test_history import SECRET, THREAD, HistoryCase
from test_inbox import InboxCase, deletion, item
from test_link import Quick
from test_media import medium

from iris import hermes
from iris.archive import Busy
from iris.attachment import Attachment
from iris.history import Said
from iris.host import Host
from iris.pump import Pump
from iris.settings import Settings
from iris.spool import Inbound, Spool

if has("websockets"):
    from fake_gateway import FakeGateway
if has("hermes_state"):
    from hermes_state import SessionDB


class InboxTest(InboxCase):
    async def done(self, times: int) -> None:
        while self.hermes.confirmed < times:
            await asyncio.sleep(0.01)

    async def test_stops_what_runs_then_erases_then_confirms(self) -> None:
        await self.offer(item(1), item(2), item(3, lane=OTHER), deletion(4, "m_9"))
        self.inbox.erase()
        self.inbox.erase()  # told again meanwhile
        await self.settle()
        self.assertCountEqual(self.hermes.stopped, [LANE, OTHER])
        self.assertEqual(self.hermes.finished, [2, 4])  # what waited
        self.assertEqual((self.hermes.erased, self.hermes.confirmed), (0, 0))
        await self.end()
        await self.end(OTHER)
        await self.done(1)
        await self.offer(item(5), item(6, "/new"))  # nobody can have sent it
        self.assertEqual((self.hermes.handed, self.hermes.finished[-2:]), ([1, 3], [5, 6]))
        self.inbox.erase()  # the confirmation was lost
        await self.done(2)
        self.assertEqual(self.hermes.erased, 2)

    async def test_not_before_hermes_is_ready(self) -> None:
        self.inbox.close()
        self.inbox.erase()
        await self.settle()
        self.assertEqual(self.hermes.erased, 0)
        await self.inbox.open()
        await self.done(1)

    async def test_what_fails_is_not_confirmed(self) -> None:
        hush(self, "iris.inbox")
        self.hermes.stuck = [OSError("busy"), OSError("busy"), Busy("somebody reads")]
        with unittest.mock.patch("iris.inbox._RETRIES", (0, 0)):
            self.inbox.erase()
            while self.hermes.stuck:
                await asyncio.sleep(0)
            await self.settle()
            self.assertEqual(self.hermes.confirmed, 0)
            self.inbox.erase()  # the next order
            await self.done(1)


class SpoolTest(TempDir):
    def left(self, text: str) -> list[str]:
        return [p.name for p in self.dir.rglob("*") if p.is_file() and text.encode() in p.read_bytes()]

    def test_nothing_is_kept_any_more(self) -> None:
        path = self.dir / "spool.db"
        pump = Pump(Spool(path))
        pump.start()
        pump.emit(event("answer", text=SECRET))
        frame = {"cursor": 7, "kind": "message", "chat_id": "c", "body": {"message_id": "m", "text": SECRET}}
        pump.ask(lambda spool: spool.store(Inbound.of_frame(frame), frame)).result()
        pump.ask(lambda spool: spool.map_rows({"m": 1})).result()
        pump.copy_of("md_1").write_text(SECRET)
        pump.ask(lambda spool: spool.media.add(medium())).result()
        self.assertEqual(len(self.left(SECRET)), 2)
        pump.forget().result()
        self.assertEqual(self.left(SECRET), [])
        pump.emit(event("answer", text=SECRET))
        with self.assertRaisesRegex(Exception, "deleted"):
            pump.ask(lambda spool: spool.media.add(medium())).result()
        pump.forget().result()  # told again
        pump.stop()
        self.assertEqual(self.left(SECRET), [])
        with closing(Spool(path)) as spool:  # the next process may have another gateway
            self.assertEqual((spool.gateway, spool.received, spool.unfinished()), ("", 0, []))
            self.assertEqual(spool.pending(0, 99), [])
            self.assertTrue(spool.meet("g_2", 0, 3))
            spool.append(event("answer"))
            self.assertEqual(len(spool.pending(0, spool.last_seq)), 1)


@needs_websockets
class LinkTest(TempDir):
    def test_the_order_comes_until_it_is_confirmed(self) -> None:
        hush(self, "iris")
        gateway = FakeGateway().start()
        self.addCleanup(gateway.stop)
        told = threading.Semaphore(0)
        settings = Settings(gateway.url, "secret")
        host = Host(settings, self.dir / "spool.db", dict, lambda _: None, Quick(), deleted=told.release)
        host.confirm()  # not connected: nobody hears it
        host.start()
        self.addCleanup(host.stop)
        for connection in (1, 2):
            gateway.wait(lambda n=connection: len(gateway.hellos) >= n)
            gateway.send({"type": "gateway.delete"})
            self.assertTrue(told.acquire(timeout=15))
            if connection == 1:
                gateway.cut()
        self.assertFalse(any(f["type"] == "gateway.deleted" for f in gateway.frames))
        host.confirm()
        gateway.wait_frame("gateway.deleted")


@needs_hermes
class HistoryTest(HistoryCase):
    def test_all_sessions_of_iris_and_no_others(self) -> None:
        for name, lane in {"flat": LANE, "in": THREAD}.items():
            self.session(name, lane)
        self.db.create_session("background", "iris")
        self.db.create_session("child", "subagent", parent_session_id="in")
        self.db.create_session("telegram", "telegram", chat_id=LANE.hermes_chat)
        self.assertEqual(set(self.history.sessions(None)), {"flat", "in", "background", "child"})

    def test_a_reader_that_stays(self) -> None:
        if self.db._conn.execute("PRAGMA journal_mode").fetchone()[0] != "wal":  # 0.20.0 on an older SQLite
            self.skipTest("hermes' store has no write-ahead log: a reader that stays blocks the deletion")
        self.say(self.session("s1"), "user", SECRET)
        reader = SessionDB(self.path)
        self.addCleanup(reader.close)
        reader._conn.execute("BEGIN")
        reader._conn.execute("SELECT count(*) FROM messages").fetchone()
        with unittest.mock.patch("iris.history._TRIES", 1):
            self.assertFalse(self.history.remove_sessions(["s1"], self.dir))
            reader._conn.rollback()
            # The rows are gone already, but not their texts: it must look again.
            self.assertTrue(self.history.remove_sessions([], self.dir))
        self.assertEqual(self.left(), [])


class Store:
    """hermes' SessionStore, with a lock as strict as its."""

    def __init__(self, entries: dict[str, Any]) -> None:
        self._lock, self._entries = threading.Lock(), entries

    def _ensure_loaded(self) -> None:
        assert self._lock.acquire(timeout=1)
        self._lock.release()

    def _save(self) -> None:
        assert self._lock.locked()

    def reset_session(self, key: str) -> None:
        assert key in self._entries


@needs_hermes
class AdapterTest(AdapterCase):
    def entry(self, platform: str) -> Any:
        return SimpleNamespace(platform=SimpleNamespace(value=platform))

    async def test_nothing_is_left(self) -> None:
        db = SessionDB(self.dir / "state.db")
        self.addCleanup(db.close)
        db.create_session("s1", "iris", chat_id=LANE.hermes_chat, session_key="k1")
        db.append_message("s1", "user", SECRET)
        db.create_session("s2", "telegram", session_key="k2")
        db.append_message("s2", "user", "somebody else's")
        entries = {"k1": self.entry("iris"), "gone": self.entry("iris"), "k2": self.entry("telegram")}
        store = Store(entries)
        evicted: list[str] = []
        self.adapter.gateway_runner = SimpleNamespace(
            _session_db=db, session_store=store, _evict_cached_agent=evicted.append, adapters={}
        )
        files = [self.file(LANE, "m_1"), self.file(OTHER, "m_2")]
        files[0].with_name(files[0].name + ".part").write_text(SECRET)
        foreign = files[0].with_name("doc_0123456789ab_theirs.txt")
        foreign.write_text("theirs")
        forgotten = unittest.mock.AsyncMock()
        with unittest.mock.patch.object(self.adapter._host, "forget", forgotten):
            await self.adapter.forget_all()
        forgotten.assert_awaited_once()
        self.assertCountEqual(evicted, ["k1", "gone"])
        self.assertEqual(list(entries), ["k2"])
        self.assertEqual(list(files[0].parent.iterdir()), [foreign])
        left = [p for p in self.dir.rglob("*") if p.is_file() and SECRET.encode() in p.read_bytes()]
        self.assertEqual(left, [])
        self.assertEqual(len(db.get_messages("s2")), 1)

    def keep_rows(self) -> dict[str, int]:
        """Put a dict in the place of the spool's rows."""
        rows: dict[str, int] = {}

        async def rows_of(ids: list[str]) -> dict[str, int]:
            return {one: rows[one] for one in ids if one in rows}

        async def unmap(ids: list[str]) -> None:
            for one in ids:
                rows.pop(one, None)

        map_rows, purge = unittest.mock.AsyncMock(side_effect=rows.update), unittest.mock.AsyncMock()
        changed: dict[str, Any] = {"rows_of": rows_of, "unmap": unmap, "map_rows": map_rows, "purge": purge}
        changed["purge_soon"] = unittest.mock.Mock()
        patch = unittest.mock.patch.multiple(self.adapter._host, **changed)
        patch.start()
        self.addCleanup(patch.stop)
        return rows

    async def test_single_messages(self) -> None:
        db = SessionDB(self.dir / "state.db")
        self.addCleanup(db.close)
        db.create_session("s1", "iris", chat_id=LANE.hermes_chat, session_key="k1")
        since = time.time()
        said = [Said("m_1", "user", f"the {SECRET}"), Said("m_2", "user", "this stays")]
        for one in said:
            db.append_message("s1", "user", one.text)
        evicted: list[str] = []
        self.adapter.gateway_runner = SimpleNamespace(
            _session_db=db, _evict_cached_agent=evicted.append, _profile_name_for_source=lambda _: None
        )
        files = [self.file(LANE, one.message_id) for one in said]
        files[1].write_text("this stays")
        rows = self.keep_rows()
        self.adapter._archive.turn_over("s1", since, said)
        await self.adapter.forget(deletion(1, "m_1"))  # the rows of the turn are being noted still
        self.assertEqual([one["content"] for one in db.get_messages("s1")], ["this stays"])
        self.assertEqual(list(rows), ["m_2"])
        self.assertEqual(evicted, [self.adapter._key(self.source())])
        self.assertEqual(list(files[0].parent.iterdir()), [files[1]])
        left = [p for p in self.dir.rglob("*") if p.is_file() and SECRET.encode() in p.read_bytes()]
        self.assertEqual(left, [])
        self.adapter._host.purge.assert_awaited_once()  # type: ignore[attr-defined]

    async def test_single_messages_without_a_store(self) -> None:
        rows = self.keep_rows()
        rows["m_1"] = 1
        self.adapter.gateway_runner = SimpleNamespace(_profile_name_for_source=lambda _: None)
        self.adapter._archive.turn_over("s1", 0, [Said("m_1", "user", SECRET)])
        file = self.file(LANE, "m_1")
        await self.adapter.forget(deletion(1, "m_1"))
        self.assertEqual((rows, file.exists()), ({}, False))
        self.adapter._host.purge.assert_awaited_once()  # type: ignore[attr-defined]

    async def test_rows_that_cannot_be_read(self) -> None:
        rows = self.keep_rows()
        self.adapter.gateway_runner = SimpleNamespace(_session_db=SimpleNamespace(_lock=None))
        with self.assertLogs("iris.archive", "WARNING"):
            self.adapter._archive.turn_over("s1", 0, [Said("m_1", "user", SECRET)])
            await asyncio.gather(*self.adapter._archive._noting)
        self.assertEqual(rows, {})

    def file(self, lane: Any, message: str) -> Path:
        folder = hermes.cache("documents")
        assert folder
        path = folder / Attachment.of({"media_id": "md", "filename": "a.txt"}).name(lane, message)
        path.write_text(SECRET)
        return path

    async def test_busy_with_anything(self) -> None:
        runner = self.adapter.gateway_runner = SimpleNamespace(_background_tasks=set())
        self.assertTrue(self.adapter.idle())
        over = asyncio.Event()

        async def _run_background_task() -> None:
            await over.wait()

        task = asyncio.create_task(_run_background_task())
        runner._background_tasks.add(task)
        self.assertFalse(self.adapter.idle())
        over.set()
        await task
        self.assertTrue(self.adapter.idle())
        self.adapter._active_sessions["key"] = asyncio.Event()
        self.assertFalse(self.adapter.idle())
        del self.adapter._active_sessions["key"]
        runner._draining = True
        self.assertFalse(self.adapter.idle())

    async def test_without_a_store_nothing_is_confirmed(self) -> None:
        self.adapter.gateway_runner = SimpleNamespace(adapters={})
        with self.assertRaises(Busy):
            await self.adapter.forget_all()

    async def test_hermes_log_is_busy(self) -> None:
        with (
            unittest.mock.patch.object(self.adapter._archive, "_forget_sessions", return_value=False),
            unittest.mock.patch.object(self.adapter._host, "forget", unittest.mock.AsyncMock()),
            self.assertRaises(Busy),
        ):
            await self.adapter.forget_all()
