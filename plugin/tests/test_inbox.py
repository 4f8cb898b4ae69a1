"""What people sent: one message per lane at a time, commands and stops at once."""

from __future__ import annotations

import asyncio
import time
import unittest
import unittest.mock
from typing import Any

from support import LANE, OTHER

from iris.inbox import TASK_NAME, Inbox
from iris.lanes import Lane
from iris.spool import Inbound


def item(cursor: int, text: str = "hi", lane: Lane = LANE, kind: str = "message", **body: Any) -> Inbound:
    return Inbound(cursor, 0, 1, kind, lane, {"message_id": f"m_{cursor}", "text": text, **body})


class FakeHermes:
    """Port whose turns begin and end when the test says so."""

    def __init__(self) -> None:
        self.handed: list[int] = []
        self.finished: list[int] = []
        self.reports: list[tuple[int, str]] = []
        self.steered: list[str] | None = None  # None: nothing runs that can hear
        self.answered: list[str] = []
        self.names: list[str] = []
        self.became: list[tuple[int, str]] = []
        self.stopped: list[Lane] = []
        self.running: set[Lane] = set()
        self.clarifying: set[Lane] = set()
        self.starting = False
        self.accept = True
        self.tasks: list[str] = []
        self.hands = asyncio.Event()
        self.prepared: list[int] = []
        self.files = asyncio.Event()  # all files are there
        self.files.set()
        self.broken: Exception | None = None
        self.forgotten: list[int] = []
        self.lanes_forgotten: list[Lane] = []
        self.erased = self.confirmed = 0  # how often all was erased, and said to be
        self.stuck: list[Exception] = []  # what the next deletions meet

    async def prepare(self, item: Inbound) -> None:
        await self.files.wait()
        if self.broken:
            raise self.broken
        self.prepared.append(item.cursor)

    async def hand(self, item: Inbound) -> None:
        task = asyncio.current_task()
        self.tasks.append(task.get_name() if task else "")
        self.handed.append(item.cursor)
        self.hands.set()
        if self.accept and not item.body["text"].startswith("/"):
            self.running.add(item.lane)

    def _meet(self) -> None:
        if self.stuck:
            raise self.stuck.pop(0)

    async def forget(self, item: Inbound) -> None:
        self._meet()
        assert item.lane not in self.running
        self.forgotten.append(item.cursor)

    def busy_lanes(self, lane: Lane | None) -> list[Lane]:
        return [other for other in self.running if lane is None or lane.covers(other)]

    def idle(self) -> bool:
        return not self.running

    async def forget_all(self) -> None:
        self._meet()
        assert self.idle()
        self.erased += 1

    def confirm(self) -> None:
        self.confirmed += 1

    async def forget_lane(self, lane: Lane) -> None:
        self._meet()
        assert not self.busy_lanes(lane)
        self.lanes_forgotten.append(lane)

    async def stop(self, lane: Lane) -> None:
        self.stopped.append(lane)

    def busy(self, lane: Lane) -> bool:
        return lane in self.running

    def steer(self, lane: Lane, text: str) -> bool:
        if self.steered is None:
            return False
        self.steered.append(text)
        return True

    async def answer(self, item: Inbound) -> str:
        self.answered.append(item.body["prompt_id"])
        if item.body["prompt_id"] == "pr_broken":
            raise ValueError("no such model")
        return "" if item.body["prompt_id"] == "pr_1" else "expired"

    def rename(self, lane: Lane, name: str) -> None:
        self.names.append(name)

    def become(self, item: Inbound) -> None:
        self.became.append((item.cursor, item.kind))

    def awaited(self, lane: Lane, text: str) -> bool:
        return lane in self.clarifying

    def restoring(self) -> bool:
        return self.starting

    def finish(self, item: Inbound) -> None:
        self.finished.append(item.cursor)

    def report(self, item: Inbound, error: str) -> None:
        self.reports.append((item.cursor, error))


class InboxCase(unittest.IsolatedAsyncioTestCase):
    """A test with an inbox over a hermes that does what the test says."""

    async def asyncSetUp(self) -> None:
        self.hermes = FakeHermes()
        self.inbox = Inbox(self.hermes)
        await self.inbox.open()

    async def settle(self) -> None:
        for _ in range(10):
            await asyncio.sleep(0)

    async def offer(self, *items: Inbound) -> None:
        for i in items:
            self.inbox.offer(i)
        await self.settle()

    async def end(self, lane: Lane = LANE) -> None:
        answered = self.inbox.unbegun(lane)
        self.hermes.running.discard(lane)
        self.inbox.ended(lane, answered)
        await self.settle()


class InboxTest(InboxCase):
    async def test_one_at_a_time_per_lane(self) -> None:
        await self.offer(item(1), item(2), item(3, lane=OTHER))
        self.assertEqual(self.hermes.handed, [1, 3])
        self.inbox.started(LANE, "m_1")
        await self.end()
        self.assertEqual(self.hermes.handed, [1, 3, 2])
        self.assertTrue(self.hermes.tasks[0].startswith(TASK_NAME))

    async def test_files_first(self) -> None:
        self.hermes.files.clear()
        await self.offer(item(1, media=[{}]), item(2), item(3, lane=OTHER))
        self.assertEqual(self.hermes.handed, [3])  # its lane waits, others do not
        self.hermes.files.set()
        await self.settle()
        self.assertEqual((self.hermes.prepared, self.hermes.handed), ([1], [3, 1]))
        await self.end()
        self.assertEqual(self.hermes.handed, [3, 1, 2])

    async def test_files_come_while_a_turn_runs(self) -> None:
        await self.offer(item(1), item(2, media=[{}]))
        self.assertEqual((self.hermes.prepared, self.hermes.handed), ([2], [1]))
        await self.end()
        self.assertEqual(self.hermes.handed, [1, 2])

    async def test_files_of_a_command(self) -> None:
        self.hermes.files.clear()
        await self.offer(item(1, "/look", media=[{}]))
        self.assertEqual((self.hermes.handed, self.hermes.finished), ([], []))
        self.hermes.files.set()
        await self.settle()
        self.assertEqual((self.hermes.handed, self.hermes.finished), ([1], [1]))

    async def test_files_alone_answer_no_question(self) -> None:
        self.hermes.running.add(LANE)
        self.hermes.clarifying.add(LANE)
        await self.offer(item(1, "", media=[{}]))
        self.assertEqual(self.hermes.handed, [])
        await self.offer(item(2, "this one", media=[{}]))
        self.assertEqual(self.hermes.handed, [2])

    async def test_files_that_fail_hold_nothing_up(self) -> None:
        self.hermes.broken = ValueError("odd")
        with self.assertLogs("iris.inbox"):
            await self.offer(item(1, media=[{}]))
        self.assertEqual(self.hermes.handed, [1])

    async def test_shutdown_while_files_come(self) -> None:
        self.hermes.files.clear()
        await self.offer(item(1, media=[{}]), item(2, "/look", media=[{}]))
        self.inbox.close()
        await self.settle()
        self.assertEqual((self.hermes.handed, self.hermes.finished), ([], []))  # the next process has them

    async def test_done_when_the_turn_starts(self) -> None:
        await self.offer(item(1))
        self.assertEqual(self.hermes.finished, [])
        self.inbox.started(LANE, "m_other")
        self.assertEqual(self.hermes.finished, [])
        self.inbox.started(LANE, "m_1")
        self.assertEqual(self.hermes.finished, [1])

    async def test_answered_inside_another_turn_is_done_with_it(self) -> None:
        await self.offer(item(1))
        await self.end()
        self.assertEqual(self.hermes.finished, [1])

    async def test_handed_over_between_a_turn_and_its_task(self) -> None:
        """hermes has freed the lane, and says a moment later that its task has ended."""
        await self.offer(item(1), item(2), item(3))
        self.inbox.started(LANE, "m_1")
        answered = self.inbox.unbegun(LANE)
        self.hermes.running.discard(LANE)
        self.hermes.hands.clear()
        await asyncio.wait_for(self.hermes.hands.wait(), 10)  # the inbox has looked again
        self.hermes.running.discard(LANE)  # hermes has the second, but not begun
        self.inbox.ended(LANE, answered)
        await self.settle()
        self.assertEqual((self.hermes.handed, self.hermes.finished), ([1, 2], [1]))

    async def test_taken_without_a_turn_is_done_and_the_next_goes(self) -> None:
        self.hermes.accept = False
        await self.offer(item(1), item(2))
        self.assertEqual((self.hermes.handed, self.hermes.finished), ([1, 2], [1, 2]))

    async def test_waits_for_a_turn_that_is_not_ours(self) -> None:
        self.hermes.running.add(LANE)  # a resumed session
        await self.offer(item(1))
        self.assertEqual(self.hermes.handed, [])
        await self.end()
        self.assertEqual(self.hermes.handed, [1])

    async def test_looks_again_when_hermes_frees_the_lane_without_a_word(self) -> None:
        await self.offer(item(1), item(2))
        self.inbox.started(LANE, "m_1")
        self.inbox.ended(LANE, None)  # hermes still holds the lane
        self.assertEqual(self.hermes.handed, [1])
        self.hermes.running.clear()
        self.hermes.hands.clear()
        await asyncio.wait_for(self.hermes.hands.wait(), 10)
        self.assertEqual(self.hermes.handed, [1, 2])

    async def test_commands_at_once(self) -> None:
        await self.offer(item(1), item(2), item(3, "/status"))
        self.assertEqual(self.hermes.handed, [1, 3])
        self.assertEqual(self.hermes.finished, [3])

    async def test_open_clarify_is_answered_at_once(self) -> None:
        await self.offer(item(1))
        self.hermes.clarifying.add(LANE)
        await self.offer(item(2, "red"))
        self.assertEqual(self.hermes.handed, [1, 2])

    async def test_nothing_before_hermes_is_ready_but_stop(self) -> None:
        self.hermes.starting = True
        inbox = Inbox(self.hermes)
        opening = asyncio.create_task(inbox.open())
        for i in (item(1), item(2, "/status"), item(3, kind="stop")):
            inbox.offer(i)
        await self.settle()
        self.assertEqual((self.hermes.handed, self.hermes.stopped), ([], [LANE]))
        self.hermes.starting = False
        await opening
        await self.settle()
        self.assertEqual(sorted(self.hermes.handed), [1, 2])

    async def test_start_up_is_not_waited_for_for_ever(self) -> None:
        clock = iter(range(0, 1000, 4))
        self.hermes.starting = True
        inbox = Inbox(self.hermes, lambda: next(clock))
        inbox.offer(item(1))
        await inbox.open()
        await self.settle()
        self.assertEqual(self.hermes.handed, [1])

    async def test_stop(self) -> None:
        await self.offer(item(1, kind="stop", expires_at=time.time() * 1000 + 30_000))
        self.assertEqual((self.hermes.stopped, self.hermes.reports), ([LANE], [(1, "")]))
        self.assertEqual(self.hermes.finished, [1])

    async def test_stop_that_came_too_late(self) -> None:
        await self.offer(item(1, kind="stop", expires_at=time.time() * 1000 - 1))
        self.assertEqual((self.hermes.stopped, self.hermes.reports), ([], [(1, "expired")]))

    async def test_typed_stop(self) -> None:
        await self.offer(item(1))
        await self.offer(item(2, "/stop"))
        self.assertEqual((self.hermes.handed, self.hermes.stopped), ([1], [LANE]))
        self.assertEqual((self.hermes.reports, self.hermes.finished), ([], [2]))
        await self.end()
        await self.offer(item(3, "/stop"))  # nothing runs: hermes says so
        self.assertEqual(self.hermes.handed, [1, 3])

    async def test_stop_leaves_what_waits(self) -> None:
        await self.offer(item(1), item(2), item(3, kind="stop"))
        self.assertEqual((self.hermes.stopped, self.hermes.handed), ([LANE], [1]))
        await self.end()
        self.assertEqual(self.hermes.handed, [1, 2])

    async def test_steer_a_running_turn(self) -> None:
        self.hermes.steered = []
        await self.offer(item(1), item(2, "be brief", kind="steer", expires_at=time.time() * 1000 + 30_000))
        self.assertEqual((self.hermes.steered, self.hermes.handed), (["be brief"], [1]))
        self.assertEqual((self.hermes.reports, self.hermes.finished), ([(2, "")], [2]))

    async def test_steer_without_a_turn_is_a_message(self) -> None:
        await self.offer(item(1, "be brief", kind="steer"))
        self.assertEqual((self.hermes.handed, self.hermes.reports), ([1], [(1, "")]))
        self.assertEqual((self.hermes.became, self.hermes.finished), ([(1, "message")], []))
        self.inbox.started(LANE, "m_1")
        self.assertEqual(self.hermes.finished, [1])

    async def test_steer_that_came_too_late(self) -> None:
        self.hermes.steered = []
        await self.offer(item(1, kind="steer", expires_at=time.time() * 1000 - 1))
        self.assertEqual((self.hermes.steered, self.hermes.reports), ([], [(1, "expired")]))
        self.assertEqual((self.hermes.handed, self.hermes.finished), ([], [1]))

    async def test_answers_at_once(self) -> None:
        await self.offer(item(1))
        await self.offer(*(item(i, kind="answer", prompt_id=p) for i, p in ((2, "pr_1"), (3, "pr_gone"))))
        self.assertEqual(self.hermes.answered, ["pr_1", "pr_gone"])
        self.assertEqual((self.hermes.reports, self.hermes.finished), ([(2, ""), (3, "expired")], [2, 3]))

    async def test_answer_that_fails(self) -> None:
        with self.assertLogs("iris.inbox", "ERROR"):
            await self.offer(item(1, kind="answer", prompt_id="pr_broken"))
        self.assertEqual((self.hermes.reports, self.hermes.finished), ([(1, "no such model")], [1]))

    async def test_rename_and_unknown_kinds(self) -> None:
        await self.offer(item(1, kind="lane.rename", name="Work"), item(2, kind="x"))
        self.assertEqual((self.hermes.names, self.hermes.finished), (["Work"], [1, 2]))
        self.assertEqual(self.hermes.reports, [])

    async def test_no_turn_for_a_minute_frees_the_lane(self) -> None:
        now = 0.0
        inbox = Inbox(self.hermes, lambda: now)
        await inbox.open()
        inbox.offer(item(1))
        await self.settle()
        self.hermes.running.clear()  # hermes forgot it
        now = 61.0
        with self.assertLogs("iris.inbox", "WARNING"):
            inbox.offer(item(2))
        await self.settle()
        self.assertEqual(self.hermes.handed, [1, 2])

    async def test_closed_inbox_hands_nothing_over(self) -> None:
        self.inbox.close()
        await self.offer(item(1))
        self.assertEqual((self.hermes.handed, self.hermes.finished), ([], []))


if __name__ == "__main__":
    unittest.main()


def deletion(cursor: int, *messages: str, lane: Lane = LANE) -> Inbound:
    return Inbound(cursor, 0, 1, "delete", lane, {"messages": [{"message_id": m} for m in messages]})


def lane_deletion(cursor: int, lane: Lane) -> Inbound:
    return Inbound(cursor, 0, 1, "lane.delete", lane, {})


class DeletionTest(InboxCase):
    """What people delete (host-link.md, "Inbound")."""

    async def test_on_an_idle_lane(self) -> None:
        await self.offer(deletion(1, "m_9"))
        self.assertEqual((self.hermes.forgotten, self.hermes.finished), ([1], [1]))

    async def test_after_the_turn_and_before_what_waits(self) -> None:
        await self.offer(item(1), item(2), deletion(3, "m_1"))
        self.assertEqual(self.hermes.forgotten, [])
        self.inbox.started(LANE, "m_1")
        await self.end()
        self.assertEqual((self.hermes.forgotten, self.hermes.handed), ([3], [1, 2]))
        self.assertEqual(self.hermes.finished, [1, 3])

    async def test_what_waits_is_not_handed_over(self) -> None:
        await self.offer(item(1), item(2), item(3), deletion(4, "m_2"))
        self.assertEqual(self.hermes.finished, [2])
        await self.end()
        self.assertEqual(self.hermes.handed, [1, 3])

    async def test_a_command_that_waits_for_the_start(self) -> None:
        inbox = Inbox(self.hermes)  # not open yet
        inbox.offer(item(1, "/status"))
        inbox.offer(deletion(2, "m_1"))
        await inbox.open()
        await self.settle()
        self.assertEqual((self.hermes.handed, self.hermes.forgotten), ([], [2]))

    async def test_other_lanes_go_on(self) -> None:
        await self.offer(item(1), deletion(2, "m_1"), item(3, lane=OTHER), deletion(4, "m_x", lane=OTHER))
        self.assertEqual((self.hermes.handed, self.hermes.forgotten), ([1, 3], []))
        await self.end(OTHER)
        self.assertEqual(self.hermes.forgotten, [4])

    async def test_nothing_is_handed_over_meanwhile(self) -> None:
        gate = asyncio.Event()

        async def slow(item: Inbound) -> None:
            await gate.wait()

        with unittest.mock.patch.object(self.hermes, "forget", slow):
            await self.offer(deletion(1, "m_9"), item(2))
            self.inbox.ended(LANE, None)  # of a command that ran beside
            await self.settle()
            self.assertEqual((self.hermes.handed, self.hermes.finished), ([], []))
            gate.set()
            await self.settle()
            while not self.hermes.handed:
                await asyncio.sleep(0.01)
        self.assertEqual((self.hermes.handed, self.hermes.finished), ([2], [1]))

    async def test_a_busy_store(self) -> None:
        self.hermes.stuck = [OSError("locked"), OSError("locked")]
        with unittest.mock.patch("iris.inbox._RETRIES", (0.0, 0.0, 0.0)), self.assertLogs("iris.inbox"):
            await self.offer(deletion(1, "m_9"), item(2))
            await self.settle()
        self.assertEqual((self.hermes.finished, self.hermes.handed), ([1], [2]))

    async def test_a_broken_store_is_left_to_the_next_process(self) -> None:
        self.hermes.stuck = [OSError("broken")] * 4
        with unittest.mock.patch("iris.inbox._RETRIES", (0.0, 0.0, 0.0)), self.assertLogs("iris.inbox"):
            await self.offer(deletion(1, "m_9"), item(2))
            await self.settle()
        self.assertEqual((self.hermes.finished, self.hermes.handed), ([], [2]))

    async def test_a_channel_with_its_threads(self) -> None:
        channel, thread = Lane("android:chan"), Lane("android:chan", "t1")
        await self.offer(item(1, lane=thread), item(2, lane=thread), item(3, lane=channel), item(4))
        await self.offer(deletion(5, "m_x", lane=thread), lane_deletion(6, channel))
        self.assertEqual(self.hermes.finished, [2, 5])  # what waited
        self.assertCountEqual(self.hermes.stopped, [channel, thread])
        self.assertEqual(self.hermes.lanes_forgotten, [])
        await self.end(channel)
        await self.end(thread)
        while not self.hermes.lanes_forgotten:
            await asyncio.sleep(0.01)
        await self.settle()
        self.assertEqual(self.hermes.lanes_forgotten, [channel])
        self.assertIn(6, self.hermes.finished)
        self.assertEqual((self.hermes.handed, self.hermes.forgotten), ([1, 3, 4], []))

    async def test_a_thread_alone(self) -> None:
        thread, sibling = Lane("android:chan", "t1"), Lane("android:chan", "t2")
        await self.offer(item(1, lane=sibling), item(2, lane=sibling), lane_deletion(3, thread))
        self.assertEqual((self.hermes.lanes_forgotten, self.hermes.stopped), ([thread], []))
        await self.end(sibling)
        self.assertEqual(self.hermes.handed, [1, 2])

    async def test_what_was_deleted_before_it_came(self) -> None:
        await self.offer(Inbound(1, 0, 1, "deleted", LANE, {}), item(2))
        self.assertEqual((self.hermes.finished, self.hermes.handed), ([1], [2]))
