"""Iris: the hermes platform plugin (contract: host-link.md).

`register` only registers. hermes imports plugins in many processes (`hermes plugins list`, cron): the adapter
is imported when the gateway asks for one, and dials in its connect().
"""

from __future__ import annotations

from typing import Any

from . import settings
from .lanes import DEFAULT

NAME = "iris"

#: What the model is told of the platform. Without it, it would not know that it can send files.
HINT = (
    "You talk to the user through the Iris app on their phone. It shows Markdown. "
    "You can send files: include MEDIA:/absolute/path/to/file on a line of its own in your response. "
    "Pictures, sounds and videos are shown as such, other files can be downloaded. "
    "What the user sends arrives as a picture, as text, or as the path of a file."
)
HOOKS = (
    "pre_llm_call",
    "post_api_request",
    "api_request_error",
    "post_llm_call",
    "on_session_end",
    "pre_tool_call",
    "post_tool_call",
    "pre_approval_request",
    "post_approval_response",
    "subagent_start",
)


def register(ctx: Any) -> None:
    """Make the platform and its hooks known to hermes."""
    ctx.register_platform(
        name=NAME,
        label="Iris",
        adapter_factory=_adapter,
        check_fn=_usable,
        validate_config=lambda _: settings.load().complete,
        is_connected=lambda _: settings.load().complete,
        required_env=["IRIS_URL", "IRIS_TOKEN"],
        install_hint="set IRIS_URL and IRIS_TOKEN (shown by `iris gateway create`)",
        env_enablement_fn=_enablement,
        cron_deliver_env_var="IRIS_HOME_CHANNEL",
        standalone_sender_fn=_send_from_elsewhere,
        max_message_length=100_000,
        emoji="🌈",
        pii_safe=False,
        platform_hint=HINT,
    )
    for name in HOOKS:
        ctx.register_hook(name, _hook(name))


def _adapter(config: Any) -> Any:
    from .adapter import Adapter

    return Adapter(config)


async def _send_from_elsewhere(*args: Any, **kw: Any) -> Any:
    from . import standalone

    return await standalone.send(*args, **kw)


def _usable() -> bool:
    try:
        import websockets.asyncio.client  # noqa: F401
    except ImportError:
        return False
    return True


def _enablement() -> dict[str, Any] | None:
    """Enable the platform when it is configured; the default channel is where notices go (hermes.md §1)."""
    if not settings.load().complete:
        return None
    return {"home_channel": {"chat_id": DEFAULT.hermes_chat, "name": "Default"}}


def _hook(name: str) -> Any:
    """Return a callback that passes a hook on to the adapter, once there is one."""

    def callback(**kw: Any) -> None:
        from sys import modules

        adapter_module = modules.get(f"{__name__}.adapter")
        adapter = adapter_module.Adapter.current if adapter_module else None
        if adapter is not None:
            getattr(adapter.hooks, name)(**kw)

    callback.__name__ = f"iris_{name}"
    return callback
