"""Titles: told once, when hermes has made or changed one."""

from __future__ import annotations

import asyncio
import unittest
from unittest import mock

from support import LANE

from iris.events import Event
from iris.titles import Titles


class TitlesTest(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.events: list[Event] = []
        self.store: dict[str, str] = {}
        self.reads = 0
        self.titles = Titles(self.events.append, self.read, (0.0, 0.0, 0.0))

    async def read(self, session: str) -> str:
        self.reads += 1
        return self.store.get(session, "")

    async def over(self, first: bool = False, comes: str = "") -> list[str]:
        self.titles.turn_over(LANE, "s_1", first)
        await asyncio.sleep(0)
        if comes:
            self.store["s_1"] = comes
        for _ in range(20):
            await asyncio.sleep(0)
        return [e.body["title"] for e in self.events]

    async def test_comes_some_time_after_the_first_answer(self) -> None:
        self.assertEqual(await self.over(first=True, comes="Weather"), ["Weather"])
        self.assertEqual(self.events[0].lane, LANE)
        self.assertEqual(await self.over(), ["Weather"])
        self.store["s_1"] = "Rain"  # by /title
        self.assertEqual(await self.over(), ["Weather", "Rain"])

    async def test_none_is_looked_for_a_few_times(self) -> None:
        self.assertEqual(await self.over(first=True), [])
        self.assertEqual(self.reads, 4)

    async def test_session_of_an_earlier_process_was_told_of(self) -> None:
        self.store["s_1"] = "Old"
        self.assertEqual(await self.over(), [])
        self.store["s_1"] = "New"
        self.assertEqual(await self.over(), ["New"])

    async def test_old_sessions_are_forgotten(self) -> None:
        with mock.patch("iris.titles.REMEMBERED", 2):
            for i in range(5):
                self.titles.turn_over(LANE, f"s_{i}", True)
                self.titles.turn_over(LANE, f"old_{i}", False)
            for _ in range(20):
                await asyncio.sleep(0)
        self.assertLessEqual(len(self.titles._known), 2)

    async def test_close(self) -> None:
        self.titles = Titles(self.events.append, self.read, (60.0,))
        self.titles.turn_over(LANE, "s_1", True)
        await asyncio.sleep(0)
        self.titles.close()
        self.store["s_1"] = "Late"
        await asyncio.sleep(0)
        self.assertEqual(self.events, [])


if __name__ == "__main__":
    unittest.main()
