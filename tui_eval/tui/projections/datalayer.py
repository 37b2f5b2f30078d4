"""An evalset before its launch, and its run afterwards, as rows and texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tui_eval.display import one_line
from tui_eval.tui.text import plural
from tui_eval.tui.widgets.cells import Cell, Column, Row

if TYPE_CHECKING:
    from tui_eval.spec.evalset import Evalset
    from tui_eval.store.platform_records import PlatformRecord, ReportCounts

AGENTSPECS = (
    Column("name", "agentspec", 16, weight=3, most=60, priority=9),
    Column("note", "", 12, weight=1, priority=2),
)


def agentspec_rows(suggested: Iterable[str], named: Iterable[str]) -> list[Row]:
    """The agentspecs to choose from, those that the evalset suggests first; the key is the id."""
    notes = dict.fromkeys(named, "named here") | dict.fromkeys(suggested, "suggested")
    ordered = sorted(notes, key=lambda spec: notes[spec] == "named here")
    return [Row(spec, (Cell(spec, "title"), Cell(notes[spec], "muted"))) for spec in ordered]


def agentspecs_typed(text: str) -> list[str]:
    """Ids with commas between, each once."""
    return list(dict.fromkeys(spec for part in text.split(",") if (spec := part.strip())))


def wrong_agentspecs(text: str) -> str:
    """What is wrong with typed ids, "" for nothing."""
    specs = agentspecs_typed(text)
    if not specs:
        return "type the id of an agentspec, several with commas between"
    unprintable = [spec for spec in specs if not spec.isprintable() or len(spec) > 200]
    return "an id has at most 200 visible characters" if unprintable else ""


def evalset_line(evalset: Evalset) -> str:
    """``5 cases (batch), graded by contains, llm_judge; asks for a pass rate of 0.8``."""
    spec = evalset.spec
    graders = list(dict.fromkeys(ref.name for case in evalset.cases for ref in case.evaluators))
    graded = f"graded by {', '.join(graders)}" if graders else "no evaluator: nothing can be graded strictly"
    gates = f"; asks for a pass rate of {max(evalset.gates):g}" if evalset.gates else ""
    return f"{plural(len(evalset.cases), 'case')} ({spec.kind}), {graded}{gates}"


def chosen_line(chosen: Sequence[str], cases: int, repeats: object) -> str:
    """``2 agentspecs x 5 cases x 3 times = 30 chats``, or what to do first."""
    if not chosen:
        return "No agentspec is chosen: mark one with space, or name one with a."
    times = repeats if isinstance(repeats, int) and not isinstance(repeats, bool) and repeats > 0 else 1
    parts = [plural(len(chosen), "agentspec"), plural(cases, "case"), *([f"{times} times"] if times > 1 else [])]
    return f"{' x '.join(parts)} = {plural(len(chosen) * cases * times, 'chat')}"


def view_lines(records: Iterable[tuple[PlatformRecord, ReportCounts]]) -> list[list[Cell]]:
    """A line on where people see on the platform what was reported of a run; none while there is no such place."""
    found = (str(record.told.get("view_url", "")) for record, _ in records)
    url = next((url for url in found if url), "")
    return [[Cell("see it on ", "muted"), Cell(one_line(url, 300), "accent")]] if url else []


def is_evalset_run(plan: Mapping[str, Any]) -> bool:
    """Whether a run's plan is about an evalset: it has the report of one."""
    return isinstance(plan.get("datalayer"), Mapping)
