"""A plan checked as a whole for the command line: its own faults and its datasets', also when the plan has some."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tui_eval.errors import Fault, SpecError

if TYPE_CHECKING:
    from tui_eval.engine.preflight import Preflight
    from tui_eval.spec.loading import LoadedPlan


@dataclass(slots=True)
class Checked:
    """What is known about one plan. ``loaded`` and ``preflight`` are None when the plan itself has faults."""

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


def check(path: Path, overrides: Sequence[str] = (), environment: Mapping[str, str] = os.environ) -> Checked:
    """Check a plan, its datasets and what it needs on this machine. Executes nothing; raises nothing of ours."""
    from tui_eval.engine.preflight import check_plan
    from tui_eval.spec.loading import load_plan

    checked = Checked(path)
    try:
        checked.loaded = load_plan(path, overrides=overrides, environment=environment)
    except SpecError as error:
        for fault in error.faults:
            checked.add(fault)
        for fault in _dataset_faults(path, overrides, environment):
            checked.add(fault)
        return checked
    checked.preflight = report = check_plan(checked.loaded, environment)
    checked.faults += report.faults
    checked.warnings += report.warnings
    if checked.valid:
        _check_that_something_runs(checked, report)
    return checked
