"""Cases that a platform has: fetched by the platform's own module, then a dataset like every other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tui_eval.datasets import inline
from tui_eval.datasets.limits import Limits
from tui_eval.datasets.rows import BEGIN, Item, Place, Reading
from tui_eval.datasets.source import DatasetSource
from tui_eval.errors import DatasetError, Fault
from tui_eval.spec import kinds
from tui_eval.spec.model import Dataset

if TYPE_CHECKING:
    from tui_eval.spec.loading import LoadedPlatform


@dataclass(frozen=True, slots=True)
class PlatformRows:
    """What a platform gave. ``label`` names it for lists, ``notes`` are for the reader (how many rows were left out),
    ``warnings`` concern the plan, ``detail`` is for the platform's own module."""

    label: str
    rows: Sequence[dict[str, Any]]
    notes: tuple[str, ...] = ()
    warnings: tuple[Fault, ...] = ()
    detail: Mapping[str, Any] = field(default_factory=dict)


class PlatformSource(DatasetSource):
    """The rows of a platform as a dataset. They were all fetched when it was made."""

    def __init__(self, spec: Dataset, found: PlatformRows, limits: Limits) -> None:
        super().__init__(spec, None, "inline", limits)
        self.found = found
        self.warnings = found.warnings

    @property
    def name(self) -> str:
        return self.found.label

    @property
    def label(self) -> str:
        return self.found.label

    def items(self, reading: Reading, start: Place = BEGIN) -> Iterator[Item]:
        reading.notes += [note for note in self.found.notes if note not in reading.notes]
        return inline.read(self.found.rows)


def open_platform(
    spec: Dataset, platforms: Mapping[str, LoadedPlatform], environment: Mapping[str, str], limits: Limits
) -> PlatformSource:
    """Fetch the rows that ``spec`` means. Raises DatasetError when that is not possible, or only in part."""
    name = spec.platform or ""
    section = platforms.get(name)
    if section is None:
        raise DatasetError([Fault(f"the plan has no section `{name}`", path="dataset.platform", hint=f"add `{name}:`")])
    try:
        found: PlatformRows = kinds.load(kinds.PLATFORMS[name].rows)(section.options, environment)
    except DatasetError as error:
        raise DatasetError([_placed(fault, name, section) for fault in error.faults]) from error
    warnings = tuple(_placed(fault, name, section) for fault in found.warnings)
    return PlatformSource(spec, replace(found, warnings=warnings), limits)


def _placed(fault: Fault, name: str, section: LoadedPlatform) -> Fault:
    """A fault about a part of the section, with the place where that was typed."""
    first, *steps = fault.path.split(".")
    if fault.file or first != name:
        return fault
    place = section.locate(tuple(int(step) if step.isdecimal() else step for step in steps))
    return replace(fault, file=place.file, line=place.line, column=place.column)
