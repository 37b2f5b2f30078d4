"""What one does with the sample of a dataset: chosen by marks or in a form, kept for Launch, copied, written."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from tui_eval.display import relative_path
from tui_eval.tui.dataset_shelf import DatasetFacts, DatasetShelf
from tui_eval.tui.projections import datasets as rows
from tui_eval.tui.screens.browse import BrowseScreen
from tui_eval.tui.screens.dataset_cases import CasesTable
from tui_eval.tui.type_ahead import asks

MOST_IDS = 5_000
"""Marked rows that become ids of a sample; more are better named by ``where`` or ``limit``."""


class DatasetSamples(BrowseScreen):
    """The actions of these keys; ``DatasetsScreen`` adds what is shown."""

    @property
    def shelf(self) -> DatasetShelf:
        return self.tui.dataset_shelf

    @property
    def facts(self) -> DatasetFacts | None:
        """What is known about the file under the cursor."""
        return self.shelf.facts.get(self.path) if self.path is not None else None

    def survey(self, path: Path) -> object:
        """Look for problems of a dataset, and what its sample takes."""
        raise NotImplementedError

    @asks("change", exclusive=True)
    async def action_sample(self) -> None:
        """A form for the sample, with the ids of the marked rows in it."""
        from tui_eval.spec.model import Sample
        from tui_eval.tui.screens.launch_form import LaunchFormScreen

        path, marks = self.path, self.table("rows").marks
        if path is None:
            return
        if len(marks) > MOST_IDS:
            self.notify(f"More than {MOST_IDS:,} rows are marked; choose them by where or limit.", severity="warning")
            return
        data = dict(self.tui.chosen_samples.get(path, {}))
        if marks:
            data["ids"] = [case.id for case in await self.query_one(CasesTable).cases(int(str(key)) for key in marks)]
        title = f"sample of {path.name}"
        self.app.push_screen(LaunchFormScreen(title, Sample, data, partial(self._chosen, path)))

    def _chosen(self, path: Path, sample: dict[str, Any]) -> None:
        """Keep the sample for Launch, and look what it takes."""
        if sample:
            self.tui.chosen_samples[path] = sample
        else:
            self.tui.chosen_samples.pop(path, None)
        self.shelf.surveys.pop(path, None)
        self.focus_panel(self.NAMES.index("sample") + 1)
        self.survey(path)
        self.show_files()

    def action_all(self) -> None:
        if self.path is not None:
            self.table("rows").drop_marks()
            self._chosen(self.path, {})

    def _section(self) -> str:
        """The sample as YAML for a plan; "" when there is no dataset."""
        path, facts = self.path, self.facts
        if path is None:
            return ""
        settings = facts.settings if facts is not None else {}
        sample = self.tui.chosen_samples.get(path, {})
        return rows.sample_yaml(relative_path(path, self.tui.workspace), settings, sample)

    def action_copy(self) -> None:
        from tui_eval.tui.screens.copying import copy_text

        if text := self._section():
            copy_text(self.tui, "The dataset with its sample", text)

    @asks("change", exclusive=True)
    async def action_write(self) -> None:
        from tui_eval.tui.screens.copying import write_text

        if text := self._section():
            await write_text(self.tui, "dataset.yaml", text)
