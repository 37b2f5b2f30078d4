"""A task as texts, a section each: what was asked, expected, answered, how it was judged, what was sent and received.

Plain functions from a :class:`TaskView` to parts of a text; called in a thread, because a text may be large.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from tui_eval.analysis.expected import Expectation
from tui_eval.display import duration, local_time
from tui_eval.domain import JsonValue, Outcome, Score
from tui_eval.store.records import AttemptRecord
from tui_eval.tui.projections.agent_steps import agent_steps
from tui_eval.tui.projections.diff_parts import compared
from tui_eval.tui.projections.json_layout import laid_out, value_text
from tui_eval.tui.task_reading import TaskView
from tui_eval.tui.text import line, outcome_text, plural
from tui_eval.tui.widgets.styled_text import Part

NAMES = ("Task", "Input", "Output", "Diff", "Scores", "Attempts", "Sent", "Received", "Events")
_SUMMARY_LINES = 10
_SUMMARY_CHARACTERS = 600
_LABEL = 12


def section(view: TaskView, place: int, raw: bool) -> list[Part]:
    """The parts of the section at a place of :data:`NAMES`. ``raw``: JSON exactly as it came."""
    return list(_WRITERS[place](view, raw))


def notes(view: TaskView) -> tuple[str, ...]:
    """How many there are in each section, "" where that says nothing."""
    scores = f"({len(view.scores)})" if len(view.scores) > 1 else ""
    attempts = f"({len(view.attempts)})" if len(view.attempts) > 1 else ""
    events = view.received.get("events")
    return "", "", "", "", scores, attempts, "", "", f"({len(events)})" if events else ""


def _task(view: TaskView, raw: bool) -> Iterator[Part]:
    if view.task.message:
        yield from _heading("Why")
        yield _cut(view.task.message), ""
        yield "\n\n", ""
    yield from _heading("Input", "case, " + (f"line {view.task.line} of the dataset" if view.task.line else "stored"))
    yield from _fields({name: _cut(value_text(value, raw)) for name, value in view.case_input.items()})
    for expectation in view.expected:
        yield from _heading("Expected", _read_by(expectation))
        yield from _expected_value(expectation, raw, _cut)
    yield from _heading("Output")
    yield from _output(view, raw, _cut)
    yield from agent_steps((view.answer or view.received).get("detail") or {}, _cut)
    if view.scores:
        yield from _heading("Scores")
        for score in view.scores:
            yield from score_line(score)
        yield "\n", ""
    if view.attempts:
        yield from _heading("Attempts")
        for attempt in view.attempts:
            yield from _attempt_line(view, attempt)
    if not view.task.outcome.final:
        yield "\n", ""
        yield from _unfinished(view)


def _input(view: TaskView, raw: bool) -> Iterator[Part]:
    for name, value in view.case_input.items():
        yield from _heading(name)
        yield value_text(value, raw), ""
        yield "\n\n", ""


def _whole_output(view: TaskView, raw: bool) -> Iterator[Part]:
    yield from _output(view, raw, lambda text: text)


def _diff(view: TaskView, raw: bool) -> Iterator[Part]:
    if view.answer is None:
        yield "There is no output to compare.", "muted"
        return
    if not view.expected:
        yield "No evaluator of this request has an expected value to compare with.", "muted"
        return
    for expectation in view.expected:
        yield from _heading("Expected → output", _read_by(expectation))
        if not expectation.found:
            yield "The case has no such column.\n\n", "muted"
            continue
        yield from compared(
            _comparable(expectation.value, view.output, raw),
            _comparable(view.output, expectation.value, raw),
            ("only expected", "only in the output"),
        )
        yield "\n\n", ""


def _comparable(value: JsonValue, other: JsonValue, raw: bool) -> str:
    """Two texts are compared as they are; where one side is another value, both are laid out."""
    both_texts = isinstance(value, str) and isinstance(other, str)
    return value if both_texts else value_text(value, raw)


def _scores(view: TaskView, raw: bool) -> Iterator[Part]:
    if not view.scores:
        yield "No evaluator has judged this task.", "muted"
    for score in view.scores:
        yield from score_line(score, whole=True)
        for name, value in score.detail.items():
            title = "the judge's reply, as it came" if name == "reply" else name
            yield f"\n  {title}\n", "label"
            yield value_text(value, raw or name == "reply"), ""
            yield "\n", ""
        yield "\n", ""


def _attempts(view: TaskView, raw: bool) -> Iterator[Part]:
    if not view.attempts:
        yield from _unfinished(view) if not view.task.outcome.final else [("No attempt was made.", "muted")]
    for place, attempt in enumerate(view.attempts):
        yield from _attempt_line(view, attempt)
        facts = {"began": local_time(attempt.started_at), "trace id": attempt.trace_id, "error": attempt.error_kind}
        if place == view.attempt:
            facts |= _received_facts(view.received)
        yield from _fields({name: text for name, text in facts.items() if text})
    yield from _unfinished(view) if not view.task.outcome.final and view.attempts else ()


def _sent(view: TaskView, raw: bool) -> Iterator[Part]:
    yield from _attempt_heading(view)
    if not view.sent:
        yield "What was sent was not kept.", "muted"
        return
    yield "Secrets stand as ${NAME}, as in the plan.\n\n", "muted"
    for name, value in view.sent.items():
        yield from _named_value(name, value, raw)


def _received(view: TaskView, raw: bool) -> Iterator[Part]:
    yield from _attempt_heading(view)
    received = view.received
    if not received:
        yield "Nothing was received.", "muted"
        return
    yield from _fields(_received_facts(received))
    for note in received.get("notes") or ():
        yield f"! {note}\n", "warning"
    if received.get("stderr"):
        yield from _heading("Standard error")
        yield received["stderr"], ""
        yield "\n\n", ""
    headers = received.get("headers")
    if headers:
        yield from _heading("Headers")
        for name, value in headers:
            yield f"{name}: ", "label"
            yield f"{value}\n", ""
        yield "\n", ""
    for name, value in (received.get("detail") or {}).items():
        yield from _named_value(name, value, raw)
    body = received.get("raw") or ""
    cut = "cut at the limit of the solution" if received.get("raw_truncated") else ""
    yield from _heading("Standard output" if "argv" in view.sent or "shell" in view.sent else "Body", cut)
    yield (body if raw else laid_out(body), "") if body else ("(empty)", "muted")


def _events(view: TaskView, raw: bool) -> Iterator[Part]:
    yield from _attempt_heading(view)
    events = view.received.get("events") or ()
    if not events:
        yield "No events: the answer was not a stream, or it broke before the first one.", "muted"
    yield from event_lines(events)


def event_lines(events: Iterable[tuple[float, str, str]]) -> Iterator[Part]:
    """Events of a stream, a line each: seconds since the request, and since the event before, name, data."""
    previous = 0.0
    for at, name, data in events:
        yield f"{at:9.3f} s  +{max(0.0, at - previous):.3f}  ", "label"
        yield f"{name}  ", "heading" if name != "message" else "label"
        yield f"{data}\n", ""
        previous = at


_WRITERS: tuple[Callable[[TaskView, bool], Iterator[Part]], ...] = (
    _task,
    _input,
    _whole_output,
    _diff,
    _scores,
    _attempts,
    _sent,
    _received,
    _events,
)


# -- parts of sections --


def _heading(title: str, note: str = "") -> Iterator[Part]:
    yield line(title), "heading"
    yield f"  {line(note)}\n" if note else "\n", "muted"


def _attempt_heading(view: TaskView) -> Iterator[Part]:
    if len(view.attempts) > 1:
        yield from _attempt_line(view, view.attempts[view.attempt])
        yield f"a, A: another one of the {len(view.attempts)} attempts\n\n", "muted"


def _fields(fields: Mapping[str, str]) -> Iterator[Part]:
    """``name        value``: one a line; a value of several lines begins below its name."""
    width = min(24, max([_LABEL, *(len(line(name)) for name in fields)]))
    for name, text in fields.items():
        label = line(name)
        yield label.ljust(width) + ("\n" if "\n" in text else "  "), "label"
        yield text + "\n", ""
    if fields:
        yield "\n", ""


def _named_value(name: str, value: JsonValue, raw: bool) -> Iterator[Part]:
    if name == "headers" and isinstance(value, dict):
        yield from _heading("Headers")
        for header, text in value.items():
            yield f"{header}: ", "label"
            yield f"{value_text(text, True)}\n", ""
        yield "\n", ""
    elif isinstance(value, str) and "\n" not in value and len(value) < 200:
        yield from _heading_free(name, value)
    else:
        yield from _heading(name.replace("_", " ").capitalize())
        yield value_text(value, raw), ""
        yield "\n\n", ""


def _heading_free(name: str, value: str) -> Iterator[Part]:
    yield line(name).ljust(_LABEL) + "  ", "label"
    yield value + "\n\n", ""


def _output(view: TaskView, raw: bool, bounded: Callable[[str], str]) -> Iterator[Part]:
    if view.answer is None:
        yield f"{_no_output(view)}\n\n", "muted"
        return
    text = value_text(view.output, raw)
    yield (bounded(text) + "\n\n", "") if text else ('(an empty text: "")\n\n', "muted")


def _no_output(view: TaskView) -> str:
    if not view.task.outcome.final:
        return "There is no answer yet."
    return "The agent gave no usable answer." if view.attempts else "The agent was not called."


def _expected_value(expectation: Expectation, raw: bool, bounded: Callable[[str], str]) -> Iterator[Part]:
    if not expectation.found:
        yield "The case has no such column.\n\n", "muted"
        return
    text = value_text(expectation.value, raw)
    yield (bounded(text) + "\n\n", "") if text else ('(an empty text: "")\n\n', "muted")


def _read_by(expectation: Expectation) -> str:
    return f"{expectation.source}, read by {', '.join(expectation.evaluators)}"


def score_line(score: Score, whole: bool = False) -> Iterator[Part]:
    """A verdict with its name, value and reason, on one line; ``whole``: the reason in full below."""
    outcome = {True: Outcome.PASSED, False: Outcome.FAILED, None: Outcome.UNSCORED}[score.passed]
    word = "informative" if score.passed is None and not score.error else outcome_text(outcome)
    yield word.ljust(_LABEL), outcome.value
    yield f"{line(score.evaluator)}  ", "heading"
    yield "" if score.value is None else f"{score.value:.4g}  ", ""
    reasons = [text for text in (score.reason, score.error) if text]
    if whole:
        yield "\n" + "\n".join(reasons) + "\n" if reasons else "\n", ""
    else:
        yield "  ".join(line(text[:400], 200) for text in reasons) + "\n", ""


def _attempt_line(view: TaskView, attempt: AttemptRecord) -> Iterator[Part]:
    chosen = len(view.attempts) > 1 and view.attempts[view.attempt] is attempt
    yield f"{'▸' if chosen else ' '} {attempt.number}  ", "heading"
    outcome = Outcome.ERROR if attempt.error_kind else Outcome.PASSED
    yield f"{'! ' + attempt.error_kind if attempt.error_kind else '✓ answered'}  ", outcome.value
    status = f"status {attempt.status_code}  " if attempt.status_code is not None else ""
    yield f"{local_time(attempt.started_at)[11:]}  {duration(attempt.seconds)}  {status}", "label"
    yield f"{line(attempt.message)}\n", ""


def _received_facts(received: Mapping[str, Any]) -> dict[str, str]:
    usage = received.get("usage") or {}
    tokens = ", ".join(
        f"{usage[key]:,} {word}"
        for key, word in (("input_tokens", "in"), ("output_tokens", "out"), ("total_tokens", "in all"))
        if isinstance(usage.get(key), int)
    )
    first = received.get("first_byte_seconds")
    facts = {
        "status": received.get("status_code"),
        "exit code": received.get("exit_code"),
        "content type": received.get("content_type"),
        "trace id": received.get("trace_id"),
        "first byte": duration(first) if first is not None else None,
        "tokens": tokens,
        "cost": usage.get("cost"),
        "finished by": received.get("finish_reason"),
        "size": plural(len(received.get("raw") or ""), "character") if received.get("raw") else None,
    }
    return {name: str(value) for name, value in facts.items() if value not in (None, "")}


def _unfinished(view: TaskView) -> Iterator[Part]:
    if view.activity is not None:
        yield f"▸ {view.activity.phase}", "running"
        yield f", attempt {view.activity.attempt}", ""
        yield f"  {view.activity.detail}\n" if view.activity.detail else "\n", ""
    elif view.state.live:
        yield "Waiting for its turn.\n", "muted"
    else:
        yield "The run ended before this task was done: press C on the run to finish it.\n", "muted"


def _cut(text: str) -> str:
    """The beginning of a text, with a word on how much is left out."""
    lines = text[:_SUMMARY_CHARACTERS].split("\n")[:_SUMMARY_LINES]
    kept = "\n".join(lines)
    left = len(text) - len(kept)
    return kept if left <= 0 else f"{kept}… ({left:,} more characters)"
