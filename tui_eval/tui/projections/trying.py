"""What ``tui-eval try`` reports, as texts: a section each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tui_eval.display import duration
from tui_eval.domain import JsonValue, Score, as_text
from tui_eval.spec.references import missing_variable
from tui_eval.tui.projections.json_layout import laid_out, value_text
from tui_eval.tui.projections.task_copies import Copy
from tui_eval.tui.projections.task_sections import event_lines, score_line
from tui_eval.tui.text import line, plural
from tui_eval.tui.widgets.styled_text import Part

Report = Mapping[str, Any]
SECTIONS = ("Request", "Answer", "Events", "Body", "Headers", "stderr")
_LABEL = 14


def section(report: Report, place: int, raw: bool) -> list[Part]:
    """The parts of a section of :data:`SECTIONS`. ``raw``: JSON exactly as it came."""
    return list(_WRITERS[place](report, raw))


def notes(report: Report) -> tuple[str, ...]:
    """What is told of each section beside its name."""
    answer = _answer(report)
    sent = report.get("sent")
    events, headers = len(answer.get("events") or ()), len(answer.get("headers") or ())
    error = "!" if sent and report.get("error") else "✓" if sent else ""
    return (
        "",
        error,
        f"({events})" if events else "",
        "",
        f"({headers})" if headers else "",
        ("!" if answer.get("stderr") else ""),
    )


def status(report: Report) -> str:
    """A line about the whole: what was called, how it ended, how long it took."""
    if not report.get("sent"):
        return "nothing was sent yet"
    ended = report["error"]["kind"] if report.get("error") else "answered"
    code = _answer(report).get("status_code")
    parts = [ended, f"HTTP {code}" if code is not None else "", duration(report.get("seconds"))]
    return ", ".join(part for part in parts if part)


def faults(report: Report) -> Iterator[Part]:
    """Why it cannot be tried."""
    found = report.get("faults") or ()
    error = report.get("error") or {}
    if not found:
        yield f"✗ {error.get('message', 'it cannot be tried')}\n", "failed"
    for fault in found:
        yield f"{'!' if fault['warning'] else '✗'} ", "warning" if fault["warning"] else "failed"
        yield f"{fault['path']}: " if fault["path"] else "", "label"
        yield f"{fault['message']}\n", ""
        asked = "s asks for it; or " if missing_variable(fault["message"]) else ""
        yield f"  {asked}{fault['hint']}\n" if fault["hint"] else "", "muted"


def _request(report: Report, raw: bool) -> Iterator[Part]:
    for warning in report.get("warnings") or ():
        yield f"! {warning}\n", "warning"
    if "sends" not in report:
        yield from faults(report)
        return
    head = "This was sent to " if report.get("sent") else "This would be sent to "
    yield head, "muted"
    yield f"{report.get('calls', '')}\n", "heading"
    yield "Secrets stand as ${NAME}.\n\n", "muted"
    for name, value in report["sends"].items():
        yield from _named(name, value, raw)


def _output(report: Report, raw: bool) -> Iterator[Part]:
    if not report.get("sent"):
        yield "Nothing was sent yet. Press s to call the agent, once.\n", "muted"
        return
    answer = _answer(report)
    error = report.get("error")
    if error:
        yield f"! {error['kind']}  ", "error"
        yield f"{error['message']}\n\n", ""
    yield from _facts(report, answer)
    for note in answer.get("notes") or ():
        yield f"! {note}\n", "warning"
    if not error:
        yield "Output\n", "heading"
        text = value_text(answer.get("output"), raw)
        yield (text, "") if text else ('(an empty text: "")', "muted")
        yield "\n", ""
    if report.get("scores"):
        yield "\nScores\n", "heading"
        yield from scores(report)
    for name, value in (answer.get("detail") or {}).items():
        yield "\n", ""
        yield from _named(name, value, raw)


def scores(report: Report) -> Iterator[Part]:
    """Every score: verdict, value, reason, what else its evaluator told."""
    for each in report.get("scores") or ():
        score = Score(**each)
        yield from score_line(score, whole=True)
        for name, value in score.detail.items():
            yield f"\n  {line(name)}\n", "label"
            yield f"{value_text(value, False)}\n", ""


def _facts(report: Report, answer: Mapping[str, Any]) -> Iterator[Part]:
    usage = answer.get("usage") or {}
    tokens = ", ".join(f"{line(name)} {value}" for name, value in usage.items() if value is not None)
    first = answer.get("first_byte_seconds")
    facts = {
        "took": duration(report.get("seconds")),
        "first byte": duration(first) if first is not None else "",
        "status": answer.get("status_code"),
        "exit code": answer.get("exit_code"),
        "content type": answer.get("content_type"),
        "finished by": answer.get("finish_reason"),
        "usage": tokens,
        "trace id": report.get("trace_id"),
        "body": plural(len(answer.get("raw") or ""), "character") if answer.get("raw") else "",
    }
    for name, value in facts.items():
        if value not in (None, ""):
            yield f"{name.ljust(_LABEL - 2)}  ", "label"
            yield f"{value}\n", ""
    yield "\n", ""


def _events(report: Report, raw: bool) -> Iterator[Part]:
    events = _answer(report).get("events") or ()
    if not events:
        yield "No events: nothing was sent yet, or the answer was not a stream.", "muted"
    yield from event_lines(events)


def _body(report: Report, raw: bool) -> Iterator[Part]:
    answer = _answer(report)
    text = answer.get("raw") or ""
    if answer.get("raw_truncated"):
        yield "The body was longer: it is cut at the limit of the solution.\n", "warning"
    yield (text if raw else laid_out(text), "") if text else ("(nothing)", "muted")


def _headers(report: Report, raw: bool) -> Iterator[Part]:
    headers = _answer(report).get("headers") or ()
    if not headers:
        yield "(none)", "muted"
    for name, value in headers:
        yield f"{name}: ", "label"
        yield f"{value}\n", ""


def _stderr(report: Report, raw: bool) -> Iterator[Part]:
    text = _answer(report).get("stderr") or ""
    yield (text, "") if text else ("(nothing)", "muted")


_WRITERS: tuple[Callable[[Report, bool], Iterator[Part]], ...] = (
    _request,
    _output,
    _events,
    _body,
    _headers,
    _stderr,
)


def _named(name: str, value: JsonValue, raw: bool) -> Iterator[Part]:
    if isinstance(value, dict) and name in ("headers", "env"):
        yield f"{line(name)}\n", "heading"
        for key, each in value.items():
            yield f"  {line(key)}: ", "label"
            yield f"{line(as_text(each))}\n", ""
        yield "\n", ""
        return
    text = value_text(value, raw)
    if "\n" in text or len(text) > 200:
        yield f"{line(name)}\n", "heading"
        yield f"{text}\n\n", ""
    else:
        yield f"{line(name).ljust(_LABEL - 2)}  ", "label"
        yield f"{text}\n", ""


def _answer(report: Report) -> Mapping[str, Any]:
    return report.get("answer") or {}


def copies(report: Report) -> list[Copy]:
    """Everything there is to copy of a report; what it does not have is left out."""
    answer = _answer(report)
    curl = report.get("curl") or ""
    found = [
        Copy("curl", "Request as curl" if curl.startswith("curl") else "Command line", curl, ".sh"),
        Copy("request", "Request (JSON)", value_text(report.get("sends"), False) if "sends" in report else "", ".json"),
        Copy("output", "Output", as_text(answer["output"]) if answer.get("output") is not None else ""),
        Copy("body", "Body", answer.get("raw") or ""),
        Copy("stderr", "Standard error", answer.get("stderr") or ""),
        Copy("trace", "Trace id", report.get("trace_id") or ""),
        Copy("error", "Error", (report.get("error") or {}).get("message", "")),
        Copy("scores", "Scores (JSON)", value_text(report["scores"], False) if report.get("scores") else "", ".json"),
    ]
    return [each for each in found if each.text]
