"""The report of an evalset's run: Markdown to read and CSV to count with, made from the history.

The CSV has every column of the reference's (Datalayer contract, section 5) and what that lacks: prompt, answer,
explanation, outcome, latency. Each number stands once: tokens of a case in its row, totals in the row of its run.
"""

from __future__ import annotations

import csv
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any, TextIO

from tui_eval.domain import Outcome, as_text
from tui_eval.errors import SpecError, UsageError
from tui_eval.platforms.datalayer.metrics import Counted, case_result, check_results, checks_of, counted, gate_result
from tui_eval.platforms.datalayer.reporting import Reported, reported
from tui_eval.reports.csv import cell as csv_cell
from tui_eval.reports.markdown import cell, code
from tui_eval.reports.stored import task_views
from tui_eval.reports.view import TaskView
from tui_eval.reports.writing import iso
from tui_eval.spec.evalset import load_evalset
from tui_eval.store.reader import History
from tui_eval.store.records import RequestRecord, RunRecord

_OF_RUNS = (
    *("row_type", "evalset_id", "evalset_runs_url", "agent_spec_id", "agent_spec_name", "agent_spec_url"),
    *("experiment_id", "experiment_name", "run_index", "run_id", "run_status", "run_pass_rate", "runs_fetched"),
    *("runs_total", "baseline_pass_rate", "latest_pass_rate", "drift_delta", "latest_two_delta", "mean_pass_rate"),
    *("stddev_pass_rate", "failure_stage", "failure_type", "failure_message"),
)
_OF_USAGE = (
    *("usage_source", "usage_provider", "usage_model", "usage_requests", "usage_prompt_tokens"),
    *("usage_completion_tokens", "usage_total_tokens", "usage_input_cached_tokens", "usage_tool_calls"),
    *("usage_duration_ms", "usage_credits_consumed", "usage_captured_at"),
)
_OF_CASES = (
    *("case_name", "case_status", "case_score", "case_category", "case_difficulty"),
    *("evaluator_name", "evaluator_scope", "evaluator_runs", "evaluator_passed_runs", "evaluator_mean_score"),
    *("evaluator_latest_score", "evaluator_latest_passed", "generated_at"),
)
_OURS = (
    *("case_id", "case_outcome", "case_prompt", "case_output", "case_explanation", "case_failure_mode"),
    *("case_latency_seconds", "passed", "failed", "errors", "unscored", "grading"),
)
COLUMNS = (*_OF_RUNS, *_OF_USAGE, *_OF_CASES, *_OURS)

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Report:
    """Where a report was written."""

    markdown_path: Path
    csv_path: Path


@dataclass(frozen=True, slots=True)
class _Whole:
    """Everything a report is made of. ``runs`` has the tasks of each request, by repeat."""

    run: RunRecord
    requests: list[RequestRecord]
    runs: dict[str, dict[int, list[TaskView]]]
    reported: Reported
    grading: str
    gates: Sequence[float]
    generated_at: str


def create_report(history: Path, run_id: str, folder: Path, *, now: float | None = None) -> Report:
    """Write ``report-<run>.md`` and ``report-<run>.csv`` into ``folder``, which is made. ``now`` is seconds since the epoch.

    Raises UsageError when the folder cannot be written, HistoryError.
    """
    whole = _gathered(history, run_id, time.time() if now is None else now)
    name = re.sub(r"[^A-Za-z0-9._-]", "_", f"report-{whole.run.run_id}")
    report = Report(folder / f"{name}.md", folder / f"{name}.csv")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with open(report.markdown_path, "w", encoding="utf-8", newline="") as stream:
            stream.writelines(line + "\n" for line in _markdown(whole))
        with open(report.csv_path, "w", encoding="utf-8", newline="") as stream:
            _write_csv(stream, whole)
    except OSError as error:
        raise UsageError(f"{folder}: the report cannot be written here: {error.strerror or error}") from error
    return report


def _gathered(history: Path, run_id: str, now: float) -> _Whole:
    with History(history) as stored:
        run = stored.run(run_id)
        requests = stored.requests(run)
        runs: dict[str, dict[int, list[TaskView]]] = {request.name: {} for request in requests}
        for view in task_views(stored, run, requests):
            runs[view.request].setdefault(view.task.repeat, []).append(view)
    section = run.plan.get("datalayer")
    grading = str(section.get("grading", "strict")) if isinstance(section, Mapping) else "strict"
    return _Whole(
        run, requests, runs, reported(history, run.id), grading, gates_of(run.plan, run.folder), iso(now) or ""
    )


def gates_of(plan: Mapping[str, Any], folder: str | Path) -> tuple[float, ...]:
    """The pass rates that the evalset of a plan asks for; none when it is not there any more."""
    section = plan.get("datalayer")
    section = section if isinstance(section, Mapping) else {}
    source: Any = section.get("spec")
    for holder in (plan.get("defaults"), *(plan.get("requests") or ())):
        dataset = holder.get("dataset") if isinstance(holder, Mapping) else None
        if source is None and isinstance(dataset, Mapping) and isinstance(dataset.get("path"), str):
            path = dataset["path"].replace("$${", "${")
            source = Path(folder) / path if dataset.get("format") == "evalset" or ".evalset." in path else None
    if source is None:
        return ()
    try:
        evalset = load_evalset(source)
    except SpecError:
        return ()
    return evalset.gates if section.get("grading", "strict") == "strict" else evalset.compat_gates


# -- CSV --


def _write_csv(stream: TextIO, whole: _Whole) -> None:
    writer = csv.DictWriter(stream, COLUMNS, restval="", lineterminator="\r\n")
    writer.writeheader()
    for row in _rows(whole):
        writer.writerow({name: csv_cell(value) for name, value in row.items()})


def _rows(whole: _Whole) -> Iterator[Row]:
    for position, request in enumerate(whole.requests):
        ids = whole.reported.experiment_ids
        shared = {
            "evalset_id": whole.reported.evalset_id,
            "evalset_runs_url": whole.reported.view_url,
            "agent_spec_id": request.name,
            "agent_spec_name": request.name,
            "experiment_id": ids[position] if position < len(ids) else "",
            "experiment_name": f"evals-{request.name}-{whole.run.run_id}",
            "grading": whole.grading,
            "generated_at": whole.generated_at,
        }
        runs = whole.runs[request.name]
        yield {**shared, "row_type": "experiment", **_drift(whole, runs)}
        for repeat, views in sorted(runs.items()):
            named = {**shared, "run_index": repeat, "run_id": whole.run.run_id}
            yield {**named, "row_type": "run", **_run_row(whole, views)}
            for view in views:
                yield {**named, "row_type": "case", **_case_row(view)}
        yield from ({**shared, "row_type": "evaluator", **row} for row in _evaluator_rows(whole, runs))


def _drift(whole: _Whole, runs: Mapping[int, Sequence[TaskView]]) -> Row:
    rates = [rate for _, views in sorted(runs.items()) if (rate := counted(views).pass_rate(whole.grading)) is not None]
    row: Row = {"runs_fetched": len(runs), "runs_total": len(runs)}
    if rates:
        row |= {"baseline_pass_rate": rates[0], "latest_pass_rate": rates[-1], "drift_delta": rates[-1] - rates[0]}
        row |= {"mean_pass_rate": fmean(rates), "stddev_pass_rate": pstdev(rates)}
    if len(rates) > 1:
        row["latest_two_delta"] = rates[-1] - rates[-2]
    return row


def _run_row(whole: _Whole, views: Sequence[TaskView]) -> Row:
    counts = counted(views)
    tasks = [view.task for view in views]
    inputs = [task.input_tokens for task in tasks if task.input_tokens is not None]
    outputs = [task.output_tokens for task in tasks if task.output_tokens is not None]
    row: Row = {
        "run_status": "failed" if counts.errors else "completed",
        "run_pass_rate": counts.pass_rate(whole.grading),
        "usage_requests": len(tasks),
        "usage_duration_ms": round(sum(task.latency or 0.0 for task in tasks) * 1000),
        "passed": counts.passed,
        "failed": counts.failed,
        "errors": counts.errors,
        "unscored": counts.unscored,
    }
    if inputs or outputs:
        row |= {"usage_source": "agent", "usage_prompt_tokens": sum(inputs), "usage_completion_tokens": sum(outputs)}
        row["usage_total_tokens"] = sum(inputs) + sum(outputs)
    broken = next((task for task in tasks if task.outcome is Outcome.ERROR), None)
    if broken is not None:
        row |= {"failure_stage": "runtime_execution", "failure_type": broken.error_kind}
        row["failure_message"] = broken.message
    return row


def _case_row(view: TaskView) -> Row:
    result, task = case_result(view), view.task
    output = result["output"]
    row: Row = {
        "case_name": result["name"],
        "case_status": result["status"],
        "case_score": result["score"],
        "case_category": result["category"],
        "case_difficulty": result["difficulty"],
        "case_id": task.case_id,
        "case_outcome": task.outcome.value,
        "case_prompt": result["prompt"],
        "case_output": output["text"] if output is not None else None,
        "case_explanation": result["explanation"],
        "case_failure_mode": result["failure_mode"],
        "case_latency_seconds": task.latency,
        "usage_prompt_tokens": task.input_tokens,
        "usage_completion_tokens": task.output_tokens,
    }
    if task.outcome is Outcome.ERROR:
        row |= {"failure_stage": "runtime_execution", "failure_type": task.error_kind, "failure_message": task.message}
    return row


def _evaluator_rows(whole: _Whole, runs: Mapping[int, Sequence[TaskView]]) -> Iterator[Row]:
    """Each evaluator over the runs of an agentspec; the gates too."""
    by_name: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for _, views in sorted(runs.items()):
        gates = [gate_result(counted(views), whole.grading, gate) for gate in whole.gates]
        for result in (*check_results(views), *gates):
            by_name.setdefault((str(result["name"]), str(result["scope"])), []).append(result)
    for (name, scope), results in by_name.items():
        scores = [result["score"] for result in results if result["score"] is not None]
        yield {
            "evaluator_name": name,
            "evaluator_scope": scope,
            "evaluator_runs": len(results),
            "evaluator_passed_runs": sum(result["passed"] is True for result in results),
            "evaluator_mean_score": fmean(scores) if scores else None,
            "evaluator_latest_score": results[-1]["score"],
            "evaluator_latest_passed": results[-1]["passed"],
        }


# -- Markdown --


def _markdown(whole: _Whole) -> Iterator[str]:
    run = whole.run
    yield from (f"# {cell(run.name)}", "")
    yield f"- Run {code(run.run_id)}, {run.state.value.replace('_', ' ')}, {iso(run.started_at) or 'not started'}"
    words = (
        "as Datalayer's own runner decides" if whole.grading == "compat" else "a verdict only where one was possible"
    )
    yield f"- Grading: **{whole.grading}** ({words})"
    if whole.reported.view_url:
        yield f"- On Datalayer: {code(whole.reported.view_url)}"
    yield from (f"- Warning: {code(warning)}" for warning in run.warnings)
    yield from ("", "## Agentspecs", "")
    yield from _table(
        ["agentspec", "run", "passed", "failed", "errors", "unscored", "pass rate", "mean score", "latency", "tokens"],
        [
            [cell(name), str(repeat + 1), *_counts(counted(views), whole.grading), *_measures(views)]
            for name, runs in whole.runs.items()
            for repeat, views in sorted(runs.items())
        ],
    )
    gates = [
        [cell(name), str(repeat + 1), f"{gate:g}", str(result["summary"]), _yes(result["passed"])]
        for name, runs in whole.runs.items()
        for repeat, views in sorted(runs.items())
        for gate in whole.gates
        for result in [gate_result(counted(views), whole.grading, gate)]
    ]
    if gates:
        yield from ("", "## Pass rate asked for", "")
        yield from _table(["agentspec", "run", "at least", "observed", "reached"], gates)
    yield from ("", "## Cases", "")
    yield from _table(["case", *map(cell, whole.runs)], _case_table(whole))
    yield from _not_passed(whole)


def _counts(counts: Counted, grading: str) -> list[str]:
    rate = counts.pass_rate(grading)
    numbers = (counts.passed, counts.failed, counts.errors, counts.unscored)
    return [*map(str, numbers), "-" if rate is None else f"{rate:.1%}"]


def _measures(views: Sequence[TaskView]) -> list[str]:
    scores = [view.task.score for view in views if view.task.score is not None]
    times = [view.task.latency for view in views if view.task.latency is not None]
    tokens = sum((view.task.input_tokens or 0) + (view.task.output_tokens or 0) for view in views)
    return [f"{fmean(scores):.3g}" if scores else "-", f"{fmean(times):.3g} s" if times else "-", str(tokens)]


def _case_table(whole: _Whole) -> Iterator[list[str]]:
    """A line for each case: its outcomes on every agentspec, in the order of the runs."""
    cases = dict.fromkeys(
        view.task.case_id for runs in whole.runs.values() for views in runs.values() for view in views
    )
    found: dict[tuple[str, str], list[str]] = {}
    for name, runs in whole.runs.items():
        for _, views in sorted(runs.items()):
            for view in views:
                found.setdefault((view.task.case_id, name), []).append(view.task.outcome.value)
    for case_id in cases:
        yield [cell(case_id), *(", ".join(found.get((case_id, name), ["-"])) for name in whole.runs)]


def _not_passed(whole: _Whole) -> Iterator[str]:
    """Every task without a pass: what was asked and answered, and why it did not pass."""
    for name, runs in whole.runs.items():
        views = [
            view for _, of_run in sorted(runs.items()) for view in of_run if view.task.outcome is not Outcome.PASSED
        ]
        if not views:
            continue
        yield from ("", f"## Not passed by {cell(name)}", "")
        for view in views:
            result = case_result(view)
            repeat = f", run {view.task.repeat + 1}" if len(runs) > 1 else ""
            yield f"- **{cell(view.task.case_id)}** ({view.task.outcome.value}{repeat}): {code(str(result['explanation'] or ''))}"
            yield f"  - prompt: {code(as_text(result['prompt'] or ''))}"
            if result["output"] is not None:
                yield f"  - answer: {code(result['output']['text'])}"
            for check in checks_of(view):
                yield f"  - {code(str(check.get('name')))}: {_yes(check.get('passed'))}, {code(str(check.get('reason')))}"


def _table(heads: Sequence[str], rows: Iterator[list[str]] | Sequence[list[str]]) -> Iterator[str]:
    for row in (heads, ["---"] * len(heads), *rows):
        yield "| " + " | ".join(row) + " |"


def _yes(passed: Any) -> str:
    return "not decided" if passed is None else "yes" if passed else "no"
