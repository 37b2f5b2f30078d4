"""Evaluators: how answers are judged. Those of the workspace, a form for each kind, and a page to try one."""

from __future__ import annotations

from tui_eval.tui.screens.parts import PartsScreen


class EvaluatorsScreen(PartsScreen):
    """The evaluators of the workspace."""

    OF = "evaluator"
    TITLE_OF = "Evaluators"
    PLATFORM_LIST = "evaluators"
    HELP = (
        "How answers are judged: the files in evaluators/, and what stands in plans (plan › request). Enter opens the "
        "form, t tries one on an output that you type, or on the stored answer of a run."
    )
