"""The spool of a process that is killed (SIGKILL) at random moments: what was safe on disk reaches the
gateway, takes effect once and in order, and the bound holds.

SEED in the environment repeats a run.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
import unittest
from contextlib import closing
from pathlib import Path

from support import TempDir, has, hush, needs_websockets

from iris.spool import LIMIT, Spool

if has("websockets"):
    from fake_gateway import FakeGateway
    from victim import STEP

EVENTS = 10_000  # while the gateway is away
KILLS = 5  # in each part of a test
SEED = int(os.environ.get("SEED") or random.randrange(1 << 32))


@needs_websockets
class KilledTest(TempDir):
    limit = LIMIT

    def shortDescription(self) -> str:
        return f"SEED={SEED}"  # a failure tells it

    def setUp(self) -> None:
        super().setUp()
        hush(self, "websockets")  # a dial that is killed is no news
        self.chance = random.Random(SEED)
        self.path = self.dir / "spool.db"
        self.gateway = FakeGateway().start()
        self.addCleanup(self.gateway.stop)
        self.safe: list[range] = []  # numbers that were safe on disk when their process was killed

    def victim(self, first: int, last: int) -> subprocess.Popen[str]:
        program = Path(__file__).with_name("victim.py")
        args = [str(arg) for arg in (self.gateway.url, self.path, self.limit, first, last)]
        child = subprocess.Popen([sys.executable, program, *args], stdout=subprocess.PIPE, text=True)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        return child

    def kill_one(self, most: int) -> None:
        """Let a process report up to `most` events, and kill it somewhere on the way."""
        first = self.safe[-1].stop + STEP if self.safe else 1
        child = self.victim(first, first + most)
        enough = first + self.chance.randrange(most)
        assert child.stdout
        with child.stdout as said:
            safe = next(n for n in map(int, said) if n >= enough)
            time.sleep(self.chance.random() * 0.02)  # into whatever it does then
            child.kill()
            self.safe.append(range(first, max([safe, *map(int, said)]) + 1))
        child.wait()

    def drain(self) -> None:
        """Let a last process bring what waits."""
        before = len(self.gateway.hellos)
        child = self.victim(1, 0)
        self.gateway.wait(lambda: len(self.gateway.hellos) > before, what="hello")
        hello = self.gateway.hellos[-1]
        acked = self.gateway.acked
        self.gateway.wait(lambda: acked.get(hello["epoch"], 0) >= hello["last_seq"], 30, "the last event")
        child.kill()
        child.wait()
        assert child.stdout
        child.stdout.close()

    def effects(self) -> list[int]:
        """Return the numbers of the events in the order they took effect: a seq that was there has none."""
        numbers, last = [], 0
        for frame in self.gateway.frames:
            if frame.get("seq", 0) > last:
                last = frame["seq"]
                if "n" in frame["body"]:
                    numbers.append(frame["body"]["n"])
        self.assertEqual(numbers, sorted(set(numbers)), "not once, or not in order")
        self.assertEqual(len({hello["epoch"] for hello in self.gateway.hellos}), 1)
        return numbers

    def test_what_was_safe_arrives_once_and_in_order(self) -> None:
        self.gateway.stop()
        while sum(map(len, self.safe)) < EVENTS:
            self.kill_one(2 * EVENTS // KILLS)
        self.gateway.start()
        for n in range(KILLS):  # from now on in the middle of sending, too
            self.kill_one(EVENTS // KILLS)
            self.gateway.stop()  # acknowledgements are lost with it
            self.gateway.start()
            if n % 2:
                self.drain()  # the next process begins with an empty spool
        self.drain()
        arrived = set(self.effects())
        for numbers in self.safe:
            self.assertEqual(set(numbers) - arrived, set())

    def test_the_bound_holds(self) -> None:
        self.limit = 1 << 20
        self.gateway.stop()
        while sum(map(len, self.safe)) < EVENTS:
            self.kill_one(2 * EVENTS // KILLS)
            with closing(Spool(self.path, self.limit)) as spool:
                self.assertLessEqual(spool.size, self.limit)
        on_disk = sum(file.stat().st_size for file in self.dir.iterdir())
        self.assertLess(on_disk, 8 * self.limit)
        self.gateway.start()
        self.drain()
        self.drain()  # the word of what was lost may have needed room itself
        kept = self.effects()
        notices = [notice["body"]["text"] for notice in self.gateway.events("notice")]
        lost = sum(int("".join(c for c in text if c.isdigit())) for text in notices)
        most = sum(len(numbers) + STEP for numbers in self.safe)
        self.assertTrue(sum(map(len, self.safe)) <= len(kept) + lost <= most, (len(kept), lost, most))
        answers = [n for n in kept if n % 2 == 0]
        newest = {n for numbers in self.safe for n in numbers if n % 2 == 0 and n >= answers[0]}
        self.assertEqual(newest - set(answers), set(), "an answer went before an older one")


if __name__ == "__main__":
    unittest.main()
