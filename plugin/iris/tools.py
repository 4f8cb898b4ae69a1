"""Tool calls: did it work, what did it print, what to show in one line (host-link.md,
"Events").
"""

from __future__ import annotations

import json
from typing import Any

from .text import ARGS_LIMIT, cut, tail_text

# The argument that says most, by the habits of hermes' own tools.
_TELLING = (
    "command",
    "path",
    "file_path",
    "query",
    "pattern",
    "url",
    "question",
    "goal",
    "code",
    "name",
    "text",
)
_OUTPUT = ("output", "content", "stdout", "result", "text", "error", "message", "user_response")
#: So begins what the agent gets to hear instead of an answer to a clarify.
UNANSWERED = "[user did not respond"


def args_of(args: object) -> dict[str, Any]:
    """Return the arguments as an object of at most 16 KiB or so: the link wants one, whatever the model
    sent.
    """
    plain = args if isinstance(args, dict) else {} if args is None else {"value": args}
    limit = ARGS_LIMIT
    while True:
        out: dict[str, Any] = cut(plain, limit)
        if (
            limit <= 64
            or len(json.dumps(out, ensure_ascii=False, default=str).encode("utf-8", "replace")) <= ARGS_LIMIT
        ):
            break
        limit //= 2
    if len(json.dumps(out, ensure_ascii=False, default=str).encode("utf-8", "replace")) > ARGS_LIMIT:
        return {"cut": tail_text(str(sorted(out)), 1024)}  # thousands of tiny values
    return out


def preview(args: dict[str, Any]) -> str:
    """Return one short line that tells what the call is about."""
    for key in (*_TELLING, *args):
        value = args.get(key)
        if isinstance(value, str) and value.strip():
            line = value.strip().splitlines()[0]
            return line if len(line) <= 120 else line[:119] + "…"
    return ""


def ok(status: object, result: object) -> bool:
    """Judge a call by its result: hermes says `ok` of a command that ended with 3 (hermes.md §5)."""
    if status not in (None, "", "ok", "success"):
        return False
    found = _object(result)
    if found is None:
        return True
    if found.get("exit_code") not in (None, 0) or found.get("success") is False:
        return False
    if str(found.get("user_response") or "").startswith(UNANSWERED):
        return False
    return not found.get("error") and found.get("status") not in ("blocked", "error", "failed", "timeout")


def output_tail(result: object) -> str:
    """Return the end of what the tool gave back, in at most 2 KiB."""
    found = _object(result)
    if found is not None:
        said = [value for key in _OUTPUT if isinstance(value := found.get(key), str)]
        if said:
            return tail_text(next(filter(None, said), ""))  # a command may have nothing to say
    return tail_text(result if isinstance(result, str) else "" if result is None else str(result))


def _object(result: object) -> dict[str, Any] | None:
    if isinstance(result, dict):
        return result
    if not isinstance(result, str) or not result.lstrip().startswith("{"):
        return None
    try:
        found = json.loads(result)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
