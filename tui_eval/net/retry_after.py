"""The wait a server asks for: ``Retry-After`` (RFC 9110, section 10.2.3) and the ``retry-after-ms`` of model servers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

LONGEST = 1e10  # seconds; what is above it (three hundred years) is all the same to us
_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?", re.ASCII)
_DATE = re.compile(r"[A-Za-z]{3,9},? .*[0-9]{2}:[0-9]{2}:[0-9]{2}.*", re.ASCII)


def retry_after(value: str, now: datetime) -> float | None:
    """Seconds from 0 to :data:`LONGEST` that ``value`` asks for; ``now`` is an aware time.

    A number may have a fraction. A date in the past, a negative number and anything that cannot be read ask for
    nothing (None): the caller waits as it would without the header.
    """
    text = value.strip()
    if len(text) > 100:
        return None
    if _NUMBER.fullmatch(text):
        return min(float(text), LONGEST)
    if not _DATE.fullmatch(text):
        return None
    try:
        when = parsedate_to_datetime(text)
        when = when.replace(tzinfo=UTC) if when.tzinfo is None else when
        seconds = (when - now).total_seconds()
    except (ValueError, OverflowError, TypeError, IndexError):
        return None
    return min(seconds, LONGEST) if seconds > 0 else None


def wait_asked_for(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds that response headers (lower-case names) ask to wait, None when they name no usable time."""
    milliseconds = headers.get("retry-after-ms")
    if milliseconds is not None and len(milliseconds) < 100 and _NUMBER.fullmatch(milliseconds.strip()):
        return min(float(milliseconds) / 1000, LONGEST)
    value = headers.get("retry-after")
    return None if value is None else retry_after(value, now or datetime.now(UTC))
