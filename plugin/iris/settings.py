"""Where the gateway is and how the host proves itself: IRIS_URL and IRIS_TOKEN.

Read from the environment, else from hermes' `.env` (host-link.md, "The plugin as a program"). Never printed.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from urllib.parse import urlsplit

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


class BadSettings(ValueError):
    """A setting that cannot work; the text says which one and why, without a secret."""


@dataclass(frozen=True)
class Settings:
    """The two settings. The token is kept out of every printed form."""

    url: str
    token: str = field(repr=False)

    @property
    def complete(self) -> bool:
        """Both settings are there."""
        return bool(self.url and self.token)

    @property
    def endpoint(self) -> str:
        """WebSocket address of the host link: `GET {IRIS_URL}/host`."""
        return self._address("/host").replace("http", "ws", 1)

    @property
    def send_endpoint(self) -> str:
        """Where another process delivers a text: `POST {IRIS_URL}/host/send`."""
        return self._address("/host/send")

    def _address(self, path: str) -> str:
        parts = urlsplit(self.url)
        if parts.scheme not in ("https", "http") or not parts.hostname:
            raise BadSettings("IRIS_URL must look like https://gateway.example")
        if parts.scheme == "http" and not self.loopback:
            # The token would travel in clear text.
            raise BadSettings("IRIS_URL may be http:// only for this machine (127.0.0.1); use https://")
        return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}{path}"

    @property
    def loopback(self) -> bool:
        """The gateway is on this machine: no proxy must be asked."""
        return urlsplit(self.url).hostname in LOOPBACK


def load() -> Settings:
    """Return the settings as they are now; fields are empty when unset."""
    return Settings(url=_value("IRIS_URL"), token=_value("IRIS_TOKEN"))


def _value(name: str) -> str:
    value = os.environ.get(name, "").strip()
    if value:
        return value
    try:
        from hermes_cli.config import get_env_value
    except ImportError:  # outside of hermes, in tests
        return ""
    return str(get_env_value(name) or "").strip()
