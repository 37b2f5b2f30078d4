"""How a run of AgentCompass begins: launched, re-run in part, or taken up again. Everything is checked first.

What there is to do comes out as :class:`Work`: which requests AgentCompass is given and how each is changed. A run that
takes up another one takes over every task that is not run again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_eval import __version__
from tui_eval.analysis.selection import Action, Decision, OldTask, PlannedTask, Selection, select
from tui_eval.domain import Outcome
from tui_eval.errors import NothingToRun, UsageError
from tui_eval.platforms.agentcompass.catalog import embedded_catalog, read_catalog
from tui_eval.platforms.agentcompass.credentials import filled, hidden_places
from tui_eval.platforms.agentcompass.loading import Checks, ComposedRequest, LoadedOrchestration, load_orchestration
from tui_eval.platforms.agentcompass.paths import namespace, safe_component
from tui_eval.platforms.agentcompass.preparing import RequestChange
from tui_eval.platforms.agentcompass.recognising import PLATFORM
from tui_eval.platforms.agentcompass.result_files import STATES, read_object
from tui_eval.store.planning import TakeOver
from tui_eval.store.records import NewTask, RequestRecord, RequestState, RunRecord, RunState, TaskRecord

if TYPE_CHECKING:
    from tui_eval.jobs import Job
    from tui_eval.store.reader import History
    from tui_eval.store.writer import HistoryWriter

BATCH = 500


@dataclass(frozen=True, slots=True)
class Options:
    """What a launch is given beside the file. ``preload`` are Python files that register components of the user;
    ``config`` are AgentCompass's configuration files (``--config``); ``python`` is its interpreter; ``catalog`` is a file
    with the components of another version than the one that is known (the screens ask for them)."""

    settings: Mapping[tuple[str | int, ...], Any] = field(default_factory=dict)
    preload: tuple[str, ...] = ()
    config: tuple[str, ...] = ()
    python: str | None = None
    catalog: str | None = None

    def kept(self) -> dict[str, Any]:
        """What a later run that takes this one up needs to know."""
        kept = {"platform": PLATFORM, "preload": list(self.preload), "config": list(self.config)}
        return {**kept, "catalog": self.catalog} if self.catalog else kept


@dataclass(slots=True)
class Work:
    """What is to be executed. ``changes`` names the requests that AgentCompass is given."""

    loaded: LoadedOrchestration
    run: RunRecord
    requests: list[RequestRecord]
    options: Options
    changes: dict[str, RequestChange]
    file_name: str
    notes: list[str] = field(default_factory=list)


def options_of(overrides: Sequence[str]) -> Options:
    """The options in ``path=value`` texts; those of ours have the prefix ``agentcompass.``. Raises UsageError."""
    settings: dict[tuple[str | int, ...], Any] = {}
    own: dict[str, Any] = {}
    for text in overrides:
        path, found, value = text.partition("=")
        if not found or not path.strip():
            raise UsageError(f"--set {text[:80]}: expected KEY=VALUE, as task_concurrency=4")
        steps = tuple(step.strip() for step in path.split("."))
        if steps[0] == PLATFORM and len(steps) == 2:
            own[steps[1]] = _value(value)
        else:
            settings[steps] = _value(value)
    preload, config = tuple(own.get("preload") or ()), tuple(own.get("config") or ())
    return Options(settings, preload, config, own.get("python"), own.get("catalog"))


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def checks_of(options: Options, *, paths: bool = True) -> Checks:
    return Checks(
        read_catalog(Path(options.catalog)) if options.catalog else embedded_catalog(),
        preloaded=bool(options.preload),
        paths=paths,
        config_files=tuple(Path(path) for path in options.config),
    )


# -- launched


def load_launch(job: Job, environment: Mapping[str, str]) -> tuple[LoadedOrchestration, Options]:
    """The orchestration of a launch. Raises SpecError with every fault, UsageError."""
    if job.plan is None:
        raise UsageError("a launch needs an orchestration")
    options = options_of(job.overrides)
    if job.results_dir is not None:
        options = replace(options, settings={**options.settings, ("runtime", "results_dir"): job.results_dir})
    source = Path(job.plan) if isinstance(job.plan, str) else job.plan
    folder = (
        Path(job.folder) if job.folder is not None else source.absolute().parent if isinstance(source, Path) else None
    )
    loaded = load_orchestration(
        source, settings=options.settings, environment=environment, folder=folder, against=checks_of(options)
    )
    return loaded, options


async def plan_launch(job: Job, loaded: LoadedOrchestration, options: Options, writer: HistoryWriter) -> Work:
    """Write a new run with its requests; tasks come when AgentCompass has loaded them."""
    run = _run_record(job, loaded, options.kept())
    run.warnings += [text for request in loaded.requests if (text := reuse_statement(loaded, request))]
    await writer.create_run(run)
    requests = await _add_requests(writer, run, loaded)
    changes = {request.name: RequestChange(request.run_id or run.run_id) for request in loaded.requests}
    return Work(loaded, run, requests, options, changes, run.run_id)


def reuse_statement(loaded: LoadedOrchestration, request: ComposedRequest) -> str:
    """In plain words: what AgentCompass will take over from an earlier run of its own, "" when nothing is asked for."""
    if not request.reuse:
        return ""
    place = loaded.results_dir.joinpath(*namespace(request.run_name, request.name))
    source = place / safe_component(request.reuse_run_id) if request.reuse_run_id else _latest(place)
    if source is None or not source.is_dir():
        return f"{request.name}: reuse is asked for, but there is no earlier run in {place}: everything is run"
    counts = {state: _count(source / "details" / state) for state in STATES}
    taken = counts["normal"] + counts["error"] + counts["fatal"]
    again = f"of these, AgentCompass runs again what its retry rules match (max_retries {request.max_retries})"
    if not request.max_retries:
        again = "none of these is run again (max_retries 0)"
    return (
        f"{request.name}: AgentCompass takes over {taken} finished tasks of {source} ({counts['normal']} normal, "
        f"{counts['error']} error, {counts['fatal']} fatal); {again}. It compares the benchmark's id and the attempts "
        "only: another model, harness or prompt is not noticed"
    )


def _latest(place: Path) -> Path | None:
    """The run that AgentCompass takes as the latest: by the start in its ``run_info.json``."""
    try:
        runs = [one for one in place.iterdir() if (one / "run_info.json").exists()]
    except OSError:
        return None
    return max(
        runs,
        key=lambda one: (str((read_object(one / "run_info.json") or {}).get("started_at")), one.name),
        default=None,
    )


def _count(folder: Path) -> int:
    try:
        return sum(1 for _ in folder.iterdir())
    except OSError:
        return 0


# -- run again


def load_stored(
    run: RunRecord, overrides: Sequence[str], environment: Mapping[str, str]
) -> tuple[LoadedOrchestration, Options]:
    """The orchestration of an earlier run, as it was; credentials typed into its file are read from there again."""
    options = options_of(overrides)
    detail = run.origin_detail
    options = replace(
        options,
        preload=options.preload or tuple(detail.get("preload") or ()),
        config=options.config or tuple(detail.get("config") or ()),
        catalog=options.catalog or detail.get("catalog"),
    )
    data = run.plan
    if hidden_places(data):
        data = filled(data, _today(run))
    names = [str(one.get("name", "")) for one in data.get("requests", ()) if isinstance(one, Mapping)]
    if missing := [place for place in hidden_places(data) if not _is_given(place, options, names)]:
        raise UsageError(
            f"run {run.run_id}: credentials are never stored, and {run.plan_path or 'its file'} does not have them any "
            f"more: {', '.join(missing)}. Give them with --set, as --set {missing[0]}='${{NAME}}'"
        )
    loaded = load_orchestration(
        data,
        settings=options.settings,
        environment=environment,
        folder=Path(run.folder),
        against=checks_of(options, paths=False),
    )
    return loaded, options


def _is_given(place: str, options: Options, names: Sequence[str]) -> bool:
    """Whether a hidden value is given anew, under the position of its request or under its name."""
    steps = place.split(".")
    paths = [tuple(steps)]
    if steps[0] == "requests" and steps[1].isdecimal() and int(steps[1]) < len(names):
        paths.append(("requests", names[int(steps[1])], *steps[2:]))
    return any(path in options.settings for path in paths)


def _today(run: RunRecord) -> Any:
    if not run.plan_path:
        return {}
    from tui_eval.errors import TuiEvalError
    from tui_eval.platforms.agentcompass.scalars import as_compass_reads
    from tui_eval.spec.source import read_document

    try:
        return as_compass_reads(read_document(Path(run.plan_path)).root).data()
    except TuiEvalError:
        return {}


async def plan_rerun(
    job: Job,
    loaded: LoadedOrchestration,
    options: Options,
    parent: RunRecord,
    history: History,
    writer: HistoryWriter,
) -> Work:
    """Write a run that takes up ``parent``: AgentCompass is given exactly the selected tasks (``sample_ids``), all
    others are taken over with their results. Raises NothingToRun, UsageError."""
    action = Action(**{**job.selection, "cases": frozenset(job.selection.get("cases", ()))})
    before = {request.name: request for request in history.requests(parent)}
    chosen: dict[str, list[tuple[TaskRecord, bool]]] = {}
    unknown: set[str] | None = None
    for request in loaded.requests:
        old = before.get(request.name)
        tasks = list(history.iter_tasks(parent, request=old.id)) if old is not None else []
        selection = select(map(_old, tasks), map(_planned, tasks), action)
        chosen[request.name] = _whole_cases(tasks, selection)
        unknown = set(selection.unknown_cases) & (unknown if unknown is not None else set(selection.unknown_cases))
    if not any(again for tasks in chosen.values() for _, again in tasks):
        raise NothingToRun(f"run {parent.run_id}: nothing matches what was asked to run again")
    _check_exactness(loaded, chosen)
    run = _run_record(job, loaded, {**options.kept(), **job.selection}, parent)
    run.warnings += [f"no such case in run {parent.run_id}: {name}" for name in sorted(unknown or ())]
    await writer.create_run(run)
    requests = await _add_requests(writer, run, loaded)
    changes = {}
    for record in requests:
        ids = await _write_selection(writer, run, record, chosen[record.name], history, parent)
        if ids:
            changes[record.name] = RequestChange(run.run_id, sample_ids=ids, reuse="")
        else:
            _as_before(writer, record, before.get(record.name))
    await writer.flush()
    return Work(loaded, run, requests, options, changes, run.run_id)


def _as_before(writer: HistoryWriter, record: RequestRecord, old: RequestRecord | None) -> None:
    """A request of which nothing is run again ended as it did before."""
    record.state = old.state if old is not None and old.state is not RequestState.PENDING else RequestState.COMPLETED
    record.error, record.started_at = (old.error if old is not None else ""), time.time()
    record.finished_at = record.started_at
    writer.request_changed(record)


def _old(task: TaskRecord) -> OldTask:
    outcome = task.outcome if task.outcome.final else Outcome.QUEUED
    # Without a fingerprint an answer is never judged again alone: AgentCompass cannot do that.
    return OldTask(task.case_id, task.repeat, outcome, "", "", has_answer=False)


def _planned(task: TaskRecord) -> PlannedTask:
    return PlannedTask(task.case_id, task.repeat, "", "")


def _whole_cases(tasks: list[TaskRecord], selection: Selection) -> list[tuple[TaskRecord, bool]]:
    """Each task and whether it is run again. AgentCompass repeats all attempts of a case or none."""
    again = {one.task.case_id for one in selection.decisions if one.decision is Decision.CALL}
    return [(task, task.case_id in again) for task in tasks]


def _check_exactness(loaded: LoadedOrchestration, chosen: Mapping[str, list[tuple[TaskRecord, bool]]]) -> None:
    for request in loaded.requests:
        component = embedded_catalog().of("benchmark").get(request.benchmark)
        some = any(again for _, again in chosen[request.name]) and not all(again for _, again in chosen[request.name])
        if some and component is not None and "sample_ids" not in component.parameters:
            raise UsageError(
                f"request {request.name}: the benchmark `{request.benchmark}` has no `sample_ids`: AgentCompass can only "
                "run all of it again (--all)"
            )


async def _write_selection(
    writer: HistoryWriter,
    run: RunRecord,
    record: RequestRecord,
    chosen: list[tuple[TaskRecord, bool]],
    history: History,
    parent: RunRecord,
) -> list[str]:
    """Write the tasks of a request; the ids that AgentCompass is to run."""
    ids: dict[str, None] = {}
    for start in range(0, len(chosen), BATCH):
        part = list(enumerate(chosen))[start : start + BATCH]
        cases = history.cases_of(task.case_key for _, (task, again) in part if again)
        new = [
            NewTask(record.id, at, task.case_id, cases[task.case_key], repeat=task.repeat, line=task.line)
            for at, (task, again) in part
            if again
        ]
        kept = [TakeOver(task.id, at) for at, (task, again) in part if not again]
        ids.update(dict.fromkeys(task.case_id for task in new))
        if new:
            await writer.add_tasks(new)
        if kept:
            await writer.take_over(run.id, record.id, kept)
    return list(ids)


# -- records


def _run_record(
    job: Job, loaded: LoadedOrchestration, detail: dict[str, Any], parent: RunRecord | None = None
) -> RunRecord:
    return RunRecord(
        run_id=job.run_id,
        name=loaded.name or _name(loaded, parent),
        state=RunState.PLANNING,
        plan=loaded.stored,
        folder=str(loaded.folder),
        program=__version__,
        created_at=time.time(),
        origin="launch" if parent is None else "rerun",
        origin_detail=detail,
        parent_run_id=parent.run_id if parent is not None else None,
        plan_path=str(loaded.path.absolute())
        if loaded.path is not None
        else (parent.plan_path if parent is not None else ""),
        warnings=[str(fault) for fault in loaded.warnings],
        tags=list(job.tags),
        note=job.note,
        task_concurrency=loaded.task_concurrency,
    )


def _name(loaded: LoadedOrchestration, parent: RunRecord | None) -> str:
    """What a run is called whose orchestration has no name."""
    if parent is not None:
        return parent.name
    return loaded.path.stem if loaded.path is not None else "orchestration"


async def _add_requests(writer: HistoryWriter, run: RunRecord, loaded: LoadedOrchestration) -> list[RequestRecord]:
    requests = [
        RequestRecord(run.id, request.position, request.name, RequestState.PENDING, PLATFORM, dataset=request.benchmark)
        for request in loaded.requests
    ]
    await writer.add_requests(requests)
    return requests
