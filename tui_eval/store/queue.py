"""The tasks of a request that wait for their turn, with their cases: what a runner takes up next."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tui_eval.domain import JsonValue
from tui_eval.errors import HistoryError
from tui_eval.store.encoding import PLAIN, unpacked
from tui_eval.store.records import AttemptPayload

PAGE_BYTES = 8_000_000
"""How much of cases as they are stored one page has (it has one task at least): it is in memory as a whole."""
READ_BYTES = 4 * PAGE_BYTES
"""The same for the text of the cases: one that was compressed may be a thousand times longer."""


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
# Only the length of a case is read until it is known which are in the page (SQLite finds it without the text), and the
# text of a case once, however many of its repeats are there.
QUEUED_PAGE = f"""
SELECT json_group_array(json_array(page.id, position, page.case_id, repeat, line, work, attempts, case_key, codec,
    CASE WHEN once THEN iif(codec = {PLAIN}, CAST(data AS TEXT), hex(data)) END))
FROM (
    SELECT *, sum(once * size) OVER (ORDER BY position ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM (
        SELECT *, row_number() OVER (PARTITION BY case_key ORDER BY position) = 1 AS once FROM (
            SELECT tasks.id, position, tasks.case_id, repeat, line, work, attempts, case_key, length(data) AS size
            FROM tasks LEFT JOIN cases ON cases.id = case_key
            WHERE request = ? AND outcome = 'queued' AND position > ? ORDER BY position LIMIT ?))) AS page
LEFT JOIN cases ON cases.id = case_key
WHERE before IS NULL OR before < {PAGE_BYTES}
"""


def queued_tasks(page: str, path: Path) -> list[QueuedTask]:
    """The tasks of a page in their order; repeats share the columns of their case. What is compressed may be much longer
    than it is stored: the page ends early for that. Raises HistoryError for a task whose case is gone, and what
    ``unpack`` does."""
    rows: list[list[Any]] = json.loads(page)
    rows.sort(key=lambda row: row[1])
    tasks: list[QueuedTask] = []
    cases: dict[int, dict[str, JsonValue]] = {}
    weight = 0
    for id_, position, case_id, repeat, line, work, attempts, case_key, codec, data in rows:
        if codec is None:
            raise HistoryError(f"{path}: the case of `{case_id}` is not in the history")
        if case_key not in cases:
            if weight >= READ_BYTES:
                break
            text = data if codec == PLAIN else unpacked(codec, bytes.fromhex(data))
            weight += len(text)
            cases[case_key] = json.loads(text)
        tasks.append(QueuedTask(id_, position, case_id, repeat, line, work, attempts, cases[case_key]))
    return tasks
