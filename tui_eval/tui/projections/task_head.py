"""The lines above the sections of a task: what it is, what came of it, what it is doing."""

from __future__ import annotations

from tui_eval.display import duration
from tui_eval.domain import Outcome
from tui_eval.tui.projections.runs import money
from tui_eval.tui.task_reading import TaskView
from tui_eval.tui.text import outcome_text, plural
from tui_eval.tui.widgets.cells import Cell


def title(view: TaskView, place: str) -> tuple[Cell, ...]:
    """``✗ failed  capital-australia  json  3 of 24``."""
    task = view.task
    outcome = Outcome.RUNNING if view.activity is not None else task.outcome
    repeat = f" #{task.repeat + 1}" if task.repeat else ""
    reused = (Cell(f"  ↺ taken over from {task.reused_from}", "muted"),) if task.reused_from else ()
    return (
        Cell(outcome_text(outcome), outcome.value),
        Cell("  "),
        Cell(task.case_id + repeat, "title"),
        Cell(f"  {view.request.name}", "accent"),
        Cell(f"  {place}" if place else "", "muted"),
        *reused,
    )


def facts(view: TaskView, now: float) -> tuple[Cell, ...]:
    """What a running task is doing and for how long; else the figures of a finished one."""
    task, activity = view.task, view.activity
    if activity is not None:
        seconds = duration(float(max(0, int(now - activity.since))))
        left = f", {max(0.0, activity.until - now):.0f} s left" if activity.until is not None else ""
        detail = f"  {activity.detail}" if activity.detail else ""
        return (Cell(f"{activity.phase} for {seconds}{left}", "running"), Cell(f"  attempt {activity.attempt}{detail}"))
    if not task.outcome.final:
        return (Cell("waiting for its turn" if view.state.live else "not done when the run ended", "muted"),)
    parts = [f"took {duration(task.latency)}" if task.latency is not None else ""]
    parts.append(plural(task.attempts, "attempt"))
    parts.append(f"score {task.score:.3g}" if task.score is not None else "")
    tokens = [f"{count:,} {word}" for count, word in ((task.input_tokens, "in"), (task.output_tokens, "out")) if count]
    parts.append(f"tokens {' '.join(tokens)}" if tokens else "")
    parts.append(f"cost {money(task.cost)}" if task.cost else "")
    parts.append(f"run {view.run.run_id}")
    return (Cell("  ".join(part for part in parts if part), "muted"),)
