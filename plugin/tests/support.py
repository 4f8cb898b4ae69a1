"""Makes the plugin importable from its tests, and what several of them need."""

from __future__ import annotations

import importlib.util
import logging
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

PLUGIN = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(PLUGIN))
sys.dont_write_bytecode = True  # the folder is embedded into the CLI

from confide import watch  # noqa: E402

from iris.events import Event  # noqa: E402
from iris.lanes import Lane  # noqa: E402
from iris.spool import Inbound  # noqa: E402

watch(Event, Inbound)

LANE = Lane("android:default")
OTHER = Lane("android:other", "t1")


def has(module: str) -> bool:
    """The module can be imported here."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


needs_websockets = unittest.skipUnless(has("websockets"), "websockets is not installed (hermes brings it)")
needs_hermes = unittest.skipUnless(has("gateway.platforms.base"), "hermes-agent is not installed")


def event(kind: str, turn: str | None = "tn_1", lane: Lane = LANE, **body: Any) -> Event:
    return Event(kind, lane, body, turn)


def edit(text: str, final: bool = False, message: str = "m_1", lane: Lane = LANE) -> Event:
    return event("edit", lane=lane, message_id=message, text=text, final=final)


def hush(test: unittest.TestCase, logger: str) -> None:
    """Keep a logger quiet until the test ends: what it complains of is the test's own doing."""

    def others(record: logging.LogRecord) -> bool:
        return not f"{record.name}.".startswith(f"{logger}.")

    assert logging.lastResort  # what shows warnings that nobody handles
    logging.lastResort.addFilter(others)
    test.addCleanup(logging.lastResort.removeFilter, others)


class TempDir(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dir = Path(folder.name)
