"""What a user does with plans from the screens: make a new one from a sample."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tui_eval.errors import TuiEvalError
from tui_eval.tui import sample_plans
from tui_eval.tui.background import away
from tui_eval.tui.screens.dialogs import Choose, Option, Prompt

if TYPE_CHECKING:
    from tui_eval.tui.application import TuiEvalApp


async def new_plan(app: TuiEvalApp) -> Path | None:
    """Ask which sample and for the new plan's name, and copy it; the new file, None when it was given up."""
    workspace = app.workspace
    try:
        samples = await away(sample_plans.samples)
        options = [Option(name, name.removesuffix(".yaml"), shows) for name, shows in samples]
        sample = await app.push_screen_wait(Choose("A new plan, made from which sample?", options))
        if sample is None:
            return None
        name = await app.push_screen_wait(
            Prompt(
                f"Its name, in {workspace}",
                _free_name(sample, workspace),
                hint="my-plan.yaml",
                check=partial(sample_plans.name_fault, workspace=workspace),
            )
        )
        if name is None:
            return None
        written = await away(partial(sample_plans.copy, sample, workspace / name.strip()))
    except TuiEvalError as error:
        app.notify(str(error), severity="error", timeout=8)
        return None
    others = ", ".join(sorted({str(path.relative_to(written[0].parent)) for path in written[1:]}))
    app.notify(f"Made {written[0].name}" + (f" and {others}" if others else "") + ". Press e to edit it.")
    return written[0]


def _free_name(sample: str, workspace: Path) -> str:
    stem = sample.removesuffix(".yaml")
    names = [f"{stem}.yaml", *(f"{stem}-{number}.yaml" for number in range(2, 100))]
    return next((name for name in names if not sample_plans.name_fault(name, workspace)), "")
