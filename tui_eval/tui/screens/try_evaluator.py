"""Trying an evaluator: on an output that is typed, or on the stored answer of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field
from textual import on, work
from textual.widget import Widget

from tui_eval.domain import JsonValue
from tui_eval.errors import TuiEvalError
from tui_eval.tui import keys
from tui_eval.tui.projections import trying
from tui_eval.tui.projections.form_fields import FieldKind, FormField, read_text
from tui_eval.tui.screens.try_page import TryPage
from tui_eval.tui.type_ahead import asks
from tui_eval.tui.widgets.form import Form
from tui_eval.tui.widgets.section_bar import SectionBar
from tui_eval.tui.widgets.styled_text import Part as TextPart
from tui_eval.tui.widgets.styled_text import StyledView

_ONLY_COMPUTE = frozenset(("exact", "contains", "regex", "json", "numeric", "similarity"))
_DATA = FormField(("value",), FieldKind.DATA)


def _columns_read(section: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """The columns that the evaluator reads, still empty; the one of the expected value has a field of its own."""
    mapping = section.get("variable_mapping")
    read = mapping.items() if isinstance(mapping, dict) else ()
    return {
        source.removeprefix("dataset."): ""
        for variable, source in read
        if variable != "expected_output" and isinstance(source, str) and source.startswith("dataset.")
    }


class ToJudge(BaseModel):
    """What an evaluator is tried on."""

    model_config = ConfigDict(extra="forbid")

    output: str = Field("", description="What the agent answered.", json_schema_extra={"multiline": True})
    output_is: Literal["text", "JSON"] = Field("text", description="JSON: the output is a value, not a text.")
    expected: str | None = Field(
        None,
        description="The expected value. Default: what the evaluator itself has, or the column it reads.",
        json_schema_extra={"multiline": True},
    )
    expected_is: Literal["text", "JSON"] = Field("text", description="JSON: the expected value is no text.")
    columns: dict[str, Any] = Field(default_factory=dict, description="The case, for a mapping to dataset.<column>.")


class TryEvaluatorScreen(TryPage):
    """The output above, the verdict below. Asks first when a model is called or a program is run."""

    DEFAULT_CSS = """
    TryEvaluatorScreen Form { height: 3fr; }
    TryEvaluatorScreen StyledView { height: 2fr; padding: 0 1; }
    TryEvaluatorScreen.-short Form > #about { display: none; }
    """
    BINDINGS: ClassVar = [*keys.bindings("try_evaluator"), *keys.bindings("trying")]
    DOING = "judging"
    SECTIONS = ("Verdict", "Evaluator")
    HELP = (
        "Above, what is judged: type it (i), or take the stored answer of a run (c). s judges it; a judge's model or a "
        "program is called only after a question. Nothing is kept."
    )

    def body(self) -> Iterable[Widget]:
        columns = _columns_read(self.part.section)
        yield Form(ToJudge, check=lambda data: (), data={"columns": columns} if columns else {})
        yield SectionBar()
        yield StyledView(empty="Nothing was judged yet. Type an output (i) or choose one (c), then press s.", id="text")

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one(SectionBar).titles = self.SECTIONS
        self.query_one(Form).focus_first()
        self.tell()

    def section_parts(self, place: int) -> list[TextPart]:
        from tui_eval.tui.part_reading import section_text

        if place == 1:
            return [(section_text(self.part.section), "")]
        if not self.report:
            return []
        if "scores" not in self.report:
            return list(trying.faults(self.report))
        return list(trying.scores(self.report))

    def status(self) -> str:
        return str(self.report.get("outcome", "cannot judge" if self.report else ""))

    def action_type(self) -> None:
        self.query_one(Form).focus_first()

    @asks("dialog", exclusive=True)
    async def action_choose(self) -> None:
        from tui_eval.tui.case_picking import pick_answer
        from tui_eval.tui.projections.form_fields import write_text

        stored = await pick_answer(self.tui)
        if stored is None:
            return
        is_text = isinstance(stored.output, str)
        output = stored.output if is_text else write_text(_DATA, stored.output)
        data: dict[str, JsonValue] = {"output": output, "columns": stored.columns}
        if not is_text:
            data["output_is"] = "JSON"
        self.query_one(Form).load(data)
        self.text.focus()
        self.notify(f"The answer of {stored.label}. Press s to judge it.", timeout=4)

    @asks("go", exclusive=True)
    async def action_go(self) -> None:
        from tui_eval.tui.screens.dialogs import Confirm

        if self.busy:
            self.notify("It is being judged already; x cancels that.", severity="warning")
            return
        data = await self.query_one(Form).checked()
        if data is None:
            return
        try:
            given = self._given(data)
        except ValueError as error:
            self.notify(f"This is no JSON: {error}", severity="error")
            return
        if await self.ask_variables() is None:
            return
        if self.part.kind not in _ONLY_COMPUTE:
            lines = [f"{self.part.kind}: {self.part.calls}"]
            if not await self.app.push_screen_wait(
                Confirm("Judge this output?", lines, yes="Judge", no="Do not", calls=1)
            ):
                return
        self.begin(self._judge(given))

    def _given(self, data: Mapping[str, JsonValue]) -> dict[str, Any]:
        given: dict[str, Any] = {"evaluator": dict(self.part.section), "input": data.get("columns", {})}
        for name in ("output", "expected"):
            text = data.get(name, "" if name == "output" else None)
            if text is not None:
                given[name] = read_text(_DATA, str(text)) if data.get(f"{name}_is") == "JSON" else text
        return given

    @work(group="send", exclusive=True)
    async def _judge(self, given: Mapping[str, Any]) -> None:
        try:
            report = await self.ask(given, "--evaluator", "-")
        except TuiEvalError as error:
            self.failed(error)
            return
        finally:
            self.call_later(self.tell)
        self.report = report
        self.query_one(SectionBar).current = 0
        self.show_section()
        self.text.focus()

    @on(Form.Changed)
    def _edited(self, event: Form.Changed) -> None:
        event.stop()
