"""Choosing a case of a dataset, or the stored answer of a task, to try something on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_eval.display import local_time
from tui_eval.domain import Case, JsonValue, as_text
from tui_eval.errors import Fault, SpecError, TuiEvalError, UsageError
from tui_eval.tui.background import away
from tui_eval.tui.screens.picking import Offer, Pick
from tui_eval.tui.text import outcome_text
from tui_eval.tui.widgets.cells import Cell, Column, Row

if TYPE_CHECKING:
    from tui_eval.store.reader import History
    from tui_eval.store.records import TaskRecord
    from tui_eval.store.run_queries import RunOverview
    from tui_eval.tui.application import TuiEvalApp

MOST_CASES = 1000
MOST_RUNS = 200
MOST_TASKS = 2000

_DATASETS = (
    Column("name", "dataset", 20, weight=2, priority=9),
    Column("where", "where", 16, weight=3, priority=5),
)
_CASES = (
    Column("id", "case", 14, weight=1, most=40, priority=9),
    Column("text", "columns", 20, weight=4, priority=5),
)
_RUNS = (
    Column("name", "plan", 14, weight=2, priority=9),
    Column("made", "started", 19, priority=6),
    Column("id", "run", 20, weight=1, priority=4),
)
_TASKS = (
    Column("outcome", "outcome", 11, priority=7),
    Column("case", "case", 14, weight=1, most=40, priority=9),
    Column("request", "request", 10, weight=1, most=24, priority=5),
    Column("text", "output", 14, weight=4, priority=6),
)


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """An answer of the history: the output, the columns of its case, and where it is from."""

    output: JsonValue
    columns: dict[str, JsonValue]
    label: str


@dataclass(frozen=True, slots=True)
class _Source:
    """A dataset: its section as a plan in ``folder`` has it."""

    name: str
    where: str
    section: dict[str, Any]
    folder: Path


async def pick_case(app: TuiEvalApp) -> Case | None:
    """Ask for a dataset of the workspace, then for one of its cases; None when the user has closed one of the lists."""
    sources = await away(partial(_sources, app.workspace))
    if not sources:
        app.notify(f"There is no dataset in {app.workspace}. Type the columns instead (i).", severity="warning")
        return None
    offers = [
        Offer(Row(place, (each.name, Cell(each.where, "muted"))), f"{each.name} {each.where}")
        for place, each in enumerate(sources)
    ]
    chosen = await app.push_screen_wait(Pick("Which dataset?", _DATASETS, offers))
    if not isinstance(chosen, int):
        return None
    source = sources[chosen]
    try:
        cases = await away(partial(read_cases, source.section, source.folder))
    except TuiEvalError as error:
        app.notify(str(error), title="The dataset cannot be read", severity="error", timeout=10)
        return None
    note = f"The first {MOST_CASES:,} cases." if len(cases) == MOST_CASES else ""
    shown = [(case, _columns_text(case)) for case in cases]
    offers = [
        Offer(Row(place, (case.id, Cell(text, "muted"))), f"{case.id} {text}")
        for place, (case, text) in enumerate(shown)
    ]
    place = await app.push_screen_wait(Pick(f"Which case of {source.name}?", _CASES, offers, note=note))
    return cases[place] if isinstance(place, int) else None


async def pick_answer(app: TuiEvalApp) -> StoredAnswer | None:
    """Ask for a run, then for one of its answered tasks."""
    try:
        runs = await app.history.read(lambda history: history.runs(limit=MOST_RUNS))
        if not runs:
            app.notify("There is no run in the history. Type an output instead (i).", severity="warning")
            return None
        run_id = await app.push_screen_wait(Pick("Which run?", _RUNS, [_run_offer(each) for each in runs]))
        if not isinstance(run_id, str):
            return None
        tasks = await app.history.read(partial(_tasks, run_id=run_id))
        note = f"The first {MOST_TASKS:,} tasks." if len(tasks) == MOST_TASKS else ""
        title = f"Which answer of {run_id}?"
        key = await app.push_screen_wait(Pick(title, _TASKS, [_task_offer(*each) for each in tasks], note=note))
        if not isinstance(key, int):
            return None
        return await app.history.read(partial(_answer, task_id=key, run_id=run_id))
    except TuiEvalError as error:
        app.notify(str(error), severity="error", timeout=10)
        return None


def first_case(section: dict[str, Any], folder: Path) -> Case | None:
    """The first well-formed case of a dataset; None when it has none or cannot be read."""
    try:
        return next(iter(read_cases(section, folder, 1)), None)
    except TuiEvalError:
        return None


def read_cases(section: dict[str, Any], folder: Path, most: int = MOST_CASES) -> list[Case]:
    """The first well-formed cases of a dataset, before sampling. Raises SpecError or DatasetError."""
    from pydantic import ValidationError

    from tui_eval.datasets import open_dataset
    from tui_eval.spec.model import Dataset

    try:
        dataset = Dataset.model_validate(section)
    except ValidationError as error:
        raise SpecError([Fault(f"the dataset's section is not understood: {error.errors()[0]['msg']}")]) from None
    source = open_dataset(dataset, folder)
    try:
        return source.rows(0, most)
    finally:
        source.close()


def _columns_text(case: Case) -> str:
    return "  ".join(f"{name}: {as_text(value)[:200]}" for name, value in case.input.items())[:600]


def _sources(folder: Path) -> list[_Source]:
    """The dataset files of the workspace, and the cases that stand in its plans."""
    from tui_eval.spec.compose import dataset_path
    from tui_eval.spec.loading import load_plan
    from tui_eval.spec.workspace import scan

    workspace = scan(folder)
    found = [
        _Source(
            each.path.stem, str(each.path.relative_to(folder)), {"path": dataset_path(each.path.name)}, each.path.parent
        )
        for each in workspace.of_kind("dataset")
    ]
    for each in workspace.of_kind("plan")[:200]:
        try:
            loaded = load_plan(each.path, check_environment=False)
        except SpecError:
            continue  # its faults are shown where plans are
        where = str(each.path.relative_to(folder))
        for request in loaded.resolved["requests"]:
            if "cases" in request["dataset"] or set(request["dataset"]) - {"path", "sample"}:
                place = f"{where} › {request['name']}"
                found.append(_Source(str(request["name"]), place, request["dataset"], loaded.folder))
    return found


def _run_offer(overview: RunOverview) -> Offer:
    run = overview.run
    made = local_time(run.created_at)
    row = Row(run.run_id, (Cell(run.name, "title"), Cell(made, "muted"), Cell(run.run_id, "muted")))
    return Offer(row, f"{run.name} {made} {run.run_id}")


def _tasks(history: History, run_id: str) -> list[tuple[TaskRecord, str]]:
    run = history.run(run_id)
    names = {request.id: request.name for request in history.requests(run)}
    tasks = history.tasks(run, limit=MOST_TASKS)
    return [(task, names.get(task.request, "")) for task in _answered(tasks)]


def _answered(tasks: list[TaskRecord]) -> Iterator[TaskRecord]:
    return (task for task in tasks if task.outcome.value in ("passed", "failed", "unscored"))


def _task_offer(task: TaskRecord, request: str) -> Offer:
    outcome = Cell(outcome_text(task.outcome), task.outcome.value)
    row = Row(task.id, (outcome, task.case_id, Cell(request, "muted"), Cell(task.output, "muted")))
    return Offer(row, f"{task.outcome.value} {task.case_id} {request} {task.output}")


def _answer(history: History, task_id: int, run_id: str) -> StoredAnswer:
    task = history.task(task_id)
    payload = history.answer_of(task_id)
    if payload is None or payload.answer is None:
        raise UsageError(f"the answer of {task.case_id} was not kept")
    return StoredAnswer(payload.answer.get("output"), history.case(task.case_key), f"{run_id}, case {task.case_id}")
