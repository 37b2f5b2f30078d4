"""What the screens of solutions and of evaluators share: a list of them, and the one under the cursor as YAML."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual import on, work
from textual.containers import Vertical
from textual.widget import Widget

from tui_eval.errors import SpecError
from tui_eval.tui import keys
from tui_eval.tui.background import away
from tui_eval.tui.part_reading import KEYS, Part, PartOf, Parts, find_parts, kind_options, section_text
from tui_eval.tui.projections.parts import COLUMNS, matching, part_row, where
from tui_eval.tui.screens.browse import BrowseScreen
from tui_eval.tui.text import plural
from tui_eval.tui.type_ahead import asks
from tui_eval.tui.widgets.filter_bar import FilterBar
from tui_eval.tui.widgets.line_table import LineTable
from tui_eval.tui.widgets.panels import Panel, PanelTabs
from tui_eval.tui.widgets.styled_text import Part as TextPart
from tui_eval.tui.widgets.styled_text import StyledText, StyledView


class PartsScreen(BrowseScreen):
    """Saved ones of the workspace, then those that stand in its plans. Enter opens the form, ``t`` tries."""

    DEFAULT_CSS = """
    PartsScreen #settings { padding: 0 1; }
    """
    BINDINGS: ClassVar = keys.bindings("parts")
    NAMES = ("parts", "settings")
    HINTS = ("table.select", "parts.try", "parts.new", "parts.edit", "parts.filter")
    OF: ClassVar[PartOf] = "solution"
    TITLE_OF: ClassVar[str] = "Solutions"

    def __init__(self) -> None:
        super().__init__()
        self._found: Parts | None = None
        self._shown: Part | None = None
        self._wanted: object = None

    def body(self) -> Iterable[Widget]:
        yield FilterBar("words of the name, the kind, the file or plan")
        yield PanelTabs()
        table = LineTable(COLUMNS, id="parts", marking=False, empty="Looking through the workspace…")
        yield Vertical(Panel(self.TITLE_OF, table, id="p-parts"), id="above")
        yield Vertical(Panel("Settings", StyledView(id="settings"), id="p-settings"), id="below")

    def on_mount(self) -> None:
        self.focus_panel(1)
        self.show_place("")
        self.call_after_refresh(self._look_through)

    def ask_again(self) -> None:
        super().ask_again()
        self._look_through()

    @work(group="look", exclusive=True)
    async def _look_through(self) -> None:
        self.show_place("looking through the workspace…")
        found = await away(partial(find_parts, self.tui.workspace, self.OF))
        first = self._found is None
        self._found = found
        self.show_files()
        if first:
            self.tell_bounds(found.workspace)

    # -- showing --

    @property
    def path(self) -> Path | None:
        return None if self.part is None else self.part.path

    @property
    def part(self) -> Part | None:
        """The one under the cursor."""
        if self._found is None:
            return None
        key = self.files.cursor_key
        return next((part for part in self._found.parts if part.key == key), None)

    def show_files(self) -> None:
        if self._found is None:
            return
        folder = self.tui.workspace
        shown = matching(self._found.parts, self.sought, folder)
        if self.sought:
            self.files.set_empty(f"No {self.OF} matches.\nChange the filter with /, or clear it with esc.")
        else:
            self.files.set_empty(
                f"No {self.OF}s in {folder}.\nPress n to make one. Those of plans are listed here too."
            )
        self.files.show([part_row(part, folder) for part in shown])
        if self._wanted is not None and self.files.move_to(self._wanted):
            self._wanted = None
        count = plural(len(shown), self.OF)
        broken = self._found.broken
        left_out = f"{plural(broken, 'broken plan')} left out" if broken else ""
        self.show_place(", ".join(part for part in (count, left_out) if part))
        self.query_one(FilterBar).tell(f"{len(shown):,} of {len(self._found.parts):,}")
        self.show_panel()
        self.show_detail()

    def show_detail(self) -> None:
        part = self.part
        self.set_titles((self.TITLE_OF, "Settings"))
        if part is not self._shown or part is None:
            self._shown = part
            self.query_one("#settings", StyledView).show(StyledText(_details(part, self.tui.workspace)))
        self.refresh_bindings()

    # -- what one does with it --

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("try", "edit"):
            return self.part is not None
        return True

    @on(LineTable.Selected, "#parts")
    def _open(self, event: LineTable.Selected) -> None:
        event.prevent_default()  # elsewhere enter goes to the panel below
        part = self.part
        if part is None:
            return
        if not part.kind or not self._known(part.kind):
            self.notify(
                "Its kind is not known, so there is no form for it. Press e to edit the file.", severity="warning"
            )
            return
        self._open_form(part)

    def _known(self, kind: str) -> bool:
        from tui_eval.tui.part_reading import options_model

        try:
            options_model(self.OF, kind)
        except (KeyError, SpecError):
            return False
        return True

    def _open_form(self, part: Part) -> None:
        from tui_eval.tui.screens.part_form import PartFormScreen

        self.app.push_screen(PartFormScreen(part, self._saved))

    def _saved(self, path: Path) -> None:
        self._wanted = (str(path), "", 0)
        self._look_through()

    @asks("dialog", exclusive=True)
    async def action_new(self) -> None:
        from tui_eval.tui.screens.dialogs import Choose, Option

        kinds = await away(partial(kind_options, self.OF))
        options = [Option(name, name, note) for name, note in kinds]
        kind = await self.app.push_screen_wait(Choose(f"A new {self.OF}: of which kind?", options))
        if kind is None:
            return
        if not self._known(kind):
            self.notify(dict(kinds)[kind], severity="error")
            return
        folder = self.tui.workspace
        self._open_form(Part(self.OF, f"new {kind}", kind, {KEYS[self.OF]: kind}, Path(), folder))

    def action_try(self) -> None:
        part = self.part
        if part is not None:
            open_try(self, part)
        else:
            self.notify("There is nothing under the cursor to try.", timeout=3)

    @work(group="dialog", exclusive=True)
    async def action_edit(self) -> None:
        from tui_eval.tui.editing import edit

        part = self.part
        if part is not None:
            line = next((fault.line for fault in part.faults if fault.line), 0)
            if await edit(self.tui, part.path, line):
                self._look_through()


def open_try(screen: Widget, part: Part) -> None:
    """Open the page that tries a solution or an evaluator; nothing is called by that."""
    if part.of == "solution":
        from tui_eval.tui.screens.try_solution import TrySolutionScreen

        screen.app.push_screen(TrySolutionScreen(part))
    else:
        from tui_eval.tui.screens.try_evaluator import TryEvaluatorScreen

        screen.app.push_screen(TryEvaluatorScreen(part))


def _details(part: Part | None, folder: Path) -> Iterable[TextPart]:
    if part is None:
        return
    for fault in part.faults:
        place = f"line {fault.line}: " if fault.line else f"{fault.path}: " if fault.path else ""
        yield f"✗ {place}", "failed"
        yield f"{fault.message}\n", ""
        if fault.hint:
            yield f"  {fault.hint}\n", "muted"
    yield f"# {where(part, folder)}\n", "muted"
    if part.section:
        yield section_text(part.section), ""
