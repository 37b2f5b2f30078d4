"""The tasks of a request that wait for their turn, with their cases: what a runner takes up next."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tui_eval.domain import JsonValue
from tui_eval.errors import HistoryError
from tui_eval.store.encoding import PLAIN, unpack
from tui_eval.store.records import AttemptPayload

PAGE_BYTES = 8_000_000
"""How much of stored cases one page has at most (it has one task at least): it is in memory as a whole."""


@dataclass(slots=True)
class QueuedTask:
    """A task that waits for its turn, with its case. ``attempts`` counts those made already. ``answer`` and ``latency``
    are there when its work is ``score``: the stored attempt that is to be judged again."""

    id: int
    position: int
    case_id: str
    repeat: int
    line: int
    work: str
    attempts: int
    case_input: dict[str, JsonValue]
    answer: AttemptPayload | None = None
    latency: float | None = None


# One row for the page: every row of a result is a step, and every step gives the interpreter lock away (see ``bulk``).
QUEUED_PAGE = f"""
SELECT json_group_array(json_array(id, position, case_id, repeat, line, work, attempts, codec, data)) FROM (
    SELECT *, sum(size) OVER (ORDER BY position ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM (
        SELECT tasks.id, position, tasks.case_id, repeat, line, work, attempts, codec, length(data) AS size,
            iif(codec = {PLAIN}, CAST(data AS TEXT), hex(data)) AS data
        FROM tasks LEFT JOIN cases ON cases.id = case_key
        WHERE request = ? AND outcome = 'queued' AND position > ? ORDER BY position LIMIT ?))
WHERE before IS NULL OR before < {PAGE_BYTES}
"""


def queued_tasks(page: str, path: Path) -> list[QueuedTask]:
    """The tasks of a page in their order. Raises HistoryError for a task whose case is gone, and what ``unpack`` does."""
    rows: list[list[Any]] = json.loads(page)
    rows.sort(key=lambda row: row[1])
    tasks = []
    for id_, position, case_id, repeat, line, work, attempts, codec, data in rows:
        if codec is None:
            raise HistoryError(f"{path}: the case of `{case_id}` is not in the history")
        columns = json.loads(data) if codec == PLAIN else unpack(codec, bytes.fromhex(data))
        tasks.append(QueuedTask(id_, position, case_id, repeat, line, work, attempts, columns))
    return tasks
