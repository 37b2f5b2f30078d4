"""What the pages that try something share: sections of a report, copying, one piece of work that can be cancelled."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from typing import Any, ClassVar

from textual.worker import Worker, WorkerState

from tui_eval.errors import TuiEvalError, UsageError
from tui_eval.tui.part_reading import Part
from tui_eval.tui.projections.task_copies import Copy
from tui_eval.tui.projections.trying import copies
from tui_eval.tui.screens.sections import SectionsScreen
from tui_eval.tui.type_ahead import asks
from tui_eval.tui.widgets.styled_text import Part as TextPart
from tui_eval.tui.widgets.styled_text import StyledText

_TICK = 0.5


class TryPage(SectionsScreen):
    """A page about one part. Subclasses have the inputs above, and say what a section of the report holds."""

    DOING: ClassVar[str] = "calling"

    def __init__(self, part: Part) -> None:
        super().__init__()
        self.part = part
        self.report: dict[str, Any] = {}
        self._work: Worker[None] | None = None
        self._began = 0.0
        self._cancelled = False
        self.variables_typed: dict[str, str] = {}

    @property
    def crumb(self) -> str:
        return f"Try {self.part.name}"

    # -- what subclasses say --

    def section_parts(self, place: int) -> list[TextPart]:
        """What stands in a section."""
        raise NotImplementedError

    def inputs_focused(self) -> bool:
        """Whether the focus is in the inputs above."""
        return self.focused is not None and self.focused is not self.text

    # -- sections --

    def show_section(self, *, keep_place: bool = False) -> None:
        self.text.show(StyledText(self.section_parts(self.section)), keep_place=keep_place)

    # -- work --

    @property
    def busy(self) -> bool:
        return self._work is not None and self._work.state in (WorkerState.PENDING, WorkerState.RUNNING)

    def begin(self, work: Worker[None]) -> None:
        """Watch over a piece of work: how long it takes is shown, and it can be cancelled."""
        self._work = work
        self._cancelled = False
        self._began = time.monotonic()
        self.tell()

    def on_mount(self) -> None:
        self.set_interval(_TICK, self._tick)

    def _tick(self) -> None:
        if self.busy:
            self.tell()

    def tell(self) -> None:
        """Bring the status in the title bar up to date."""
        if self.busy:
            self.show_place(f"{self.DOING}… {time.monotonic() - self._began:.0f} s (x cancels)")
        else:
            self.show_place("cancelled; it may have arrived" if self._cancelled else self.status())
        self.refresh_bindings()

    def status(self) -> str:
        """The status while nothing is going on."""
        return ""

    def action_cancel(self) -> None:
        if self.busy and self._work is not None:
            self._work.cancel()
            self._cancelled = True
            self.notify("Cancelled. What was called may have got it.", severity="warning")
            self.call_later(self.tell)

    def give_back(self) -> bool:
        """esc: from the inputs to the report; then the end of a search; then out, which cancels a call."""
        if self.inputs_focused():
            self.text.focus()
            return True
        return self.text.end_search()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "cancel":
            return self.busy
        if action in ("copy", "write"):
            return bool(self.copies())
        return True

    async def ask(self, given: Mapping[str, Any], *arguments: str) -> dict[str, Any]:
        """The report of ``tui-eval try``, from a process of its own. Raises UsageError when it gives none."""
        from tui_eval.tui.child_command import ask

        folder = ("--folder", str(self.part.folder)) if self.part.folder.is_dir() else ()
        try:
            text = json.dumps(given)
        except (ValueError, RecursionError) as error:
            raise UsageError(f"this cannot be sent: {error}") from None
        return await ask("try", *arguments, *folder, "--json", text=text, variables=self.variables_typed)

    async def ask_variables(self) -> bool | None:
        """Ask for every variable that the part refers to and that is not set; they are kept while the page is open.

        True when any was typed, False when none is missing, None when one was not given."""
        from tui_eval.spec.references import find_references
        from tui_eval.tui.variables import ask_each, missing

        names = missing(find_references(dict(self.part.section)), {**os.environ, **self.variables_typed})
        typed = await ask_each(self.tui, names, "page")
        if typed is None:
            return None
        self.variables_typed |= typed
        return bool(typed)

    # -- copying --

    def copies(self) -> list[Copy]:
        return copies(self.report)

    @asks("copy", exclusive=True)
    async def action_copy(self) -> None:
        from tui_eval.tui.clipboard import fits
        from tui_eval.tui.screens.copying import copy_text, write_text

        chosen = await self._choose("Copy to the clipboard")
        if chosen is None:
            return
        if fits(chosen.text):
            copy_text(self.tui, chosen.label, chosen.text)
        else:
            await write_text(self.tui, self._file_name(chosen), chosen.text, too_large=True)

    @asks("copy", exclusive=True)
    async def action_write(self) -> None:
        from tui_eval.tui.screens.copying import write_text

        chosen = await self._choose("Write to a file")
        if chosen is not None:
            await write_text(self.tui, self._file_name(chosen), chosen.text)

    async def _choose(self, title: str) -> Copy | None:
        from tui_eval.tui.screens.dialogs import Choose, Option

        found = {each.name: each for each in self.copies()}
        options = [Option(each.name, each.label, each.note) for each in found.values()]
        name = await self.app.push_screen_wait(Choose(title, options))
        return None if name is None else found[name]

    def _file_name(self, chosen: Copy) -> str:
        from tui_eval.spec.names import safe_name

        return f"{safe_name(self.part.name)}-{chosen.name}{chosen.suffix}"

    def failed(self, error: TuiEvalError) -> None:
        self.notify(str(error), severity="error", timeout=10)
