"""From a file to its launch: a plan goes to the pre-flight page, an evalset first to the form that makes a plan of it,
an AgentCompass orchestration to a page of its own."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tui_eval.tui.background import away

if TYPE_CHECKING:
    from tui_eval.spec.workspace import FoundKind
    from tui_eval.tui.application import TuiEvalApp

LAUNCHED: tuple[FoundKind, ...] = ("plan", "evalset", "orchestration")
"""Kinds of files that the launch screen offers."""


async def open_launch(app: TuiEvalApp, path: Path, kind: FoundKind | None = None) -> None:
    """Open what leads to a run of ``path``; ``kind`` is what it was found to be, None when nobody has looked yet."""
    from tui_eval.spec.workspace import kind_of

    kind = kind or await away(partial(kind_of, path))
    if kind == "orchestration":
        from tui_eval.tui.agentcompass_draft import read_draft
        from tui_eval.tui.screens.agentcompass import CompassScreen

        app.push_screen(CompassScreen(await away(partial(read_draft, path))))
        return
    if kind == "evalset":
        from tui_eval.tui.screens.datalayer_launch import launch_evalset

        await launch_evalset(app, path)
        return
    from tui_eval.tui.launch_draft import draft_of_file
    from tui_eval.tui.screens.launch_review import ReviewScreen

    app.push_screen(ReviewScreen(draft_of_file(path)))
