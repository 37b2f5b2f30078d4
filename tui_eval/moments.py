"""Days and times as people type them where runs are looked for: ``today``, ``7d``, ``2026-11-29``, ``2026-11-29T09:30``."""

from __future__ import annotations

from datetime import datetime, timedelta

EXPECTED = "2026-11-29, 2026-11-29T09:30, today, yesterday, or 7d for so many days ago"


def moment(text: str, now: datetime, *, end_of_day: bool = False) -> float:
    """Seconds since the epoch; of a day the first moment, with ``end_of_day`` the one after its last. Times without a
    zone are local ones. Raises ValueError for what is neither."""
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if text in ("today", "yesterday"):
        day = midnight - timedelta(days=text == "yesterday")
    elif text[-1:] == "d" and text[:-1].isascii() and text[:-1].isdigit() and len(text) < 7:
        day = midnight - timedelta(days=min(int(text[:-1]), 36500))
    else:
        try:
            day = datetime.fromisoformat(text).astimezone(now.tzinfo)
            if len(text) > 10:  # with a time of day
                return day.timestamp()
        except (OverflowError, OSError) as error:
            raise ValueError(text) from error
    return (day + timedelta(days=end_of_day)).timestamp()
