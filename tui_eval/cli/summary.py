"""The summary of a run, as `show`, `demo` and `run` print it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui_eval.analysis.statistics import Mean, Rate
from tui_eval.analysis.summary import Summary, Tally, decided_text, state_text, total_of
from tui_eval.cli.history import duration, local_time, took
from tui_eval.cli.platform_lines import print_platform_lines
from tui_eval.cli.terminal import one_line, out, out_table, outcome_word, painted, safe, speaks_utf8
from tui_eval.cli.waiting import Waiting
from tui_eval.domain import Outcome
from tui_eval.reports.view import repeats_of
from tui_eval.store.liveness import state_now

if TYPE_CHECKING:
    from pathlib import Path

    from tui_eval.store.reader import History
    from tui_eval.store.records import Counters, RequestRecord, RequestState, RunRecord

FAILURES = (Outcome.FAILED, Outcome.ERROR, Outcome.UNSCORED)
GROUPS_SHOWN = 12


@dataclass(frozen=True, slots=True)
class RequestSummary:
    """One request with what its tasks come to."""

    request: RequestRecord
    summary: Summary


def summarise_run(stored: History, run: RunRecord) -> list[RequestSummary]:
    """Read every task of a run once. Memory grows by a few bytes a task."""
    requests = stored.requests(run)
    tallies = {request.id: Tally(repeats_of(run, request.name)) for request in requests}
    total = sum(request.counters.total for request in requests)
    with Waiting("reading the tasks") as waiting:
        for task in waiting.counted(stored.task_values(run), total):
            tallies[task.request].add_figures(task.case_id, task.outcome, task.latency, task.score, reused=task.reused)
        for request, evaluator, value, passed, undecided in stored.score_values(run):
            tallies[request].add_score(evaluator, value, passed, undecided)
    return [RequestSummary(request, tallies[request.id].summary(request.counters)) for request in requests]


def print_summary(stored: History, run: RunRecord, *, only: str | None = None) -> None:
    """Print what a run came to: its head, a line a request, what the evaluators say, failures grouped."""
    requests = [one for one in summarise_run(stored, run) if only is None or one.request.name == only]
    print_head(run, total_of(one.request.counters for one in requests))
    if not state_now(run).live:  # a live one brings them into the history by itself
        for line in unsaved_lines(stored.path, run.run_id):
            out(f"  ! {line}")
    print_platform_lines(stored.path, run, {one.request.id: one.request.name for one in requests})
    _print_figures(stored, run, requests)
    out()
    _print_requests(requests)
    _print_evaluators(requests)
    _print_repeats(requests)
    _print_failures(stored, run, requests)


def unsaved_lines(history: Path, run_id: str) -> list[str]:
    """A line for each file of results that the history could not take, with what brings them into it."""
    from tui_eval.store.fallback import find

    return [
        f"results that are not in the history yet are in {safe(str(place))}; once the history can be written again: "
        f"tui-eval resume {one_line(run_id)}"
        for place in find(history, run_id)
    ]


def _print_figures(stored: History, run: RunRecord, requests: list[RequestSummary]) -> None:
    """AgentCompass's own figures; one that it voids is among the warnings already."""
    if run.origin_detail.get("platform") != "agentcompass":
        return
    from tui_eval.platforms.agentcompass.figures import told

    figures = told(stored.log(run))
    for name in (one.request.name for one in requests):
        if name in figures and f"{name}: {figures[name]}" not in run.warnings:
            out(f"  AgentCompass's figures: {one_line(name)}: {one_line(figures[name])}")


def print_head(run: RunRecord, counters: Counters) -> None:
    """Which run it is, its state, when it was and how much of it passed."""
    state = state_text(state_now(run), counters)
    out(f"{painted(one_line(run.run_id), '1')}  {one_line(run.name)}  {state}")
    started = f"started {local_time(run.started_at)}" if run.started_at else f"made {local_time(run.created_at)}"
    ended = f", took {duration(took(run))}" if run.finished_at else ""
    parent = f", re-run of {one_line(run.parent_run_id)}" if run.parent_run_id else ""
    out(f"  {started}{ended}{parent}")
    out(f"  passed {decided_text(counters)}")
    if run.plan_path:
        out(f"  plan {one_line(run.plan_path)}")
    if run.tags:
        out(f"  tags {one_line(', '.join(run.tags))}")
    if run.note:
        out(f"  note {one_line(run.note)}")
    if run.error:
        out(f"  ! {safe(run.error)}")
    for warning in run.warnings:
        out(f"  warning: {one_line(warning)}")


def _print_requests(requests: list[RequestSummary]) -> None:
    """One line a request and one for all; columns that say nothing are left out, so that it fits a usual terminal."""
    rows = [_request_row(one.request.name, one.request.state, one.summary) for one in requests]
    if len(requests) > 1:
        rows.append(_request_row("all", None, Summary(*_total(requests))))
    left_out = {
        name
        for name, dull in (("state", ("completed", "")), ("cancelled", "0"), ("left", "0"), ("reused", "0"))
        if all(row[name] in dull for row in rows)
    }
    header = [name for name in rows[0] if name not in left_out] if rows else []
    numbers = [index for index, name in enumerate(header) if name not in ("request", "state", "pass rate (95 %)")]
    out_table(header, [[row[name] for name in header] for row in rows], right=numbers)
    for one in requests:
        if one.request.error:
            out(f"  ! {one_line(one.request.name)}: {safe(one.request.error)}")


def _total(requests: list[RequestSummary]) -> tuple[Counters, Rate, Mean]:
    from tui_eval.analysis.statistics import rate_of

    counters = total_of(one.request.counters for one in requests)
    return counters, rate_of(counters.passed, counters.decided), Mean(0)


def _request_row(name: str, state: RequestState | None, summary: Summary) -> dict[str, str]:
    counters = summary.counters
    return {
        "request": one_line(name, 40),
        "state": state.value if state else "",
        "tasks": str(counters.total),
        **{word: str(getattr(counters, word)) for word in ("passed", "failed", "error", "unscored", "cancelled")},
        "left": str(counters.total - counters.finished),
        "reused": str(counters.reused),
        "pass rate (95 %)": rate_text(summary.pass_rate),
        "p50": duration(summary.latency_p50),
        "p95": duration(summary.latency_p95),
    }


def share(rate: float | None) -> str:
    """A rate in percent, ``-`` when there is none."""
    return "-" if rate is None else f"{rate:.1%}"


def rate_text(rate: Rate) -> str:
    """A rate with its interval, ``87.0% (68 to 96)``; ``-`` when nothing was decided."""
    if rate.rate is None or rate.low is None or rate.high is None:
        return "-"
    return f"{rate.rate:.1%} ({100 * rate.low:.0f} to {100 * rate.high:.0f})"


def _print_evaluators(requests: list[RequestSummary]) -> None:
    rows = [
        [
            one_line(one.request.name, 40),
            one_line(evaluator.name, 40),
            f"{evaluator.verdicts.count} of {evaluator.verdicts.n}",
            "-" if evaluator.values.mean is None else f"{evaluator.values.mean:.4g}",
            "-" if evaluator.values.error is None else f"{evaluator.values.error:.2g}",
            str(evaluator.undecided),
        ]
        for one in requests
        for evaluator in one.summary.evaluators
    ]
    if rows:
        out()
        out_table(["request", "evaluator", "passed", "mean", "std. error", "undecided"], rows, right=(2, 3, 4, 5))


def _print_repeats(requests: list[RequestSummary]) -> None:
    rows = [
        [
            one_line(one.request.name, 40),
            str(repeats.k),
            share(repeats.pass_at),
            share(repeats.pass_all),
            str(repeats.enough),
            str(repeats.too_few),
        ]
        for one in requests
        for repeats in one.summary.repeats
    ]
    if rows:
        out()
        out_table(["request", "k", "pass@k", "pass^k", "cases", "too few attempts"], rows, right=(1, 2, 3, 4, 5))


def _print_failures(stored: History, run: RunRecord, summarised: list[RequestSummary]) -> None:
    from tui_eval.analysis.failures import FailureGroup, add_failure, sorted_groups

    requests = [one.request for one in summarised]
    printed = False
    for request in requests:
        groups: dict[tuple[Outcome, str, str], FailureGroup] = {}
        for task in stored.iter_tasks(run, request=request.id, outcomes=FAILURES):
            add_failure(groups, task)
        found = sorted_groups(groups)
        if found and not printed:
            out()
            printed = True
        for group in found[:GROUPS_SHOWN]:
            times = "×" if speaks_utf8() else "x"
            cases = ", ".join(one_line(case_id, 40) for case_id in group.case_ids)
            more = ", …" if group.count > len(group.case_ids) else ""
            label = f"{group.count} {times} {one_line(group.label, 160)}"
            out(f"{outcome_word(group.outcome)}  {one_line(request.name, 40)}  {label}")
            out(f"    {cases}{more}")
            if not group.same:
                out(f"    such as {one_line(group.example.message, 160)}")
        if len(found) > GROUPS_SHOWN:
            out(f"    … and {len(found) - GROUPS_SHOWN} more kinds of failure in {one_line(request.name, 40)}")
