"""Lanes: a chat and maybe a thread in it, as Iris and as hermes name them.

hermes splits some addresses at colons (hermes.md §8), so a `:` never reaches it: `android:default` is
`android~default` there. The encoding is reversible for every id.
"""

from __future__ import annotations

from dataclasses import dataclass

# Order matters: the escape sign first, so that what it makes is not escaped again.
_ENCODE = (("%", "%25"), ("~", "%7E"), (":", "~"))


@dataclass(frozen=True)
class Lane:
    """A conversation of its own: chat_id and thread_id in Iris' spelling."""

    chat_id: str
    thread_id: str | None = None

    @classmethod
    def of_hermes(cls, chat_id: object, thread_id: object = None) -> Lane:
        """Return the lane that hermes calls (chat_id, thread_id)."""
        return cls(decode(str(chat_id)), decode(str(thread_id)) if thread_id else None)

    def covers(self, other: Lane) -> bool:
        """The other lane is this one, or a thread of this channel."""
        return self.chat_id == other.chat_id and self.thread_id in (None, other.thread_id)

    @property
    def hermes_chat(self) -> str:
        """chat_id as hermes gets it."""
        return encode(self.chat_id)

    @property
    def hermes_thread(self) -> str | None:
        """thread_id as hermes gets it."""
        return encode(self.thread_id) if self.thread_id else None


def encode(iris_id: str) -> str:
    """Return an Iris id in a spelling without colons."""
    for plain, coded in _ENCODE:
        iris_id = iris_id.replace(plain, coded)
    return iris_id


def decode(hermes_id: str) -> str:
    """Undo encode."""
    for plain, coded in reversed(_ENCODE):
        hermes_id = hermes_id.replace(coded, plain)
    return hermes_id


#: The lane that hermes uses when nothing else is named.
DEFAULT = Lane("android:default")
