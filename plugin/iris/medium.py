"""A file that the agent sends to people (host-link.md, "Media")."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import Any

from .events import Body, Event
from .lanes import Lane

#: Key of the notices that say why a file could not be sent.
NOTICE = "attachment"

_DESCRIPTION = ("kind", "mime", "size", "filename", "sha256")


@dataclass(frozen=True)
class Medium:
    """What is known of a file before the gateway has it. Its copy in the spool's folder is called as its
    media_id; one that has a `url` is still to be fetched from there, and has no size and hash yet.
    """

    media_id: str
    message_id: str
    lane: Lane
    turn: str | None
    at: int  # ms, when hermes sent it
    kind: str
    mime: str
    filename: str
    caption: str
    reply_to: str | None
    size: int = 0
    sha256: str = ""
    url: str = ""

    def with_bytes(self, size: int, sha256: str) -> Medium:
        """Return the medium once its bytes are in the spool."""
        return replace(self, size=size, sha256=sha256, url="")

    def header(self) -> Body:
        """Return the frame that announces its bytes."""
        return {"type": "media.put", **self._fields("media_id", *_DESCRIPTION)}

    def event(self) -> Event:
        """Return the event that shows it to people."""
        body = self._fields("message_id", "media_id", *_DESCRIPTION, "caption", "reply_to")
        return Event("media", self.lane, body, self.turn, self.at)

    def _fields(self, *names: str) -> Body:
        return {name: getattr(self, name) for name in names}

    def lost(self, why: str) -> Event:
        """Return the notice that says why people do not get it. What they can use instead is in it."""
        text = f"“{self.filename}” could not be sent: {why}."
        said = [part for part in (self.caption, self.url, text) if part]
        return Event("notice", self.lane, {"key": NOTICE, "text": "\n".join(said)}, self.turn)

    def dumps(self) -> str:
        """Return it as the spool keeps it."""
        return json.dumps(asdict(self))

    @classmethod
    def loads(cls, row: str) -> Medium:
        """Read what dumps wrote."""
        fields: dict[str, Any] = json.loads(row)
        return cls(**fields | {"lane": Lane(**fields["lane"])})
