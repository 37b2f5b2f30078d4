"""Evaluators of AgentLoop from the screens: choosing one, its form, and the question before a platform's plan changes."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from tui_eval.errors import Fault, SpecError, TuiEvalError
from tui_eval.spec.agentloop_options import AgentLoopEvaluator, AgentLoopOptions
from tui_eval.tui import agentloop_judging as judging
from tui_eval.tui.background import away
from tui_eval.tui.projections import agentloop as shown
from tui_eval.tui.screens.base import BaseScreen
from tui_eval.tui.screens.dialogs import Confirm
from tui_eval.tui.screens.launch_form import LaunchFormScreen
from tui_eval.tui.screens.picking import Offer, Pick
from tui_eval.tui.text import plural
from tui_eval.tui.widgets.cells import Cell, Row

if TYPE_CHECKING:
    from tui_eval.platforms.agentloop.nouns import PlatformEvaluator
    from tui_eval.tui.agentloop_reading import Where
    from tui_eval.tui.application import TuiEvalApp

T = TypeVar("T")
_OWN = "described here"


async def choose_evaluator(
    app: TuiEvalApp, where: Where, plan_id: str, done: Callable[[dict[str, Any]], object]
) -> None:
    """Let an evaluator be chosen for a plan and filled in; ``done`` gets its section, unless the user leaves. The form is
    checked against its variables and the columns of the plan's dataset."""
    found = await _told(app, "asking for the evaluators…", partial(_judging, app, where, plan_id))
    if found is None:
        return
    offers = [
        _offer(one.name, _about(one, found.judging), f"{one.description}\n{one.type}") for one in found.evaluators
    ]
    offers.append(_offer(_OWN, "by a name and a config of your own", ""))
    title = "Which evaluator of the platform?"
    chosen = await app.push_screen_wait(Pick(title, shown.OFFERED, offers, note=found.trouble))
    if chosen is None:
        return
    section: dict[str, Any] = {}
    variables: tuple[str, ...] | None = None
    if chosen != _OWN:
        name = str(chosen)
        variables = await _told(app, f"asking about {name}…", partial(judging.ask_variables, where, name, os.environ))
        if variables is None:
            return
        section = judging.evaluator_section(name, variables, found.columns)
    columns = found.columns

    def check(data: dict[str, Any]) -> list[Fault]:
        return list(judging.evaluator_faults(data, variables or None, columns))

    heading = "an evaluator of one's own" if chosen == _OWN else f"evaluator {chosen}"
    app.push_screen(LaunchFormScreen(heading, AgentLoopEvaluator, section, done, check=check))


def _judging(app: TuiEvalApp, where: Where, plan_id: str) -> judging.Judging:
    return judging.judging(app.history.path, where, plan_id, os.environ)


def _about(one: PlatformEvaluator, there: frozenset[str]) -> str:
    about = one.description or one.display_name or one.type
    return f"judges this plan already; {about}" if one.name in there else about


def _offer(name: str, about: str, more: str) -> Offer:
    return Offer(Row(name, (Cell(name, "title"), Cell(about, "muted"))), f"{name}\n{about}\n{more}")


async def update_platform_plan(app: TuiEvalApp, options: AgentLoopOptions) -> bool:
    """Put the evaluators of a section into the platform's plan, after a question that says what changes. Whether it was
    changed."""
    plan_id = options.experiment_plan_id
    change = await _told(app, "asking for the plan…", partial(judging.proposal, options, os.environ))
    if change is None:
        return False
    if not change.added:
        app.notify(f"The platform's plan {plan_id} has all of these evaluators already; they stay as they are.")
        return False
    title = f"Change the plan {plan_id} on the platform?"
    lines = shown.change_lines(change.before, change.added)
    if not await app.push_screen_wait(Confirm(title, lines, yes="Change it", no="Leave it")):
        return False
    app.type_ahead.asks_no_more()
    done = await _told(app, "changing the plan…", partial(_carried_out, options, change))
    if done:
        count = plural(len(change.added), "evaluator")
        app.notify(f"Changed: the plan {plan_id} is judged with {count} more from its next run on.")
    return bool(done)


def _carried_out(options: AgentLoopOptions, change: judging.Change) -> bool:
    judging.carry_out(options, change, os.environ)
    return True


async def _told(app: TuiEvalApp, doing: str, work: Callable[[], T]) -> T | None:
    """The result of ``work`` in a thread, told in the title bar meanwhile; None when it failed, and why in a toast."""
    screen = app.screen
    place = screen.show_place if isinstance(screen, BaseScreen) else None
    if place is not None:
        place(doing)
    try:
        return await away(work)
    except SpecError as error:
        app.notify("\n".join(map(str, error.faults)), title="Does not fit the platform", severity="error", timeout=15)
    except TuiEvalError as error:
        app.notify(str(error), title="The platform did not do it", severity="error", timeout=10)
    finally:
        if place is not None:
            place("")
    return None
