"""Cutting of long texts: head and tail with a mark, as host-link.md, "Events", asks."""

from __future__ import annotations

import math
from typing import Any

#: Arguments and results leave the host with at most so many bytes.
ARGS_LIMIT = 16 * 1024
#: The last output of a tool.
TAIL_LIMIT = 2 * 1024


def cut_text(text: str, limit: int) -> str:
    """Return text in at most about limit bytes: its head, a mark, its tail."""
    raw = text.encode("utf-8", "replace")
    if len(raw) <= limit:
        return text
    half = limit // 2
    head, tail = raw[:half].decode("utf-8", "ignore"), raw[-half:].decode("utf-8", "ignore")
    return f"{head}\n…[{len(raw) - limit} bytes cut]…\n{tail}"


def tail_text(text: str, limit: int = TAIL_LIMIT) -> str:
    """Return the end of text in at most limit bytes."""
    raw = text.encode("utf-8", "replace")
    return text if len(raw) <= limit else "…" + raw[-limit:].decode("utf-8", "ignore")


def cut(value: Any, limit: int, most: int | None = None, depth: int = 0) -> Any:
    """Return a JSON-safe copy of value in which every text has at most about limit bytes, and every list at
    most so many items.
    """
    if isinstance(value, str):
        return cut_text(value, limit)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if depth > 8:
        return cut_text(str(value), limit)
    if isinstance(value, dict):
        return {cut_text(str(k), 256): cut(v, limit, most, depth + 1) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [cut(v, limit, most, depth + 1) for v in list(value)[:most]]
    return cut_text(str(value), limit)
