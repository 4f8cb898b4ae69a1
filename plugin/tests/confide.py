"""What the plugin logs in its tests, and the texts and tokens that it may not show there, for `cmd/testenv`,
which looks through the logs of a whole test run (testenv/scan.go). Without it nothing is written.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

_FOLDER = os.environ.get("IRIS_TEST_LOGS", "")
_lock = threading.Lock()
_known: set[str] = set()


def confide(body: Any) -> None:
    """Tell of a frame, or of the body of one: testenv/confide.go knows which fields are secret."""
    if not _FOLDER:
        return
    if isinstance(body, dict):  # numbers would make each of many the first of its kind
        body = {key: value for key, value in body.items() if not isinstance(value, int | float)}
    line = json.dumps(body, default=str, skipkeys=True)
    with _lock:
        if line not in _known:
            _known.add(line)
            _append(Path(_FOLDER) / "secrets.jsonl", line)


def _append(file: Path, text: str) -> None:
    """Other processes write to it too, each whole lines at a time."""
    file.parent.mkdir(mode=0o700, exist_ok=True)
    with open(file, "a", encoding="utf-8", errors="backslashreplace") as out:
        out.write(text + "\n")


def watch(*makers: type) -> None:
    """Confide what the classes are made with: all that a host says and is told passes through some of them.
    Write what is logged from now on to the logs of the run, whoever would show or swallow it.
    """
    if not _FOLDER:
        return
    for maker in makers:
        maker.__init__ = _confiding(maker.__init__)  # type: ignore[misc]
    logging.setLogRecordFactory(_record)
    logging.getLogger("iris").setLevel(logging.DEBUG)


def _confiding(init: Callable[..., None]) -> Callable[..., None]:
    def made(self: Any, *args: Any, **named: Any) -> None:
        init(self, *args, **named)
        confide(self.body)

    return made


def _record(*args: Any, **named: Any) -> logging.LogRecord:
    """A factory sees each record, also one that a test asserts and so keeps from the handlers."""
    record = logging.LogRecord(*args, **named)
    if record.name.startswith("websockets.server"):
        return record  # the fake gateway's, which is no part of the plugin
    line = logging.Formatter("%(levelname)s %(name)s: %(message)s").format(record)
    _append(Path(_FOLDER) / "plugin" / f"tests-{os.getpid()}.log", line)
    return record
