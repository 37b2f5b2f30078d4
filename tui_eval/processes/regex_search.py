"""One search with a regular expression, for a worker process: only the standard library, so that it is there quickly."""

from __future__ import annotations

import re
from typing import Any


def search(argument: dict[str, Any]) -> list[int] | None:
    """``[start, end]`` (characters) of the first match of ``pattern`` with ``flags`` in ``text`` (of the whole text with
    ``full``), None when there is none."""
    compiled = re.compile(argument["pattern"], argument["flags"])
    found = (compiled.fullmatch if argument["full"] else compiled.search)(argument["text"])
    return None if found is None else list(found.span())
