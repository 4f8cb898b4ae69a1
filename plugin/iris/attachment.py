"""A file that came with a person's message, on its way into hermes (host-link.md, "Inbound", "Media")."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import filenames
from .events import Body
from .lanes import Lane

#: The folders of hermes' cache.
FOLDERS = ("images", "audio", "videos", "documents")
#: Folder of hermes' cache and prefix of the file in it, by kind.
_PLACES = {"image": ("images", "img"), "audio": ("audio", "audio"), "video": ("videos", "video")}
_DOCUMENT = ("documents", "doc")
#: Pictures that models can look at; hermes must get no other as one.
_PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp"})
#: Endings that hermes takes for text (gateway/run.py).
_TEXTS = frozenset({".txt", ".md", ".csv", ".log", ".json", ".xml", ".yaml", ".yml", ".toml", ".ini", ".cfg"})
#: Bytes of a text that is shown to the model as it is, as hermes' own platforms do.
_SHORT = 100 * 1024


class Gone(Exception):
    """A file cannot be had; the text says why, for the model."""


@dataclass(frozen=True)
class Attachment:
    """What the gateway says of a file."""

    media_id: str
    kind: str
    mime: str
    filename: str
    size: int
    sha256: str

    @classmethod
    def of(cls, value: Any) -> Attachment:
        """Read an item of a message's `media`, whatever it is."""
        fields: Body = value if isinstance(value, dict) else {}
        size = fields.get("size")
        return cls(
            media_id=str(fields.get("media_id") or ""),
            kind=str(fields.get("kind") or ""),
            mime=str(fields.get("mime") or filenames.UNKNOWN).lower(),
            filename=filenames.clean(str(fields.get("filename") or ""), str(fields.get("kind") or "file")),
            size=size if isinstance(size, int) else 0,
            sha256=str(fields.get("sha256") or "").lower(),
        )

    @property
    def sort(self) -> str:
        """What hermes does with it: image, audio, video, document. The bytes decide (the gateway has looked
        at them), not what the device called it.
        """
        sort = self.mime.split("/")[0]
        if sort not in _PLACES or not self.size or (sort == "image" and self.mime not in _PICTURES):
            return "document"
        return sort

    @property
    def voice(self) -> bool:
        """Somebody speaks: hermes writes down what was said."""
        return self.sort == "audio" and self.kind == "voice"

    @property
    def folder(self) -> str:
        """The folder of hermes' cache that it belongs to."""
        return _PLACES.get(self.sort, _DOCUMENT)[0]

    def name(self, lane: Lane, message_id: str) -> str:
        """What it is called there, as a file of this message."""
        prefix = _PLACES.get(self.sort, _DOCUMENT)[1]
        mark = filenames.mark(lane, message_id, self.media_id)
        return filenames.in_cache(prefix, mark, self.filename, self.mime)


@dataclass(frozen=True)
class Files:
    """The files of a message as hermes gets them: paths and types, what the message is all in all, and what
    the model is told beside: texts of documents, and which files could not be had.
    """

    type: str  # name of hermes' MessageType
    paths: tuple[str, ...] = ()
    mimes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def gather(got: list[tuple[Attachment, Path | str]]) -> Files:
    """Put together what became of each file: its path, or (a text) why it is missing. Blocks on the disk."""
    kind = _message_type([attachment for attachment, path in got if isinstance(path, Path)])
    paths, mimes, notes = [], [], []
    for attachment, path in got:
        if isinstance(path, str):
            what = f"“{attachment.filename}” ({attachment.kind or 'file'})"
            notes.append(f"[The user attached {what}, but it could not be fetched: {path}]")
            continue
        mime, text = _shown(attachment, path, kind)
        paths.append(str(path))
        mimes.append(mime)
        if text:
            notes.append(f"[Content of {attachment.filename}]:\n{text}")
    return Files(kind, tuple(paths), tuple(mimes), tuple(notes))


def _message_type(attachments: list[Attachment]) -> str:
    """hermes has one type for a message. Of AUDIO and VOICE it takes every file for sound, whatever its own
    type says (gateway/run.py), so these are only for messages that hold nothing else.
    """
    sorts = {attachment.sort for attachment in attachments}
    if sorts == {"audio"}:
        return "VOICE" if all(attachment.voice for attachment in attachments) else "AUDIO"
    if "image" in sorts:
        return "PHOTO"
    if len(sorts) == 1:
        return {"video": "VIDEO", "document": "DOCUMENT"}[sorts.pop()]
    return "TEXT"


def _shown(attachment: Attachment, path: Path, kind: str) -> tuple[str, str]:
    """Return the type that hermes is told of a file, and its text if it is a short one."""
    if attachment.sort == "audio" and not attachment.voice and kind not in ("AUDIO", "VOICE"):
        # Beside other files hermes would write down every sound: music is shown to it as a file.
        return filenames.UNKNOWN, ""
    if attachment.sort != "document":
        return attachment.mime, ""
    mime = attachment.mime if attachment.mime != filenames.UNKNOWN else filenames.mime_of(path.name)
    if not mime.startswith("text/") and path.suffix.lower() not in _TEXTS:
        # hermes must not take it for a picture, sound or film: these have been sorted out.
        return (mime if mime.startswith("application/") else filenames.UNKNOWN), ""
    text = _text(path)
    # Of a text/… hermes says that its content is in the message.
    return ("text/plain", text) if text else ("application/x-text", "")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8") if path.stat().st_size <= _SHORT else ""
    except (OSError, ValueError):
        return ""
