"""Ids minted on the host: a prefix and a ULID, so that they are unique everywhere and sort by time.

hermes treats message ids as opaque (hermes.md §8), so the plugin mints all of them and never waits for the
gateway to name something.
"""

from __future__ import annotations

import os
import time

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's base 32


def mint(prefix: str) -> str:
    """Return a new id such as `m_01J…`: 48 bits of milliseconds, 80 bits of chance."""
    value = (int(time.time() * 1000) << 80) | int.from_bytes(os.urandom(10), "big")
    return prefix + "".join(_ALPHABET[(value >> shift) & 31] for shift in range(125, -1, -5))


#: Changes with each start of hermes: the module is imported once in a process (host-link.md, "Opening").
PROCESS = mint("p_")
