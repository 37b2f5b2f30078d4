"""What is said of the platforms that a run is reported to, one line a record."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_eval.cli.terminal import one_line, out

if TYPE_CHECKING:
    from tui_eval.store.platform_records import PlatformRecord, ReportCounts
    from tui_eval.store.records import RunRecord


def print_platform_lines(history: Path, run: RunRecord, names: dict[int, str]) -> None:
    """Print a line for each record of ``run``; ``names`` are its requests by key. Nothing where it has none."""
    from tui_eval.store.platform_records import reported

    for record, counts in reported(history, run.id):
        out(f"  {record.platform}: {record_line(record, counts, names.get(record.request, ''))}")
        if record.told.get("view_url"):
            out(f"    {one_line(str(record.told['view_url']))}")
        if record.error:
            out(f"    {one_line(record.error)}")
            out(f"    go on with: tui-eval {record.platform} sync {one_line(run.run_id)}")


def record_line(record: PlatformRecord, counts: ReportCounts, request: str) -> str:
    """``agent: record rec-1, 200 of 200 results reported, completed; scores of 200``."""
    finished = counts.succeeded + counts.failed
    where = f"record {one_line(record.record_id)}" if record.record_id else "no record yet"
    parts = [f"{one_line(request)}: {where}", f"{counts.sent} of {finished} results reported"]
    if counts.doubtful:
        parts.append(f"{counts.doubtful} not known to have arrived")
    if counts.refused:
        parts.append(f"{counts.refused} refused")
    if record.status:
        parts.append(one_line(record.status))
    text = ", ".join(parts)
    scored = record.evaluation.get("scored")
    if record.evaluation:
        text += f"; platform's scores of {scored} (evaluation {one_line(str(record.evaluation.get('status', '')))})"
    return text


def record_json(record: PlatformRecord, counts: ReportCounts, request: str, error: str) -> dict[str, Any]:
    """The same as JSON data."""
    return {
        "request": request,
        "platform": record.platform,
        "record_id": record.record_id,
        "record_name": record.record_name,
        "status": record.status,
        "results": counts.succeeded + counts.failed,
        "reported": counts.sent,
        "waiting": counts.waiting,
        "doubtful": counts.doubtful,
        "refused": counts.refused,
        "evaluation": record.evaluation,
        "error": error,
    }
