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

from iris.events import Event  # noqa: E402
from iris.lanes import Lane  # noqa: E402

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
    logging.getLogger(logger).setLevel(logging.CRITICAL)
    test.addCleanup(logging.getLogger(logger).setLevel, logging.NOTSET)


class TempDir(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dir = Path(folder.name)
