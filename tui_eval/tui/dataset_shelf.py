"""What was found out about the datasets of the workspace, kept as long as the files stay the same. Light to import."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_eval.errors import Fault
from tui_eval.tui.plan_reading import Stamp, stamp_of

if TYPE_CHECKING:
    from tui_eval.datasets.survey import Survey


@dataclass(frozen=True, slots=True)
class DatasetFacts:
    """What is known about a file without reading all of it. ``settings`` are the keys of a plan's ``dataset`` section
    by which it is read, ``settings_of`` the plan they come from. ``trouble`` is why it cannot be read at all."""

    path: Path
    stamp: Stamp | None
    size: int = 0
    format: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    settings_of: str = ""
    columns: tuple[str, ...] = ()
    id_column: str | None = None
    trouble: tuple[Fault, ...] = ()


class DatasetShelf:
    """What was found out about datasets, by path, as long as the files stay the same."""

    def __init__(self) -> None:
        self.facts: dict[Path, DatasetFacts] = {}
        self.counts: dict[Path, int | str] = {}
        """Records of the file, or why they cannot be counted."""
        self.surveys: dict[Path, Survey] = {}
        """Of the file with the sample that is chosen for it."""

    def forget(self, path: Path) -> None:
        """The file has changed."""
        for shelf in (self.facts, self.counts, self.surveys):
            shelf.pop(path, None)

    def forget_changed(self, path: Path) -> bool:
        """Forget a file that is not the one that was read; True when it was forgotten."""
        known = self.facts.get(path)
        changed = known is not None and (known.stamp is None or known.stamp != stamp_of(path))
        if changed:
            self.forget(path)
        return changed
