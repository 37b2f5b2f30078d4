"""AgentCompass's own figures for a request, from its ``metrics`` (contract, section 2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tui_eval.store.records import LogLine

TOLD = "AgentCompass: "
"""Beginning of the line in a run's log that has the figures of a request."""


def figures(metrics: Mapping[str, Any]) -> str:
    """What it says of a request as a whole: the official figure, and what was measured when it voids that."""
    series = metrics.get("series")
    return "; ".join(_figure(one) for one in (series if isinstance(series, list) else ()) if isinstance(one, Mapping))


def told(log: Iterable[LogLine]) -> dict[str, str]:
    """The figures by request, as the log of a run has them; of a request that ended again (``resume``) the later ones."""
    return {
        line.request: line.message.removeprefix(TOLD) for line in log if line.request and line.message.startswith(TOLD)
    }


def _figure(series: Mapping[str, Any]) -> str:
    counts = series.get("counts")
    counts = counts if isinstance(counts, Mapping) else {}
    label = _label(series)
    over = f"over {counts.get('evaluated')} of {counts.get('total')} tasks" if counts.get("total") is not None else ""
    value, reference = series.get("value"), series.get("reference_value")
    if isinstance(value, int | float):
        return f"{label} {value:.4f} {over}".strip()
    if isinstance(reference, int | float):
        invalid = counts.get("invalidated") or 0
        tasks = "task" if invalid == 1 else "tasks"
        return f"{label}: no official figure ({invalid} {tasks} with a fatal issue); measured {reference:.4f} {over}".strip()
    return f"{label}: no figure {over}".strip()


def _label(series: Mapping[str, Any]) -> str:
    display = series.get("display")
    label = display.get("label") if isinstance(display, Mapping) else None
    label = str(label or series.get("metric_id") or "metric")
    k, reducer = series.get("k"), series.get("reducer")
    return f"{label} {reducer}@{k}" if isinstance(k, int) and k > 1 and isinstance(reducer, str) else label
