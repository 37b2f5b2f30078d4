"""A plan checked as a whole for the command line: its own faults and its datasets', also when the plan has some."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_eval.errors import Fault, SpecError

if TYPE_CHECKING:
    from tui_eval.engine.preflight import Preflight, Told
    from tui_eval.spec.loading import LoadedPlan


@dataclass(slots=True)
class Checked:
    """What is known about one plan. ``loaded`` is None when the plan itself has faults, ``preflight`` when they are more
    than missing values of the environment."""

    path: Path
    loaded: LoadedPlan | None = None
    preflight: Preflight | None = None
    faults: list[Fault] = field(default_factory=list)
    warnings: list[Fault] = field(default_factory=list)

    @property
    def valid(self) -> bool:
        return not self.faults

    def add(self, fault: Fault) -> None:
        (self.warnings if fault.warning else self.faults).append(fault)

    def raise_faults(self) -> None:
        """Raise all faults as one :class:`SpecError`, if there are any."""
        if self.faults:
            raise SpecError([*self.warnings, *self.faults])


def check(
    source: Path | Mapping[str, Any],
    overrides: Sequence[str] = (),
    environment: Mapping[str, str] = os.environ,
    folder: Path | None = None,
    told: Told | None = None,
) -> Checked:
    """Check a plan (a file, or its data), its datasets and what it needs on this machine.

    ``folder`` is where its relative paths start: the file's folder, or the current one for data. ``told`` hears how far
    it is; without it a terminal does. Executes nothing; raises nothing of ours.
    """
    from tui_eval.cli.waiting import Waiting

    with Waiting("checking the plan") as waiting:
        return _checked(source, overrides, environment, folder, told or waiting.at)


def _checked(
    source: Path | Mapping[str, Any],
    overrides: Sequence[str],
    environment: Mapping[str, str],
    folder: Path | None,
    told: Told,
) -> Checked:
    from tui_eval.engine.preflight import check_plan
    from tui_eval.spec.loading import load_plan

    checked = Checked(source if isinstance(source, Path) else Path())
    try:
        checked.loaded = load_plan(source, overrides=overrides, environment=environment, folder=folder)
    except SpecError as error:
        for fault in error.faults:
            checked.add(fault)
        base = folder or (source.absolute().parent if isinstance(source, Path) else Path.cwd())
        _check_the_rest(checked, source, overrides, environment, base, told)
        return checked
    checked.preflight = report = check_plan(checked.loaded, environment, told)
    checked.faults += report.faults
    checked.warnings += report.warnings
    if checked.valid:
        _check_that_something_runs(checked, report)
    return checked


def _check_the_rest(
    checked: Checked,
    source: Path | Mapping[str, Any],
    overrides: Sequence[str],
    environment: Mapping[str, str],
    folder: Path,
    told: Told,
) -> None:
    """What else can be said of a plan with faults: everything when only values of the environment are missing, else
    what is wrong with its datasets, and on this machine with the requests that have no fault of their own."""
    from tui_eval.engine.preflight import check_plan
    from tui_eval.spec.loading import load_plan, load_sound_requests

    found: list[Fault] = []
    loaded: LoadedPlan | None
    try:
        loaded = load_plan(source, overrides=overrides, environment=environment, folder=folder, check_environment=False)
    except SpecError:
        loaded = None
        found += _dataset_faults(source, folder, environment)
        sound = load_sound_requests(source, overrides, environment, folder)
        # What a platform's section asks of the plan is known only when all of the plan is.
        if sound is not None and not sound.platforms:
            with suppress(SpecError):
                report = check_plan(sound, environment, told)
                found += [*report.warnings, *report.faults]
    if loaded is not None:
        try:
            checked.preflight = report = check_plan(loaded, environment, told)
        except SpecError:
            return  # the missing value is a part of a dataset's path: told as a fault of the plan
        found += [*report.warnings, *report.faults]
    known = {(fault.message, fault.path) for fault in (*checked.faults, *checked.warnings)}
    missing = {fault.message for fault in checked.faults}  # a variable is told once, by the plan's own line
    for fault in dict.fromkeys(found):
        if (fault.message, fault.path) not in known and (fault.file or fault.message not in missing):
            checked.add(fault)


def _check_that_something_runs(checked: Checked, report: Preflight) -> None:
    """No case at all is a fault; no case for one of several requests is a warning."""
    for entry in report.requests:
        if entry.survey is not None and not entry.survey.selected:
            message = f"0 of {entry.survey.count} cases selected: nothing to run"
            place = entry.request.locate(("dataset",))
            hint = "look at `sample`" if entry.survey.count else "the dataset is empty"
            checked.add(place.fault(message, hint, warning=report.tasks > 0))


def _dataset_faults(source: Path | Mapping[str, Any], folder: Path, environment: Mapping[str, str]) -> Iterator[Fault]:
    """The faults of the datasets of a plan that has faults of its own, as far as their sections can be understood."""
    from pydantic import ValidationError

    from tui_eval.datasets import open_dataset
    from tui_eval.errors import DatasetError
    from tui_eval.spec.model import Dataset

    seen: set[str] = set()
    for section in _dataset_sections(source):
        try:
            dataset = Dataset.model_validate(section)
        except ValidationError:
            continue  # that is a fault of the plan, and was told
        key = dataset.model_dump_json()
        if key in seen:
            continue
        seen.add(key)
        try:
            open_dataset(dataset, folder, environment=environment).check()
        except DatasetError as error:
            yield from error.faults
        except SpecError:
            continue  # a reference that is not set, say: told as a fault of the plan


def _dataset_sections(source: Path | Mapping[str, Any]) -> Iterator[dict[str, object]]:
    """The dataset section of each request, merged over the default one; nothing where the file is no plan at all."""
    from tui_eval.spec.source import read_document

    try:
        data = read_document(source).data if isinstance(source, Path) else source
    except SpecError:
        return
    if not isinstance(data, Mapping):
        return
    defaults = data.get("defaults")
    base = defaults.get("dataset") if isinstance(defaults, dict) else None
    requests = data.get("requests")
    for request in requests if isinstance(requests, list) else ():
        own = request.get("dataset", {}) if isinstance(request, dict) else None
        if isinstance(own, dict):
            merged = {**(base if isinstance(base, dict) else {}), **own}
            if merged and "use" not in merged:
                yield merged
