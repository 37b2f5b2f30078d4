"""A form made from a model: one field a key, checked while one types, given back as a plan file has it.

The model class is the one declaration (see ``projections.form_fields``); what is left empty is not written.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ClassVar, TypeAlias

from pydantic import BaseModel
from rich.cells import cell_len
from textual import events, on, work
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.css.query import NoMatches
from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Input, Static, TextArea

from tui_eval.domain import JsonValue
from tui_eval.errors import Fault
from tui_eval.tui import keys
from tui_eval.tui.projections.form_fields import (
    UNSET,
    FieldKind,
    FormField,
    at,
    fields_of,
    left_over,
    put,
)
from tui_eval.tui.text import content, line
from tui_eval.tui.widgets.choice import ChoiceInput
from tui_eval.tui.widgets.form_row import FieldRow, label_of
from tui_eval.tui.widgets.inputs import AreaInput

Check: TypeAlias = Callable[[dict[str, JsonValue]], Iterable[Fault]]
"""Everything wrong with the values of a form; ``Fault.path`` is the field's path. Called in a thread."""

_PAUSE = 0.25  # seconds without a key before the form is checked
_NAMED = 8  # choices that are named beside a field
_WIDE = 100  # cells: from here on the descriptions stand beside all fields


class Fields(VerticalScroll, can_focus=False, inherit_bindings=False):
    """The part that scrolls; its keys are the form's."""


class Form(Vertical):
    """The fields of ``model``, but for those in ``skip``. ``check`` finds more faults than the model alone."""

    DEFAULT_CSS = """
    Form { height: 1fr; }
    Form > #fields { height: 1fr; padding: 0 1; scrollbar-gutter: stable; }
    Form > #whole { display: none; height: auto; max-height: 3; padding: 0 1; color: $error; }
    Form.-wrong > #whole { display: block; }
    Form > #about { height: 3; border-top: solid $edge; padding: 0 1; color: $muted; text-style: $muted-style; }
    """
    BINDINGS: ClassVar = keys.bindings("form")

    class Changed(Message):
        """A value was changed and checked."""

        def __init__(self, form: Form) -> None:
            super().__init__()
            self.form = form

        @property
        def control(self) -> Form:
            return self.form

    def __init__(
        self,
        model: type[BaseModel],
        *,
        skip: Sequence[str] = (),
        check: Check | None = None,
        data: Mapping[str, JsonValue] | None = None,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self.fields = fields_of(model, skip)
        self._model = model
        self._skip = skip
        self._check = check or self._model_faults
        self._data: Mapping[str, JsonValue] = data or {}
        self._rest: dict[str, JsonValue] = {}
        self._rows: dict[str, FieldRow] = {}
        self._found: dict[str, str] = {}
        self._visited: set[str] = set()
        self._all_told = False
        self._timer: Timer | None = None

    def compose(self) -> ComposeResult:
        group = ""
        with Fields(id="fields"):
            for field in self.fields:
                above = ".".join(field.path[:-1])
                row = self._rows[field.name] = FieldRow(field, group=above if above != group else "")
                group = above
                yield row
        yield Static("", id="whole", markup=False)
        yield Static("", id="about", markup=False)

    def on_mount(self) -> None:
        self.load(self._data)

    # -- what owners call --

    def load(self, data: Mapping[str, JsonValue]) -> None:
        """Show these values instead. Keys that the model does not have are kept, and are a fault."""
        self._data = data
        self._rest = left_over(data, self.fields)
        for row in self._rows.values():
            row.load(at(data, row.field.path))
        self._visited = {name for name, row in self._rows.items() if at(data, row.field.path) is not UNSET}
        self._all_told = bool(data)
        self._check_soon()

    def value(self) -> dict[str, JsonValue]:
        """What is set, as a plan file has it. Fields whose text is no value are left out (see :attr:`faults`)."""
        return self._values()[0]

    @property
    def faults(self) -> dict[str, str]:
        """What the last check found, by the name of the field (``tls.verify``; "" for the form as a whole)."""
        return dict(self._found)

    @property
    def waiting(self) -> bool:
        """Whether a required field has not been filled in yet: faults are no news then."""
        return not self._all_told and self._missing()

    async def checked(self) -> dict[str, JsonValue] | None:
        """The values when there is no fault; else all faults are shown, the cursor goes to the first, and None."""
        self._all_told = True
        await self._check_now()
        if not self._found:
            return self.value()
        self.action_next_fault(first=True)
        return None

    def focus_first(self) -> None:
        """Give the focus to the first required field that is empty, else to the first field."""
        rows = list(self._rows.values())
        empty = (row for row in rows if row.field.required and at(self._data, row.field.path) is UNSET)
        row = next(empty, rows[0] if rows else None)
        if row is not None:
            row.editor.focus()

    def focus_field(self, name: str) -> None:
        """Give the focus to a field by its name (``tls.verify``)."""
        self._rows[name].editor.focus()

    # -- checking --

    def _values(self) -> tuple[dict[str, JsonValue], dict[str, str]]:
        data: dict[str, JsonValue] = {}
        faults: dict[str, str] = {}
        for name, row in self._rows.items():
            try:
                value = row.read()
            except ValueError as error:
                faults[name] = str(error)
                continue
            if value is not UNSET:
                put(data, row.field.path, value)
        return {**data, **{key: value for key, value in self._rest.items() if key not in data}}, faults

    def _model_faults(self, data: dict[str, JsonValue]) -> Iterable[Fault]:
        from tui_eval.spec.findings import Findings
        from tui_eval.spec.nodes import Place, node_of
        from tui_eval.spec.validation import validated

        findings = Findings()
        try:
            node = node_of(data, Place())
        except ValueError as error:
            return [Fault(str(error))]
        validated(self._model, node, findings)
        skipped = tuple(self._skip)
        return [fault for fault in findings.faults("") if fault.path.split(".")[0] not in skipped]

    def _check_soon(self) -> None:
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(_PAUSE, self._check_in_background)

    @work(group="check", exclusive=True)
    async def _check_in_background(self) -> None:
        await self._check_now()
        self.post_message(self.Changed(self))

    async def _check_now(self) -> None:
        data, faults = self._values()
        found = await asyncio.to_thread(lambda: list(self._check(data)))
        for fault in found:
            if fault.warning:
                continue
            name = self._field_of(fault.path)
            if name not in faults:
                text = f"{fault.message} ({fault.hint})" if fault.hint else fault.message
                faults[name] = text if name or not fault.path else f"{fault.path}: {text}"
        self._found = faults
        self._tell()

    def _field_of(self, path: str) -> str:
        """The name of the field that a fault's path leads into, "" for none."""
        steps = path.split(".")
        return next((name for count in range(len(steps), 0, -1) if (name := ".".join(steps[:count])) in self._rows), "")

    def _tell(self) -> None:
        if not self.display:
            return  # the form is being taken away: parts of its rows are gone already
        for name, row in self._rows.items():
            told = self._all_told or name in self._visited
            row.say(self._found.get(name, "") if told else "")
        whole = self._found.get("", "") if self._all_told or not self._missing() else ""
        self.set_class(bool(whole), "-wrong")
        self.query_one("#whole", Static).update(content(whole))

    def _missing(self) -> bool:
        """Whether a required field has not been filled in yet: what concerns the whole form can wait."""
        return any(row.field.required and not row.has_class("-set") for row in self._rows.values())

    # -- events --

    @on(Input.Changed)
    @on(TextArea.Changed)
    @on(ChoiceInput.Changed)
    def _edited(self, event: Message) -> None:
        event.stop()
        row = self._row_of(event.control) if isinstance(event.control, Widget) else None
        if row is not None:
            row.changed()
            if row.editor.has_focus:
                self._visited.add(row.field.name)
        self._check_soon()

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_next_field()

    @on(AreaInput.Left)
    def _left_area(self, event: AreaInput.Left) -> None:
        event.stop()
        self._step(event.direction)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        row = self._row_of(event.widget)
        if row is not None:
            self.query_one("#about", Static).update(_about(row.field))

    def on_descendant_blur(self, event: events.DescendantBlur) -> None:
        row = self._row_of(event.widget)
        if row is not None and row.has_class("-set"):
            self._visited.add(row.field.name)
            self._tell()

    def on_resize(self, event: events.Resize) -> None:
        width = event.size.width
        longest = max((cell_len(label_of(field)) + 2 * (len(field.path) > 1) for field in self.fields), default=0)
        for row in self._rows.values():
            row.lay_out(min(longest + 2, 30 if width >= 70 else 22), wide=width >= _WIDE)

    def _row_of(self, widget: Widget) -> FieldRow | None:
        try:
            return widget.query_ancestor(FieldRow)
        except NoMatches:
            return None

    # -- keys --

    def _step(self, direction: int) -> None:
        editors = [row.editor for row in self._rows.values()]
        place = next((i for i, editor in enumerate(editors) if editor.has_focus), None)
        if place is not None:
            editors[max(0, min(len(editors) - 1, place + direction))].focus()

    def action_next_field(self) -> None:
        self._step(1)

    def action_previous_field(self) -> None:
        self._step(-1)

    def action_page(self, direction: int) -> None:
        self._step(direction * max(1, self.query_one("#fields").size.height - 2))

    def action_next_fault(self, first: bool = False) -> None:
        """Go to the next field with a fault, from the top with ``first``."""
        names = list(self._rows)
        here = -1 if first else next((i for i, name in enumerate(names) if self._rows[name].editor.has_focus), -1)
        ordered = names[here + 1 :] + names[: here + 1]
        found = next((name for name in ordered if name in self._found), None)
        if found is not None:
            self._visited.add(found)
            self._rows[found].editor.focus()
            self._tell()


def _choices(field: FormField) -> str:
    if len(field.choices) > _NAMED:
        return f"one of {len(field.choices)}, enter lists them"
    return "one of " + ", ".join(label for label, _ in field.choices)


def _about(field: FormField) -> Content:
    """What a field is for and takes, for the two lines below the form."""
    kind = {
        FieldKind.NUMBER: "a number",
        FieldKind.CHOICE: _choices(field),
        FieldKind.LINES: "texts, one a line (or a JSON list)",
        FieldKind.MAPPING: "name: value, one a line",
        FieldKind.DATA: "YAML or JSON",
        FieldKind.PROSE: "text of several lines",
        FieldKind.TEXT: "text",
    }[field.kind]
    facts = [kind, "required" if field.required else f"default: {field.default}" if field.default else ""]
    if field.optional and not field.required and field.default:
        facts.append("null: none")
    head = f"{field.name}: {'; '.join(fact for fact in facts if fact)}"
    return content(f"{head}\n{line(field.description)}")
