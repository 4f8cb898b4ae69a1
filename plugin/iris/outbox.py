"""Files on their way to the gateway: copies of them, and a row for each in the spool (host-link.md, "Media").

The copy is made first (the agent may delete its file), then the row; what a SIGKILL leaves of either is put
right at the next start.
"""

from __future__ import annotations

import hashlib
import logging
import os
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path

from .medium import Medium

log = logging.getLogger(__name__)

#: Bytes that may wait for a gateway that is away.
LIMIT = 512 * 1024 * 1024
_CHUNK = 256 * 1024
_UNFINISHED = ".part"

SCHEMA = """
CREATE TABLE IF NOT EXISTS media (
  n INTEGER PRIMARY KEY AUTOINCREMENT, media_id TEXT NOT NULL UNIQUE, size INTEGER NOT NULL,
  row TEXT NOT NULL);
"""


class Unsendable(Exception):
    """A file cannot be sent; the text says why, for people."""


class Outbox:
    """The rows. Every method but `path` runs on the pump's thread, inside the spool's transaction."""

    def __init__(self, db: sqlite3.Connection, folder: Path, limit: int = LIMIT) -> None:
        self._db = db
        self._limit = limit
        self.folder = folder
        self.over = False  # nothing is to be sent any more

    def path(self, media_id: str) -> Path:
        """Where the copy of a file is."""
        return self.folder / media_id

    def add(self, medium: Medium) -> None:
        """Keep a file whose copy is there, or that is still to be fetched; raises Unsendable if too much
        waits already.
        """
        if self.over:
            raise Unsendable("the gateway was deleted")
        waiting = self._db.execute("SELECT coalesce(sum(size), 0) FROM media").fetchone()[0]
        if waiting + medium.size > self._limit:
            raise Unsendable(f"{mib(waiting)} of files wait for the gateway already")
        row = (medium.media_id, medium.size, medium.dumps())
        self._db.execute("INSERT INTO media (media_id, size, row) VALUES (?, ?, ?)", row)

    def fetched(self, medium: Medium) -> None:
        """The copy of a file that was to be fetched is there now."""
        row = (medium.size, medium.dumps(), medium.media_id)
        self._db.execute("UPDATE media SET size=?, row=? WHERE media_id=?", row)

    def first(self) -> Medium | None:
        """Return the file that is to be sent next."""
        return next(iter(self._all()), None)

    def _all(self) -> list[Medium]:
        """Return what waits, in order. A row that cannot be read (of another version of the plugin) goes:
        it would hold up all others for ever.
        """
        found = []
        for media_id, row in self._db.execute("SELECT media_id, row FROM media ORDER BY n").fetchall():
            try:
                found.append(Medium.loads(row))
            except (ValueError, TypeError, KeyError) as err:
                log.error("iris: a file that waited to be sent is lost: %r", err)
                self._db.execute("DELETE FROM media WHERE media_id=?", (media_id,))
        return found

    def remove(self, medium: Medium) -> None:
        """The file has been sent, or never will be. Its copy may go once this is safe."""
        self._db.execute("DELETE FROM media WHERE media_id=?", (medium.media_id,))

    def unfetched(self) -> list[Medium]:
        """Return what an earlier process left to fetch."""
        return [medium for medium in self._all() if medium.url]

    def sweep(self) -> None:
        """Remove copies that belong to no row. Only before anything is copied, at the start, or when nothing
        is to be sent any more.
        """
        known = {media_id for (media_id,) in self._db.execute("SELECT media_id FROM media")}
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for path in self.folder.iterdir():
            if path.name not in known:
                path.unlink(missing_ok=True)


def copy(source: str | os.PathLike[str], into: Path, most: int) -> tuple[int, str]:
    """Copy a file of at most so many bytes; returns its size and SHA-256. Blocks on the disk."""
    try:
        # Without O_NONBLOCK a pipe would hold up the thread for ever.
        with open(os.open(source, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise Unsendable("it is no file")
            return store(lambda: file.read(_CHUNK), into, most)
    except OSError as err:
        raise Unsendable(err.strerror or type(err).__name__) from err


def store(read: Callable[[], bytes], into: Path, most: int) -> tuple[int, str]:
    """Write what read returns, until that is nothing; returns its size and SHA-256."""
    part = into.with_name(into.name + _UNFINISHED)
    size, digest = 0, hashlib.sha256()
    try:
        with part.open("wb") as out:
            while chunk := read():
                size += len(chunk)
                if size > most:
                    raise Unsendable(f"it has more than {mib(most)}, which is what the gateway takes")
                digest.update(chunk)
                out.write(chunk)
        part.replace(into)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    return size, digest.hexdigest()


def mib(size: int) -> str:
    """Return a size for people."""
    return f"{size / 2**20:.0f} MiB" if size >= 2**20 else f"{size} bytes"
