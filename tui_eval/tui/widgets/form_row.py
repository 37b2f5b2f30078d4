"""One field of a form: its label, its input, what it is for, and what is wrong with it."""

from __future__ import annotations

from typing import TypeAlias

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import Static

from tui_eval.domain import JsonValue
from tui_eval.tui.projections.form_fields import UNSET, FieldKind, FormField, read_text, write_text
from tui_eval.tui.text import content, line
from tui_eval.tui.widgets.choice import ChoiceInput
from tui_eval.tui.widgets.inputs import AreaInput, TextInput

Editor: TypeAlias = TextInput | AreaInput | ChoiceInput


class FieldRow(Vertical):
    """A field of the form: its label, its input and, below, what is wrong with it."""

    DEFAULT_CSS = """
    FieldRow { height: auto; }
    FieldRow > Horizontal { height: auto; }
    FieldRow .label { height: 1; color: $muted; text-style: $muted-style; padding-right: 1; }
    FieldRow.-set .label { color: $foreground; text-style: none; }
    FieldRow.-here .label { color: $primary; text-style: bold; }
    FieldRow.-inner .label { padding-left: 2; }
    FieldRow .about { display: none; width: 2fr; height: 1; padding-left: 2; color: $muted; text-style: $muted-style;
        text-wrap: nowrap; text-overflow: ellipsis; }
    FieldRow.-wide .about { display: block; }
    FieldRow.-wide AreaInput, FieldRow.-wide TextInput, FieldRow.-wide ChoiceInput { width: 3fr; }
    FieldRow > .wrong { display: none; height: auto; color: $error; }
    FieldRow.-wrong > .wrong { display: block; }
    FieldRow > .group { height: 1; color: $foreground; text-style: bold; }
    """

    def __init__(self, field: FormField, *, group: str = "") -> None:
        super().__init__(classes="-inner" if len(field.path) > 1 else "")
        self.field = field
        self._label = Static(content(label_of(field)), classes="label", markup=False)
        self._wrong = Static("", classes="wrong", markup=False)
        self.editor = _editor(field)
        self._group = group
        self._loaded: tuple[object, JsonValue] | None = None

    def compose(self) -> ComposeResult:
        if self._group:
            yield Static(content(self._group), classes="group", markup=False)
        with Horizontal():
            yield self._label
            yield self.editor
            yield Static(content(line(self.field.description, 200)), classes="about", markup=False)
        yield self._wrong

    def lay_out(self, label_width: int, *, wide: bool) -> None:
        """Give the label so many cells; with ``wide`` what the field is for stands beside it."""
        self._label.styles.width = label_width
        self._wrong.styles.padding = (0, 0, 0, label_width)
        self.set_class(wide, "-wide")

    def load(self, value: JsonValue) -> None:
        """Show a value, :data:`UNSET` for none. It comes back unchanged unless the user changes it."""
        if isinstance(self.editor, ChoiceInput):
            if value is UNSET:
                self.editor.clear()
            elif not self.editor.choose(value):
                self._loaded = (None, value)
                self._mark()
                return
        else:
            text = "" if value is UNSET else write_text(self.field, value)
            if isinstance(self.editor, AreaInput):
                self.editor.load_text(text)
            else:
                self.editor.value = text
        self._loaded = None if value is UNSET else (self._state(), value)
        self._mark()

    def read(self) -> JsonValue:
        """The value. Raises ValueError when what is typed is none."""
        if self._loaded is not None and self._state() == self._loaded[0]:
            return self._loaded[1]
        if isinstance(self.editor, ChoiceInput):
            return UNSET if self.editor.value is None else self.editor.value[0]
        return read_text(self.field, self._state() or "")

    def say(self, wrong: str) -> None:
        """Show what is wrong below the field, "" for nothing."""
        self._wrong.update(content(wrong))
        self.set_class(bool(wrong), "-wrong")

    def changed(self) -> None:
        self._mark()

    def on_descendant_focus(self) -> None:
        self.add_class("-here")

    def on_descendant_blur(self) -> None:
        self.remove_class("-here")

    def _state(self) -> str | None:
        """What was typed, or the place of what was chosen as text, None for nothing chosen."""
        if isinstance(self.editor, ChoiceInput):
            return None if self.editor.place is None else str(self.editor.place)
        return self.editor.text if isinstance(self.editor, AreaInput) else self.editor.value

    def _mark(self) -> None:
        self.set_class(bool(self._state()) or self._loaded is not None, "-set")


def label_of(field: FormField) -> str:
    return f"{field.path[-1]}{' *' if field.required else ''}"


def _editor(field: FormField) -> Editor:
    hint = field.default or _HINTS.get(field.kind, "")
    if field.kind is FieldKind.CHOICE:
        unset = f"{field.default or 'none'} (default)" if not field.required else "choose"
        return ChoiceInput(field.choices, unset=unset, title=field.name)
    if field.kind in (FieldKind.TEXT, FieldKind.NUMBER):
        return TextInput(placeholder=line(hint))
    return AreaInput(placeholder=line(hint), least=2 if field.kind is FieldKind.PROSE and field.required else 1)


_HINTS = {
    FieldKind.LINES: "one a line",
    FieldKind.MAPPING: "name: value, one a line",
    FieldKind.DATA: "YAML or JSON",
}
