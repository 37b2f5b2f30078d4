"""What every pre-flight page has: a verdict on top, notes, variables typed for one launch, tags and note, the start."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Generic, TypeVar

from textual import on
from textual.widgets import Static

from tui_eval.tui.projections.preflight import Looks, Note, note_rows
from tui_eval.tui.screens.base import BaseScreen
from tui_eval.tui.screens.run_words import ask_note, ask_tags
from tui_eval.tui.text import content
from tui_eval.tui.type_ahead import asks
from tui_eval.tui.widgets.line_table import LineTable

if TYPE_CHECKING:
    from tui_eval.jobs import Job
    from tui_eval.tui.agentcompass_draft import CompassDraft
    from tui_eval.tui.launch_draft import Draft

D = TypeVar("D", "Draft", "CompassDraft")


class PreflightScreen(BaseScreen, Generic[D]):
    """A draft on its way to a run. Values typed for variables live here, in memory, and end with the screen.

    Subclasses compose the widgets ``#verdict``, ``#notes`` (a table whose keys are places in ``notes``) and ``#whole``
    (the line under the cursor in full).
    """

    DEFAULT_CSS = """
    PreflightScreen #head { height: auto; padding: 0 2; border-bottom: solid $edge; }
    PreflightScreen #verdict { text-style: bold; height: auto; max-height: 2; }
    PreflightScreen #verdict.-passed { color: $state-passed; }
    PreflightScreen #verdict.-failed { color: $state-failed; }
    PreflightScreen #verdict.-running { color: $state-running; }
    PreflightScreen #whole { height: 3; padding: 0 2; border-top: solid $edge; color: $muted;
        text-style: $muted-style; }
    PreflightScreen.-short #whole { display: none; }
    """

    def __init__(self, draft: D) -> None:
        super().__init__()
        self.draft: D = draft
        self.typed: dict[str, str] = {}
        self.notes: list[Note] = []
        self._starting = False

    def change_draft(self, draft: D | None = None) -> None:
        """Take over another draft (None: the same), and check it anew."""
        raise NotImplementedError

    def show_draft(self) -> None:
        """Show the draft, and what is known about it."""
        raise NotImplementedError

    def values(self) -> dict[str, str]:
        """The environment, with what was typed here."""
        return {**os.environ, **self.typed}

    def table(self, name: str) -> LineTable:
        return self.query_one(f"#{name}", LineTable)

    def note(self) -> Note | None:
        """The note under the cursor."""
        key = self.table("notes").cursor_key
        return self.notes[key] if isinstance(key, int) and key < len(self.notes) else None

    # -- showing --

    def show_notes(self, notes: list[Note], looks: Looks) -> None:
        """Put these notes into the list."""
        self.notes = notes
        self.table("notes").show(note_rows(notes, looks))

    def show_verdict(self, text: str, style: str) -> None:
        """Say on the first line whether it can be started. ``style``: passed, failed or running."""
        verdict = self.query_one("#verdict", Static)
        verdict.update(content(text))
        verdict.set_classes(f"-{style}")

    def whole(self) -> str:
        """What the tables cut, of the line under the cursor, in full."""
        raise NotImplementedError

    def show_whole(self) -> None:
        self.query_one("#whole", Static).update(content(self.whole()))

    def line_changed(self) -> None:
        """Another line is under the cursor, or another table has the focus."""
        self.show_whole()

    @on(LineTable.Highlighted)
    def _moved(self) -> None:
        self.line_changed()

    def on_descendant_focus(self) -> None:
        self.line_changed()

    # -- the user's own words --

    @asks("ask", exclusive=True)
    async def type_variable(self, name: str) -> None:
        """Ask for the value of a variable, for this launch."""
        from tui_eval.tui.variables import ask_value

        value = await ask_value(self.tui, name, "launch")
        if value is not None:
            self.typed[name] = value
            self.change_draft()

    @asks("ask", exclusive=True)
    async def action_tags(self) -> None:
        tags = await ask_tags(self.app, self.draft.tags)
        if tags is not None:
            self.draft = replace(self.draft, tags=tags)
            self.show_draft()

    @asks("ask", exclusive=True)
    async def action_note(self) -> None:
        note = await ask_note(self.app, self.draft.note)
        if note is not None:
            self.draft = replace(self.draft, note=note)
            self.show_draft()

    # -- the start --

    async def start_run(self, job: Job) -> bool:
        """Start a runner for ``job`` and go on to its run; False when it could not begin, which is told."""
        from tui_eval.tui.run_commands import start

        self._starting = True
        self.show_place("starting…")
        try:
            run_id = await start(self.tui, job, self.typed)
        finally:
            self._starting = False
        if run_id is None:
            self.change_draft()
        elif self.app.screen is self:
            self.app.pop_screen()
            self.tui.open("run", run_id=run_id)
        else:
            self.notify(f"Run {run_id} has been started.")
        return run_id is not None
