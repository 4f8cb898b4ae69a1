"""Scheduled jobs: how people call the one that speaks, which is the title of its notification."""

from __future__ import annotations

import re

from . import hermes

_WRAPPED = re.compile(r"\s*Cronjob Response: (.+)\n\(job_id: \w+\)$", re.MULTILINE)


def name_of(text: str, job_id: str = "") -> str:
    """Return the name of the job that says text: hermes writes it above the answer unless
    `cron.wrap_response` is off. Then its store knows it, by the id; "" when neither is there.
    """
    found = _WRAPPED.match(text)
    return found[1].strip() if found else hermes.job_name(job_id) or job_id
