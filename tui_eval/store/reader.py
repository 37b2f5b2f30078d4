"""Reading the history: read-only, next to a live writer, by screens, reports and the scheduler of a resumed run."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType

from tui_eval.domain import JsonValue, Outcome, Score
from tui_eval.errors import HistoryError, TaskGone
from tui_eval.store import run_queries, task_pages, task_search
from tui_eval.store.encoding import unpack
from tui_eval.store.faults import explaining
from tui_eval.store.queue import QUEUED_PAGE, QueuedTask, queued_tasks
from tui_eval.store.read_connection import ReadConnection
from tui_eval.store.records import (
    Activity,
    AttemptPayload,
    AttemptRecord,
    LogLine,
    RequestRecord,
    RunRecord,
    RunState,
    TaskRecord,
)
from tui_eval.store.rows import (
    ATTEMPT_COLUMNS,
    REQUEST_COLUMNS,
    SCORE_COLUMNS,
    TASK_COLUMNS,
    attempt_record,
    log_line,
    payload_record,
    request_record,
    score_record,
    task_record,
)
from tui_eval.store.run_queries import FailureRow, GivenCommand, RunOverview, TaskValue
from tui_eval.store.task_pages import Keyset
from tui_eval.store.task_search import Sought

__all__ = ["FailureRow", "GivenCommand", "History", "Keyset", "QueuedTask", "RunOverview", "Sought", "TaskValue"]

_PAGE = 1000  # tasks at a time in :meth:`History.iter_tasks`


class History:
    """The history as a reader sees it. Every method raises HistoryError when the file turns out to be damaged.

    Where there is no history yet it is simply empty, until :meth:`changed` finds one. A ``run`` is given as its
    record or its key (``RunRecord.id``).
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = ReadConnection(path)

    def __enter__(self) -> History:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()

    def changed(self) -> bool:
        """Whether anything was committed by others since the last call (0.2 ms); True the first time.

        Also finds a history that was made, replaced or moved here since.
        """
        return self._file.changed()

    def snapshot(self) -> AbstractContextManager[None]:
        """Inside, everything is read as of one moment (for exports: rows and counters agree)."""
        return self._file.snapshot()

    # -- runs --

    def runs(
        self,
        *,
        limit: int = 50,
        before: tuple[float, int] | None = None,
        name: str | None = None,
        tag: str | None = None,
        state: RunState | None = None,
        since: float | None = None,
        until: float | None = None,
    ) -> list[RunOverview]:
        """Runs with their counters summed, newest first. ``before``: ``(created_at, id)`` of the last one shown.

        ``name`` is a part of the name in any case, ``state`` the effective one (a dead runner's run is interrupted),
        ``since`` and ``until`` are seconds since the epoch, the latter not included. Plans are not read: empty here.
        """
        wanted = run_queries.Wanted(name, tag, state, since, until)
        with explaining(self.path):
            return run_queries.overviews(self._file.sqlite, wanted, limit, before)

    def run(self, run_id: str) -> RunRecord:
        """A run by id, by a beginning of it that only one run has, or ``last``. Raises UsageError otherwise."""
        with explaining(self.path):
            return run_queries.find(self._file.sqlite, run_id)

    def children(self, run_id: str) -> list[RunRecord]:
        """The runs that took up this one, oldest first (plans empty)."""
        with explaining(self.path):
            return run_queries.children(self._file.sqlite, run_id)

    def requests(self, run: RunRecord | int) -> list[RequestRecord]:
        """The requests of a run in the order of the plan, with their counters."""
        sql = f"SELECT {REQUEST_COLUMNS} FROM requests WHERE run = ? ORDER BY position"
        with explaining(self.path):
            return [request_record(row) for row in self._file.rows(sql, _key(run))]

    def activity(self, run: RunRecord | int) -> list[Activity]:
        """What the running tasks were doing at the last batch, longest first."""
        sql = "SELECT task, phase, since, attempt, until, detail FROM activity WHERE run = ? ORDER BY since, task"
        return [Activity(*row) for row in self._file.rows(sql, _key(run))]

    def log(self, run: RunRecord | int, after_id: int = 0, limit: int = 1000) -> list[LogLine]:
        """Lines of the run's log after the one with this id, oldest first."""
        sql = "SELECT id, at, level, request, message FROM log WHERE run = ? AND id > ? ORDER BY id LIMIT ?"
        return [log_line(row) for row in self._file.rows(sql, _key(run), after_id, limit)]

    def commands(self, run: RunRecord | int) -> list[GivenCommand]:
        """Everything viewers asked of a run, oldest first, with what became of it."""
        with explaining(self.path):
            return run_queries.commands(self._file.sqlite, _key(run))

    def failures(self, run: RunRecord | int) -> list[FailureRow]:
        """What is not passed (failed, error, unscored), one row for each request, outcome, kind and exact message."""
        with explaining(self.path):
            return run_queries.failures(self._file.sqlite, _key(run))

    def task_values(self, run: RunRecord | int) -> Iterator[TaskValue]:
        """The figures of every task, for percentiles and repeats; streamed in the order of the plan."""
        for row in self._file.stream(run_queries.TASK_VALUES, _key(run)):
            with explaining(self.path):
                value = run_queries.task_value(row)
            yield value

    def score_values(self, run: RunRecord | int) -> Iterator[tuple[int, str, float | None, bool | None, bool]]:
        """``(request, evaluator, value, passed, could not decide)`` of every score of a run; streamed."""
        for request, evaluator, value, passed, undecided in self._file.stream(run_queries.SCORE_VALUES, _key(run)):
            yield request, evaluator, value, None if passed is None else bool(passed), bool(undecided)

    def timings(
        self, run: RunRecord | int, step: int = 1, since: float = float("inf")
    ) -> list[tuple[int, bool, float | None, float | None]]:
        """``(request, is of the sample, latency, finished at)`` of every ``step``-th finished task, which is the sample,
        and of all that finished ``since``. The latency is there only for answers of this run."""
        return self._file.rows(run_queries.TIMINGS, _key(run), step, since)

    def size_of(self, run: RunRecord | int) -> int:
        """About how many bytes of the history a run takes (what it shares with other runs is counted in full)."""
        with explaining(self.path):
            return run_queries.size(self._file.sqlite, _key(run))

    # -- tasks --

    def tasks(
        self,
        run: RunRecord | int,
        *,
        request: int | str | None = None,
        outcomes: Iterable[Outcome] | None = None,
        text: str | None = None,
        sort: str = "position",
        descending: bool = False,
        limit: int = 200,
        after: Keyset | None = None,
    ) -> list[TaskRecord]:
        """A page of tasks, of one request by key or name or of all. ``after`` is :func:`~tui_eval.store.task_pages.keyset` of the last one shown.

        ``text`` is looked for in case id, message, output and trace id, in any case (ASCII). ``sort`` is one of
        :data:`~tui_eval.store.task_pages.SORTS`; where a task has no such value it comes last either way. A queued
        task that is being worked on is ``running``.
        """
        wanted = task_pages.Wanted(
            _key(run),
            self._request(run, request),
            None if outcomes is None else frozenset(outcomes),
            text,
            sort,
            descending,
        )
        with explaining(self.path):
            return task_pages.page(self._file.sqlite, wanted, limit, after)

    def iter_tasks(
        self,
        run: RunRecord | int,
        *,
        request: int | str | None = None,
        outcomes: Iterable[Outcome] | None = None,
        text: str | None = None,
    ) -> Iterator[TaskRecord]:
        """All such tasks in the order of the plan, a thousand in memory at a time."""
        chosen = None if outcomes is None else frozenset(outcomes)
        after: Keyset | None = None
        while page := self.tasks(run, request=request, outcomes=chosen, text=text, limit=_PAGE, after=after):
            yield from page
            after = task_pages.keyset(page[-1], "position")

    def task(self, task_id: int) -> TaskRecord:
        """One task by its key. Raises TaskGone when it is not there."""
        rows = self._file.rows(f"SELECT {TASK_COLUMNS} FROM tasks WHERE id = ?", task_id)
        if not rows:
            raise TaskGone(f"{self.path}: task {task_id} is not in the history (was its run deleted?)")
        with explaining(self.path):
            return task_record(rows[0])

    def task_keys(
        self,
        run: RunRecord | int,
        *,
        request: int | None = None,
        outcomes: Iterable[Outcome] | None = None,
        text: str | None = None,
        sort: str = "position",
        descending: bool = False,
        sought: Sought | None = None,
    ) -> array[int]:
        """The keys of all such tasks, in the order of :meth:`tasks`: for lists that are entered at any place.

        With ``sought`` the tasks are scanned for what it says, whole outputs too.
        """
        wanted = task_pages.Wanted(
            _key(run), request, None if outcomes is None else frozenset(outcomes), text, sort, descending
        )
        with explaining(self.path):
            if sought is not None:
                return task_search.keys(self._file.sqlite, wanted, sought)
            return task_pages.keys(self._file.sqlite, wanted)

    def task_texts(self, run: RunRecord | int, keys: Sequence[int] | None = None) -> Iterator[tuple[int, str]]:
        """``(key, text)`` of each task of a run, or of those named: case, message, the whole output, what a filter looks
        through. Read in pages while it is iterated."""
        with explaining(self.path):
            if keys is None:
                yield from task_search.texts(self._file.sqlite, _key(run))
            else:
                yield from task_search.texts_of(self._file.sqlite, keys)

    def tasks_of(self, keys: Iterable[int]) -> dict[int, TaskRecord]:
        """Several tasks by key; one that is gone is left out."""
        rows = self._file.many(f"SELECT {TASK_COLUMNS} FROM tasks WHERE id IN ({{}})", keys)
        with explaining(self.path):
            return {row[0]: task_record(row) for row in rows}

    def find_task(self, run: RunRecord | int, request_name: str, case_id: str, repeat: int = 0) -> TaskRecord | None:
        """One task by what a user calls it, None when there is none."""
        sql = (
            f"SELECT {TASK_COLUMNS} FROM requests JOIN tasks ON tasks.request = requests.id "
            "WHERE requests.run = ? AND requests.name = ? AND tasks.case_id = ? AND tasks.repeat = ?"
        )
        rows = self._file.rows(sql, _key(run), request_name, case_id, repeat)
        with explaining(self.path):
            return task_record(rows[0]) if rows else None

    def queued(self, request: int, after_position: int = -1, limit: int = 500) -> list[QueuedTask]:
        """The next tasks of a request that wait, in order, with their cases (and answers that wait to be judged)."""
        ((page,),) = self._file.rows(QUEUED_PAGE, request, after_position, limit)
        with explaining(self.path):
            tasks = queued_tasks(page, self.path)
        for task in tasks:
            if task.work == "score":
                task.answer = self.answer_of(task.id)
                ((task.latency,),) = self._file.rows("SELECT latency FROM tasks WHERE id = ?", task.id)
        return tasks

    def answered(self, request: RequestRecord | int) -> set[int]:
        """The keys of the tasks of a request that have an answer, whatever came of it."""
        sql = (
            "SELECT DISTINCT tasks.id FROM tasks CROSS JOIN attempts ON attempts.task = tasks.id "
            "WHERE tasks.request = ? AND attempts.error_kind = '' AND attempts.payload IS NOT NULL"
        )
        return {task for (task,) in self._file.rows(sql, _key(request))}

    def case(self, case_key: int) -> dict[str, JsonValue]:
        """The columns of a case. Raises HistoryError when it is gone."""
        return self.cases_of([case_key])[case_key]

    def cases_of(self, keys: Iterable[int]) -> dict[int, dict[str, JsonValue]]:
        """The columns of several cases by key. Raises HistoryError when one of them is gone."""
        wanted = set(keys)
        rows = self._file.many("SELECT id, codec, data FROM cases WHERE id IN ({})", wanted)
        with explaining(self.path):
            found = {key: unpack(codec, data) for key, codec, data in rows}
        for missing in wanted.difference(found):
            raise HistoryError(f"{self.path}: case {missing} is not in the history (was its run deleted?)")
        return found

    # -- attempts and scores --

    def attempts(self, task_id: int, payloads: bool = False) -> list[AttemptRecord]:
        """The attempts of a task in the order made, with what was sent and received if asked."""
        return self.attempts_of([task_id], payloads).get(task_id, [])

    def attempts_of(self, task_ids: Iterable[int], payloads: bool = False) -> dict[int, list[AttemptRecord]]:
        """The attempts of several tasks by task; a task without any is left out."""
        extra, join = "NULL, NULL", ""
        if payloads:
            extra, join = "payloads.codec, payloads.data", " LEFT JOIN payloads ON payloads.id = attempts.payload"
        sql = f"SELECT {extra}, {ATTEMPT_COLUMNS} FROM attempts{join} WHERE task IN ({{}}) ORDER BY task, number"
        found: dict[int, list[AttemptRecord]] = {}
        with explaining(self.path):
            for codec, data, *row in self._file.many(sql, task_ids):
                payload = None if data is None else payload_record(codec, data)
                found.setdefault(row[1], []).append(attempt_record(tuple(row), payload))
        return found

    def payload(self, attempt_id: int) -> AttemptPayload | None:
        """What was sent and received in an attempt, None when nothing was kept."""
        sql = "SELECT codec, data FROM attempts JOIN payloads ON payloads.id = attempts.payload WHERE attempts.id = ?"
        return self._payload(sql, attempt_id)

    def answer_of(self, task_id: int) -> AttemptPayload | None:
        """The last attempt of a task that gave an answer, None when none did."""
        sql = (
            "SELECT codec, data FROM attempts JOIN payloads ON payloads.id = attempts.payload "
            "WHERE attempts.task = ? AND attempts.error_kind = '' ORDER BY number DESC LIMIT 1"
        )
        return self._payload(sql, task_id)

    def scores(self, task_id: int) -> list[Score]:
        """The scores of a task in the order of the plan."""
        return self.scores_of([task_id]).get(task_id, [])

    def scores_of(self, task_ids: Iterable[int]) -> dict[int, list[Score]]:
        """The scores of several tasks by task; a task without any is left out."""
        sql = f"SELECT {SCORE_COLUMNS} FROM scores WHERE task IN ({{}}) ORDER BY task, position"
        found: dict[int, list[Score]] = {}
        with explaining(self.path):
            for row in self._file.many(sql, task_ids):
                found.setdefault(row[0], []).append(score_record(row))
        return found

    # -- within --

    def _request(self, run: RunRecord | int, request: int | str | None) -> int | None:
        """The key of a request given by key or name; -1, which no request has, for an unknown name."""
        if not isinstance(request, str):
            return request
        rows = self._file.rows("SELECT id FROM requests WHERE run = ? AND name = ?", _key(run), request)
        return rows[0][0] if rows else -1

    def _payload(self, sql: str, key: int) -> AttemptPayload | None:
        rows = self._file.rows(sql, key)
        with explaining(self.path):
            return payload_record(*rows[0]) if rows else None


def _key(record: RunRecord | RequestRecord | int) -> int:
    return record if isinstance(record, int) else record.id
