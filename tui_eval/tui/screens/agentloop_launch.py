"""From a plan of AgentLoop to its pre-flight page: which solution of ours answers its rows."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from tui_eval.errors import SpecError
from tui_eval.tui.agentloop_reading import NEW_HTTP, Where, draft_of, solution_choices
from tui_eval.tui.background import away
from tui_eval.tui.projections.launch import PARTS
from tui_eval.tui.screens.dialogs import Choose, Option
from tui_eval.tui.screens.picking import Offer, Pick
from tui_eval.tui.widgets.cells import Cell, Row

if TYPE_CHECKING:
    from tui_eval.platforms.agentloop.nouns import PlatformPlan
    from tui_eval.tui.application import TuiEvalApp
    from tui_eval.tui.launch_parts import Choice

_HTTP, _OTHER = "http", "other"


async def launch_plan(app: TuiEvalApp, where: Where, plan: PlatformPlan) -> None:
    """Let a solution be chosen or filled in, and open the pre-flight page; says why for a plan that cannot be run."""
    if not plan.runnable:
        why = "it has no dataset" if plan.type == "offline" else f"it is of type {plan.type or 'unknown'}"
        app.notify(f"This plan cannot be run here: {why}. Offline plans with a dataset can.", severity="warning")
        return
    by_key = {choice.key: choice for choice in await away(partial(solution_choices, app.workspace))}
    offers = [
        _offer(_HTTP, "new HTTP agent", "a form: address, body, server-sent events"),
        _offer(_OTHER, "new solution of another kind", "command, chat, python, …"),
        *(_offer(key, choice.name, choice.note) for key, choice in by_key.items()),
    ]
    title = f"Which solution answers the rows of {plan.name or plan.plan_id}?"
    chosen = await app.push_screen_wait(Pick(title, PARTS, offers))
    if chosen == _HTTP:
        _fill_in(app, where, plan, "http", NEW_HTTP)
    elif chosen == _OTHER:
        from tui_eval.spec.kinds import solution_kinds

        options = [Option(name, name) for name in solution_kinds()]
        kind = await app.push_screen_wait(Choose("Which kind of solution?", options))
        if kind is not None:
            _fill_in(app, where, plan, kind, {})
    elif chosen is not None:
        _review(app, where, plan, by_key[chosen])


def _fill_in(app: TuiEvalApp, where: Where, plan: PlatformPlan, kind: str, options: Mapping[str, Any]) -> None:
    from tui_eval.spec.kinds import solution_kinds
    from tui_eval.tui.launch_parts import own_choice
    from tui_eval.tui.screens.launch_form import LaunchFormScreen

    try:
        model = solution_kinds()[kind].options_model()
    except SpecError as error:
        app.notify(str(error), severity="error", timeout=10)
        return

    def take(data: dict[str, Any]) -> None:
        _review(app, where, plan, own_choice("solution", kind, kind, data))

    app.push_screen(LaunchFormScreen(f"solution {kind}", model, options, take, skip=("type",)))


def _review(app: TuiEvalApp, where: Where, plan: PlatformPlan, solution: Choice) -> None:
    from tui_eval.tui.screens.launch_review import ReviewScreen

    draft = draft_of(where, plan.plan_id, plan.name, plan.dataset, solution, app.workspace)
    app.push_screen(ReviewScreen(draft))


def _offer(key: Hashable, name: str, note: str) -> Offer:
    return Offer(Row(key, (Cell(name, "title"), Cell(note, "muted"))), f"{name}\n{note}")
