"""What an agent did beside its answer: its reasoning and the tools it called, as texts. Never part of the output."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tui_eval.domain import JsonValue, as_text
from tui_eval.tui.text import line, plural
from tui_eval.tui.widgets.styled_text import Part

_CALLS_SHOWN = 20
_VALUE_CELLS = 160


def agent_steps(detail: Mapping[str, Any], bounded: Callable[[str], str]) -> Iterator[Part]:
    """The parts of an answer's ``detail`` (see ``domain.Answer``) for the first page of a task; the received page has
    all of it. ``bounded`` cuts long texts."""
    reasoning = detail.get("reasoning")
    if isinstance(reasoning, str) and reasoning:
        yield from _heading("Reasoning", "not part of the output")
        yield bounded(reasoning) + "\n\n", "muted"
    calls = detail.get("tool_calls")
    if isinstance(calls, list) and calls:
        yield from _heading("Tool calls", f"{plural(len(calls), 'call')}, in the order they began")
        for call in calls[:_CALLS_SHOWN]:
            if isinstance(call, Mapping):
                yield from _call(call)
        if len(calls) > _CALLS_SHOWN:
            yield f"  and {len(calls) - _CALLS_SHOWN} more: see Received\n", "muted"
        yield "\n", ""


def _call(call: Mapping[str, Any]) -> Iterator[Part]:
    name = call.get("name")
    yield f"  {line(name if isinstance(name, str) and name else '(no name)', 60)}", "heading"
    yield f"  {_value(call.get('input'))}\n", ""
    if "error" in call:
        yield f"    ! {_value(call['error'])}\n", "error"
    elif call.get("denied"):
        yield "    ! denied\n", "warning"
    elif "output" in call:
        yield f"    → {_value(call['output'])}\n", "muted"
    else:
        yield "    … no result came\n", "warning"


def _value(value: JsonValue) -> str:
    return "" if value is None else line(as_text(value)[: 8 * _VALUE_CELLS], _VALUE_CELLS)


def _heading(title: str, note: str) -> Iterator[Part]:
    yield title, "heading"
    yield f"  {note}\n", "muted"
