"""What is reported to platforms: which record stands for a request, what was sent, what still waits.

Plain functions over a connection. The queue is not a copy: a finished task that has no row in ``reports`` waits, so a
result can neither be lost between the two nor be queued twice.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tui_eval.domain import Outcome, Score, outcome_of, why_not_passed
from tui_eval.store.encoding import clean, finite, shortened, to_json
from tui_eval.store.faults import explaining
from tui_eval.store.migrations import transaction
from tui_eval.store.opening import open_for_writing, open_read_only
from tui_eval.store.rows import SCORE_COLUMNS, score_record

REPORTED = (Outcome.PASSED, Outcome.FAILED, Outcome.ERROR, Outcome.UNSCORED)
"""Outcomes that are reported: what was cancelled was not carried out."""
_OUTCOMES = ", ".join(f"'{outcome.value}'" for outcome in REPORTED)
# Called in this run. What was taken over, also to be judged again, belongs to the record of the run that called it.
_OURS = (
    "reused_from IS NULL AND (work = 'call' OR EXISTS (SELECT 1 FROM attempts JOIN runs ON runs.id = tasks.run "
    "WHERE attempts.task = tasks.id AND attempts.started_at >= runs.created_at))"
)
_COLUMNS = "id, run, request, platform, settings, record_id, record_name, status, told, started_at, error, evaluation, updated_at"


@dataclass(frozen=True, slots=True)
class PlatformRecord:
    """One request as a platform has it. Times are seconds since the epoch."""

    run: int
    request: int
    platform: str
    settings: dict[str, Any] = field(default_factory=dict)
    id: int = 0
    record_id: str = ""
    record_name: str = ""
    status: str = ""
    told: dict[str, Any] = field(default_factory=dict)
    started_at: float | None = None
    error: str = ""
    evaluation: dict[str, Any] = field(default_factory=dict)
    updated_at: float = 0.0


@dataclass(frozen=True, slots=True)
class ReportCounts:
    """``total`` tasks are (to be) reported; of the ``succeeded`` and ``failed`` ones, which have their answer or error,
    ``sent`` have arrived, ``doubtful`` may have, and ``refused`` ones the platform does not take."""

    total: int = 0
    succeeded: int = 0
    failed: int = 0
    sent: int = 0
    doubtful: int = 0
    refused: int = 0

    @property
    def waiting(self) -> int:
        return self.succeeded + self.failed - self.sent - self.doubtful - self.refused


def _record(row: tuple[Any, ...]) -> PlatformRecord:
    key, run, request, platform, settings, record_id, name, status, told, started, error, evaluation, updated = row
    return PlatformRecord(
        run=run,
        request=request,
        platform=platform,
        settings=json.loads(settings),
        id=key,
        record_id=record_id,
        record_name=name,
        status=status,
        told=json.loads(told),
        started_at=started,
        error=error,
        evaluation=json.loads(evaluation),
        updated_at=updated,
    )


def add(connection: sqlite3.Connection, record: PlatformRecord) -> PlatformRecord:
    """Store a record unless its request has one already; the one that stands there."""
    with transaction(connection):
        connection.execute(
            "INSERT OR IGNORE INTO platform_records (run, request, platform, settings, updated_at) VALUES (?, ?, ?, ?, ?)",
            (record.run, record.request, record.platform, to_json(record.settings), time.time()),
        )
        row = connection.execute(f"SELECT {_COLUMNS} FROM platform_records WHERE request = ?", (record.request,))
        return _record(row.fetchone())


def change(connection: sqlite3.Connection, record: PlatformRecord, **changes: Any) -> PlatformRecord:
    """Store new values of some fields; the record with them."""
    changed = replace(record, **changes, updated_at=time.time())
    columns = {
        name: to_json(value) if isinstance(value, dict) else clean(value) if isinstance(value, str) else value
        for name, value in changes.items()
    }
    columns["updated_at"] = changed.updated_at
    names = ", ".join(f"{name} = ?" for name in columns)
    with transaction(connection):
        connection.execute(f"UPDATE platform_records SET {names} WHERE id = ?", (*columns.values(), record.id))
    return changed


def start_again(connection: sqlite3.Connection, record: PlatformRecord) -> PlatformRecord:
    """Forget the platform's record and what was reported to it: everything goes to a new one."""
    with transaction(connection):
        connection.execute("DELETE FROM reports WHERE record = ?", (record.id,))
    return change(connection, record, record_id="", record_name="", status="", told={}, started_at=None)


def of_run(connection: sqlite3.Connection, run: int, platform: str = "") -> list[PlatformRecord]:
    """The records of a run (with ``platform``: only those of that platform) in the order of its requests."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM platform_records WHERE run = ? AND ? IN ('', platform) "
        "ORDER BY (SELECT position FROM requests WHERE requests.id = request)",
        (run, platform),
    )
    return [_record(row) for row in rows]


def unfinished_runs(connection: sqlite3.Connection, final: Sequence[str], platform: str) -> list[str]:
    """The ids of runs with something left to report to a platform: a record without one of the ``final`` statuses,
    newest first."""
    marks = ", ".join("?" * len(final))
    rows = connection.execute(
        "SELECT run_id FROM runs WHERE id IN "
        f"(SELECT run FROM platform_records WHERE platform = ? AND status NOT IN ({marks})) "
        "ORDER BY created_at DESC, id DESC",
        (platform, *final),
    )
    return [run_id for (run_id,) in rows]


def waiting(connection: sqlite3.Connection, record: PlatformRecord, limit: int) -> list[int]:
    """The keys of the next finished tasks that were not reported, in the order of the request."""
    rows = connection.execute(
        f"SELECT id FROM tasks WHERE request = ? AND {_OURS} AND outcome IN ({_OUTCOMES}) "
        "AND NOT EXISTS (SELECT 1 FROM reports WHERE reports.task = tasks.id) ORDER BY position LIMIT ?",
        (record.request, limit),
    )
    return [task for (task,) in rows]


def doubtful(connection: sqlite3.Connection, record: PlatformRecord) -> list[tuple[int, str, float]]:
    """``(task, state, when it was sent)`` of everything that was sent and whose arrival is not known."""
    return connection.execute(
        "SELECT task, state, at FROM reports WHERE record = ? AND state IN ('sending', 'broken') ORDER BY task",
        (record.id,),
    ).fetchall()


def mark(connection: sqlite3.Connection, record: PlatformRecord, tasks: Iterable[int], state: str | None) -> None:
    """Set the state of reports: ``sending``, ``broken``, ``sent``, ``refused``, or None to queue them again."""
    now = time.time()
    with transaction(connection):
        if state is None:
            connection.executemany("DELETE FROM reports WHERE task = ?", [(task,) for task in tasks])
        else:
            connection.executemany(
                "INSERT INTO reports (task, record, state, at) VALUES (?, ?, ?, ?) "
                "ON CONFLICT (task) DO UPDATE SET state = excluded.state, at = excluded.at",
                [(task, record.id, state, now) for task in tasks],
            )


def counts(connection: sqlite3.Connection, record: PlatformRecord) -> ReportCounts:
    """How far the reporting of a request is, from its tasks and from what was sent of them."""
    total, succeeded, failed = connection.execute(
        "SELECT count(*), "
        "count(*) FILTER (WHERE outcome IN ('passed', 'failed', 'unscored')), count(*) FILTER (WHERE outcome = 'error') "
        f"FROM tasks WHERE request = ? AND {_OURS}",
        (record.request,),
    ).fetchone()
    sent, doubt, refused = connection.execute(
        "SELECT count(*) FILTER (WHERE state = 'sent'), count(*) FILTER (WHERE state IN ('sending', 'broken')), "
        "count(*) FILTER (WHERE state = 'refused') "
        "FROM reports WHERE record = ?",
        (record.id,),
    ).fetchone()
    return ReportCounts(total, succeeded, failed, sent, doubt, refused)


def reported(path: Path, run: int, platform: str = "") -> list[tuple[PlatformRecord, ReportCounts]]:
    """What is known about the records of a run (with ``platform``: of that platform), for people who look at it.
    Raises HistoryError."""
    connection = open_read_only(path)
    if connection is None:
        return []
    with explaining(path), closing(connection):
        return [(record, counts(connection, record)) for record in of_run(connection, run, platform)]


def reported_tasks(connection: sqlite3.Connection, record: PlatformRecord) -> list[tuple[int, str, int, str]]:
    """``(task, case id, repeat, trace id)`` of everything that was reported."""
    return connection.execute(
        "SELECT tasks.id, case_id, repeat, trace_id FROM reports JOIN tasks ON tasks.id = reports.task "
        "WHERE record = ? AND state = 'sent' ORDER BY position",
        (record.id,),
    ).fetchall()


def add_scores(connection: sqlite3.Connection, scores: Sequence[tuple[int, Score]], platform: str) -> int:
    """Store scores that a platform gave to tasks, in place of those it gave before; how many are new or changed.

    Outcome, mean and counters of the tasks follow, as if the scores had been there from the start.
    """
    by_task: dict[int, list[Score]] = {}
    for task, score in scores:
        by_task.setdefault(task, []).append(score)
    changed = 0
    with transaction(connection):
        for task, given in by_task.items():
            changed += _add_scores(connection, task, given, platform)
    return changed


def _add_scores(connection: sqlite3.Connection, task: int, given: list[Score], platform: str) -> int:
    row = connection.execute("SELECT request, outcome FROM tasks WHERE id = ?", (task,)).fetchone()
    if row is None or row[1] not in (Outcome.PASSED, Outcome.FAILED, Outcome.UNSCORED):
        return 0
    query = f"SELECT {SCORE_COLUMNS} FROM scores WHERE task = ? ORDER BY position"
    stored = [score_record(each) for each in connection.execute(query, (task,))]
    own = [score for score in stored if score.detail.get("platform") != platform]
    theirs = [replace(score, detail={**score.detail, "platform": platform}) for score in given]
    if theirs == [score for score in stored if score.detail.get("platform") == platform]:
        return 0
    together = [*own, *theirs]
    _replace_scores(connection, task, together)
    request, before = row
    _judge_by(connection, task, request, before, together)
    return 1


def _replace_scores(connection: sqlite3.Connection, task: int, scores: list[Score]) -> None:
    connection.execute("DELETE FROM scores WHERE task = ?", (task,))
    connection.executemany(
        "INSERT INTO scores VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                task,
                place,
                clean(score.evaluator),
                finite(score.value),
                None if score.passed is None else int(score.passed),
                clean(score.reason),
                clean(score.error),
                to_json(dict(score.detail)),
            )
            for place, score in enumerate(scores)
        ],
    )


def _judge_by(connection: sqlite3.Connection, task: int, request: int, before: str, scores: list[Score]) -> None:
    """Give a task the outcome, the mean and the message that these scores make; count it where it is now."""
    outcome = outcome_of(scores)
    values = [score.value for score in scores if score.value is not None]
    mean = sum(values) / len(values) if values else None
    message = shortened(why_not_passed(outcome, scores), 500)
    connection.execute(
        "UPDATE tasks SET outcome = ?, score = ?, message = ? WHERE id = ?", (outcome.value, mean, message, task)
    )
    if outcome != before:
        connection.execute(
            f"UPDATE requests SET {before} = {before} - 1, {outcome.value} = {outcome.value} + 1 WHERE id = ?",
            (request,),
        )


def read_cache(path: Path, platform: str, key: str) -> tuple[float, Any] | None:
    """``(when, what)`` a platform listed last under ``key``, None when it never did. Raises HistoryError."""
    connection = open_read_only(path)
    if connection is None:
        return None
    with explaining(path), closing(connection):
        row = connection.execute(
            "SELECT at, data FROM platform_cache WHERE platform = ? AND key = ?", (platform, key)
        ).fetchone()
    return None if row is None else (row[0], json.loads(row[1]))


def write_cache(path: Path, platform: str, key: str, data: Any) -> None:
    """Keep what a platform listed. Raises HistoryError."""
    with explaining(path), closing(open_for_writing(path)) as connection, transaction(connection):
        connection.execute(
            "INSERT OR REPLACE INTO platform_cache (platform, key, at, data) VALUES (?, ?, ?, ?)",
            (platform, key, time.time(), to_json(data)),
        )
