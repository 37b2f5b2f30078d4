"""Launch: which plan or evalset. One of the workspace, a file from elsewhere, or a plan that is composed here."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from tui_eval import text_query
from tui_eval.display import short_path
from tui_eval.tui import keys
from tui_eval.tui.background import away
from tui_eval.tui.last_runs import LastRuns
from tui_eval.tui.launch_opening import LAUNCHED, open_launch
from tui_eval.tui.projections.launch import BUILD, PLANS, plan_rows
from tui_eval.tui.screens.base import BaseScreen
from tui_eval.tui.text import content, plural
from tui_eval.tui.type_ahead import asks
from tui_eval.tui.widgets.filter_bar import FilterBar
from tui_eval.tui.widgets.line_table import LineTable

if TYPE_CHECKING:
    from tui_eval.spec.workspace import Workspace
    from tui_eval.store.run_queries import RunOverview


class RunsKnown(Message):
    """The newest run of each file was read from the history, by the real path."""

    def __init__(self, last: dict[str, RunOverview]) -> None:
        super().__init__()
        self.last = last


@dataclass(frozen=True, slots=True)
class _Listed:
    """What was found, the real paths of it, and the filter."""

    workspace: Workspace | None = None
    reals: Mapping[Path, str] = field(default_factory=dict)
    text: str = ""


class LaunchScreen(BaseScreen):
    """The plans to launch. With ``plan`` its pre-flight page comes at once."""

    DEFAULT_CSS = """
    LaunchScreen #about { height: auto; max-height: 2; padding: 0 2; color: $muted; text-style: $muted-style; }
    """
    BINDINGS: ClassVar = keys.bindings("launch")
    PANELS = ("#plans",)
    HELP = (
        "Choose what to launch: enter opens the pre-flight page of a plan, where everything is checked and can be "
        "changed; of an evalset first the form that makes a plan of it, of an AgentCompass orchestration a page of its own. "
        "Nothing is called before you start it there."
    )

    def __init__(self, plan: Path | str | None = None) -> None:
        super().__init__()
        self._plan = None if plan is None else Path(plan)
        self._listed = _Listed()
        self._last: dict[str, RunOverview] = {}
        self._runs = LastRuns()

    def body(self) -> Iterable[Widget]:
        yield FilterBar("words of the plan's name or file")
        yield LineTable(PLANS, id="plans", marking=False, empty="No plan matches.\nChange the filter with /.")
        yield Static("", id="about", markup=False)

    def on_mount(self) -> None:
        self.query_one(LineTable).focus()
        self._show()
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        if self._plan is not None:
            self._review(self._plan)
        self._scan()
        self.watch_history(self._runs, RunsKnown)

    def ask_again(self) -> None:
        super().ask_again()
        self._runs.forget()
        self._scan()

    @work(group="scan", exclusive=True)
    async def _scan(self) -> None:
        from tui_eval.spec.workspace import scan

        self.show_place("looking through the workspace…")
        found = await asyncio.to_thread(scan, self.tui.workspace)
        reals = await away(lambda: {each.path: os.path.realpath(each.path) for each in found.found})
        self._listed = _Listed(found, reals, self._listed.text)
        self._show()

    @on(RunsKnown)
    def _runs_known(self, event: RunsKnown) -> None:
        self._last = event.last
        self._show()

    def _show(self) -> None:
        if not self.display:
            return  # the screen is being left: its widgets are gone already
        workspace = self._listed.workspace
        folder = self.tui.workspace
        plans = [] if workspace is None else [each for each in workspace.found if each.kind in LAUNCHED]
        wanted = text_query.parse(self._listed.text)
        shown = [each for each in plans if wanted.matches(f"{each.name}\n{short_path(each.path, folder)}")]
        last = {str(path): self._last[real] for path, real in self._listed.reals.items() if real in self._last}
        rows = plan_rows(shown, last, folder, datetime.now().astimezone())
        self.query_one(LineTable).show(rows if not wanted else rows[1:])
        if workspace is None:
            return
        count = plural(len(shown), "plan")
        self.show_place(count)
        self.query_one(FilterBar).tell(count)
        about = [*workspace.cut]
        if not plans:
            about.insert(0, f"There is no plan below {folder}: compose one with b, or open a file with o.")
        self.query_one("#about", Static).update(content("; ".join(about)))

    @on(LineTable.Selected, "#plans")
    def _chosen(self, event: LineTable.Selected) -> None:
        if event.key == BUILD:
            self.action_build()
        else:
            self._review(Path(str(event.key)))

    @asks("review", exclusive=True)
    async def _review(self, plan: Path) -> None:
        await open_launch(self.tui, plan)

    def action_build(self) -> None:
        from tui_eval.tui.screens.launch_build import BuildScreen

        self.app.push_screen(BuildScreen())

    def action_compose_compass(self) -> None:
        from tui_eval.tui.agentcompass_draft import new_draft
        from tui_eval.tui.screens.agentcompass import CompassScreen

        self.app.push_screen(CompassScreen(new_draft(self.tui.workspace)))

    @asks("path", exclusive=True)
    async def action_path(self) -> None:
        from tui_eval.tui.screens.dialogs import Prompt

        title = "Plan file to launch"
        text = await self.app.push_screen_wait(Prompt(title, hint=str(self.tui.workspace / "plan.yaml")))
        if text and text.strip():
            self._review(self.tui.workspace / Path(text.strip()).expanduser())

    # -- filter --

    def action_filter(self) -> None:
        self.query_one(FilterBar).open()

    @on(FilterBar.Changed)
    def _filter_changed(self, event: FilterBar.Changed) -> None:
        self._listed = replace(self._listed, text=event.text)
        self._show()

    @on(FilterBar.Left)
    def _filter_left(self) -> None:
        self.query_one(LineTable).focus()

    def give_back(self) -> bool:
        return self.query_one(FilterBar).close()
