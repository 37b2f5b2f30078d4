"""One plain line that says how far a run is, for `watch` and for progress without a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tui_eval.analysis.summary import total_of
from tui_eval.cli.terminal import one_line
from tui_eval.store.records import RequestRecord, RunRecord


def progress_line(run: RunRecord, requests: Sequence[RequestRecord]) -> str:
    """``RUN running 120/300 tasks (40 %): 100 passed, 15 failed, 5 error; 8 in flight``. No share of nothing."""
    total = total_of(request.counters for request in requests)
    share = f" ({100 * total.finished // total.total} %)" if total.total else ""
    counts = [
        f"{count} {word}"
        for word in ("passed", "failed", "error", "unscored", "cancelled")
        if (count := getattr(total, word))
    ]
    parts = [f"{one_line(run.run_id)} {run.state.value} {total.finished}/{total.total} tasks{share}"]
    if counts:
        parts[0] += ": " + ", ".join(counts)
    if total.reused:
        parts.append(f"{total.reused} reused")
    if total.running:
        waiting = f", {total.waiting} waiting to try again" if total.waiting else ""
        parts.append(f"{total.running} in flight{waiting}")
    return "; ".join(parts)


def progress_json(run: RunRecord, requests: Sequence[RequestRecord]) -> dict[str, Any]:
    """The same as JSON data, with each request's counts."""
    from dataclasses import asdict

    return {
        "run_id": run.run_id,
        "state": run.state.value,
        "requests": [
            {"name": request.name, "state": request.state.value, **asdict(request.counters)} for request in requests
        ],
    }
