"""The time as the gateway has it, by which people's phones sort and let things expire: the clock of a host at
home may be minutes off.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime

log = logging.getLogger(__name__)

_SAME = 2000  # ms; dates have whole seconds, and take their time to get here


class Clock:
    """This machine's wall clock, put right by what the gateway says."""

    def __init__(self, wall: Callable[[], float] = time.time) -> None:
        self._wall = wall
        self._ahead = 0  # ms

    def now_ms(self) -> int:
        """Return the time in the link's unit."""
        return int(self._wall() * 1000) - self._ahead

    def meet(self, date: str | None) -> None:
        """Take in the date of an answer of the gateway; one that cannot be read changes nothing."""
        try:
            there = parsedate_to_datetime(date or "").timestamp()
        except (ValueError, OverflowError):
            return
        ahead = int((self._wall() - there) * 1000)
        ahead = ahead if abs(ahead) > _SAME else 0
        if ahead and not self._ahead:
            log.warning("iris: this machine's clock is %+.0f s off the gateway's", ahead / 1000)
        self._ahead = ahead


#: The clock of this process, as there is one link.
CLOCK = Clock()
