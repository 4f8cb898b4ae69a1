"""Everything the plugin asks of hermes beyond the adapter's own interface, each guarded.

Names with an underscore are private to hermes, though equal in 0.19.0 and 0.20.0 (hermes.md): if one is gone,
a detail is missing in the footer or in the catalogue, nothing else.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from .events import Body

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

#: The gateway takes so many commands and aliases of one.
_MAX_COMMANDS, _MAX_ALIASES = 2000, 100
#: Commands that make no sense in an app (hermes.md §10).
_NOT_OFFERED = frozenset({"start", "topic", "approve", "deny"})


def guarded(default: Any) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Make a look-up return default when hermes is not as expected."""

    def wrap(fn: Callable[P, T]) -> Callable[P, T]:
        def inner(*args: P.args, **kw: P.kwargs) -> T:
            try:
                return fn(*args, **kw)
            except Exception as err:
                log.debug("iris: %s: %r", fn.__name__, err)
                return default  # type: ignore[no-any-return]

        inner.__doc__ = fn.__doc__
        return inner

    return wrap


def home() -> Path:
    """hermes' home folder; the spool lives in it."""
    try:
        from hermes_constants import get_hermes_home

        return Path(get_hermes_home())
    except ImportError:
        return Path(os.environ.get("HERMES_HOME") or Path.home() / ".hermes")


@guarded(False)
def safe_url(url: str) -> bool:
    """An address that a model names may be asked: it is on the internet, not in this network. Looks it up."""
    from tools.url_safety import is_safe_url

    return bool(is_safe_url(url))


@guarded(None)
def cache(folder: str) -> Path | None:
    """Return a folder of hermes' cache (images, audio, videos, documents), in which its tools may read."""
    from gateway.platforms import base

    places = {
        "images": base.get_image_cache_dir,
        "audio": base.get_audio_cache_dir,
        "videos": base.get_video_cache_dir,
        "documents": base.get_document_cache_dir,
    }
    return Path(places[folder]())


@guarded(0)
def inbound_limit() -> int:
    """Return how many bytes a file of a message may have by hermes' settings; 0 = any."""
    from gateway.platforms.base import get_inbound_media_max_bytes

    return max(0, int(get_inbound_media_max_bytes()))


@guarded("")
def session_env(name: str) -> str:
    """Return a session variable of the running agent thread or task (hermes.md §5)."""
    from gateway.session_context import get_session_env

    return str(get_session_env("HERMES_SESSION_" + name, "") or "")


@guarded("")
def session_key(source: object, extra: dict[str, Any]) -> str:
    """Return hermes' key of the lane that a source belongs to."""
    from gateway.session import build_session_key

    return str(
        build_session_key(
            source,
            group_sessions_per_user=extra.get("group_sessions_per_user", True),
            thread_sessions_per_user=extra.get("thread_sessions_per_user", False),
        )
    )


@guarded(False)
def refusing(runner: Any) -> bool:
    """hermes takes no new work: it shuts down, or somebody drains it."""
    return bool(getattr(runner, "_draining", False) or getattr(runner, "_external_drain_active", False))


@guarded(False)
def clarify_open(key: str) -> bool:
    """The agent of this session waits for an answer."""
    from tools.clarify_gateway import get_pending_for_session

    return get_pending_for_session(key, include_choice_prompts=True) is not None


@guarded(0)
def clear_clarify(key: str) -> int:
    """Release a waiting clarify: an interrupt does not (hermes.md §0.8)."""
    from tools.clarify_gateway import clear_session

    return int(clear_session(key))


@guarded(False)
def await_text(clarify_id: str) -> bool:
    """The next plain message of the lane answers this clarify."""
    from tools.clarify_gateway import mark_awaiting_text

    return bool(mark_awaiting_text(clarify_id))


@guarded(False)
def resolve_clarify(clarify_id: str, answer: str, chosen: bool = False) -> bool:
    """Answer a clarify, by a free text or one of its choices; False when hermes waits no longer."""
    from tools import clarify_gateway

    pending = getattr(clarify_gateway, "_entries", {}).get(clarify_id)
    if pending is not None and pending.event.is_set():
        return False  # somebody was quicker, and the agent is about to go on
    if chosen and getattr(pending, "multi_select", False):
        answer = json.dumps([answer])  # hermes 0.20.0 would split it at its commas
    return bool(clarify_gateway.resolve_gateway_clarify(clarify_id, answer))


@guarded([])
def approvals(key: str) -> list[object]:
    """Return what hermes' queue of approvals holds for a session, oldest first."""
    from tools import approval

    return list(approval._gateway_queues.get(key) or ())


@guarded("")
def command_of(entry: Any) -> str:
    """Return the command of an approval in hermes' queue, as it is shown to people."""
    from gateway.run import _redact_approval_command

    return str(_redact_approval_command(entry.data.get("command", "")))


@guarded(0)
def resolve_approval(key: str, choice: str) -> int:
    """Answer the oldest approval of a session; 0 when none waits."""
    from tools.approval import resolve_gateway_approval

    return int(resolve_gateway_approval(key, choice))


@guarded("")
def confirm_pending(key: str) -> str:
    """Return the id of the confirmation that a session waits for."""
    from tools import slash_confirm

    slash_confirm.clear_if_stale(key)
    return str((slash_confirm.get_pending(key) or {}).get("confirm_id") or "")


async def resolve_confirm(key: str, confirm_id: str, choice: str) -> object:
    """Answer a confirmation; returns the command's reply, which nobody else sends."""
    from tools import slash_confirm

    return await slash_confirm.resolve(key, confirm_id, choice)


@guarded(0)
def patience(kind: str) -> int:
    """Return the seconds that hermes waits for an answer to a prompt of this kind; 0 = for ever."""
    if kind == "approval":
        from tools import approval

        return int(approval._get_approval_timeout())
    if kind == "clarify":
        from tools.clarify_gateway import get_clarify_timeout

        return int(get_clarify_timeout())
    if kind == "confirm":
        from tools.slash_confirm import DEFAULT_TIMEOUT_SECONDS

        return int(DEFAULT_TIMEOUT_SECONDS)
    return 0


@guarded(True)
def interrupted(runner: Any, key: str) -> bool:
    """The running agent of a session has been told to stop. Also true when none runs."""
    # Before the agent is made its place is held by an object that is none.
    return bool(getattr(getattr(runner, "_running_agents", {}).get(key), "is_interrupted", True))


@guarded("")
def job_name(job_id: str) -> str:
    """Return how people call a scheduled job, "" if hermes does not know it. Reads a file."""
    from cron.jobs import get_job

    job = get_job(job_id) if job_id else None
    return str(job.get("name") or "") if job else ""


@guarded(False)
def steer(runner: Any, key: str, text: str) -> bool:
    """Tell the running agent of a session something, without a word (hermes.md §7.2); False when none
    runs that can hear.
    """
    agent = getattr(runner, "_running_agents", {}).get(key)
    # Before the agent is made its place is held by an object that is none.
    hear = getattr(agent, "steer", None)
    return bool(hear and hear(text))


@guarded(False)
def in_background(runner: Any) -> bool:
    """A /background run is under way."""
    runs = [task for task in runner._background_tasks if not task.done()]
    return any("_run_background_task" in getattr(run.get_coro(), "__qualname__", "") for run in runs)


async def title(runner: Any, session: str) -> str:
    """Return how hermes calls a session, "" if it has no title (yet)."""
    try:
        return str(await runner._session_db.get_session_title(session) or "")
    except Exception as err:
        log.debug("iris: title: %r", err)
        return ""


@guarded(None)
def agent_of(runner: Any, key: str) -> Any:
    """Return the live agent of a session, if there is one."""
    entry = getattr(runner, "_agent_cache", {}).get(key)
    return entry[0] if isinstance(entry, tuple | list) and entry else entry


@guarded(None)
def cost_of(agent: Any) -> float | None:
    """Return the dollars that the session has cost so far, None when hermes knows no price."""
    cost = getattr(agent, "session_estimated_cost_usd", None)
    known = getattr(agent, "session_cost_status", "") not in ("unknown", "", None)
    return float(cost) if cost is not None and (cost or known) else None


@guarded(None)
def context_length(agent: Any) -> int | None:
    """Return how many tokens fit into the model's context."""
    return int(agent.context_compressor.context_length) or None


def runtime(agent: Any, prompt_tokens: int, cost_before: float | None) -> Body:
    """Return the footer's fields that only hermes knows (hermes.md §5.1); absent when unknown."""
    body: Body = {}
    length = context_length(agent)
    if length and prompt_tokens:
        body["context_pct"] = min(100, round(100 * prompt_tokens / length))
    cwd = os.environ.get("TERMINAL_CWD", "")
    if cwd:
        user = str(Path.home())
        body["cwd"] = "~" + cwd[len(user) :] if cwd == user or cwd.startswith(user + "/") else cwd
    cost = cost_of(agent)
    if cost is not None and cost >= (cost_before or 0.0):
        body["cost"] = round(cost - (cost_before or 0.0), 6)
    return body


def hello() -> Body:
    """Return what `hello` says of the agent (host-link.md, "Opening")."""
    agent = {"name": "hermes-agent", "version": _version(), "model": _model(), "streaming": _streaming()}
    return {"agent": agent, "commands": commands()}


@guarded("")
def _version() -> str:
    # Not the package's metadata: that is of the installed one when a source tree is run.
    from hermes_cli import __version__

    return str(__version__)


@guarded({})
def _config() -> dict[str, Any]:
    from hermes_cli.config import load_config

    return load_config() or {}


@guarded("")
def _model() -> str:
    model = _config().get("model") or {}
    return str(model.get("default") or model.get("model") or "") if isinstance(model, dict) else str(model)


@guarded(False)
def _streaming() -> bool:
    config = _config()
    display = (config.get("display") or {}).get("platforms") or {}
    own = (display.get("iris") or {}).get("streaming")
    return bool(own if own is not None else (config.get("streaming") or {}).get("enabled"))


@guarded([])
def commands() -> list[Body]:
    """Return the command catalogue: hermes' own and those of its plugins (hermes.md §10)."""
    from hermes_cli import commands as registry

    gates = _gates(registry)
    out = [
        _entry(c.name, c.description, c.args_hint, c.category, c.aliases)
        for c in registry.COMMAND_REGISTRY
        if c.name not in _NOT_OFFERED and (not c.cli_only or c.name in gates)
    ]
    names = {entry["name"] for entry in out}
    for name, description, args_hint in _plugin_commands(registry):
        entry = _entry(name, description, args_hint, "Plugins", ())
        if entry["name"] not in names:
            out.append(entry)
    return out[:_MAX_COMMANDS]


@guarded(frozenset())
def _gates(registry: Any) -> frozenset[str]:
    return frozenset(registry._resolve_config_gates())


@guarded([])
def _plugin_commands(registry: Any) -> list[tuple[str, str, str]]:
    return list(registry._iter_plugin_command_entries())


def _entry(name: str, description: str, args_hint: str, category: str, aliases: Any) -> Body:
    return {
        "name": "/" + name.lstrip("/"),
        "description": str(description or "")[:500],
        "args_hint": str(args_hint or "")[:200],
        "category": str(category or ""),
        "aliases": ["/" + alias for alias in aliases or ()][:_MAX_ALIASES],
    }
