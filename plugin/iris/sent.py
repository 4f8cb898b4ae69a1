"""Messages that hermes sent: when each began and whom it answers, which `edit` repeats (host-link.md,
"Events").
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

from .events import now_ms
from .lanes import Lane

#: hermes may edit any message that is still open (hermes.md §8); these many are surely enough.
REMEMBERED = 2000


@dataclass
class Sent:
    """A message of ours."""

    lane: Lane
    turn: str | None
    reply_to: str | None
    began: int = field(default_factory=now_ms)
    text: str = ""
    final: bool = False


class SentMessages:
    """The last messages, by id. Used on hermes' loop only."""

    def __init__(self) -> None:
        self._messages: OrderedDict[str, Sent] = OrderedDict()

    def add(self, message_id: str, sent: Sent) -> None:
        """Remember a message."""
        self._messages[message_id] = sent
        while len(self._messages) > REMEMBERED:
            self._messages.popitem(last=False)

    def get(self, message_id: str) -> Sent | None:
        """Return a message, if it is remembered."""
        return self._messages.get(message_id)

    def of_turn(self, turn: str) -> list[tuple[str, Sent]]:
        """Return the messages of a turn with their ids, in the order in which they began."""
        return [(message_id, sent) for message_id, sent in self._messages.items() if sent.turn == turn]

    def edited(self, message_id: str, lane: Lane, turn: str | None, text: str, final: bool) -> Sent | None:
        """Return the message with its new text, or None when the edit says nothing new.

        hermes sends the last final edit twice (hermes.md §2): the second is no event.
        """
        sent = self._messages.get(message_id)
        if sent is None:
            sent = Sent(lane, turn, None)
            self.add(message_id, sent)
        elif sent.text == text and (sent.final or not final):
            return None
        sent.text, sent.final = text, final
        return sent
