"""A run to read: what it came to, and what went wrong, grouped. CommonMark with GitHub's tables.

Texts from outside stand in code spans, where nothing is markup, HTML or a link; inside tables, whose cells end at a
``|`` even in a code span, they are escaped instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TextIO

from tui_eval.analysis.failures import FailureGroup, add_failure, sorted_groups
from tui_eval.analysis.statistics import Mean, Rate
from tui_eval.analysis.summary import Summary, decided_text, state_text, total_of
from tui_eval.domain import Outcome
from tui_eval.reports.tallies import RequestTallies
from tui_eval.reports.view import TaskView
from tui_eval.reports.writing import iso, visible
from tui_eval.store.records import RequestRecord, RunRecord

TEXT_LENGTH = 300
MOST_GROUPS = 30
_MARKUP = re.compile(r"[\\`*_{}\[\]()<>#!|~&$]")
_OUTCOMES = ("total", "passed", "failed", "error", "unscored", "cancelled", "reused")

Groups = dict[tuple[Outcome, str, str], FailureGroup]


def write_markdown(stream: TextIO, run: RunRecord, requests: list[RequestRecord], tasks: Iterable[TaskView]) -> None:
    """Title, facts, a table of requests, a table of evaluators, the failures of each request in groups."""
    report = MarkdownReport(run, requests)
    for view in tasks:
        report.add(view)
    report.write(stream, run, requests)


class MarkdownReport:
    """Collects the tasks of a run one at a time; keeps counts, latencies and one example a group of failures."""

    def __init__(self, run: RunRecord, requests: list[RequestRecord]) -> None:
        self._tallies = RequestTallies.of(run, requests)
        self._groups: dict[str, Groups] = {request.name: {} for request in requests}

    def add(self, view: TaskView) -> None:
        self._tallies.add(view)
        add_failure(self._groups[view.request], view.task)

    def summaries(self, requests: list[RequestRecord]) -> dict[str, Summary]:
        return self._tallies.summaries(requests)

    def write(self, stream: TextIO, run: RunRecord, requests: list[RequestRecord]) -> None:
        """Write the report, with the state and the counters that ``run`` and ``requests`` have now."""
        summaries = self.summaries(requests)
        lines = [*_head(run, requests), *_requests_table(requests, summaries)]
        lines += [*_evaluators_table(summaries), *_repeats(summaries)]
        for request in requests:
            lines += _failures(request, sorted_groups(self._groups[request.name]))
        stream.writelines(line + "\n" for line in lines)


def code(text: str, length: int = TEXT_LENGTH) -> str:
    """``text`` as a code span on one line, at most ``length`` of its characters, shown character for character."""
    if not text:
        return "(empty)"
    cut = text[:length] + ("…" if len(text) > length else "")
    body = visible(cut, one_line=True)
    longest = max((len(run) for run in re.findall(r"`+", body)), default=0)
    fence = "`" * (longest + 1)
    # A space each side is taken off again by a reader (unless there is nothing else); it keeps a backtick or a space at
    # an end apart.
    space = " " if body.strip(" ") and (body[0] in " `" or body[-1] in " `") else ""
    return f"{fence}{space}{body}{space}{fence}"


def cell(text: str, length: int = TEXT_LENGTH) -> str:
    """``text`` for a table cell or a heading, on one line, with everything escaped that could be markup."""
    cut = text[:length] + ("…" if len(text) > length else "")
    return _MARKUP.sub(lambda match: "\\" + match[0], visible(cut, one_line=True)).strip() or "(empty)"


def _head(run: RunRecord, requests: list[RequestRecord]) -> list[str]:
    totals = total_of(request.counters for request in requests)
    lines = [f"# {cell(run.name)}", "", f"- Run {code(run.run_id)}: **{state_text(run.state, totals)}**"]
    if run.parent_run_id:
        lines.append(f"- {run.origin.capitalize()} of {code(run.parent_run_id)}")
    times = [
        f"{word} {text}"
        for word, text in (("started", iso(run.started_at)), ("finished", iso(run.finished_at)))
        if text
    ]
    if times:
        lines.append(f"- {', '.join(times).replace('started', 'Started', 1)}")
    lines.append(f"- Passed {decided_text(totals)}")
    lines += [f"- Error: {code(run.error)}"] if run.error else []
    lines += [f"- Note: {code(run.note)}"] if run.note else []
    lines += [f"- Tags: {', '.join(code(tag) for tag in run.tags)}"] if run.tags else []
    lines += [f"- Warning: {code(warning)}" for warning in run.warnings]
    return [*lines, ""]


def _requests_table(requests: list[RequestRecord], summaries: dict[str, Summary]) -> list[str]:
    heads = ["request", "state", *_OUTCOMES, "pass rate", "mean score", "p50", "p95", "tokens in/out", "cost"]
    lines = ["## Requests", "", _row(heads), _row(["---"] * len(heads))]
    for request in requests:
        summary, counters = summaries[request.name], request.counters
        lines.append(
            _row(
                [
                    cell(request.name),
                    request.state.value.replace("_", " "),
                    *(str(getattr(counters, name)) for name in _OUTCOMES),
                    _rate(summary.pass_rate),
                    _mean(summary.mean),
                    _seconds(summary.latency_p50),
                    _seconds(summary.latency_p95),
                    f"{counters.input_tokens} / {counters.output_tokens}",
                    f"{counters.cost:.4g}",
                ]
            )
        )
    lines += ["", "Pass rates are over decided tasks, means over scored ones, in brackets their 95 % intervals.", ""]
    return lines


def _evaluators_table(summaries: dict[str, Summary]) -> list[str]:
    heads = ["request", "evaluator", "passed", "pass rate", "mean", "deviation", "not scored"]
    rows = [
        [
            cell(request),
            cell(evaluator.name),
            f"{evaluator.verdicts.count} of {evaluator.verdicts.n}",
            _rate(evaluator.verdicts),
            _mean(evaluator.values),
            "-" if evaluator.values.deviation is None else f"{evaluator.values.deviation:.3g}",
            str(evaluator.undecided),
        ]
        for request, summary in summaries.items()
        for evaluator in summary.evaluators
    ]
    if not rows:
        return []
    return ["## Evaluators", "", _row(heads), _row(["---"] * len(heads)), *map(_row, rows), ""]


def _repeats(summaries: dict[str, Summary]) -> list[str]:
    lines = [
        f"- {code(request)}: pass@{repeats.k} {_share(repeats.pass_at)}, pass^{repeats.k} {_share(repeats.pass_all)} "
        f"over {repeats.enough} cases" + (f" ({repeats.note})" if repeats.note else "")
        for request, summary in summaries.items()
        for repeats in summary.repeats
    ]
    return ["## Repeats", "", *lines, ""] if lines else []


def _failures(request: RequestRecord, groups: list[FailureGroup]) -> list[str]:
    if not groups and not request.error:
        return []
    lines = [f"## Failures of {cell(request.name)}", ""]
    if request.error:
        lines.append(f"- The request: {code(request.error)}")
    for group in groups[:MOST_GROUPS]:
        kind = f", {code(group.error_kind)}" if group.error_kind else ""
        cases = ", ".join(code(case_id, 80) for case_id in group.case_ids)
        more = ", …" if group.count > len(group.case_ids) else ""
        lines.append(f"- **{group.count} ×** {code(group.label)} ({group.outcome.value}{kind}); cases {cases}{more}")
        if group.example.output:
            lines.append(f"  - for example: output {code(group.example.output)}")
    if len(groups) > MOST_GROUPS:
        rest = sum(group.count for group in groups[MOST_GROUPS:])
        lines.append(f"- {rest} more of {len(groups) - MOST_GROUPS} other kinds")
    return [*lines, ""]


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _rate(rate: Rate) -> str:
    if rate.rate is None or rate.low is None or rate.high is None:
        return "-"
    return f"{rate.rate:.1%} \\[{rate.low:.1%}, {rate.high:.1%}\\]"


def _mean(mean: Mean) -> str:
    if mean.mean is None:
        return "-"
    interval = "" if mean.low is None or mean.high is None else f" \\[{mean.low:.3g}, {mean.high:.3g}\\]"
    return f"{mean.mean:.4g} over {mean.n}{interval}"


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g} s"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
