"""An AgentCompass orchestration on its way to a run: composed or opened, changed in forms, checked, saved, started."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from textual import on, work
from textual.containers import Vertical
from textual.widget import Widget
from textual.widgets import Static

from tui_eval.errors import TuiEvalError
from tui_eval.tui import agentcompass_draft as drafts
from tui_eval.tui import keys
from tui_eval.tui.agentcompass_draft import CompassDraft, Owner
from tui_eval.tui.agentcompass_reading import (
    Examined,
    Installed,
    ask_catalog,
    examine,
    installed,
    known_catalog,
    must_ask,
    overrides_for,
)
from tui_eval.tui.background import away
from tui_eval.tui.projections import agentcompass as shown
from tui_eval.tui.projections.preflight import NOTES
from tui_eval.tui.screens.dialogs import Confirm, Prompt
from tui_eval.tui.screens.preflight import PreflightScreen
from tui_eval.tui.text import content
from tui_eval.tui.type_ahead import asks
from tui_eval.tui.widgets.line_table import LineTable


class CompassScreen(PreflightScreen[CompassDraft]):
    """An orchestration on its way to a run: its requests, the parts of one, and what stops it."""

    DEFAULT_CSS = """
    CompassScreen #head { max-height: 4; }
    CompassScreen #totals { height: 1; color: $muted; text-style: $muted-style; text-wrap: nowrap;
        text-overflow: ellipsis; }
    CompassScreen #owners { height: auto; min-height: 3; max-height: 30%; }
    CompassScreen #parts { height: 1fr; min-height: 3; border-top: solid $edge; }
    CompassScreen #notes { height: auto; min-height: 4; max-height: 35%; border-top: solid $edge; }
    CompassScreen.-tall #whole, CompassScreen.-short #totals { display: none; }
    CompassScreen.-short #owners { max-height: 4; }
    CompassScreen.-short #notes { min-height: 3; max-height: 3; }
    CompassScreen.-short #owners:focus, CompassScreen.-short #notes:focus { max-height: 50%; }
    """
    BINDINGS: ClassVar = keys.bindings("agentcompass")
    PANELS = ("#owners", "#parts", "#notes")
    HINTS = ("agentcompass.start", "table.select", "agentcompass.dry_run", "agentcompass.save")
    LABELS: ClassVar = {"table.select": "change"}
    HELP = (
        "An orchestration of AgentCompass. 1 its requests, 2 the parts of the one under the cursor, 3 what to know. "
        "Enter on a request goes to its parts, on a part opens its form, on a fault the form where it is mended. What "
        "stands in grey comes from the defaults. d shows AgentCompass's own dry run, w saves, r starts."
    )

    def __init__(self, draft: CompassDraft) -> None:
        super().__init__(draft)
        self._examined: Examined | None = None
        self._installed: Installed | None = None
        self._leaving = False

    def body(self) -> Iterable[Widget]:
        with Vertical(id="head"):
            yield Static("", id="verdict", markup=False)
            yield Static("", id="totals", markup=False)
        yield LineTable(shown.OWNERS, id="owners", marking=False, empty="The file cannot be read: see 3.")
        yield LineTable(shown.PARTS, id="parts", marking=False, empty="")
        yield LineTable(NOTES, id="notes", marking=False, empty="Nothing to know yet.")
        yield Static("", id="whole", markup=False)

    @property
    def crumb(self) -> str:
        return self.draft.title + (" *" if self.draft.changed else "")

    def on_mount(self) -> None:
        self.table("notes" if self.draft.broken else "owners").focus()
        self.show_draft()
        self._look_for_python()
        self._examine()

    def ask_again(self) -> None:
        """ctrl+r: the file (when nothing was changed here), AgentCompass and all checks anew."""
        super().ask_again()
        self._read_again()
        self._look_for_python()

    # -- looking --

    def change_draft(self, draft: CompassDraft | None = None) -> None:
        """Take over another draft, and check it anew."""
        self.draft = draft or self.draft
        self._examined = None
        self.show_draft()
        self._examine()

    @work(group="read", exclusive=True)
    async def _read_again(self) -> None:
        if self.draft.path is not None and not self.draft.changed:
            await self._load(self.draft.path)
        self.change_draft()

    async def _load(self, path: Path) -> None:
        """Take over what stands in the file now."""
        read = await away(partial(drafts.read_draft, path))
        self.draft = replace(read, tags=self.draft.tags, note=self.draft.note)

    @work(group="check", exclusive=True)
    async def _examine(self) -> None:
        catalog = known_catalog(self._installed)
        self._examined = await away(partial(examine, self.draft, self.values(), catalog))
        self.show_draft()

    @work(group="python", exclusive=True)
    async def _look_for_python(self) -> None:
        """Which AgentCompass is there, and when it is not the one we know, which components it has."""
        environment = dict(os.environ)
        self._installed = found = await away(partial(installed, environment))
        self.show_draft()
        if not must_ask(found):
            return
        self.show_place(f"asking AgentCompass {found.version} for its components…")
        try:
            await ask_catalog(found, environment, self.tui.history.path)
        except TuiEvalError as error:
            self.notify(str(error), title="The components of a known version are offered", severity="warning")
        self.change_draft()

    # -- showing --

    def show_draft(self) -> None:
        if not self.display:
            return  # the screen is being left: its widgets are gone already
        faults = self._examined.faults if self._examined is not None else ()
        self.table("owners").show(shown.owner_rows(self.draft, faults))
        found = shown.notes(self.draft, self._examined, self._installed, os.environ, self.typed, self.tui.workspace)
        self.show_notes(found, shown.NOTE_LOOKS)
        text, style = shown.headline(self.draft, self._examined, self._installed, self.notes)
        self.show_verdict(text, style)
        self.query_one("#totals", Static).update(content(shown.totals(self._examined)))
        self.show_place(self._labels())
        self._show_parts()

    def _labels(self) -> str:
        parts = ["not saved" if self.draft.changed else ""]
        parts += [f"tags: {', '.join(self.draft.tags)}" if self.draft.tags else "", "noted" if self.draft.note else ""]
        return ", ".join(part for part in parts if part)

    @property
    def owner(self) -> Owner | None:
        """Whose parts are shown."""
        key = self.table("owners").cursor_key
        return key if isinstance(key, int | str) else None

    def _show_parts(self) -> None:
        owner = self.owner
        faults = self._examined.faults if self._examined is not None else ()
        self.table("parts").show([] if owner is None else shown.part_rows(self.draft, owner, faults))
        self.show_whole()

    def whole(self) -> str:
        note = self.note()
        if note is not None and self.focused is self.table("notes"):
            return note.text
        owner, key = self.owner, self.table("parts").cursor_key
        if owner is None or key not in drafts.COMPONENTS:
            return ""
        identity = drafts.effective_id(self.draft.data, owner, str(key))
        component = known_catalog(self._installed).of(str(key)).get(identity)
        return component.description if component is not None else ""

    def line_changed(self) -> None:
        self._show_parts()

    # -- what one does with a line --

    @on(LineTable.Selected, "#owners")
    def _owner_opened(self, event: LineTable.Selected) -> None:
        self.table("parts").focus()

    @on(LineTable.Selected, "#parts")
    def _part_opened(self, event: LineTable.Selected) -> None:
        if self.owner is not None:
            self._open_part(self.owner, str(event.key))

    @on(LineTable.Selected, "#notes")
    def _note_opened(self, event: LineTable.Selected) -> None:
        note = self.note()
        if note is None:
            return
        if note.kind in ("missing", "variable"):
            self.type_variable(str(note.about))
        elif note.about and note.about[1]:
            self._open_part(*note.about)
        else:
            from tui_eval.tui.screens.full_text import FullTextScreen

            self.app.push_screen(FullTextScreen(note.kind, note.text))

    def _open_part(self, owner: Owner, key: str) -> None:
        if key == drafts.NAME:
            self._rename(int(owner))
            return
        from tui_eval.tui.screens.agentcompass_form import CompassFormScreen

        def take(value: dict[str, Any]) -> None:
            changed = drafts.with_section(self.draft, owner, key, value)
            if changed.data != self.draft.data:
                self.change_draft(changed)

        catalog = known_catalog(self._installed)
        self.app.push_screen(CompassFormScreen(self.draft, owner, key, catalog, self.values(), take))

    @asks("ask", exclusive=True)
    async def _rename(self, position: int) -> None:
        old = drafts.requests_of(self.draft.data)[position].get("name")
        name = await self._ask_name("Name of the request", str(old or ""), position)
        if name is not None and name != old:
            self.change_draft(drafts.renamed(self.draft, position, name))

    async def _ask_name(self, title: str, old: str, position: int | None) -> str | None:
        check = partial(shown.wrong_name, self.draft, position)
        name = await self.app.push_screen_wait(Prompt(title, old, hint="letters, digits, - and _", check=check))
        return None if name is None else name.strip()

    # -- requests --

    @asks("ask", exclusive=True)
    async def action_add(self) -> None:
        if self._is_broken():
            return
        owner = self.owner if isinstance(self.owner, int) else drafts.DEFAULTS
        like = f", like {drafts.request_name(self.draft.data, owner)}" if isinstance(owner, int) else ""
        name = await self._ask_name(f"Name of a new request{like}", "", None)
        if name is not None:
            place = owner + 1 if isinstance(owner, int) else len(drafts.requests_of(self.draft.data))
            self.change_draft(drafts.with_request(self.draft, name, owner))
            self.table("owners").move_to(place)
            self._show_parts()

    def action_move_request(self, step: int) -> None:
        owner = self.owner
        if isinstance(owner, int):
            count = len(drafts.requests_of(self.draft.data))
            self.change_draft(drafts.moved(self.draft, owner, step))
            self.table("owners").move_to(max(0, min(count - 1, owner + step)))

    @asks("ask", exclusive=True)
    async def action_remove(self) -> None:
        owner, note = self.owner, self.note()
        part = str(self.table("parts").cursor_key)
        if self.focused is self.table("notes"):
            if note is not None and note.kind == "variable" and self.typed.pop(str(note.about), None) is not None:
                self.change_draft()
        elif self.focused is self.table("parts") and owner is not None and part in drafts.SECTIONS:
            self.change_draft(drafts.with_section(self.draft, owner, part, {}))
        elif self.focused is self.table("owners") and isinstance(owner, int):
            name = drafts.request_name(self.draft.data, owner)
            if await self.app.push_screen_wait(Confirm(f"Remove the request {name}?", yes="Remove", no="Keep it")):
                self.change_draft(drafts.without_request(self.draft, owner))
        else:
            self.notify("Put the cursor on a request, a part of one, or a typed variable.", severity="warning")

    def _is_broken(self) -> bool:
        if self.draft.broken:
            self.notify("The file cannot be read: mend it with e, its faults stand in 3.", severity="warning")
        return self.draft.broken

    # -- the file --

    @asks("ask", exclusive=True)
    async def action_save(self) -> None:
        from tui_eval.tui.agentcompass_saving import ask_and_save

        if self._is_broken():
            return
        saved = await ask_and_save(self.tui, self.draft)
        if saved is not None:
            await self._load(saved)
            self.change_draft()
            self.notify(f"Saved as {saved}. Run it anywhere with: agentcompass launch {saved.name}", timeout=8)

    @work(group="edit", exclusive=True)
    async def action_edit(self) -> None:
        from tui_eval.tui.editing import edit

        if self.draft.path is None or self.draft.changed:
            self.notify("Save it first, with w: the editor opens the file.", severity="warning")
        elif await edit(self.tui, self.draft.path):
            await self._load(self.draft.path)
            self.change_draft()

    def action_dry_run(self) -> None:
        loaded = self._examined.loaded if self._examined is not None else None
        if loaded is None:
            self.notify("The faults must be mended first.", severity="warning")
            return
        from tui_eval.tui.screens.agentcompass_dry_run import DryRunScreen

        self.app.push_screen(DryRunScreen(loaded, self.values()))

    # -- the run --

    @asks("start")
    async def action_start(self) -> None:
        why_not = shown.why_not(self._examined, self._installed, self.notes)
        if why_not:
            self.notify(why_not, title="Not yet", severity="warning", timeout=12)
        if self._starting or why_not or not await self.app.push_screen_wait(self._question()):
            return
        from tui_eval.runner import new_run_id

        job = self.draft.job(self.tui.history.path, new_run_id(), overrides_for(self._installed))
        self._leaving = await self.start_run(job)

    def _question(self) -> Confirm:
        assert self._examined is not None
        lines = shown.question(self.draft, self._examined)
        return Confirm(f"Start {self.draft.title}?", lines, yes="Start", no="Not yet")

    # -- leaving --

    def give_back(self) -> bool:
        """esc: from the parts to the requests; what was changed is not thrown away without a question."""
        if self.focused is self.table("parts"):
            self.table("owners").focus()
            return True
        if self._leaving or not self._touched:
            return False
        self._ask_to_leave()
        return True

    @property
    def _touched(self) -> bool:
        if self.draft.path is None:
            return self.draft.data != drafts.new_draft(self.draft.folder).data
        return self.draft.changed

    @asks("leave", exclusive=True)
    async def _ask_to_leave(self) -> None:
        lines = ["What you changed is not saved. w saves it."]
        if await self.app.push_screen_wait(Confirm("Leave the orchestration?", lines, yes="Leave", no="Stay")):
            self._leaving = True
            self.app.pop_screen()
