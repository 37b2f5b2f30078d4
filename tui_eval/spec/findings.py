"""Collecting every fault of a plan instead of stopping at the first."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from tui_eval.errors import Fault
from tui_eval.spec.nodes import Path, Place, dotted


class Findings:
    """Faults and warnings as they are found. The same one found twice (a default that several requests use) is kept
    once. ``name_path`` turns a path of the file into what is shown (requests by name)."""

    def __init__(self, name_path: Callable[[Path], Path] = lambda path: path) -> None:
        self.name_path = name_path
        self._found: dict[Fault, None] = {}
        self._count = 0

    def add(self, place: Place, message: str, hint: str = "", *, warning: bool = False) -> None:
        path = dotted(self.name_path(place.path))
        self.extend([Fault(message, place.file, place.line, place.column, path, hint, warning)])

    def warn(self, place: Place, message: str, hint: str = "") -> None:
        self.add(place, message, hint, warning=True)

    def extend(self, faults: Iterable[Fault]) -> None:
        for fault in faults:
            self._found.setdefault(fault)
            self._count += not fault.warning

    @property
    def count(self) -> int:
        """How many faults there are, repeated ones included; warnings do not count."""
        return self._count

    @property
    def has_faults(self) -> bool:
        return self._count > 0

    def faults(self, first_file: str) -> list[Fault]:
        """The faults, those of ``first_file`` first, in the order of the files."""
        return self._sorted(first_file, warning=False)

    def warnings(self, first_file: str) -> list[Fault]:
        return self._sorted(first_file, warning=True)

    def _sorted(self, first_file: str, *, warning: bool) -> list[Fault]:
        chosen = [fault for fault in self._found if fault.warning == warning]
        return sorted(chosen, key=lambda fault: (fault.file != first_file, fault.file, fault.line, fault.column))


def moved(place: Place, path: Path) -> Place:
    """The same place with another path."""
    return replace(place, path=path)
