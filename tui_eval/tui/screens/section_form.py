"""The form of a plan's ``agentloop`` section, with a way to its evaluators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from tui_eval.tui import keys
from tui_eval.tui.agentloop_reading import Place, Where
from tui_eval.tui.projections.launch_settings import AgentLoopSection
from tui_eval.tui.screens.launch_form import LaunchFormScreen
from tui_eval.tui.type_ahead import asks
from tui_eval.tui.widgets.form import Form


class SectionFormScreen(LaunchFormScreen):
    """Shows the section ``data["agentloop"]``; evaluators are chosen from the platform and added to it."""

    BINDINGS: ClassVar = keys.bindings("section_form")
    HINTS = ("launch_form.accept", "section_form.evaluator")
    HELP = (
        "The AgentLoop section of this plan: which experiment plan is run here, how many rows of it, and what is "
        "reported. ctrl+t adds an evaluator of the platform with its variables mapped; evaluators are checked against "
        "the platform before the launch. ctrl+o takes it over."
    )

    def __init__(self, data: Mapping[str, Any], done: Callable[[dict[str, Any]], object]) -> None:
        super().__init__("AgentLoop section", AgentLoopSection, data, done)

    @asks("dialog", exclusive=True)
    async def action_add_evaluator(self) -> None:
        from tui_eval.tui.screens.agentloop_judging import choose_evaluator

        section = self.query_one(Form).value().get("agentloop")
        section = section if isinstance(section, dict) else {}
        wanting = [name for name in ("agent_space", "experiment_plan_id", "region_id") if not section.get(name)]
        if wanting:
            self.notify(f"Fill in {', '.join(wanting)} first: that is where evaluators come from.", severity="warning")
            return
        place = Place.model_validate({name: section[name] for name in Place.model_fields if name in section})
        where = Where(place, str(section["agent_space"]))
        await choose_evaluator(self.tui, where, str(section["experiment_plan_id"]), self._add)

    def _add(self, evaluator: dict[str, Any]) -> None:
        form = self.query_one(Form)
        value = form.value()
        section = value.get("agentloop")
        section = dict(section) if isinstance(section, dict) else {}
        before = section.get("evaluators")
        section["evaluators"] = [*(before if isinstance(before, list) else []), evaluator]
        form.load({**value, "agentloop": section})
        name = evaluator.get("evaluator_ref") or evaluator.get("name")
        self.notify(f"{name} was added to evaluators. ctrl+o takes the section over.")
