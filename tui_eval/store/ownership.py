"""Who may write a run, and what the one who takes it up finds: plain functions on an open connection."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from tui_eval.errors import HistoryError, UsageError
from tui_eval.store.liveness import Runner, machine, pid_start, runner_is_alive
from tui_eval.store.migrations import transaction
from tui_eval.store.planning import RECOUNT
from tui_eval.store.records import Command, Counters, RunRecord, RunState
from tui_eval.store.rows import COUNTERS, RUN_COLUMNS, command_record, run_record


def adopt(connection: sqlite3.Connection, run_id: str, runner: Runner, now: float) -> RunRecord:
    """Make ``runner`` the owner of a run, unless another one is alive. All in one transaction: one of two wins."""
    with transaction(connection):
        row = connection.execute(f"SELECT plan, {RUN_COLUMNS} FROM runs WHERE run_id = ?", (run_id,)).fetchone()
        if row is None:
            raise UsageError(f"there is no run {run_id} in the history")
        run = run_record(row[1:], row[0])
        if run.state.live and runner_is_alive(run, now, runner.host, pid_start, machine()):
            raise HistoryError(
                f"run {run_id} is being executed by process {run.pid} on {run.host or 'an unknown host'}: "
                f"watch it, or cancel it first"
            )
        run.host, run.pid, run.pid_started = runner.host, runner.pid, runner.pid_started
        run.heartbeat_at, run.state, run.finished_at, run.error = now, RunState.RUNNING, None, ""
        connection.execute(
            "UPDATE runs SET host = ?, pid = ?, pid_started = ?, heartbeat_at = ?, state = ?, finished_at = NULL, "
            "error = '' WHERE id = ?",
            (run.host, run.pid, run.pid_started, now, run.state.value, run.id),
        )
        connection.execute("DELETE FROM activity WHERE run = ?", (run.id,))
        connection.execute(
            "UPDATE commands SET taken_at = ?, answer = 'the runner was gone' WHERE run = ? AND taken_at IS NULL",
            (now, run.id),
        )
        connection.execute(RECOUNT, (run.id,))
    return run


def recount(connection: sqlite3.Connection, run: int) -> dict[int, Counters]:
    """Count the tasks of a run anew; the counters by request."""
    with transaction(connection):
        connection.execute(RECOUNT, (run,))
    return counters_of_run(connection, run)


def counters_of_run(connection: sqlite3.Connection, run: int) -> dict[int, Counters]:
    rows = connection.execute(f"SELECT id, {', '.join(COUNTERS)} FROM requests WHERE run = ?", (run,))
    return {row[0]: Counters(*row[1:]) for row in rows}


def counters_of(connection: sqlite3.Connection, request: int) -> Counters:
    row = connection.execute(f"SELECT {', '.join(COUNTERS)} FROM requests WHERE id = ?", (request,)).fetchone()
    return Counters(*row)


def requeue(connection: sqlite3.Connection, run: int, outcomes: Sequence[str]) -> int:
    """Put tasks with these outcomes back into the queue, attempts kept, scores dropped; how many."""
    marks = ", ".join("?" * len(outcomes))
    chosen = f"outcome IN ({marks}) AND reused_from IS NULL AND request IN (SELECT id FROM requests WHERE run = ?)"
    with transaction(connection):
        connection.execute(f"DELETE FROM scores WHERE task IN (SELECT id FROM tasks WHERE {chosen})", (*outcomes, run))
        return connection.execute(
            "UPDATE tasks SET outcome = 'queued', started_at = NULL, finished_at = NULL, score = NULL, "
            f"error_kind = '', message = '' WHERE {chosen}",
            (*outcomes, run),
        ).rowcount


def requeue_unscored(connection: sqlite3.Connection, run: int) -> int:
    """Queue the tasks that have an answer but no verdict because an evaluator could not decide, to be judged again
    without a call; how many."""
    chosen = (
        "outcome = 'unscored' AND request IN (SELECT id FROM requests WHERE run = ?) "
        "AND EXISTS (SELECT 1 FROM scores WHERE scores.task = tasks.id AND scores.error <> '') "
        "AND EXISTS (SELECT 1 FROM attempts WHERE attempts.task = tasks.id AND attempts.error_kind = '' "
        "AND attempts.payload IS NOT NULL)"
    )
    with transaction(connection):
        changed = connection.execute(
            "UPDATE tasks SET outcome = 'queued', work = 'score', reused_from = NULL, started_at = NULL, "
            f"finished_at = NULL, score = NULL, error_kind = '', message = '' WHERE {chosen}",
            (run,),
        ).rowcount
        connection.execute(
            "DELETE FROM scores WHERE task IN (SELECT id FROM tasks WHERE outcome = 'queued' AND work = 'score' "
            "AND request IN (SELECT id FROM requests WHERE run = ?))",
            (run,),
        )
        return changed


def open_commands(connection: sqlite3.Connection, run: int) -> list[Command]:
    rows = connection.execute(
        "SELECT id, kind, arguments, given_by, given_at FROM commands WHERE run = ? AND taken_at IS NULL ORDER BY id",
        (run,),
    )
    return [command_record(row) for row in rows]
