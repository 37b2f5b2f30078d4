"""Is this AgentCompass's? Asked before anything else is loaded, of plan files, data and runs in the history."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_eval.errors import TuiEvalError
from tui_eval.spec.foreign import COMPASS_WORDS, is_orchestration, sections_of

if TYPE_CHECKING:
    from tui_eval.jobs import Job

PLATFORM = "agentcompass"
"""What runs of AgentCompass say of themselves in ``origin_detail``."""


def is_orchestration_data(data: Any) -> bool:
    """Whether plain data is an AgentCompass orchestration."""
    if not isinstance(data, Mapping):
        return False
    return is_orchestration(list(data), {key for section in sections_of(data) for key in section})


def is_orchestration_file(path: Path) -> bool:
    """Whether a file is an orchestration, as far as it can be read; faults are told by whoever loads it."""
    from tui_eval.spec.source import compose, read_text

    try:
        text = read_text(path, str(path))
        if not any(word in text for word in COMPASS_WORDS):
            return False  # nearly every plan of ours: not worth taking apart twice
        root, _ = compose(text, str(path))
    except TuiEvalError:
        return False
    return root is not None and is_orchestration_data(root.data())


def is_ours(job: Job) -> bool:
    """Whether a job is about AgentCompass: its plan, or that of the run it takes up."""
    if job.action == "launch":
        return is_orchestration_file(Path(job.plan)) if isinstance(job.plan, str) else is_orchestration_data(job.plan)
    from tui_eval.store.reader import History

    wanted = job.parent or "last" if job.action == "rerun" else job.run_id
    try:
        with History(Path(job.history)) as history:
            run = history.run(wanted)
    except TuiEvalError:
        return False  # whoever executes the job says what is wrong
    return run.origin_detail.get("platform") == PLATFORM
