"""The spool and the pump: what survives, what is repeated, what a full spool lets go."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
import unittest
from collections.abc import Callable
from typing import Any
from unittest import mock

from support import LANE, OTHER, TempDir, edit, event

from iris.events import Event
from iris.held import AGAIN, Held
from iris.outgoing import Outgoing
from iris.pump import Pump, Stopped
from iris.spool import Inbound, Spool


def inbound(
    cursor: int, item: int = 0, items: int = 1, message: str = "", kind: str = "message"
) -> dict[str, object]:
    body = {"message_id": message or f"m_{cursor}_{item}", "text": "hi"}
    return {
        "cursor": cursor,
        "item": item,
        "items": items,
        "kind": kind,
        "chat_id": "android:default",
        "body": body,
    }


class SpoolTest(TempDir):
    def setUp(self) -> None:
        super().setUp()
        self.path = self.dir / "iris" / "spool.db"
        self.spool = self.open()

    def open(self, limit: int = 1 << 20) -> Spool:
        spool = Spool(self.path, limit)
        self.addCleanup(spool.close)
        return spool

    def again(self) -> Spool:
        self.spool.close()
        return self.open()

    def store(self, spool: Spool, frame: dict[str, object]) -> tuple[bool, int]:
        return spool.store(Inbound.of_frame(frame), frame)

    def test_events_survive_until_acked(self) -> None:
        for i in range(5):
            self.spool.append(event("answer", text=str(i)))
        self.spool.ack(2)
        spool = self.again()
        self.assertEqual(spool.epoch, self.spool.epoch)
        self.assertEqual((spool.last_seq, spool.acked), (5, 2))
        self.assertEqual([seq for seq, _ in spool.pending(spool.acked, 5)], [3, 4, 5])
        self.assertEqual(json.loads(spool.pending(2, 3)[0][1])["body"], {"text": "2"})

    def test_seq_is_never_given_twice(self) -> None:
        self.spool.append(event("answer"))
        self.spool.ack(1)
        spool = self.again()
        self.assertGreater(spool.append(event("answer"))[0], 1)

    def test_numbers_that_a_power_cut_took_back_are_not_given_again(self) -> None:
        self.spool.append(event("answer"))
        self.spool.empty_log()
        before = self.path.read_bytes()
        for _ in range(500):
            self.spool.append(event("answer"))  # the gateway gets them
        there = self.spool.last_seq
        self.spool.close()
        self.path.write_bytes(before)
        spool = self.open()
        self.assertEqual(spool.last_seq, 1)  # what hello says: there is no newer one
        seq, _ = spool.append(event("answer"))
        self.assertGreater(seq, there)
        self.assertEqual(spool.append(event("answer"))[0], seq + 1)

    def test_copy_that_is_too_old_begins_a_new_epoch(self) -> None:
        self.spool.append(event("answer", text="old"))
        self.spool.meet("g_1", 0, 0)
        before = self.spool.epoch
        spool = self.again()
        new, _ = spool.append(event("answer", text="new"))
        acked = new + 7  # of what the original has done since
        self.assertFalse(spool.meet("g_1", acked, 0))
        self.assertNotEqual(spool.epoch, before)
        self.assertEqual([seq for seq, _ in spool.pending(0, new)], [new])
        self.assertTrue(spool.meet("g_1", 0, 0))
        self.assertEqual([seq for seq, _ in spool.pending(spool.acked, new)], [new])
        self.assertTrue(spool.meet("g_1", new, 0))
        self.assertEqual((spool.acked, spool.pending(0, new)), (new, []))

    def test_rollback_takes_the_counters_back(self) -> None:
        self.spool.begin()
        self.spool.append(event("answer"))
        self.spool.rollback()
        self.assertEqual((self.spool.last_seq, self.spool.size), (0, 0))

    def test_pending_comes_in_pieces(self) -> None:
        for i in range(10):
            self.spool.append(event("answer", text="x" * 1000, n=i))
        self.assertLess(len(self.spool.pending(0, 10, most=3000)), 5)

    def test_full_spool_loses_tools_first_and_says_so(self) -> None:
        self.spool.close()
        self.path.unlink()
        spool = self.open(limit=100_000)
        with self.assertLogs("iris.spool", "WARNING"):
            for _ in range(50):
                spool.append(event("tool.end", lane=OTHER, output_tail="t" * 1000, call="c"))
                spool.append(edit("e" * 1000, final=True))
                spool.append(event("answer", text="a" * 1000))
        self.assertLessEqual(spool.size, 100_000)
        kinds = [json.loads(frame)["kind"] for _, frame in spool.pending(0, spool.last_seq, most=1 << 30)]
        self.assertEqual(kinds.count("answer"), 50)
        self.assertLessEqual(kinds.count("tool.end"), 1)  # one came after the last shedding
        self.assertGreater(kinds.count("edit"), 10)
        notices = {e.lane: e.body["text"] for _, _, e in spool.report_lost()}
        self.assertIn(f"{50 - kinds.count('tool.end')} older events", notices[OTHER])
        self.assertIn(f"{50 - kinds.count('edit')} older events", notices[LANE])
        self.assertEqual(spool.report_lost(), [])

    def test_rows_are_remembered(self) -> None:
        self.spool.map_rows({"m_1": 11, "m_2": 12})
        self.spool.map_rows({"m_2": 22})
        spool = self.again()
        self.assertEqual(spool.rows_of(["m_2", "m_3", "m_1"]), {"m_2": 22, "m_1": 11})
        with mock.patch("iris.spool.MAPPED", 2):
            spool.map_rows({"m_4": 4})
        self.assertEqual(spool.rows_of(["m_1", "m_2", "m_4"]), {"m_2": 22, "m_4": 4})

    def test_a_spool_full_of_answers_keeps_the_word_of_what_it_lost(self) -> None:
        self.spool.close()
        spool = self.open(limit=100_000)
        with self.assertLogs("iris.spool", "WARNING"):
            spool.append(event("tool.end", lane=OTHER, output_tail="t" * 60_000))
            spool.append(event("answer", text="a" * 60_000))  # the tool goes
            spool.append(event("answer", text="a" * (100_000 - spool.size - 200)))  # not even room for a word
            ((seq, _, _),) = spool.report_lost()
        self.assertIn(seq, [seq for seq, _ in spool.pending(0, spool.last_seq)])

    def test_inbound_is_received_when_its_last_item_is_safe(self) -> None:
        self.assertEqual(self.store(self.spool, inbound(7, 0, 2)), (True, 0))
        self.assertEqual(self.store(self.spool, inbound(7, 0, 2)), (False, 0))
        self.assertEqual(self.store(self.spool, inbound(7, 1, 2)), (True, 7))
        self.assertEqual(self.store(self.spool, inbound(7, 1, 2)), (False, 7))

    def test_item_done_before_its_entry_is_complete_is_not_repeated(self) -> None:
        self.store(self.spool, inbound(7, 0, 2))
        self.spool.finish(7, 0)
        self.assertEqual(self.store(self.spool, inbound(7, 0, 2)), (False, 0))
        self.store(self.spool, inbound(7, 1, 2))
        self.assertEqual([i.item for i in self.again().unfinished()], [1])

    def test_unfinished_comes_again_in_order(self) -> None:
        for cursor in (3, 5, 9):
            self.store(self.spool, inbound(cursor))
        self.spool.finish(5, 0)
        spool = self.again()
        self.assertEqual([i.cursor for i in spool.unfinished()], [3, 9])
        self.assertEqual(spool.unfinished()[0].lane, LANE)
        self.assertEqual(spool.received, 9)

    def test_same_message_under_another_cursor(self) -> None:
        self.store(self.spool, inbound(3, message="m_x"))
        self.assertEqual(self.store(self.spool, inbound(4, message="m_x")), (False, 4))
        self.assertEqual(len(self.spool.unfinished()), 1)

    def test_new_spool_learns_where_its_gateway_stands(self) -> None:
        self.assertTrue(self.spool.meet("g_1", 0, 1040))
        self.assertEqual(self.spool.received, 1040)
        self.assertTrue(self.spool.meet("g_1", 0, 2000))  # the host's word counts from now on
        self.assertEqual(self.spool.received, 1040)

    def test_another_gateway_starts_a_new_epoch(self) -> None:
        self.spool.meet("g_1", 0, 0)
        self.store(self.spool, inbound(3))
        self.spool.append(event("answer"))
        epoch = self.spool.epoch
        self.assertFalse(self.spool.meet("g_2", 0, 0))
        self.assertNotEqual(self.spool.epoch, epoch)
        self.assertEqual(
            (self.spool.received, self.spool.unfinished(), self.spool.pending(0, 99)), (0, [], [])
        )
        self.assertTrue(self.spool.meet("g_2", 0, 0))

    def test_prompts_of_an_earlier_process(self) -> None:
        self.spool.append(event("prompt", "tn_1", OTHER, prompt_id="pr_1"))
        self.spool.append(event("prompt", prompt_id="pr_2"))
        self.spool.append(event("prompt.closed", prompt_id="pr_2", why="answered"))
        spool = self.again()
        (end,) = spool.orphans()
        self.assertEqual((end.kind, end.lane, end.turn), ("prompt.closed", OTHER, "tn_1"))
        self.assertEqual(end.body, {"prompt_id": "pr_1", "why": "expired"})
        spool.append(end)
        self.assertEqual(self.again().orphans(), [])

    def test_steer_that_became_a_message(self) -> None:
        frame = inbound(1, kind="steer")
        self.store(self.spool, frame)
        self.spool.become(Inbound.of_frame({**frame, "kind": "message"}))
        (item,) = self.again().unfinished()
        self.assertEqual((item.kind, item.message_id, item.lane), ("message", "m_1_0", LANE))

    def test_damaged_file_is_put_aside(self) -> None:
        self.spool.close()
        self.path.write_bytes(b"this is no database, whatever it says" * 100)
        spool = self.open()
        self.assertTrue(spool.epoch)
        self.assertEqual(len(list(self.path.parent.glob("*.broken-*"))), 1)

    def test_damage_in_the_middle_is_found_at_the_start(self) -> None:
        for _ in range(100):
            self.spool.append(event("answer", text="x" * 1000))
        self.spool.close()
        raw = bytearray(self.path.read_bytes())
        middle = len(raw) // 2 // 4096 * 4096
        raw[middle : middle + 8192] = b"\xab" * 8192
        self.path.write_bytes(raw)
        with self.assertLogs("iris.spool", "ERROR"):
            spool = self.open()
        self.assertEqual(spool.append(event("answer"))[0], 1)
        self.assertEqual(len(list(self.path.parent.glob("*.broken-*"))), 1)

    def test_what_cannot_be_opened_now_is_left_as_it_is(self) -> None:
        self.spool.close()
        self.path.unlink()
        self.path.mkdir()  # SQLite says of it what it says of a file that is locked or not ours
        with self.assertRaises(sqlite3.OperationalError):
            Spool(self.path)
        self.assertEqual(list(self.path.parent.glob("*.broken-*")), [])

    def test_only_the_owner_may_read_it(self) -> None:
        self.assertEqual(self.path.stat().st_mode & 0o077, 0)


class PumpTest(TempDir):
    def setUp(self) -> None:
        super().setUp()
        self.spool = Spool(self.dir / "spool.db")
        self.pump = Pump(self.spool)
        self.pump.start()
        self.addCleanup(self.pump.stop)
        self.out = Outgoing(lambda: None)

    def sync(self) -> None:
        self.pump.ask(lambda spool: None).result(10)

    def frames(self) -> list[tuple[str, int | None]]:
        self.sync()
        out = []
        while (frame := self.out.pop()) is not None:
            parsed = json.loads(frame)
            out.append((parsed["kind"], parsed.get("seq")))
        return out

    def test_snapshot_and_queue_meet_without_a_gap(self) -> None:
        self.pump.emit(event("turn.start", source="user"))
        self.pump.emit(event("send", message_id="m_1", text="a", streaming=True))
        snapshot = self.pump.attach(self.out).result(10)
        self.pump.emit(edit("ab"))
        self.pump.emit(edit("abc", final=True))
        self.pump.emit(event("turn.end"))
        self.assertEqual(snapshot.last_seq, 1)
        self.assertEqual(snapshot.turns[0]["messages"][0]["text"], "a")
        self.assertEqual(self.frames(), [("edit", 2), ("turn.end", 3)])

    def test_detached_queue_gets_nothing(self) -> None:
        self.pump.attach(self.out).result(10)
        self.pump.detach(self.out)
        self.pump.emit(event("answer"))
        self.assertEqual(self.frames(), [])
        self.assertEqual(self.spool.last_seq, 1)

    def test_failing_work_fails_alone(self) -> None:
        def bad(_: Spool) -> None:
            raise ValueError("no")

        asked = self.pump.ask(bad)
        self.pump.emit(event("answer"))
        with self.assertRaises(ValueError):
            asked.result(10)
        self.sync()
        self.assertEqual(self.spool.last_seq, 1)

    def hold(self) -> threading.Event:
        """Let the pump wait: what is asked until the event is set comes in one batch."""
        go, held = threading.Event(), threading.Event()

        def wait(_: Spool) -> None:
            held.set()
            go.wait(10)

        self.pump.ask(wait)
        self.assertTrue(held.wait(10))
        return go

    def test_who_asks_no_more_takes_nobody_along(self) -> None:
        """A connection ends while it waits for the spool; the next one asks already."""
        done: list[str] = []
        go = self.hold()
        cancelled = self.pump.ask(lambda _: done.append("cancelled"))
        self.assertTrue(cancelled.cancel())
        self.pump.emit(event("answer"))
        attached = self.pump.attach(self.out)
        go.set()
        self.assertEqual(attached.result(10).last_seq, 1)
        self.assertEqual(done, [])

    def test_an_item_is_delivered_though_its_connection_has_ended(self) -> None:
        delivered: list[Inbound] = []
        item = Inbound.of_frame(inbound(1))
        waiting, go = threading.Event(), threading.Event()
        store = self.spool.store

        def slow(*args: Any) -> tuple[bool, int]:
            waiting.set()
            go.wait(10)
            return store(*args)

        self.spool.store = slow  # type: ignore[method-assign]
        stored = self.pump.store(item, inbound(1), delivered.append)
        self.assertTrue(waiting.wait(10))
        stored.cancel()  # as asyncio does when the connection's task is cancelled
        go.set()
        self.sync()
        self.assertEqual(delivered, [item])

    def test_an_event_that_cannot_be_encoded_is_lost_alone(self) -> None:
        self.pump.attach(self.out).result(10)
        with self.assertLogs("iris.pump", "ERROR"):
            self.pump.emit(event("answer", text={("no", "key"): 1}))
            self.pump.emit(event("tool.start", args={("no", "key"): 1}, call="c", index=1, name="x"))
            self.pump.emit(event("answer"))
            self.assertEqual(self.frames(), [("answer", 1)])

    def test_who_asks_after_the_end_hears_of_it(self) -> None:
        """hermes shuts down while a file is copied: nobody may wait for the pump for ever."""
        self.pump.stop()
        with self.assertRaises(Stopped):
            self.pump.ask(lambda spool: spool.last_seq).result(10)

    def test_who_asked_just_before_the_end_hears_of_it(self) -> None:
        go = self.hold()
        stopping = threading.Thread(target=self.pump.stop)
        with mock.patch("iris.pump.BATCH", 1):
            stopping.start()
            while self.pump._queue.qsize() < 1:
                time.sleep(0.001)
            late = self.pump.ask(lambda spool: spool.last_seq)
            go.set()
            stopping.join(10)
        with self.assertRaises(Stopped):
            late.result(10)

    def test_a_disk_that_refuses_once_loses_nothing(self) -> None:
        append, calls = self.spool.append, []

        def flaky(e: Event) -> tuple[int, str]:
            calls.append(e)
            if len(calls) == 1:
                raise sqlite3.OperationalError("disk I/O error")
            return append(e)

        self.spool.append = flaky  # type: ignore[method-assign]
        self.pump.attach(self.out).result(10)
        with self.assertLogs("iris.pump", "ERROR"):
            self.pump.emit(event("answer"))
            self.assertEqual(self.frames(), [("answer", 1)])

    def refuse(self) -> Callable[[], None]:
        """Let the disk be full, until the returned function is called."""

        def pages(most: int) -> None:
            self.pump.ask(lambda spool: spool._db.execute(f"PRAGMA max_page_count={most}")).result(10)

        pages(1)  # as few as there are
        self.pump.emit(event("edit", final=True, text="x" * 50_000))  # fills those that are free
        return lambda: pages(1 << 30)

    def test_a_full_disk_holds_up_what_must_not_be_lost(self) -> None:
        self.pump.attach(self.out).result(10)
        with self.assertLogs("iris.pump", "ERROR"), mock.patch("iris.held.AGAIN", 0.01):
            room = self.refuse()
            self.pump.emit(event("turn.start", source="user"))
            self.pump.emit(edit("a"))
            self.pump.emit(event("turn.end"))
            self.assertEqual(self.frames(), [("edit", None)])
            room()
            while self.spool.last_seq < 3:
                time.sleep(0.001)
            self.assertEqual(self.frames(), [("edit", 1), ("turn.start", 2), ("turn.end", 3)])
        self.assertEqual(self.pump.attach(self.out).result(10).turns[0]["ended"], 3)

    def test_a_disk_that_refuses_is_asked_again_after_a_while(self) -> None:
        now = 100.0
        held = Held(clock=lambda: now)
        self.assertIsNone(held.patience)
        held.add([event("answer")])
        self.assertEqual(held.patience, 0.0)
        held.refused()
        self.assertEqual(held.patience, AGAIN)
        now += AGAIN / 2
        self.assertEqual(held.patience, AGAIN / 2)
        held.clear()
        self.assertIsNone(held.patience)

    def test_a_disk_that_is_full_for_long(self) -> None:
        self.pump._held = Held(limit=70_000)
        with self.assertLogs("iris", "WARNING"):
            room = self.refuse()
            for i in range(10):
                self.pump.emit(event("tool.end", lane=OTHER, call=str(i), output_tail="t" * 2000))
                self.pump.emit(event("answer", text="a" * 1000))
            self.sync()
            room()
            self.pump.stop()  # without waiting for the next look
        spool = Spool(self.dir / "spool.db")
        self.addCleanup(spool.close)
        kinds = [json.loads(frame)["kind"] for _, frame in spool.pending(0, spool.last_seq, most=1 << 30)]
        self.assertEqual(kinds.count("answer"), 10)
        self.assertLess(kinds.count("tool.end"), 10)
        ((_, _, notice),) = spool.report_lost()
        self.assertEqual(notice.lane, OTHER)
        self.assertIn(f"{10 - kinds.count('tool.end')} older events", notice.body["text"])

    def test_stop_keeps_what_was_queued(self) -> None:
        for _ in range(2000):
            self.pump.emit(event("answer"))
        self.pump.stop()
        spool = Spool(self.dir / "spool.db")
        self.addCleanup(spool.close)
        self.assertEqual(spool.last_seq, 2000)


if __name__ == "__main__":
    unittest.main()
