"""What one does on the pre-flight page with the AgentLoop section of a plan: its form, and the platform's own plan."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from tui_eval.errors import SpecError
from tui_eval.tui.background import away
from tui_eval.tui.launch_check import Look
from tui_eval.tui.launch_draft import Draft
from tui_eval.tui.screens.preflight import PreflightScreen
from tui_eval.tui.type_ahead import asks


class ReviewAgentLoop(PreflightScreen[Draft]):
    """The actions of these keys; ``ReviewScreen`` says what the plan of the draft is."""

    look: Look | None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("platform_section", "update_platform"):
            return self.look is not None and "agentloop" in self.look.resolved
        return True

    def action_platform_section(self) -> None:
        """The form of the section."""
        from tui_eval.tui.projections import launch_settings as forms
        from tui_eval.tui.screens.section_form import SectionFormScreen

        seen = self.look
        if seen is None:
            return
        before = forms.shown(seen.resolved, None, forms.AgentLoopSection)

        def take(after: dict[str, Any]) -> None:
            settings = forms.edited(self.draft.settings, before, after, seen.base, None, forms.AgentLoopSection)
            if settings != self.draft.settings:
                self.change_draft(replace(self.draft, settings=settings))

        self.app.push_screen(SectionFormScreen(before, take))

    @asks("ask", exclusive=True)
    async def action_update_platform(self) -> None:
        """Put the section's evaluators into the platform's own plan, after a question."""
        from tui_eval.tui.agentloop_judging import section_options
        from tui_eval.tui.screens.agentloop_judging import update_platform_plan

        draft, values = self.draft, self.values()
        try:
            options = await away(partial(section_options, draft.source(), draft.overrides(), draft.folder, values))
        except SpecError as error:
            self.notify(str(error), title="The plan cannot be read", severity="error", timeout=10)
            return
        if options is None or not options.evaluators:
            self.notify("The section names no evaluators: b opens its form, ctrl+t there adds one.", severity="warning")
        elif await update_platform_plan(self.tui, options):
            self.change_draft()
