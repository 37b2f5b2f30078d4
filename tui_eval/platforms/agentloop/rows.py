"""The rows of an experiment plan, all of them or an error: never a part that looks like the whole (contract, section 4)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tui_eval.errors import PlatformError
from tui_eval.platforms.agentloop.client import AgentLoop
from tui_eval.platforms.agentloop.nouns import PlatformPlan

PAGE = 100
"""Rows in one query: without a LIMIT the log service gives no more, whatever is there."""
_WHOLE_QUERY = re.compile(r"\s*(?:[^|]*\|)?\s*(select\b.*)", re.IGNORECASE | re.DOTALL)
_WHERE = re.compile(r"\s*where\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Loaded:
    """Rows of a dataset. ``there`` is how many the plan means (None: not known); there may be more than ``rows``."""

    rows: list[dict[str, Any]]
    there: int | None
    more: bool = False


async def load_rows(client: AgentLoop, plan: PlatformPlan, *, query: str = "", most: int = 1000) -> Loaded:
    """The rows that ``plan`` selects, at most ``most``. Raises PlatformError when some of them cannot be had.

    By id when the plan selects rows, else by its condition (or ``query`` in its place), else all.
    """
    if plan.selected_ids and not query:
        return await _selected(client, plan, most)
    source = _source(plan.dataset, query or plan.query_sql)
    rows: list[dict[str, Any]] = []
    while len(rows) < most:
        wanted = min(PAGE, most - len(rows))
        page = await client.query(plan.dataset, f"* | select * from {source} ORDER BY id LIMIT {len(rows)}, {wanted}")
        rows += page[:wanted]
        if not page:
            return Loaded(rows, len(rows))
    rest = await client.query(plan.dataset, f"* | select * from {source} ORDER BY id LIMIT {len(rows)}, 1")
    if not rest:
        return Loaded(rows, len(rows))
    return Loaded(rows, await _count(client, plan.dataset, source), more=True)


async def preview_rows(client: AgentLoop, dataset: str, count: int) -> list[dict[str, Any]]:
    """The first rows of a dataset."""
    return await client.query(dataset, f"* | select * from {quoted(dataset)} ORDER BY id LIMIT 0, {min(count, PAGE)}")


async def _selected(client: AgentLoop, plan: PlatformPlan, most: int) -> Loaded:
    ids = list(dict.fromkeys(plan.selected_ids))
    taken = ids[:most]
    rows: list[dict[str, Any]] = []
    for start in range(0, len(taken), PAGE):
        part = taken[start : start + PAGE]
        listed = ",".join(text_literal(one) for one in part)
        condition = f"{quoted(plan.dataset)} WHERE id IN ({listed})"
        found: list[dict[str, Any]] = []
        while page := await client.query(
            plan.dataset, f"* | select * from {condition} ORDER BY id LIMIT {len(found)}, {PAGE}"
        ):
            found += page
            if len(found) >= len(part):
                break
        rows += found
    there = {str(row.get("id")) for row in rows}
    missing = [one for one in taken if one not in there]
    if missing:
        shown = ", ".join(missing[:5]) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
        raise PlatformError(
            f"{len(missing)} of the {len(taken)} rows that the plan selects are not in the dataset {plan.dataset}: {shown}"
        )
    return Loaded(rows, len(ids), more=len(ids) > len(taken))


async def _count(client: AgentLoop, dataset: str, source: str) -> int | None:
    """How many rows there are, None when the platform does not say."""
    try:
        found = await client.query(dataset, f"* | select count(*) as total from {source} LIMIT 0, 1")
    except PlatformError:
        return None
    values: Sequence[Any] = list(found[0].values()) if len(found) == 1 else ()
    try:
        return int(values[0]) if len(values) == 1 else None
    except (TypeError, ValueError):
        return None


def _source(dataset: str, condition: str) -> str:
    """What stands after ``from``: the dataset, under a condition; a whole query as a table of its own."""
    condition = condition.strip().rstrip(";").strip()
    if not condition:
        return quoted(dataset)
    whole = _WHOLE_QUERY.fullmatch(condition)
    if whole:
        return f"({whole[1]})"
    return f"{quoted(dataset)} WHERE ({_WHERE.sub('', condition).strip()})"


def quoted(name: str) -> str:
    """A dataset's name in a query. Raises PlatformError for one that could end the quotes."""
    if "`" in name or "\\" in name or not name.isprintable():
        raise PlatformError(f"`{name[:60]!r}` cannot be the name of a dataset")
    return f"`{name}`"


def text_literal(text: str) -> str:
    """A text in a query; a quote in it is doubled."""
    return "'" + text.replace("'", "''") + "'"
