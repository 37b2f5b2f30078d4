"""Solutions: how agents are called. Those of the workspace, a form for each kind, and a page to try one."""

from __future__ import annotations

from tui_eval.tui.screens.parts import PartsScreen


class SolutionsScreen(PartsScreen):
    """The solutions of the workspace."""

    OF = "solution"
    TITLE_OF = "Solutions"
    HELP = (
        "How agents are called: the files in solutions/, and what stands in plans (plan › request). Enter opens the "
        "form, t tries one: it shows exactly what would be sent, and sends only when you say so."
    )
