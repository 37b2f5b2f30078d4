"""What is found out about an orchestration before its launch: faults, reuse, which AgentCompass, which components.

For threads, but for what says ``async``. Nothing is executed but the Python that is asked whether it has AgentCompass.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_eval.errors import Fault, SpecError, UsageError
from tui_eval.spec.names import safe_name
from tui_eval.spec.references import missing_variable
from tui_eval.tui.agentcompass_draft import CompassDraft, Owner, path_of, with_section
from tui_eval.tui.background import away
from tui_eval.tui.launch_saving import write_plan

if TYPE_CHECKING:
    from tui_eval.platforms.agentcompass.catalog import Catalog
    from tui_eval.platforms.agentcompass.interpreter import Interpreter
    from tui_eval.platforms.agentcompass.orchestration import LoadedOrchestration


@dataclass(frozen=True, slots=True)
class Examined:
    """What loading said. ``reuse`` are plain statements of what AgentCompass takes over; ``references`` the environment
    variables that are referred to, ``missing`` those that have neither a value nor a default; ``loaded`` is None when
    there are faults."""

    faults: tuple[Fault, ...] = ()
    warnings: tuple[Fault, ...] = ()
    reuse: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    loaded: LoadedOrchestration | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Installed:
    """The AgentCompass that a launch would use; ``problem`` says what is missing and how to install it."""

    interpreter: Interpreter | None = None
    problem: str = ""

    @property
    def version(self) -> str:
        return self.interpreter.agentcompass if self.interpreter is not None else ""


def examine(draft: CompassDraft, environment: Mapping[str, str], catalog: Catalog) -> Examined:
    """Load the draft and say everything about it. Raises nothing of ours: faults are part of the answer."""
    from tui_eval.platforms.agentcompass.loading import Checks, load_orchestration
    from tui_eval.platforms.agentcompass.references import names_in
    from tui_eval.platforms.agentcompass.starting import reuse_statement

    references = tuple(sorted(names_in(dict(draft.data))))
    source: Path | Mapping[str, Any] = draft.path if draft.broken and draft.path is not None else draft.source()
    try:
        loaded = load_orchestration(source, environment=environment, folder=draft.folder, against=Checks(catalog))
    except SpecError as error:
        faults = tuple(fault for fault in error.faults if not fault.warning)
        warnings = tuple(fault for fault in error.faults if fault.warning)
        told = {missing_variable(fault.message) for fault in faults}
        missing = tuple(name for name in references if name in told)
        return Examined(faults, warnings, references=references, missing=missing)
    reuse = tuple(text for request in loaded.requests if (text := reuse_statement(loaded, request)))
    return Examined((), loaded.warnings, reuse, references, loaded=loaded)


def section_faults(
    draft: CompassDraft,
    owner: Owner,
    key: str,
    value: Mapping[str, Any],
    *,
    environment: Mapping[str, str],
    catalog: Catalog,
) -> Iterable[Fault]:
    """What is wrong with one section when ``value`` stands there; the paths start inside it."""
    from tui_eval.platforms.agentcompass.loading import Checks, load_orchestration
    from tui_eval.platforms.agentcompass.references import names_in

    tried = with_section(draft, owner, key, value)
    against = Checks(catalog, environment_set=False)
    # A variable that is not set yet could hold anything that is right.
    values = {**dict.fromkeys(names_in(dict(tried.data)), "1"), **environment}
    try:
        load_orchestration(tried.data, environment=values, folder=draft.folder, against=against)
    except SpecError as error:
        return _inside(error.faults, path_of(tried.data, owner, key))
    return []


def _inside(faults: Iterable[Fault], above: str) -> list[Fault]:
    """The faults below a path, with the rest of it. Those at the top of the file have one step."""
    found = []
    for fault in faults:
        if not above:
            if fault.path in ("name", "task_concurrency"):
                found.append(fault)
        elif fault.path == above or fault.path.startswith(f"{above}."):
            found.append(replace(fault, path=fault.path[len(above) + 1 :]))
    return found


# -- which AgentCompass --


@dataclass(frozen=True, slots=True)
class _Asked:
    """The components that an installed version named, and the file that keeps them for runners."""

    catalog: Catalog
    path: Path


_asked: dict[tuple[str, str], _Asked] = {}
"""By interpreter and version: what one session has asked for."""


def installed(environment: Mapping[str, str]) -> Installed:
    """Find the Python that has AgentCompass; it is started for a moment."""
    from tui_eval.platforms.agentcompass.interpreter import find_interpreter

    try:
        return Installed(find_interpreter(environment))
    except UsageError as error:
        return Installed(None, str(error))


def _answer(found: Installed | None) -> _Asked | None:
    interpreter = found.interpreter if found is not None else None
    return None if interpreter is None else _asked.get((interpreter.path, interpreter.agentcompass))


def known_catalog(found: Installed | None) -> Catalog:
    """The components to offer now: of the installed version as far as they have been asked for, else those of the
    version that this program knows."""
    from tui_eval.platforms.agentcompass.catalog import embedded_catalog

    answer = _answer(found)
    return embedded_catalog() if answer is None else answer.catalog


def overrides_for(found: Installed | None) -> tuple[str, ...]:
    """What a runner is told so that it checks against the same components."""
    answer = _answer(found)
    return () if answer is None else (f"agentcompass.catalog={json.dumps(str(answer.path))}",)


def must_ask(found: Installed) -> bool:
    """Whether the installed version has to be asked for its components (ten seconds and more): those of the version we
    know are embedded."""
    from tui_eval.platforms.agentcompass.catalog import KNOWN_VERSION

    return found.version not in ("", KNOWN_VERSION) and _answer(found) is None


async def ask_catalog(found: Installed, environment: Mapping[str, str], history: Path) -> None:
    """Ask the installed version for its components, and keep them beside the history for runners. Raises UsageError;
    then those of the known version stay."""
    from tui_eval.platforms.agentcompass.catalog import catalog_of
    from tui_eval.platforms.agentcompass.dry_run import installed_catalog

    interpreter = found.interpreter
    if interpreter is None:
        return
    data = {**await installed_catalog(environment, interpreter.path), "version": interpreter.agentcompass}
    path = history.parent / "agentcompass" / f"catalog-{safe_name(interpreter.agentcompass)}.json"
    await away(partial(_keep, path, json.dumps(data)))
    _asked[interpreter.path, interpreter.agentcompass] = _Asked(catalog_of(data), path)


def _keep(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_plan(path, text, replace=True)
    except OSError as error:
        raise UsageError(f"{path.parent}: the folder cannot be made: {error.strerror or error}") from error
