"""The form of one solution or evaluator, made from the options model of its kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from textual import on
from textual.widget import Widget

from tui_eval.domain import JsonValue
from tui_eval.errors import Fault
from tui_eval.tui import keys
from tui_eval.tui.part_reading import KEYS, Part, faults_of, options_model
from tui_eval.tui.screens.base import BaseScreen
from tui_eval.tui.text import plural
from tui_eval.tui.type_ahead import asks
from tui_eval.tui.widgets.form import Form


class PartFormScreen(BaseScreen):
    """Shows ``part``; one that is new has no file yet. ``saved`` is told the file that was written."""

    BINDINGS: ClassVar = keys.bindings("part_form")
    HELP = (
        "Every field is optional unless it has a star; an empty one means the default, which is shown in grey. "
        "{{ column }} is filled in for each case, ${NAME} comes from the environment. ctrl+t tries it, ctrl+o saves it."
    )

    def __init__(self, part: Part, saved: Callable[[Path], None] = lambda path: None) -> None:
        super().__init__()
        self._part = part
        self._saved = saved
        self._written = dict(part.section)
        self._leaving = False

    def body(self) -> Iterable[Widget]:
        key = KEYS[self._part.of]
        data = {name: value for name, value in self._part.section.items() if name != key}
        model = options_model(self._part.of, self._part.kind)
        yield Form(model, data=data, skip=(key,), check=self._check)

    @property
    def crumb(self) -> str:
        return f"{self._part.name} ({self._part.kind})"

    @property
    def form(self) -> Form:
        return self.query_one(Form)

    def on_mount(self) -> None:
        self.show_place("")
        self.form.focus_first()

    def _check(self, data: dict[str, JsonValue]) -> Iterable[Fault]:
        return faults_of(self._part.of, self._section(data), self._part.folder)

    def _section(self, data: dict[str, JsonValue]) -> dict[str, JsonValue]:
        return {KEYS[self._part.of]: self._part.kind, **data}

    @on(Form.Changed)
    def _changed(self) -> None:
        count = len(self.form.faults)
        changed = "" if self._section(self.form.value()) == self._written else "not saved"
        faults = plural(count, "fault") + " (ctrl+n goes to it)" if count and not self.form.waiting else ""
        self.show_place(", ".join(part for part in (faults, changed) if part))

    @asks("act", exclusive=True)
    async def action_try(self) -> None:
        from tui_eval.tui.screens.parts import open_try

        data = await self.form.checked()
        if data is not None:
            open_try(self, replace(self._part, section=self._section(data)))

    @asks("act", exclusive=True)
    async def action_save(self) -> None:
        from tui_eval.tui.part_saving import ask_and_save

        data = await self.form.checked()
        if data is None:
            return
        part = self._part
        path = part.path if part.saved and part.path.name else None
        written = await ask_and_save(self.tui, part.of, self._section(data), path=path)
        if written is None:
            return
        target, section = written
        self._part = replace(part, name=target.stem, path=target, request="", section=section)
        self._written = section
        self.form.load({name: value for name, value in section.items() if name != KEYS[part.of]})
        self.show_place("saved")
        self._saved(target)

    def give_back(self) -> bool:
        """esc: what was typed is not thrown away without a question."""
        try:
            same = self._section(self.form.value()) == self._written
        except ValueError:
            same = False
        if same or self._leaving:
            return False
        self._ask_to_leave()
        return True

    @asks("leave", exclusive=True)
    async def _ask_to_leave(self) -> None:
        from tui_eval.tui.screens.dialogs import Confirm

        lines = ["What you typed is not saved."]
        if await self.app.push_screen_wait(Confirm("Leave the form?", lines, yes="Leave", no="Stay")):
            self._leaving = True
            self.app.pop_screen()
