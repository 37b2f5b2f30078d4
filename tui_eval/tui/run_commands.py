"""What a user asks of runs: cancel, pause, run again, finish, export. Coroutines for workers of a screen.

A live run is only ever spoken to through the history's box of commands; new runs are runners of their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from tui_eval.errors import TuiEvalError
from tui_eval.store.records import Counters, RunRecord
from tui_eval.tui.projections.reruns import Rerun, rerun_cases, reruns
from tui_eval.tui.screens.dialogs import Choose, Confirm, Option, Prompt
from tui_eval.tui.variables import ask_missing

if TYPE_CHECKING:
    from tui_eval.jobs import Job
    from tui_eval.store.reader import History
    from tui_eval.tui.application import TuiEvalApp

ANSWER_SECONDS = 4.0


async def command(app: TuiEvalApp, run: RunRecord, kind: str, arguments: Mapping[str, Any]) -> None:
    """Put a command into the box and say what the runner answered."""
    from tui_eval.store.command_box import give, person, wait_taken

    path = app.history.path
    app.type_ahead.asks_no_more()
    try:
        key = await app.history.call(partial(give, path, run.run_id, kind, arguments, person()))
        answer = await app.history.call(partial(wait_taken, path, key, ANSWER_SECONDS))
    except TuiEvalError as error:
        app.notify(str(error), severity="error", timeout=8)
        return
    if answer is None:
        app.notify("The runner has not answered yet; it may still.", severity="warning")
    else:
        app.notify(answer)


async def cancel_run(app: TuiEvalApp, run: RunRecord) -> None:
    """Ask how, then cancel the run."""
    options = [
        Option("drain", "Let running tasks finish", "nothing new is started"),
        Option("now", "Stop at once", "running tasks are cancelled"),
    ]
    text = "What is finished is kept; the run can be finished later with C."
    how = await app.push_screen_wait(Choose(f"Cancel run {run.run_id}", options, text=text))
    if how is not None:
        await command(app, run, "cancel_run", {"drain": how == "drain"})


async def change_concurrency(app: TuiEvalApp, run: RunRecord) -> None:
    """Ask for another number of tasks at once."""

    def check(text: str) -> str:
        valid = text.isascii() and text.isdigit() and len(text) < 5 and 1 <= int(text) <= 4096
        return "" if valid else "a whole number from 1 to 4096"

    text = await app.push_screen_wait(Prompt("Tasks in flight at once", str(run.task_concurrency), check=check))
    if text is not None and int(text) != run.task_concurrency:
        await command(app, run, "set_concurrency", {"value": int(text)})


async def choose_rerun(app: TuiEvalApp, run: RunRecord, total: Counters) -> str | None:
    """Ask what to run again, confirm with the number of calls, start; the new run's id."""
    choices = {each.name: each for each in reruns(total)}
    options = [Option(each.name, each.label, each.note) for each in choices.values()]
    name = await app.push_screen_wait(Choose(f"Run again which tasks of {run.run_id}?", options))
    return None if name is None else await _confirm_and_start(app, run, choices[name])


async def rerun_tasks(app: TuiEvalApp, run: RunRecord, total: Counters, tasks: list[int]) -> str | None:
    """Run the cases of these tasks again, after a confirmation; the new run's id."""
    try:
        case_ids, chosen = await app.history.read(partial(_cases, run=run.id, tasks=tasks))
    except TuiEvalError as error:
        app.notify(str(error), severity="error")
        return None
    return await _confirm_and_start(app, run, rerun_cases(total, case_ids, chosen))


async def _confirm_and_start(app: TuiEvalApp, run: RunRecord, rerun: Rerun) -> str | None:
    from tui_eval.runner import Job, new_run_id

    lines = ["A new run takes everything else over from this one, which is left as it is."]
    if rerun.beside:
        lines.append(rerun.beside)
    if rerun.judged:
        lines.append(f"{rerun.judged:,} answers are judged anew without a call.")
    title = f"Run again: {rerun.label}?"
    if not await app.push_screen_wait(Confirm(title, lines, yes="Start", calls=rerun.calls)):
        return None
    typed = await ask_missing(app, run, "re-run") if rerun.calls or rerun.judged else {}
    if typed is None:
        return None
    job = Job("rerun", str(app.history.path), new_run_id(), parent=run.run_id, selection=rerun.selection)
    return await start(app, job, typed)


async def continue_run(app: TuiEvalApp, run: RunRecord, total: Counters) -> str | None:
    """Finish a run whose runner is gone, after a confirmation; its id."""
    from tui_eval.runner import Job

    rest = total.total - total.finished + total.cancelled
    lines = ["What was finished is kept."]
    if not await app.push_screen_wait(Confirm(f"Finish run {run.run_id}?", lines, yes="Finish it", calls=rest)):
        return None
    typed = await ask_missing(app, run, "run")
    return None if typed is None else await start(app, Job("resume", str(app.history.path), run.run_id), typed)


async def start(app: TuiEvalApp, job: Job, typed: Mapping[str, str]) -> str | None:
    """Start a runner for a job, in a session of its own; the run's id, None (and told) when it could not begin.
    ``typed`` are values of variables that only this runner gets."""
    from tui_eval.runner import start_detached

    app.type_ahead.asks_no_more()
    app.notify("Starting…", timeout=2)
    try:
        await app.history.call(partial(start_detached, job, environment=typed))
    except (TuiEvalError, OSError) as error:
        app.notify(str(error), title="The run could not begin", severity="error", timeout=20)
        return None
    return job.run_id


async def export(app: TuiEvalApp, run: RunRecord) -> None:
    """Ask for format and file, and write the run."""
    from tui_eval.tui.exporting import EVALSET_REPORT
    from tui_eval.tui.exporting import export as write
    from tui_eval.tui.projections.datalayer import is_evalset_run

    options = [
        *([EVALSET_REPORT] if is_evalset_run(run.plan) else []),
        Option("md", "Markdown", "to read"),
        Option("csv", "CSV", "a row a task"),
        Option("json", "JSON", "one value"),
        Option("jsonl", "JSON lines", "a line a task"),
    ]
    await write(app, f"Export {run.run_id}", options, run.run_id, ["export", run.run_id])


def _cases(history: History, run: int, tasks: list[int]) -> tuple[list[str], Counters]:
    """The case ids of some tasks, and the counts of all tasks of these cases in the run."""
    case_ids = list(dict.fromkeys(task.case_id for task in history.tasks_of(tasks).values()))
    wanted = set(case_ids)
    chosen = Counters()
    for value in history.task_values(run):
        if value.case_id in wanted:
            chosen = replace(chosen, total=chosen.total + 1)
            if value.outcome.final:
                setattr(chosen, value.outcome.value, getattr(chosen, value.outcome.value) + 1)
    return case_ids, chosen
