"""What AgentLoop had last of a kind, in a few words for the screens of the workspace: ``B AgentLoop 12, 3 h ago``.

Only the history is asked; whoever has never been there sees nothing of it, and nothing more is imported for them.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from tui_eval.errors import HistoryError

_PLATFORM, _PLACE = "agentloop", "place"


def text(history: Path, name: str) -> str:
    """How many of a list (``plans``, ``datasets``, ``evaluators``) are kept, and how old that is; "" for who has never
    looked at the platform. In a thread: reads the history."""
    from tui_eval.store.platform_records import read_cache

    try:
        if read_cache(history, _PLATFORM, _PLACE) is None and not os.environ.get("TUI_EVAL_AGENTLOOP_REGION"):
            return ""
        found = _kept(history, name)
    except HistoryError:
        return ""  # a history that cannot be read is told of by those who need it
    if found is None:
        return "B AgentLoop"
    from tui_eval.tui.projections.agentloop import ago

    at, count = found
    return f"B AgentLoop {count:,}, {ago(time.time() - at)}"


def _kept(history: Path, name: str) -> tuple[float, int] | None:
    from tui_eval.store.platform_records import read_cache
    from tui_eval.tui.agentloop_reading import first_where

    where = first_where(history, os.environ)
    if where.place is None or not where.space:
        return None
    found = read_cache(history, _PLATFORM, where.options().kept_under(name))
    return None if found is None or not isinstance(found[1], list) else (found[0], len(found[1]))
