"""A host that reports numbered answers and beats until it is killed; run by test_killed.py.

    python victim.py URL SPOOL LIMIT FIRST LAST

Answers have even numbers. It prints each number up to which all is safe on disk, and waits for its end after
LAST.
"""

from __future__ import annotations

import logging
import signal
import sys
from functools import partial
from pathlib import Path

from support import event

from iris import host
from iris.link import Backoff
from iris.settings import Settings
from iris.spool import Spool

STEP = 20  # so many events at most are not known to be safe


class Quick(Backoff):
    """Comes back at once."""

    def after(self, code: int | None, lived: float) -> float:
        return 0.02


def main(url: str, spool: str, limit: int, first: int, last: int) -> None:
    """Report the numbers from first to last, then wait."""
    host.Spool = partial(Spool, limit=limit)  # type: ignore[misc,assignment]
    logging.disable()
    me = host.Host(Settings(url, "secret"), Path(spool), dict, lambda item: None, Quick())
    me.start()
    assert me._pump
    for n in range(first, last + 1):
        me.emit(event("tool.end" if n % 2 else "answer", n=n, text="x" * 500))
        if n % STEP == 0 or n == last:
            me._pump.ask(lambda _: None).result()
            print(n, flush=True)
    signal.pause()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6]))
