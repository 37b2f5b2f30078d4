"""What is about to be launched: a plan file with changes, or a composed plan. Data that the launch screens hand on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_eval.jobs import Job

if TYPE_CHECKING:
    from tui_eval.spec.compose import Setting


@dataclass(frozen=True, slots=True)
class Draft:
    """A launch as it stands now.

    Either ``path`` names a plan file, or ``plan`` is composed data; ``folder`` (absolute) is where relative paths
    start. ``settings`` come from forms, ``typed`` are overrides as ``--set`` takes them. ``names`` are the requests of
    the plan, as far as they are known. Values of variables are no part of it: they are kept by the screen alone.
    """

    folder: Path
    path: Path | None = None
    plan: Mapping[str, Any] | None = field(default=None, repr=False)
    settings: tuple[Setting, ...] = ()
    typed: tuple[str, ...] = field(default=(), repr=False)
    names: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    note: str = ""

    @property
    def title(self) -> str:
        """The file's name, else the name of the composed plan."""
        return self.path.name if self.path is not None else str((self.plan or {}).get("name", ""))

    def source(self) -> Path | dict[str, Any]:
        """The plan file, or the composed plan with its settings in it."""
        if self.path is not None:
            return self.path
        from tui_eval.spec.compose import with_settings

        return with_settings(self.plan or {}, self.settings)

    def overrides(self) -> tuple[str, ...]:
        """What is changed over :meth:`source`, as ``--set`` takes it."""
        if self.path is None:
            return self.typed
        from tui_eval.spec.compose import override_text

        return (*(override_text(setting, self.names) for setting in self.settings), *self.typed)

    def job(self, history: Path, run_id: str) -> Job:
        """What the runner is told to do."""
        source = self.source()
        return Job(
            "launch",
            history=str(history),
            run_id=run_id,
            plan=str(source) if isinstance(source, Path) else source,
            folder=None if isinstance(source, Path) else str(self.folder),
            overrides=self.overrides(),
            tags=self.tags,
            note=self.note,
        )


def draft_of_file(path: Path) -> Draft:
    """The launch of a plan file as it stands."""
    path = Path(path).expanduser().absolute()
    return Draft(path.parent, path)
