"""One task in full: the case, what was sent, what came back, and how it was judged."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tui_eval.cli.history import duration, local_time
from tui_eval.cli.terminal import one_line, out, outcome_word, painted, safe
from tui_eval.domain import JsonValue, Outcome, Score, as_text

if TYPE_CHECKING:
    from tui_eval.store.reader import History
    from tui_eval.store.records import AttemptRecord, TaskRecord

LONGEST_TEXT = 20_000
"""Characters of one text that are printed; `--json` and `export` have all of it."""
MOST_EVENTS = 200
LONGEST_EVENT = 2_000
"""Events of a stream, and characters of one, that are printed."""


def task_json(task: TaskRecord, request: str) -> dict[str, Any]:
    """A task as JSON data, without the keys of the database."""
    data = asdict(task)
    for name in ("id", "run", "case_key"):
        del data[name]
    return {**data, "request": request, "outcome": task.outcome.value}


def case_json(stored: History, task: TaskRecord, request: str) -> dict[str, Any]:
    """Everything that is kept about a task, as JSON data."""
    return {
        **task_json(task, request),
        "input": stored.case(task.case_key),
        "scores": [asdict(score) for score in stored.scores(task.id)],
        "attempt_list": [
            {key: value for key, value in asdict(attempt).items() if key != "id"}
            for attempt in stored.attempts(task.id, payloads=True)
        ],
    }


def print_case(stored: History, task: TaskRecord, request: str) -> None:
    """One case in full for people: what was asked, every score, every attempt. Any text in it is made safe."""
    repeat = f" #{task.repeat + 1}" if task.repeat else ""
    head = f"{one_line(request)} · {one_line(task.case_id)}{repeat}"
    reused = f"  (taken over from {one_line(task.reused_from)})" if task.reused_from else ""
    out(f"{painted(head, '1')}  {outcome_word(task.outcome)}{reused}")
    if task.message:
        print_text("why", task.message, "  ")
    line = f", line {task.line} of the dataset" if task.line else ""
    out(f"  case{line}:")
    for name, value in stored.case(task.case_key).items():
        print_value(name, value, "    ")
    for score in stored.scores(task.id):
        _print_score(score)
    for attempt in stored.attempts(task.id, payloads=True):
        _print_attempt(attempt)
    out()


def _print_score(score: Score) -> None:
    word = {True: Outcome.PASSED, False: Outcome.FAILED, None: Outcome.UNSCORED}[score.passed]
    value = "" if score.value is None else f" {score.value:.4g}"
    out(f"  {one_line(score.evaluator)}: {outcome_word(word)}{value}")
    for text in (score.reason, score.error):
        if text:
            print_text("", text, "    ")
    for name, value_of_detail in score.detail.items():
        print_value(name, value_of_detail, "    ")


def _print_attempt(attempt: AttemptRecord) -> None:
    status = f", status {attempt.status_code}" if attempt.status_code is not None else ""
    trace = f", trace {one_line(attempt.trace_id)}" if attempt.trace_id else ""
    out(f"  attempt {attempt.number}, {local_time(attempt.started_at)}, {duration(attempt.seconds)}{status}{trace}")
    if attempt.error_kind:
        print_text(attempt.error_kind, attempt.message, "    ")
    if attempt.payload is None:
        return
    print_value("sent", attempt.payload.request, "    ")
    for name, value in (attempt.payload.answer or {}).items():
        if name == "output" and not (attempt.error_kind and value is None):
            print_value("received", value, "    ")
        elif name == "trace_id" and value == attempt.trace_id:
            continue  # it stands in the attempt's own line
        elif value not in (None, "", [], {}, False):
            print_part(name, value, "    ")


def print_part(name: str, value: Any, indent: str) -> None:
    """One part of an answer: what is a list of pairs or triples by design has a line for each."""
    if name == "first_byte_seconds":
        out(f"{indent}first byte after {duration(value)}")
    elif name == "headers" and isinstance(value, list):
        out(f"{indent}headers:")
        for header, text in value:
            print_text(str(header), as_text(text), indent + "  ")
    elif name == "events" and isinstance(value, list):
        print_events(value, indent)
    elif name == "usage" and isinstance(value, dict):
        print_value(name, {key: count for key, count in value.items() if count is not None}, indent)
    else:
        print_value(name, value, indent)


def print_events(events: list[Any], indent: str) -> None:
    """The events of a stream: seconds since the call, name and data; the first ones when there are many."""
    out(f"{indent}events: {len(events):,}")
    for at, name, data in events[:MOST_EVENTS]:
        out(f"{indent}  {at:8.3f} s  {one_line(name)}  {one_line(data, LONGEST_EVENT)}")
    if len(events) > MOST_EVENTS:
        out(f"{indent}  … {len(events) - MOST_EVENTS:,} more (--json has them all)")


def print_value(name: str, value: JsonValue, indent: str) -> None:
    """``name: value``: mappings one key a line, everything else as text."""
    if isinstance(value, dict) and value:
        out(f"{indent}{one_line(name)}:")
        for key, inner in value.items():
            print_value(str(key), inner, indent + "  ")
        return
    print_text(name, as_text(value), indent)


def print_text(name: str, text: str, indent: str) -> None:
    """``name: text``; a text of several lines stands in a block below its name. What is too long is cut, and said."""
    cut = f"… ({len(text) - LONGEST_TEXT:,} more characters)" if len(text) > LONGEST_TEXT else ""
    shown = safe(text[:LONGEST_TEXT]) + cut
    label = f"{one_line(name)}:" if name else ""
    if "\n" not in shown:
        out(f"{indent}{label} {shown}" if label else f"{indent}{shown}")
        return
    if label:
        out(f"{indent}{label}")
        indent += "  "
    for line in shown.split("\n"):
        out(f"{indent}{line}")
