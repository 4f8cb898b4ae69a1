"""Names and types of files. What a name says is never trusted: it becomes a part of a path here, and is shown
on phones.
"""

from __future__ import annotations

import hashlib
import mimetypes
import unicodedata
from urllib.parse import unquote, urlsplit

from .lanes import Lane

#: Bytes that a name may have on the link, and (less) as a part of a path of ours.
LIMIT = 255
PATH_LIMIT = 180

_CONTROL = frozenset({"Cc", "Cs", "Zl", "Zp"})
# They let "photo\u202egnp.exe" look like a picture.
_TURNS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")

UNKNOWN = "application/octet-stream"

# Types that Python knows from the system only, if at all.
_TYPES = {".webp": "image/webp", ".heic": "image/heic", ".opus": "audio/ogg", ".ogg": "audio/ogg"}
_TYPES |= {".oga": "audio/ogg", ".m4a": "audio/mp4", ".md": "text/markdown", ".mkv": "video/x-matroska"}


def clean(name: str, fallback: str = "file", limit: int = LIMIT) -> str:
    """Return the last part of a path, without control characters, those that turn the writing direction, and
    dots around it, in at most limit bytes of UTF-8; its ending stays. Any other Unicode is kept.
    """
    name = name.replace("\\", "/").rsplit("/", 1)[-1]
    name = "".join(c for c in name if unicodedata.category(c) not in _CONTROL and c not in _TURNS)
    name = name.strip(" .") or fallback
    if len(name.encode()) <= limit:
        return name
    stem, dot, ending = name.rpartition(".")
    if not stem or len(ending.encode()) > 16:
        stem, dot, ending = name, "", ""
    room = limit - len((dot + ending).encode())
    return stem.encode()[:room].decode(errors="ignore").rstrip(" .") + dot + ending


def mime_of(name: str) -> str:
    """Guess a type by the name's ending. The gateway looks at the bytes, too."""
    dot = name.rfind(".")
    ending = name[dot:].lower() if dot >= 0 else ""
    return _TYPES.get(ending) or mimetypes.guess_type("x" + ending)[0] or UNKNOWN


def path_of(url: str) -> str:
    """Return the path of a file:// address."""
    return unquote(urlsplit(url).path)


def in_cache(prefix: str, mark: str, name: str, mime: str) -> str:
    """Return what a file is called in hermes' cache: `prefix_mark_name`, as hermes' own caches have it (it
    shows the model what follows the second underscore). An ending that tells another type of picture, sound
    or film than the bytes have gets the right one behind it.
    """
    return f"{prefix}_{mark}_{with_ending(clean(name, prefix, PATH_LIMIT), mime)}"


def mark(lane: Lane, message_id: str, media_id: str) -> str:
    """Return what tells a file in hermes' cache apart, the same at each call."""
    return (
        _hash(lane.chat_id, 8) + _hash(lane.thread_id or "", 4) + _hash(message_id, 12) + _hash(media_id, 4)
    )


def of_message(message_id: str) -> str:
    """Return the pattern of the names of a message's files."""
    return f"*_{'?' * 12}{_hash(message_id, 12)}{'?' * 4}_*"


def of_lane(lane: Lane) -> str:
    """Return the pattern of the names of a lane's files: of a chat with those of its threads."""
    thread = _hash(lane.thread_id, 4) if lane.thread_id else "?" * 4
    return f"*_{_hash(lane.chat_id, 8)}{thread}{'?' * 16}_*"


#: The pattern of the names of all files that came with messages.
EVERY = f"*_{'[0-9a-f]' * 28}_*"


def _hash(text: str, digits: int) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:digits]


def with_ending(name: str, mime: str) -> str:
    """Return a name whose ending tells the type, if that is a picture, sound or film."""
    if mime.split("/")[0] not in ("image", "audio", "video") or mime_of(name) == mime:
        return name
    known = next((ending for ending, own in _TYPES.items() if own == mime), "")
    return name + (known or mimetypes.guess_extension(mime) or "")
