"""Launching an evalset: on which agentspecs, where, under which limits. What comes of it is an ordinary plan."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.containers import Vertical
from textual.widget import Widget
from textual.widgets import Static

from tui_eval.errors import SpecError, UsageError
from tui_eval.tui import keys
from tui_eval.tui.background import away
from tui_eval.tui.projections import datalayer as shown
from tui_eval.tui.screens.base import BaseScreen
from tui_eval.tui.text import content, line, plural
from tui_eval.tui.type_ahead import asks
from tui_eval.tui.widgets.cells import Row
from tui_eval.tui.widgets.form import Form
from tui_eval.tui.widgets.line_table import LineTable

if TYPE_CHECKING:
    from tui_eval.domain import JsonValue
    from tui_eval.errors import Fault
    from tui_eval.spec.evalset import Evalset
    from tui_eval.tui.application import TuiEvalApp


async def launch_evalset(app: TuiEvalApp, path: Path) -> None:
    """Open the form of an evalset; says why for one that cannot be launched, before anything is made of it."""
    from tui_eval.platforms.datalayer.launching import EvalsetLaunch, read_for_launch

    try:
        evalset = await away(partial(read_for_launch, path))
    except SpecError as error:
        faults = [fault for fault in error.faults if not fault.warning]
        more = f" (and {plural(len(faults) - 1, 'more fault')}: see the plans screen)" if len(faults) > 1 else ""
        app.notify(f"{faults[0]}{more}", title="This evalset cannot be launched", severity="error", timeout=12)
        return
    app.push_screen(EvalsetLaunchScreen(evalset, path, EvalsetLaunch))


class EvalsetLaunchScreen(BaseScreen):
    """The agentspecs to mark, and the settings of the launch below them. ``model`` declares the settings."""

    DEFAULT_CSS = """
    EvalsetLaunchScreen #about { height: auto; max-height: 2; padding: 0 2; color: $muted;
        text-style: $muted-style; }
    EvalsetLaunchScreen .title { height: 1; padding: 0 1; text-style: bold; color: $muted; }
    EvalsetLaunchScreen .part:focus-within > .title { color: $primary; }
    EvalsetLaunchScreen #p-agentspecs { height: auto; border-bottom: solid $edge; }
    EvalsetLaunchScreen #agentspecs { height: auto; max-height: 6; min-height: 2; }
    EvalsetLaunchScreen.-short #agentspecs { max-height: 3; }
    EvalsetLaunchScreen #p-settings { height: 1fr; }
    EvalsetLaunchScreen #sum { height: 1; padding: 0 1; text-style: bold; }
    EvalsetLaunchScreen #sum.-wrong { color: $warning; }
    EvalsetLaunchScreen.-short #about { display: none; }
    """
    BINDINGS: ClassVar = keys.bindings("datalayer_launch")
    PANELS = ("#agentspecs", "#settings")
    HINTS = ("table.mark", "datalayer_launch.go_on", "datalayer_launch.add", "datalayer_launch.remove")
    LABELS: ClassVar = {"table.select": "settings", "table.mark": "choose"}
    HELP = (
        "Which agentspecs answer the cases of this evalset, and how. Mark agentspecs with space (a names others), "
        "enter goes to the settings, where an empty field means the default. ctrl+o goes on to the pre-flight page; "
        "nothing is created or called before you start there."
    )

    def __init__(self, evalset: Evalset, path: Path, model: type) -> None:
        super().__init__()
        self._evalset = evalset
        self._path = path
        self._model = model
        self._named: list[str] = []

    def body(self) -> Iterable[Widget]:
        yield Static(content(shown.evalset_line(self._evalset)), id="about", markup=False)
        with Vertical(id="p-agentspecs", classes="part"):
            yield Static("1 agentspecs", id="agentspecs-title", classes="title", markup=False)
            empty = "The evalset suggests no agentspec.\nPress a to name one."
            yield LineTable(shown.AGENTSPECS, id="agentspecs", header=False, empty=empty)
        with Vertical(id="p-settings", classes="part"):
            yield Static("2 settings", classes="title", markup=False)
            yield Form(self._model, check=self._faults, id="settings")
        yield Static("", id="sum", markup=False)

    @property
    def crumb(self) -> str:
        return f"launch {self._evalset.spec.name}"

    @property
    def table(self) -> LineTable:
        return self.query_one("#agentspecs", LineTable)

    @property
    def form(self) -> Form:
        return self.query_one(Form)

    @property
    def chosen(self) -> list[str]:
        """The agentspecs that are marked, in the order of the list."""
        return [str(row.key) for row in self._rows() if row.key in self.table.marks]

    def on_mount(self) -> None:
        self._show()
        rows = self._rows()
        if len(rows) == 1:
            self._mark(str(rows[0].key))
        self.table.focus()

    def focus_panel(self, number: int) -> None:
        if number == 2:
            self.form.focus_first()
        else:
            super().focus_panel(number)

    # -- agentspecs --

    def _rows(self) -> list[Row]:
        return shown.agentspec_rows(self._evalset.agentspec_ids, self._named)

    def _mark(self, spec: str) -> None:
        self.table.marks[spec] = None
        self.table.rows_changed()
        self._show()

    @on(LineTable.MarksChanged, "#agentspecs")
    def _marks_changed(self) -> None:
        self._show()

    @on(LineTable.Highlighted, "#agentspecs")
    def _moved(self) -> None:
        self.refresh_bindings()

    @on(LineTable.Selected, "#agentspecs")
    def _entered(self, event: LineTable.Selected) -> None:
        """Enter goes to the settings; with nothing marked it takes the agentspec under the cursor."""
        if not self.chosen:
            self._mark(str(event.key))
        self.focus_panel(2)

    @asks("ask", exclusive=True)
    async def action_add(self) -> None:
        from tui_eval.tui.screens.dialogs import Prompt

        title = "Agentspecs, with commas between"
        hint = "example-evals, my-agent"
        text = await self.app.push_screen_wait(Prompt(title, hint=hint, check=shown.wrong_agentspecs))
        if text is None:
            return
        specs = shown.agentspecs_typed(text)
        known = {*self._evalset.agentspec_ids, *self._named}
        self._named += [spec for spec in specs if spec not in known]
        self.table.marks.update(dict.fromkeys(specs))
        self._show()
        self.table.move_to(specs[-1])
        self.table.focus()

    def action_remove(self) -> None:
        spec = self.table.cursor_key
        if spec in self._named:
            self._named.remove(str(spec))
            self.table.marks.pop(spec, None)
            self._show()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "remove":
            return self.table.has_focus and self.table.cursor_key in self._named
        return self.table.has_focus if action == "add" else True

    # -- showing --

    def _show(self) -> None:
        self.table.show(self._rows())
        chosen = self.chosen
        title = f"1 agentspecs: {len(chosen)} chosen" if chosen else "1 agentspecs"
        self.query_one("#agentspecs-title", Static).update(content(title))
        repeats = self.form.value().get("n_repeat", 1)
        total = self.query_one("#sum", Static)
        total.update(content(line(shown.chosen_line(chosen, len(self._evalset.cases), repeats))))
        total.set_class(not chosen, "-wrong")
        self.refresh_bindings()

    @on(Form.Changed)
    def _form_changed(self, event: Form.Changed) -> None:
        if not self.display:
            return  # the screen is being left: its widgets are gone already
        count = len(event.form.faults)
        self.show_place(f"{plural(count, 'fault')} (ctrl+n goes to it)" if count else "")
        self._show()

    def _faults(self, data: dict[str, JsonValue]) -> Iterable[Fault]:
        from tui_eval.platforms.datalayer.launching import launch_faults

        return launch_faults(self._evalset, data, os.environ)

    # -- going on --

    @asks("go on", exclusive=True)
    async def action_go_on(self) -> None:
        from tui_eval.platforms.datalayer.launching import base_folder, launch_plan
        from tui_eval.tui.launch_draft import Draft
        from tui_eval.tui.screens.launch_review import ReviewScreen

        data = await self.form.checked()
        if data is None:
            return
        if not self.chosen:
            self.notify("Mark at least one agentspec with space, or name one with a.", severity="warning")
            self.table.focus()
            return
        folder = base_folder(self._path, self.tui.workspace.absolute())
        try:
            plan = launch_plan(self._evalset, self.chosen, data, folder)
        except UsageError as error:
            self.notify(str(error), severity="error", timeout=10)
            return
        self.app.push_screen(ReviewScreen(Draft(folder, plan=plan)))
