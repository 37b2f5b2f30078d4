"""AgentCompass's own figures for a request, from its ``metrics`` (contract, section 2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def figures(metrics: Mapping[str, Any]) -> str:
    """What it says of a request as a whole: the official figure, and what was measured when it voids that."""
    series = metrics.get("series")
    return "; ".join(_figure(one) for one in (series if isinstance(series, list) else ()) if isinstance(one, Mapping))


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
    return str(label or series.get("metric_id") or "metric")
