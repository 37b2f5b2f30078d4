"""Trying a solution: a case, exactly what would be sent for it, and, when the user says so, what comes back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, ClassVar

from textual import on, work
from textual.containers import Horizontal
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static, TextArea

from tui_eval.domain import JsonValue
from tui_eval.errors import SpecError, TuiEvalError
from tui_eval.tui import keys
from tui_eval.tui.background import away
from tui_eval.tui.part_reading import Part
from tui_eval.tui.projections import trying
from tui_eval.tui.projections.form_fields import UNSET, FieldKind, FormField, read_text, write_text
from tui_eval.tui.screens.try_page import TryPage
from tui_eval.tui.text import content, line
from tui_eval.tui.type_ahead import asks
from tui_eval.tui.widgets.inputs import AreaInput
from tui_eval.tui.widgets.section_bar import SectionBar
from tui_eval.tui.widgets.styled_text import Part as TextPart
from tui_eval.tui.widgets.styled_text import StyledView

_CASE = FormField(("case",), FieldKind.MAPPING)
_NAME = re.compile(r"\{\{-?\s*(?:input\.)?([A-Za-z_]\w*)")
_NOT_COLUMNS = frozenset(("id", "input", "input_json", "repeat"))
_PAUSE = 0.6  # seconds without a key before the request is rendered again


class TrySolutionScreen(TryPage):
    """Renders one case at once, and calls the agent only after a question that names who is called."""

    DEFAULT_CSS = """
    TrySolutionScreen #inputs { height: auto; padding: 0 1; }
    TrySolutionScreen #inputs Static { width: 8; color: $muted; text-style: $muted-style; }
    TrySolutionScreen #wrong { height: auto; display: none; color: $error; padding: 0 1 0 9; }
    TrySolutionScreen #wrong.-shown { display: block; }
    TrySolutionScreen StyledView { padding: 0 1; }
    """
    BINDINGS: ClassVar = [*keys.bindings("try_solution"), *keys.bindings("trying")]
    SECTIONS = trying.SECTIONS
    HELP = (
        "Above, the columns of one case (i types, c chooses a case of a dataset). Below, exactly what would be sent for "
        "it, by the code of a run, secrets hidden. s sends it once, after a question. Nothing is kept."
    )

    def __init__(self, part: Part) -> None:
        super().__init__(part)
        self._timer: Timer | None = None
        self._given: dict[str, Any] = {}
        self._rendering = False
        self._columns: tuple[str, dict[str, JsonValue]] | None = None

    def body(self) -> Iterable[Widget]:
        with Horizontal(id="inputs"):
            yield Static("case", markup=False)
            yield AreaInput(placeholder="column: value, one a line; or JSON", most=6, id="case")
        yield Static("", id="wrong", markup=False)
        yield SectionBar()
        yield StyledView(empty="Rendering…", id="text")

    def on_mount(self) -> None:
        super().on_mount()
        bar = self.query_one(SectionBar)
        bar.titles = self.SECTIONS
        self.text.focus()
        self.tell()
        self.call_after_refresh(self._first_case)

    # -- the case --

    @property
    def area(self) -> AreaInput:
        return self.query_one("#case", AreaInput)

    @work(group="case", exclusive=True)
    async def _first_case(self) -> None:
        """The first case of the request the solution stands in; else a column for each that its templates name."""
        columns = await away(partial(_columns_to_begin_with, self.part))
        self._show_columns(columns)

    def _show_columns(self, columns: dict[str, JsonValue]) -> None:
        text = write_text(_CASE, columns) if columns else ""
        self._columns = (text, columns)
        self.area.load_text(text)
        self._render_case()

    @on(TextArea.Changed, "#case")
    def _typed(self) -> None:
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(_PAUSE, self._render_case)

    def action_type(self) -> None:
        self.area.focus()

    @asks("dialog", exclusive=True)
    async def action_choose(self) -> None:
        from tui_eval.tui.case_picking import pick_case

        case = await pick_case(self.tui)
        if case is not None:
            columns = {"id": case.id, **case.input} if not case.generated_id else dict(case.input)
            self._show_columns(columns)

    def _case_typed(self) -> dict[str, JsonValue] | None:
        """The columns above, None when they cannot be read; what is wrong is shown."""
        text = self.area.text
        wrong = self.query_one("#wrong", Static)
        try:
            loaded = self._columns is not None and self._columns[0] == text and self._columns[1]
            value = loaded or read_text(_CASE, text)
        except ValueError as error:
            wrong.update(content(str(error)))
            wrong.add_class("-shown")
            return None
        wrong.remove_class("-shown")
        return {} if value is UNSET or not isinstance(value, dict) else value

    # -- rendering and sending --

    def _render_case(self) -> None:
        columns = self._case_typed()
        if columns is None or self.busy:
            return
        given = {"solution": dict(self.part.section), "input": columns}
        if given != self._given or not self.report:
            self._cancelled = False
            self._given = given
            self._preview(given)

    @work(group="preview", exclusive=True)
    async def _preview(self, given: Mapping[str, Any]) -> None:
        self._rendering = True
        try:
            report = await self.ask(given, "-")
        except TuiEvalError as error:
            self.failed(error)
            return
        finally:
            self._rendering = False
        self._show_report(report, 0)

    def _show_report(self, report: dict[str, Any], place: int) -> None:
        self.report = report
        bar = self.query_one(SectionBar)
        bar.notes = trying.notes(report)
        bar.current = place
        self.show_section()
        self.tell()

    def section_parts(self, place: int) -> list[TextPart]:
        return trying.section(self.report, place, self.raw) if self.report else []

    def status(self) -> str:
        if "sends" not in self.report:
            return "cannot be sent" if self.report else ""
        return trying.status(self.report)

    @asks("go", exclusive=True)
    async def action_go(self) -> None:
        from tui_eval.tui.screens.dialogs import Confirm

        if self.busy:
            self.notify("There is a call already; x cancels it.", severity="warning")
            return
        columns = self._case_typed()
        if columns is None:
            return
        typed = await self.ask_variables()
        if typed is None:
            return
        given = {"solution": dict(self.part.section), "input": columns}
        if typed or given != self._given or self._rendering or not self.report:
            self._given = given
            try:
                self._show_report(await self.ask(given, "-"), 0)
            except TuiEvalError as error:
                self.failed(error)
                return
        if "sends" not in self.report:
            self.notify("This cannot be sent: see what is wrong below.", severity="warning")
            return
        lines = _question(self.report)
        if await self.app.push_screen_wait(Confirm("Call the agent, once?", lines, yes="Send", no="Do not", calls=1)):
            self.begin(self._send(given))

    @work(group="send", exclusive=True)
    async def _send(self, given: Mapping[str, Any]) -> None:
        try:
            report = await self.ask(given, "-", "--send")
        except TuiEvalError as error:
            self.failed(error)
            return
        finally:
            self.call_later(self.tell)
        self._show_report(report, 1 if report.get("sent") else 0)


def _question(report: Mapping[str, Any]) -> list[str]:
    """Who is called, for what, in words that leave no doubt."""
    sends = report["sends"]
    lines = [line(str(report["calls"]), 300)]
    if "url" in sends:
        lines.append(line(f"{sends.get('method', '')} {sends['url']}", 300))
    elif "cwd" in sends:
        lines.append(line(f"in {sends['cwd']}", 300))
    case = json.dumps(report.get("input") or {}, ensure_ascii=False)
    return [*lines, line(f"case {case}", 200)]


def _columns_to_begin_with(part: Part) -> dict[str, JsonValue]:
    from tui_eval.spec.loading import load_plan
    from tui_eval.tui.case_picking import first_case

    if part.request:
        try:
            loaded = load_plan(part.path, check_environment=False)
        except SpecError:
            return _named_columns(part.section)
        named = [each for each in loaded.resolved["requests"] if each["name"] == part.request]
        case = first_case(named[0]["dataset"], loaded.folder) if named else None
        if case is not None:
            return dict(case.input) if case.generated_id else {"id": case.id, **case.input}
    return _named_columns(part.section)


def _named_columns(section: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """A column, still without a text, for each that the templates name."""
    names = _NAME.findall(json.dumps(section, ensure_ascii=False))
    return {name: "" for name in names if name not in _NOT_COLUMNS}
