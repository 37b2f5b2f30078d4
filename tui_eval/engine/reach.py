"""What a plan would touch when it is launched: what it executes, and files outside its own folder. Nothing is opened.

A plan may come from a stranger: everything here is named before a launch.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_eval.errors import Fault

if TYPE_CHECKING:
    from tui_eval.engine.callees import Callees
    from tui_eval.spec.loading import LoadedPlan

_PATHS = ("path", "cwd")
_TLS_PATHS = ("ca_file", "client_cert", "client_key")


@dataclass(frozen=True, slots=True)
class Reach:
    """``calls`` are hosts, ``executes`` commands and functions as written. ``reads`` are files and folders outside the
    plan's folder that its datasets, programs, functions and certificates are taken from, ``writes`` the results folder.
    All absolute, each once, in the order of the plan."""

    calls: tuple[str, ...]
    executes: tuple[str, ...]
    reads: tuple[str, ...]
    writes: tuple[str, ...]


def reach_of(loaded: LoadedPlan, callees: Sequence[Callees]) -> Reach:
    """Everything that a launch of the plan would touch, as far as the plan itself says it. ``callees`` are those of its
    requests."""
    results = _results_folder(loaded)
    return Reach(
        calls=_once(host for each in callees for host in each.hosts),
        executes=_once(one for each in callees for one in (*each.commands, *each.functions)),
        reads=_once(str(path) for path in _outside(loaded)),
        writes=(str(results),) if results is not None else (),
    )


def escapes(loaded: LoadedPlan) -> Iterator[Fault]:
    """A warning for a results folder that leads out of the plan's folder. One given for the run itself (``--results-dir``)
    is the user's own and not looked at."""
    results = _results_folder(loaded)
    if results is not None and not results.is_relative_to(_absolute(loaded.folder, "")):
        yield Fault(
            f"results are written to {results}, outside the plan's folder",
            file=str(loaded.path) if loaded.path else "",
            path="runtime.results_dir",
            warning=True,
        )


def _results_folder(loaded: LoadedPlan) -> Path | None:
    given = loaded.plan.runtime.results_dir
    return _absolute(loaded.folder, given) if given is not None else None


def _outside(loaded: LoadedPlan) -> Iterator[Path]:
    home = _absolute(loaded.folder, "")
    for request in loaded.requests:
        given = [request.dataset.path]
        for options in (request.solution, *(evaluator.options for evaluator in request.evaluators)):
            given += [_text(options, name) for name in _PATHS]
            given += [_text(getattr(options, "tls", None), name) for name in _TLS_PATHS]
        for text in given:
            if text and not (place := _absolute(loaded.folder, text)).is_relative_to(home):
                yield place


def _text(options: Any, name: str) -> str | None:
    """An option that is a text; third-party kinds may have others by that name."""
    value = getattr(options, name, None)
    return value if isinstance(value, str) and "://" not in value else None


def _absolute(folder: Path, text: str) -> Path:
    """Where a path of the plan leads in the end: ``..`` and links followed, whether it is there or not."""
    try:
        return Path(os.path.realpath(folder / text))
    except ValueError:  # a NUL in it: no file can have that name, which is told where the file is opened
        return folder / text


def _once(texts: Iterator[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))
