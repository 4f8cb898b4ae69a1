"""The link over real sockets: a host against a fake gateway on loopback."""

from __future__ import annotations

import logging
import queue
import threading
import time
import unittest
from typing import Any
from unittest import mock

from support import LANE, TempDir, edit, event, has, hush, needs_websockets

from iris.clock import Clock
from iris.host import Host
from iris.inbox import _expired
from iris.link import Backoff, Link
from iris.settings import Settings
from iris.spool import Inbound

if has("websockets"):
    from fake_gateway import FakeGateway, Frame


class Quick(Backoff):
    """Comes back at once, and tells what it would have done."""

    def __init__(self) -> None:
        super().__init__(lambda: 0.5)
        self.asked: queue.SimpleQueue[tuple[int | None, float]] = queue.SimpleQueue()

    def after(self, code: int | None, lived: float) -> float:
        self.asked.put((code, super().after(code, lived)))
        return 0.02


class BackoffTest(unittest.TestCase):
    def test_doubles_up_to_a_minute(self) -> None:
        backoff = Backoff(lambda: 0.5)
        self.assertEqual([backoff.after(None, 0) for _ in range(8)], [1, 2, 4, 8, 16, 32, 60, 60])
        self.assertEqual(backoff.after(None, 10), 1)

    def test_doubles_for_a_gateway_that_breaks_off_after_each_greeting(self) -> None:
        backoff = Backoff(lambda: 0.5)
        self.assertEqual([backoff.after(1009, 0.1) for _ in range(4)], [1, 2, 4, 8])

    def test_jitter(self) -> None:
        self.assertEqual(Backoff(lambda: 0.0).after(None, 0), 0.75)
        self.assertEqual(Backoff(lambda: 1.0).after(None, 0), 1.25)

    def test_special_codes(self) -> None:
        backoff = Backoff(lambda: 0.5)
        self.assertEqual(backoff.after(1001, 10), 0)
        self.assertEqual(backoff.after(1001, 0.1), 1)  # a gateway that sends everybody away
        with self.assertLogs("iris.link"):
            self.assertEqual(backoff.after(4401, 0), 300)
            self.assertEqual(backoff.after(4409, 10), 60)


@needs_websockets
class LinkTest(TempDir):
    def setUp(self) -> None:
        super().setUp()
        hush(self, "iris")
        self.arrived: queue.SimpleQueue[Inbound] = queue.SimpleQueue()
        self.backoff = Quick()
        self.gateway = FakeGateway().start()
        self.addCleanup(self.gateway.stop)

    def host(self, token: str = "secret") -> Host:
        host = Host(
            Settings(self.gateway.url, token),
            self.dir / "spool.db",
            lambda: {"agent": {"name": "hermes-agent"}, "commands": []},
            self.arrived.put,
            self.backoff,
        )
        host.start()
        self.addCleanup(host.stop)
        return host

    def up(self, times: int = 1) -> Frame:
        return self.gateway.wait(
            lambda: len(self.gateway.hellos) >= times and self.gateway.hellos, what="hello"
        )[-1]

    def turn(self, host: Host, turn: str = "tn_1") -> None:
        host.emit(event("turn.start", turn, trigger="m_u", source="user"))
        host.emit(event("send", turn, message_id="m_1", text="a", streaming=True))
        host.emit(edit("ab"))
        host.emit(event("answer", turn, text="abc"))
        host.emit(edit("abc", final=True))
        host.emit(event("turn.end", turn, outcome="completed"))

    def seqs(self) -> list[int]:
        return [f["seq"] for f in self.gateway.events() if "seq" in f]

    def test_hello(self) -> None:
        self.host()
        hello = self.up()
        self.assertEqual((hello["protocol"], hello["last_seq"], hello["received"]), (1, 0, 0))
        self.assertEqual((hello["turns"], hello["plugin"]), ([], "0.1.0"))
        self.assertTrue(hello["epoch"].startswith("e_") and hello["process"].startswith("p_"))

    def test_a_turn_in_order(self) -> None:
        host = self.host()
        self.up()
        self.turn(host)
        self.gateway.wait_event("turn.end")
        kinds = [f["kind"] for f in self.gateway.events()]
        self.assertEqual(kinds[0], "turn.start")
        self.assertEqual(kinds[-3:], ["answer", "edit", "turn.end"])
        self.assertEqual(self.seqs(), [1, 2, 3, 4])

    def test_away_for_a_whole_turn(self) -> None:
        self.gateway.stop()
        host = self.host()
        self.turn(host)
        self.gateway.start()
        self.gateway.wait_event("turn.end")
        self.assertEqual(
            [f["kind"] for f in self.gateway.events()], ["turn.start", "answer", "edit", "turn.end"]
        )
        self.assertEqual(self.gateway.hellos[-1]["last_seq"], 4)
        (turn,) = self.gateway.hellos[-1]["turns"]  # its end is not acked
        self.assertEqual((turn["ended"], [m["text"] for m in turn["messages"]]), (4, ["abc"]))
        self.gateway.cut()
        self.gateway.wait(lambda: len(self.gateway.hellos) > 1)
        self.assertEqual(self.gateway.hellos[-1]["turns"], [])

    def test_cut_in_the_middle(self) -> None:
        host = self.host()
        self.up()
        host.emit(event("turn.start", source="user"))
        host.emit(event("send", message_id="m_1", text="a", streaming=True))
        self.gateway.wait_event("send")
        self.gateway.cut()
        self.up(2)
        host.emit(edit("ab", final=True))
        host.emit(event("turn.end"))
        self.gateway.wait_event("turn.end")
        turn = self.gateway.hellos[1]["turns"][0]
        self.assertEqual([(m["message_id"], m["text"]) for m in turn["messages"]], [("m_1", "a")])
        self.assertEqual(sorted(set(self.seqs())), [1, 2, 3])
        self.assertEqual({f["body"]["message_id"] for f in self.gateway.events("edit")}, {"m_1"})

    def test_not_acked_is_sent_again_and_acked_is_not(self) -> None:
        self.gateway.acking = False
        host = self.host()
        self.turn(host)
        self.gateway.wait_event("turn.end")
        self.gateway.cut()
        self.gateway.wait_event("turn.end", 2)
        self.assertEqual(self.seqs()[-4:], [1, 2, 3, 4])
        self.gateway.send({"type": "acked", "seq": 3})
        self.gateway.cut()
        self.gateway.wait_event("turn.end", 3)
        again = self.seqs()[8:]
        self.assertIn(again, ([4], [1, 2, 3, 4]))  # the ack may have died with the connection
        self.gateway.acked[self.gateway.hellos[-1]["epoch"]] = 4  # it was in the log all the time
        self.gateway.cut()
        self.up(4)
        host.emit(event("cron", None, text="x"))
        self.gateway.wait_event("cron")
        self.assertEqual(self.seqs()[8 + len(again) :], [5])

    def test_spool_survives_the_process(self) -> None:
        self.gateway.stop()
        host = self.host()
        self.turn(host)
        host.stop()
        self.gateway.start()
        self.host()
        self.gateway.wait_event("turn.end")
        self.assertEqual(self.seqs(), [1, 2, 3, 4])

    def test_ten_thousand_events(self) -> None:
        self.gateway.stop()
        host = self.host()
        start = time.monotonic()
        for i in range(10_000):
            host.emit(event("answer", text=f"answer {i}"))
        self.assertLess(time.monotonic() - start, 2, "emit must not wait")
        self.gateway.start()
        self.gateway.wait_event("answer", 10_000, timeout=60)
        self.assertEqual(self.seqs(), list(range(1, 10_001)))

    def test_stop_flushes(self) -> None:
        host = self.host()
        self.up()
        self.turn(host)
        host.stop()
        self.assertEqual(self.seqs(), [1, 2, 3, 4])
        self.assertEqual([t.name for t in threading.enumerate() if t.name.startswith("iris-")], [])

    def test_stop_does_not_wait_for_a_gateway_that_does_not_ack(self) -> None:
        self.gateway.acking = False
        host = self.host()
        self.up()
        self.turn(host)
        start = time.monotonic()
        host.stop()
        self.assertLess(time.monotonic() - start, 5)
        self.assertEqual([t.name for t in threading.enumerate() if t.name.startswith("iris-")], [])

    def test_stop_while_the_gateway_is_away(self) -> None:
        self.gateway.stop()
        host = self.host()
        self.backoff.asked.get(timeout=10)
        start = time.monotonic()
        host.stop()
        self.assertLess(time.monotonic() - start, 2)

    def test_inbound(self) -> None:
        self.host()
        self.up()
        self.gateway.say("hello", thread_id="t1")
        item = self.arrived.get(timeout=10)
        self.assertEqual(
            (item.body["text"], item.lane.chat_id, item.lane.thread_id), ("hello", LANE.chat_id, "t1")
        )
        self.assertEqual(self.gateway.wait_frame("received")["cursor"], 1)

    def test_inbound_again_is_received_but_not_delivered(self) -> None:
        self.host()
        self.up()
        frame = self.gateway.say("hello")
        self.arrived.get(timeout=10)
        self.gateway.wait_frame("received")
        self.gateway.send(frame)
        self.gateway.wait_frame("received", 2)
        self.gateway.cut()
        self.assertEqual(self.up(2)["received"], 1)
        self.gateway.say("second")
        self.assertEqual(self.arrived.get(timeout=10).body["text"], "second")

    def test_entry_of_two_items_is_received_once_both_are_safe(self) -> None:
        self.host()
        self.up()
        item: dict[str, Any] = {
            "cursor": 7,
            "items": 2,
            "kind": "message",
            "chat_id": "a",
            "body": {"text": "x"},
        }
        self.gateway.put({**item, "item": 0})
        self.arrived.get(timeout=10)
        self.gateway.put({**item, "item": 1})
        self.arrived.get(timeout=10)
        self.gateway.wait_frame("received")
        self.assertEqual([f["cursor"] for f in self.gateway.frames if f["type"] == "received"], [7])

    def test_undone_inbound_comes_after_a_restart_and_done_does_not(self) -> None:
        host = self.host()
        self.up()
        self.gateway.say("one")
        self.gateway.say("two")
        first = self.arrived.get(timeout=10)
        self.arrived.get(timeout=10)
        host.finish(first)
        host.stop()
        self.gateway.say("three")
        self.host()
        texts = [self.arrived.get(timeout=10).body["text"] for _ in range(2)]
        self.assertEqual(texts, ["two", "three"])

    def test_a_clock_that_is_wrong(self) -> None:
        """Phones sort, and stop says until when it counts, by the gateway's."""
        clock = Clock(lambda: time.time() + 600)
        with mock.patch("iris.link.CLOCK", clock), mock.patch("iris.events.CLOCK", clock):
            host = self.host()
            self.up()
            self.gateway.put(
                {"kind": "stop", "chat_id": "c", "body": {"expires_at": time.time() * 1000 + 30_000}}
            )
            self.assertFalse(_expired(self.arrived.get(timeout=10)))
            host.emit(event("answer"))
            self.assertAlmostEqual(self.gateway.wait_event("answer")["at"], time.time() * 1000, delta=10_000)

    def test_garbage_is_ignored(self) -> None:
        self.host()
        self.up()
        for frame in (
            {"type": "new.thing"},
            {"type": "inbound", "kind": "message"},
            {"type": "acked"},
            [1],
            "text",
        ):
            self.gateway.send(frame)  # type: ignore[arg-type]
        self.gateway.put({"kind": "no.such.kind", "chat_id": "a", "body": None})
        self.gateway.wait_frame("received")
        self.assertEqual(len(self.gateway.hellos), 1)

    def test_close_codes_reach_the_backoff(self) -> None:
        self.host()
        self.up()
        for n, code in enumerate((1001, 4409, 1011), 2):
            self.gateway.cut(code)
            self.assertEqual(self.backoff.asked.get(timeout=10)[0], code)
            self.up(n)
        self.gateway.cut()
        self.assertIsNone(self.backoff.asked.get(timeout=10)[0])

    def test_wrong_token(self) -> None:
        self.host(token="wrong")
        self.assertEqual(self.backoff.asked.get(timeout=10), (4401, 300.0))
        self.assertEqual(self.gateway.hellos, [])

    def test_refused_before_there_is_a_socket(self) -> None:
        """By a proxy before the gateway, which asks who it is: not more often than the gateway itself."""
        for status, wait in ((401, (4401, 300.0)), (403, (4401, 300.0)), (503, (None, 1.0))):
            self.gateway.status, self.backoff = status, Quick()
            host = self.host()
            self.assertEqual(self.backoff.asked.get(timeout=10), wait, status)
            host.stop()
        self.assertEqual(self.gateway.hellos, [])

    def test_gateway_that_is_away_is_told_once(self) -> None:
        def away(times: int) -> None:
            for _ in range(3):
                self.backoff.asked.get(timeout=10)
            told = [r for r in logs.records if r.levelno >= logging.INFO and "Errno" in r.getMessage()]
            self.assertEqual(len(told), times)

        self.gateway.stop()
        with self.assertLogs("iris.link", logging.DEBUG) as logs:
            self.host()
            away(1)
            self.gateway.start()
            self.up()
            self.gateway.stop()
            self.backoff.asked = queue.SimpleQueue()
            away(2)

    def test_another_gateway(self) -> None:
        self.gateway.acking = False
        host = self.host()
        epoch = self.up()["epoch"]
        host.emit(event("answer", text="for the old one"))
        self.gateway.wait_event("answer")
        self.gateway.gateway_id = "g_other"
        self.gateway.cut()
        self.assertNotEqual(self.up(3)["epoch"], epoch)
        host.emit(event("cron", None, text="for the new one"))
        self.gateway.wait_event("cron")
        self.assertEqual(len(self.gateway.events("answer")), 1)

    def test_old_copy_of_the_disk(self) -> None:
        host = self.host()
        epoch = self.up()["epoch"]
        host.emit(event("answer", text="before the copy"))
        self.gateway.wait_event("answer")
        host.stop()
        self.gateway.acked[epoch] = 10**9  # the original went on for long
        host = self.host()
        host.emit(event("cron", None, text="after it"))
        self.gateway.wait_event("cron")
        self.assertNotEqual(self.gateway.hellos[-1]["epoch"], epoch)
        self.assertEqual(len(self.gateway.events("answer")), 1)

    def test_link_takes_no_secret_into_the_log(self) -> None:
        with self.assertLogs(level="DEBUG") as logs:
            logging.getLogger("iris").setLevel(logging.DEBUG)
            self.host()
            self.up()
            self.gateway.say("whisper")
            self.arrived.get(timeout=10)
            self.gateway.cut()
            self.up(2)
        ours = [r.getMessage() for r in logs.records if r.name.startswith("iris")]
        self.assertTrue(ours)
        self.assertNotIn("secret", "".join(ours))
        self.assertNotIn("whisper", "".join(ours))

    def test_link_is_a_thread_of_its_own(self) -> None:
        self.host()
        self.up()
        self.assertTrue(any(isinstance(t, Link) for t in threading.enumerate()))


if __name__ == "__main__":
    unittest.main()
