"""Composing a plan: datasets x solutions, judged by evaluators. Several of each are marked, side by side."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, ClassVar

from textual import events, on, work
from textual.containers import Horizontal, Vertical
from textual.widget import Widget
from textual.widgets import Static

from tui_eval.tui import keys
from tui_eval.tui.launch_draft import Draft
from tui_eval.tui.launch_parts import (
    KINDS,
    Choice,
    PartKind,
    composed,
    dataset_at,
    own_choice,
    read_choices,
    sample_text,
    sampled,
)
from tui_eval.tui.projections.launch import PARTS
from tui_eval.tui.screens.base import BaseScreen
from tui_eval.tui.screens.dialogs import Choose, Option, Prompt
from tui_eval.tui.text import content, plural
from tui_eval.tui.type_ahead import asks
from tui_eval.tui.widgets.cells import Cell, Row
from tui_eval.tui.widgets.line_table import LineTable

_EMPTY = {
    "dataset": "No dataset found.\nPress a to name a file.",
    "solution": "No solution found.\nPress a to make one.",
    "evaluator": "No evaluator found.\nPress a to make one.",
}


class BuildScreen(BaseScreen):
    """Three lists to mark in; what is marked makes one request for each dataset and solution."""

    DEFAULT_CSS = """
    BuildScreen #lists { height: 1fr; }
    BuildScreen .list { width: 1fr; height: 1fr; border-right: solid $edge; }
    BuildScreen #evaluators { border-right: none; }
    BuildScreen .title { height: 1; padding: 0 1; text-style: bold; color: $muted; }
    BuildScreen .list:focus-within .title { color: $primary; }
    BuildScreen #whole { height: 2; padding: 0 1; border-top: solid $edge; color: $muted; text-style: $muted-style; }
    BuildScreen #sum { height: auto; max-height: 2; padding: 0 1; text-style: bold; }
    BuildScreen.-narrow #lists { layout: vertical; }
    BuildScreen.-narrow .list { border-right: none; }
    """
    BINDINGS: ClassVar = keys.bindings("launch_build")
    LABELS: ClassVar = {"table.select": "next list"}
    PANELS = ("#dataset-table", "#solution-table", "#evaluator-table")
    HELP = (
        "Mark datasets, solutions and evaluators with space; enter goes to the next list. Every dataset meets every "
        "solution, and all evaluators judge. c goes on to the pre-flight page; nothing is called before you start there."
    )

    def __init__(self) -> None:
        super().__init__()
        self._plan_name = "composed"
        self._choices: dict[tuple[str, str], Choice] = {}
        self._reading = True

    def body(self) -> Iterable[Widget]:
        with Horizontal(id="lists"):
            for kind in KINDS:
                with Vertical(id=f"{kind}s", classes="list"):
                    yield Static("", id=f"{kind}-title", classes="title", markup=False)
                    yield LineTable(PARTS, id=f"{kind}-table", header=False, empty="Reading the workspace…")
        yield Static("", id="whole", markup=False)
        yield Static("", id="sum", markup=False)

    @property
    def crumb(self) -> str:
        return f"compose: {self._plan_name}"

    def on_mount(self) -> None:
        self._table("dataset").focus()
        self._show()
        self._read()

    def ask_again(self) -> None:
        super().ask_again()
        self._read()

    def _table(self, kind: PartKind) -> LineTable:
        return self.query_one(f"#{kind}-table", LineTable)

    # -- reading and showing --

    @work(group="read", exclusive=True)
    async def _read(self) -> None:
        self.show_place("looking through the workspace…")
        found, cut = await asyncio.to_thread(read_choices, self.tui.workspace)
        if not self.display:
            return  # the screen is being left: its widgets are gone already
        samples = self.tui.chosen_samples
        known = {choice.key: choice for choice in self._choices.values() if choice.own}
        for choice in found:
            path = str(choice.section.get("path", "")).replace("$${", "${")
            sample = samples.get(self.tui.workspace / path) if choice.of == "dataset" and path else None
            taken = sampled(choice, sample) if sample else choice
            known.setdefault(choice.key, self._choices.get(choice.key, taken))
        self._choices = known
        self._reading = False
        for kind in KINDS:
            self._table(kind).set_empty(_EMPTY[kind])
        self._show()
        for kind in KINDS:
            self._mark_the_only_one(kind)
        self.show_place("; ".join(cut))

    def _mark_the_only_one(self, kind: PartKind) -> None:
        table = self._table(kind)
        if table.source.count() == 1 and not table.marks:
            table.marks[table.source.key(0)] = None
            table.rows_changed()
            self._show()

    def _of(self, kind: PartKind) -> list[tuple[Hashable, Choice]]:
        return [(key, choice) for key, choice in self._choices.items() if choice.of == kind]

    def _marked(self, kind: PartKind) -> list[Choice]:
        return [self._choices[key] for key in self._table(kind).marks if key in self._choices]

    def _show(self) -> None:
        for kind in KINDS:
            self._table(kind).show([_row(key, choice) for key, choice in self._of(kind)])
            marked = len(self._marked(kind))
            title = f"{KINDS.index(kind) + 1} {kind}s"
            self.query_one(f"#{kind}-title", Static).update(content(f"{title}: {marked} marked" if marked else title))
        self.query_one("#sum", Static).update(content(self._sum()))
        self._show_whole()

    def _sum(self) -> str:
        datasets, solutions, evaluators = (len(self._marked(kind)) for kind in KINDS)
        if not datasets or not solutions:
            return "" if self._reading else "Mark at least one dataset and one solution with space."
        judged = f"judged by {plural(evaluators, 'evaluator')}" if evaluators else "not judged: no evaluator is marked"
        return (
            f"{plural(datasets, 'dataset')} x {plural(solutions, 'solution')} = "
            f"{plural(datasets * solutions, 'request')}, {judged}"
        )

    @on(LineTable.Highlighted)
    def _moved(self, event: LineTable.Highlighted) -> None:
        self._show_whole()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        self._show_whole()

    def _show_whole(self) -> None:
        choice = self._here()
        text = ""
        if choice is not None:
            sample = sample_text(choice.section)
            text = f"{choice.name}  {choice.note}" + (f"  sample: {sample}" if sample else "")
        self.query_one("#whole", Static).update(content(text))

    @on(LineTable.MarksChanged)
    def _marks_changed(self, event: LineTable.MarksChanged) -> None:
        self._show()

    def _focused_kind(self) -> PartKind:
        return next((kind for kind in KINDS if self._table(kind).has_focus), "dataset")

    def _here(self) -> Choice | None:
        key = self._table(self._focused_kind()).cursor_key
        return self._choices.get(key) if isinstance(key, tuple) else None

    @on(LineTable.Selected)
    def _entered(self, event: LineTable.Selected) -> None:
        """Enter goes to the next list, from the last one on."""
        place = KINDS.index(self._focused_kind())
        if place + 1 < len(KINDS):
            self._table(KINDS[place + 1]).focus()
        else:
            self.action_go_on()

    # -- adding and editing --

    def action_add(self) -> None:
        kind = self._focused_kind()
        if kind == "dataset":
            self._add_file()
        else:
            self._add_part(kind)

    @asks("ask", exclusive=True)
    async def _add_file(self) -> None:
        folder = self.tui.workspace
        text = await self.app.push_screen_wait(
            Prompt("Dataset file", hint=str(folder / "cases.jsonl"), check=self._no_file)
        )
        if text is not None:
            self._take(dataset_at((folder / text.strip()).expanduser(), folder))

    def _no_file(self, text: str) -> str:
        path = (self.tui.workspace / text.strip()).expanduser()
        return "" if text.strip() and path.is_file() else f"there is no file {path}"

    @asks("ask", exclusive=True)
    async def _add_part(self, of: PartKind) -> None:
        from tui_eval.spec.kinds import evaluator_kinds, solution_kinds

        known = solution_kinds() if of == "solution" else evaluator_kinds()
        kind = await self.app.push_screen_wait(Choose(f"Which kind of {of}?", [Option(name, name) for name in known]))
        if kind is None:
            return
        name: str | None = kind
        if of == "solution":
            name = await self.app.push_screen_wait(
                Prompt("Name of the solution", kind, hint="candidate", check=_no_name)
            )
        if name is not None:
            self._fill_in(of, kind, name.strip(), {}, None)

    def _fill_in(self, of: PartKind, kind: str, name: str, options: Mapping[str, Any], old: Choice | None) -> None:
        from tui_eval.errors import SpecError
        from tui_eval.spec.kinds import evaluator_kinds, solution_kinds
        from tui_eval.tui.screens.launch_form import LaunchFormScreen

        try:
            model = (solution_kinds() if of == "solution" else evaluator_kinds())[kind].options_model()
        except SpecError as error:
            self.notify(str(error), severity="error", timeout=10)
            return

        def take(data: dict[str, Any]) -> None:
            called = name if of == "solution" else str(data.get("name") or kind)
            self._take(own_choice(of, kind, called, data), old)

        self.app.push_screen(
            LaunchFormScreen(f"{of} {name}", model, options, take, skip=("type" if of == "solution" else "id",))
        )

    def _take(self, choice: Choice, old: Choice | None = None) -> None:
        """Have a choice in its list, marked, in the place of ``old``."""
        table = self._table(choice.of)
        if old is not None:
            self._choices.pop(old.key, None)
            table.marks.pop(old.key, None)
        self._choices[choice.key] = choice
        table.marks[choice.key] = None
        self._show()
        table.move_to(choice.key)
        table.focus()

    def action_edit(self) -> None:
        choice = self._here()
        if choice is None:
            return
        if choice.of == "dataset":
            self._edit_sample(choice)
        elif choice.own:
            options = {key: value for key, value in choice.section.items() if key not in ("type", "id")}
            self._fill_in(choice.of, choice.kind, choice.name, options, choice)
        else:
            self.notify("Only what was added here can be edited here; saved files have screens of their own.")

    def _edit_sample(self, choice: Choice) -> None:
        from tui_eval.spec.model import Sample
        from tui_eval.tui.screens.launch_form import LaunchFormScreen

        key = self._table("dataset").cursor_key
        if not isinstance(key, tuple):
            return

        def take(sample: dict[str, Any]) -> None:
            self._choices[key] = sampled(choice, sample)
            self._show()

        sample = dict(choice.section.get("sample") or {})
        self.app.push_screen(LaunchFormScreen(f"sample of {choice.name}", Sample, sample, take))

    @asks("ask", exclusive=True)
    async def action_name(self) -> None:
        name = await self.app.push_screen_wait(Prompt("Name of the plan", self._plan_name, check=_no_name))
        if name is not None:
            self._plan_name = name.strip()
            self.show_place()

    def action_go_on(self) -> None:
        chosen = [choice for kind in KINDS for choice in self._marked(kind)]
        if {"dataset", "solution"} - {choice.of for choice in chosen}:
            self.notify("Mark at least one dataset and one solution with space.", severity="warning")
            return
        from tui_eval.tui.screens.launch_review import ReviewScreen

        self.app.push_screen(ReviewScreen(Draft(self.tui.workspace, plan=composed(self._plan_name, chosen))))


def _row(key: Hashable, choice: Choice) -> Row:
    sample = sample_text(choice.section)
    note = f"[{sample}] {choice.note}" if sample else choice.note
    return Row(key, (Cell(choice.name, "title"), Cell(note, "muted")))


def _no_name(text: str) -> str:
    return "" if text.strip() and text.isprintable() else "a name needs visible characters"
