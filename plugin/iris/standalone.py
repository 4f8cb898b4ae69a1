"""Delivery from another process than the gateway's, as cron does it (host-link.md, "Opening").

Such a process has no adapter and must not dial the host link, which would push the gateway's away. It makes
one short request; the same message_id again changes nothing, so it may be repeated.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from . import filenames, jobs, settings
from .events import Body
from .ids import mint
from .lanes import DEFAULT, Lane
from .settings import BadSettings

log = logging.getLogger(__name__)

TIMEOUT = 15.0
#: Seconds before the second and the third attempt.
PAUSES = (1.0, 3.0)


async def send(
    pconfig: Any,
    chat_id: str,
    message: str,
    *,
    thread_id: str | None = None,
    media_files: Any = None,
    force_document: bool = False,
    **kw: Any,
) -> Body:
    """hermes' `standalone_sender_fn`: returns `success` and `message_id`, or `error`."""
    lane = Lane.of_hermes(chat_id or DEFAULT.hermes_chat, thread_id)
    body: Body = {
        "message_id": mint("m_"),
        "chat_id": lane.chat_id,
        "thread_id": lane.thread_id,
        "text": _said(message, media_files),
        "job": jobs.name_of(message),
    }
    error = ""
    for pause in (0.0, *PAUSES):
        await asyncio.sleep(pause)
        error, again = await _post(body)
        if not error:
            return {"success": True, "message_id": body["message_id"]}
        if not again:
            break
    log.error("iris: %s", error)
    return {"error": error}


async def _post(body: Body) -> tuple[str, bool]:
    """Make one attempt; returns what went wrong, and whether another attempt makes sense."""
    import httpx

    own = settings.load()
    if not own.complete:
        return "IRIS_URL and IRIS_TOKEN are not set", False
    try:
        # A proxy is never asked for this machine.
        async with httpx.AsyncClient(timeout=TIMEOUT, trust_env=not own.loopback) as client:
            answer = await client.post(
                own.send_endpoint, json=body, headers={"Authorization": f"Bearer {own.token}"}
            )
    except BadSettings as err:
        return str(err), False
    except httpx.HTTPError as err:
        return f"the Iris gateway cannot be reached ({type(err).__name__})", True
    if answer.is_success:
        return "", False
    said = _message(answer)
    match answer.status_code:
        case 401 | 403:
            return "the Iris gateway refuses IRIS_TOKEN", False
        case 404 if said:
            return f"the Iris gateway does not know the lane: {said}", False
        case 404 | 405:
            return "the Iris gateway has no POST /host/send: it is older than this plugin", False
        case status:
            return f"the Iris gateway answered {status}: {said}", status >= 500 or status == 429


def _message(answer: Any) -> str:
    """Return the text of an error of the gateway; a route that it does not have answers in plain text."""
    try:
        found = answer.json()
    except ValueError:
        return ""
    if isinstance(found, dict):
        inner = found.get("error")
        found = inner if isinstance(inner, dict) else found
        return str(found.get("message") or inner or found.get("code") or "")
    return ""


def _said(message: str, media_files: Any) -> str:
    """Files cannot be sent this way: say which are missing."""
    names = [filenames.clean(str(f[0] if isinstance(f, tuple | list) else f)) for f in media_files or ()]
    return message + "".join(f"\n[{name} could not be attached]" for name in names)
