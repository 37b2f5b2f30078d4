"""The pre-flight page: what a launch would do and what stops it, everything that can be changed, and the start."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from textual import on, work
from textual.containers import Vertical
from textual.widget import Widget
from textual.widgets import Static

from tui_eval.display import duration
from tui_eval.errors import TuiEvalError
from tui_eval.tui import keys
from tui_eval.tui.launch_check import Look, Verdict, check, look, medians
from tui_eval.tui.launch_draft import Draft, draft_of_file
from tui_eval.tui.projections import launch as shown
from tui_eval.tui.projections.preflight import NOTES
from tui_eval.tui.screens.dialogs import Confirm, Prompt
from tui_eval.tui.screens.launch_review_agentloop import ReviewAgentLoop
from tui_eval.tui.text import content
from tui_eval.tui.type_ahead import asks
from tui_eval.tui.widgets.line_table import LineTable

_CALLEES_NAMED = 8


class ReviewScreen(ReviewAgentLoop):
    """A plan on its way to a run: what it would do, its changes, and what stops it."""

    DEFAULT_CSS = """
    ReviewScreen #head { max-height: 5; }
    ReviewScreen #totals { height: auto; max-height: 2; }
    ReviewScreen #labels { height: auto; max-height: 1; color: $muted; text-style: $muted-style; }
    ReviewScreen #requests { height: auto; max-height: 35%; min-height: 2; }
    ReviewScreen #notes { height: 1fr; min-height: 3; border-top: solid $edge; }
    """
    BINDINGS: ClassVar = keys.bindings("launch_review")
    PANELS = ("#requests", "#notes")
    HINTS = (
        "launch_review.start",
        "table.select",
        "launch_review.request",
        "launch_review.shared",
        "launch_review.save",
        "launch_review.set",
        "launch_review.section",
        "launch_review.update",
    )
    HELP = (
        "What this launch would do. Mend what is marked ✗, change settings with e (one request) and a (all), type "
        "missing variables with enter, and start it with r. Nothing has been called so far. Where the plan names AgentLoop, "
        "b is the form of that section, and p puts its evaluators into the platform's own plan."
    )

    def __init__(self, draft: Draft) -> None:
        super().__init__(draft)
        self.look: Look | None = None
        self._verdict: Verdict | None = None
        self._seconds: dict[str, float] = {}
        self._problem = ""

    def body(self) -> Iterable[Widget]:
        with Vertical(id="head"):
            yield Static("", id="verdict", markup=False)
            yield Static("", id="totals", markup=False)
            yield Static("", id="labels", markup=False)
        yield LineTable(shown.REQUESTS, id="requests", marking=False, empty="No requests are known yet.")
        yield LineTable(NOTES, id="notes", marking=False, empty="Nothing to know yet.")
        yield Static("", id="whole", markup=False)

    @property
    def crumb(self) -> str:
        return self.draft.title

    def on_mount(self) -> None:
        self.table("notes").focus()
        self.change_draft()

    def ask_again(self) -> None:
        super().ask_again()
        self.change_draft()

    # -- looking --

    def change_draft(self, draft: Draft | None = None) -> None:
        """Take over another draft, and check it anew."""
        self.draft = draft or self.draft
        self._verdict = None
        self._problem = ""
        self.show_draft()
        self._examine()

    @work(group="check", exclusive=True)
    async def _examine(self) -> None:
        self.look = await asyncio.to_thread(look, self.draft, self.values())
        if self.look is not None and self.look.names != self.draft.names:
            self.draft = replace(self.draft, names=self.look.names)
        self.refresh_bindings()
        self.show_draft()
        try:
            if self.look is not None:
                self._seconds = await self.tui.history.read(partial(medians, stored=self.look.stored))
        except TuiEvalError:
            self._seconds = {}  # no history yet: nothing to estimate from, and the page says so
        try:
            self._verdict = await check(self.draft, self.typed, self._show_how_far)
        except (TuiEvalError, OSError) as error:
            self._problem = str(error)
        self.show_draft()

    # -- showing --

    def _show_how_far(self, line: str) -> None:
        if self.display:
            self.show_verdict(f"▸ {line}  (esc stops)", "running")

    def show_draft(self) -> None:
        if not self.display:
            return  # the screen is being left: its widgets are gone already
        values = self.values()
        references = self.look.references if self.look else ()
        base = self.look.base if self.look else None
        found = shown.notes(self._verdict, self.draft, base, references, os.environ, self.typed, self.tui.workspace)
        if self.look is not None:
            samples = self.tui.chosen_samples
            found += shown.offered_samples(self.look.resolved, self.draft.folder, samples, self.tui.workspace)
        self.show_notes(found, shown.NOTE_LOOKS)
        verdict = self._verdict
        if verdict is not None or self._problem:
            rows = [] if verdict is None else shown.request_rows(verdict, self._seconds, values)
            table = self.table("requests")
            table.set_empty("The requests are known when the plan has no faults.")
            table.show(rows)
        text, style = shown.headline(verdict, self.notes, self._problem)
        self.show_verdict(text, style)
        self.query_one("#totals", Static).update(content(shown.totals(verdict, self._estimate(), self._limits())))
        self.query_one("#labels", Static).update(content(self._labels()))
        self.show_place("" if verdict is not None or self._problem else "checking…")
        self.show_whole()

    def _missing(self) -> list[str]:
        return [str(note.about) for note in self.notes if note.kind == "missing"]

    def _limits(self) -> shown.Limits:
        return shown.limits_of(self.look.resolved) if self.look else shown.Limits()

    def _estimate(self) -> float | None:
        if self._verdict is None:
            return None
        return shown.estimate(self._verdict.requests, self._seconds, self._limits(), self.values())

    def _labels(self) -> str:
        parts = [f"tags: {', '.join(self.draft.tags)}"] if self.draft.tags else []
        parts += [f"note: {self.draft.note}"] if self.draft.note else []
        if self.draft.path is None:
            parts.append("not saved: w writes it as a plan file")
        return "  ".join(parts) or "t adds tags, n a note"

    def whole(self) -> str:
        note = self.note()
        if note is not None and self.table("notes").has_focus:
            return note.text
        name = self.table("requests").cursor_key
        for request in self._verdict.requests if self._verdict is not None else ():
            if request.name == name:
                callees = ", ".join(shown.called(request, self.values()))
                return f"{request.name}: {request.dataset or 'cases in the plan'}, calls {callees}"
        return ""

    # -- what one does with a line --

    @on(LineTable.Selected, "#notes")
    def _opened(self, event: LineTable.Selected) -> None:
        note = self.note()
        if note is None:
            return
        if note.kind in ("missing", "variable"):
            self.type_variable(str(note.about))
        elif note.kind == "sample":
            from tui_eval.spec.compose import Setting, changed

            request, sample = note.about
            taken = Setting(request, ("dataset", "sample"), sample)
            self.change_draft(replace(self.draft, settings=changed(self.draft.settings, taken)))
        elif note.kind == "change" and isinstance(note.about, tuple):
            self._open_settings(None if note.about[0] in (None, "*") else str(note.about[0]))
        elif note.kind == "change":
            self.action_override()
        else:
            from tui_eval.tui.screens.full_text import FullTextScreen

            self.app.push_screen(FullTextScreen(note.kind, note.text))

    @on(LineTable.Selected, "#requests")
    def _request_opened(self, event: LineTable.Selected) -> None:
        self._open_settings(str(event.key))

    def action_undo(self) -> None:
        note = self.note()
        if note is None or note.kind not in ("change", "variable"):
            self.notify("Put the cursor on a change, or on a variable that was typed here.", severity="warning")
        elif note.kind == "variable":
            if self.typed.pop(str(note.about), None) is not None:
                self.change_draft()
        elif isinstance(note.about, tuple):
            from tui_eval.spec.compose import without

            self.change_draft(replace(self.draft, settings=without(self.draft.settings, note.about)))
        else:
            typed = tuple(text for text in self.draft.typed if text != note.about)
            self.change_draft(replace(self.draft, typed=typed))

    # -- settings --

    def action_shared_settings(self) -> None:
        self._open_settings(None)

    def action_request_settings(self) -> None:
        names = self.draft.names
        key = self.table("requests").cursor_key
        if not names:
            self._say_that_faults_come_first()
        else:
            self._open_settings(str(key) if key in names else names[0])

    def _open_settings(self, request: str | None) -> None:
        if self.look is None:
            self._say_that_faults_come_first()
            return
        from tui_eval.tui.projections import launch_settings as forms
        from tui_eval.tui.screens.launch_form import LaunchFormScreen

        look_now = self.look
        before = forms.shown(look_now.resolved, request)

        def take(after: dict[str, Any]) -> None:
            settings = forms.edited(self.draft.settings, before, after, look_now.base, request)
            if settings != self.draft.settings:
                self.change_draft(replace(self.draft, settings=settings))

        model = forms.RequestSettings if request else forms.SharedSettings
        title = f"settings of {request}" if request else "settings of all requests"
        self.app.push_screen(LaunchFormScreen(title, model, before, take))

    def _say_that_faults_come_first(self) -> None:
        self.notify("The plan cannot be read yet: mend its faults in the file, then press ctrl+r.", severity="warning")

    @asks("ask", exclusive=True)
    async def action_override(self) -> None:
        note = self.note()
        old = note.about if note is not None and note.kind == "change" and isinstance(note.about, str) else ""
        text = await self.app.push_screen_wait(
            Prompt(
                "Set one value, for this launch only", old, hint="requests.NAME.solution.url=https://…", check=_no_path
            )
        )
        if text is not None and text.strip() != old:
            kept = tuple(each for each in self.draft.typed if each != old)
            self.change_draft(replace(self.draft, typed=(*kept, text.strip()) if text.strip() else kept))

    # -- saving --

    @asks("ask", exclusive=True)
    async def action_save(self) -> None:
        from tui_eval.tui.launch_saving import ask_and_save

        if self.look is None:
            self._say_that_faults_come_first()
            return
        saved = await ask_and_save(self.tui, self.draft, self.look)
        if saved is not None:
            self.change_draft(replace(draft_of_file(saved), tags=self.draft.tags, note=self.draft.note))
            self.notify(f"Saved as {saved}. Run it anywhere with: tui-eval run {saved.name}", timeout=8)

    # -- starting --

    @asks("start")
    async def action_start(self) -> None:
        if self._starting or not self._can_start():
            return
        verdict = self._verdict
        assert verdict is not None
        if await self.app.push_screen_wait(self._question(verdict)):
            from tui_eval.runner import new_run_id

            await self.start_run(self.draft.job(self.tui.history.path, new_run_id()))

    def _can_start(self) -> bool:
        verdict = self._verdict
        if missing := self._missing():
            self.notify(f"Type a value for {', '.join(missing)} first (enter on its line).", severity="warning")
        elif verdict is None:
            self.notify(self._problem or "The plan is still being checked.", severity="warning")
        elif verdict.faults:
            self.notify("The faults must be mended first; ctrl+r checks again.", severity="warning")
        else:
            return True
        return False

    def _question(self, verdict: Verdict) -> Confirm:
        seconds = self._estimate()
        callees = list(dict.fromkeys(each for one in verdict.requests for each in shown.called(one, self.values())))
        lines = [f"calls {each}" for each in callees[:_CALLEES_NAMED]]
        if len(callees) > _CALLEES_NAMED:
            lines.append(f"and {len(callees) - _CALLEES_NAMED} more")
        lines.append(f"takes about {duration(seconds)}" if seconds is not None else "how long it takes is not known")
        return Confirm(
            f"Start {self.draft.title}?",
            lines,
            yes="Start",
            no="Not yet",
            calls=verdict.calls,
            at_most=verdict.calls > verdict.tasks,
        )


def _no_path(text: str) -> str:
    """What is wrong with an override, as far as it can be known without the plan."""
    if not text.strip():
        return ""
    path, separator, _ = text.partition("=")
    return "" if separator and path.strip() else "write path=value, for example task_concurrency=4"
