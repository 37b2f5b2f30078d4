"""Plans, orchestrations and evalsets of a workspace, checked: every fault, and what their requests would do.

For threads. Opens the plan file and the saved files it uses; no dataset, no program, no agent.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_eval.errors import Fault, SpecError

if TYPE_CHECKING:
    from tui_eval.spec.loading import LoadedPlan
    from tui_eval.spec.source import Document
    from tui_eval.spec.workspace import Workspace

KINDS = ("plan", "orchestration", "evalset")
Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class RequestPreview:
    """What one request of a plan would do. ``data`` is the request with the defaults merged in and typed credentials
    hidden; of a file that is not understood as a plan, its own words. ``line`` is where it stands, from 1 (0: unknown).
    """

    position: int
    name: str
    data: Mapping[str, Any] = field(repr=False, hash=False)
    line: int = 0


@dataclass(frozen=True, slots=True)
class CheckedPlan:
    """What is known about one file. ``stamp`` is what the file was when it was read (see :func:`stamp_of`).

    ``with_datasets``: the faults are those of the datasets and of this machine too, as ``tui-eval validate`` finds them.
    """

    path: Path
    stamp: Stamp | None
    faults: tuple[Fault, ...] = ()
    warnings: tuple[Fault, ...] = ()
    requests: tuple[RequestPreview, ...] = ()
    task_concurrency: int = 0
    with_datasets: bool = False

    @property
    def valid(self) -> bool:
        return not self.faults


def find(folder: Path) -> Workspace:
    """Everything in the workspace (see ``spec.workspace``)."""
    from tui_eval.spec.workspace import scan

    return scan(folder)


def stamp_of(path: Path) -> Stamp | None:
    """What tells one content of a file from another: time of change, size, inode. None when it is not there."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


class PlanShelf:
    """Plans that were checked already, by path: looked at again only when the file is another one."""

    def __init__(self) -> None:
        self._known: dict[Path, CheckedPlan] = {}

    def known(self, path: Path) -> CheckedPlan | None:
        """What was found the last time, if ever."""
        return self._known.get(path)

    def put(self, checked: CheckedPlan) -> None:
        self._known[checked.path] = checked

    def check(self, path: Path, *, again: bool = False) -> CheckedPlan:
        """Check a plan, or give what is known when the file has not changed since (unless ``again``)."""
        known = self._known.get(path)
        if again or known is None or known.stamp is None or known.stamp != stamp_of(path):
            known = self._known[path] = check_file(path, os.environ)
        return known


def check_file(path: Path, environment: Mapping[str, str]) -> CheckedPlan:
    """Load a plan and say everything about it. Raises nothing of ours: faults are part of the answer."""
    from tui_eval.platforms.agentcompass.recognising import is_orchestration_file
    from tui_eval.spec.loading import load_plan
    from tui_eval.spec.workspace import kind_of

    stamp = stamp_of(path)
    if is_orchestration_file(path):
        return _check_orchestration(path, environment, stamp)
    if kind_of(path) == "evalset":
        return _check_evalset(path, stamp)
    try:
        loaded = load_plan(path, environment=environment)
    except SpecError as error:
        faults = tuple(fault for fault in error.faults if not fault.warning)
        warnings = tuple(fault for fault in error.faults if fault.warning)
        try:  # without values for ${NAME} it cannot be run, but can be looked at
            loaded = load_plan(path, environment=environment, check_environment=False)
        except SpecError:
            return CheckedPlan(path, stamp, faults, warnings, tuple(_as_typed(path)))
        return CheckedPlan(path, stamp, faults, warnings, tuple(_previews(loaded, path)), loaded.plan.task_concurrency)
    return CheckedPlan(path, stamp, (), loaded.warnings, tuple(_previews(loaded, path)), loaded.plan.task_concurrency)


def _check_orchestration(path: Path, environment: Mapping[str, str], stamp: Stamp | None) -> CheckedPlan:
    """The same for a file of AgentCompass, which executes it itself."""
    from tui_eval.platforms.agentcompass.loading import load_orchestration

    previews = tuple(_as_typed(path))
    try:
        loaded = load_orchestration(path, environment=environment, folder=path.absolute().parent)
    except SpecError as error:
        faults = tuple(fault for fault in error.faults if not fault.warning)
        return CheckedPlan(path, stamp, faults, tuple(fault for fault in error.faults if fault.warning), previews)
    return CheckedPlan(path, stamp, (), loaded.warnings, previews, loaded.task_concurrency)


def _check_evalset(path: Path, stamp: Stamp | None) -> CheckedPlan:
    """The same for an evalset: its requests are those on the agentspecs that it suggests."""
    from tui_eval.platforms.datalayer.conversion import Choices, plan_of
    from tui_eval.platforms.datalayer.launching import read_for_launch

    try:
        evalset = read_for_launch(path)
    except SpecError as error:
        faults = tuple(fault for fault in error.faults if not fault.warning)
        return CheckedPlan(path, stamp, faults, tuple(fault for fault in error.faults if fault.warning))
    specs = list(dict.fromkeys(spec for each in evalset.agentspec_ids if (spec := each.strip())))
    if not specs:
        return CheckedPlan(path, stamp, (), evalset.warnings)
    plan = plan_of(evalset, Choices(specs, folder=path.absolute().parent))
    requests = enumerate(plan["requests"])
    previews = (
        RequestPreview(place, f"{each['name']} (suggested)", {**plan["defaults"], **each}) for place, each in requests
    )
    return CheckedPlan(path, stamp, (), evalset.warnings, tuple(previews), plan["task_concurrency"])


def _previews(loaded: LoadedPlan, path: Path) -> Iterator[RequestPreview]:
    document = _document(path)
    for request, data in zip(loaded.requests, loaded.stored["requests"], strict=True):
        whole = {**data, "execution": request.execution.model_dump(mode="json")}
        yield RequestPreview(request.position, request.name, whole, _line(document, request.position))


def _as_typed(path: Path) -> Iterator[RequestPreview]:
    """The requests of a file that is no plan, or a broken one: what stands there, as far as it can be read."""
    from tui_eval.spec.credentials import hide_credentials

    document = _document(path)
    if document is None or not isinstance(document.data, dict):
        return
    data = document.data
    defaults = data["defaults"] if isinstance(data.get("defaults"), dict) else {}
    requests = data.get("requests")
    for position, request in enumerate(requests if isinstance(requests, list) else ()):
        if not isinstance(request, dict):
            continue
        name = request.get("name", request.get("id", f"request {position + 1}"))
        yield RequestPreview(position, str(name), hide_credentials({**defaults, **request}), _line(document, position))


def _document(path: Path) -> Document | None:
    from tui_eval.spec.source import read_document

    try:
        return read_document(path)
    except SpecError:
        return None


def _line(document: Document | None, position: int) -> int:
    return document.place(("requests", position))[0] if document is not None else 0


def read_source(path: Path) -> str:
    """The text of a plan file for a viewer, its line ends as the readers count them; why not, when it cannot be read.

    Bytes that are not UTF-8 are shown as U+FFFD: the fault says where they are.
    """
    from tui_eval.spec.source import read_text

    try:
        text = read_text(path, str(path))
    except SpecError as error:
        raw = _raw(path)
        if raw is None:
            return str(error)
        text = raw.decode("utf-8", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _raw(path: Path) -> bytes | None:
    """The beginning of a regular file, None when it is none or cannot be read."""
    import stat

    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return None
        with open(path, "rb") as stream:
            return stream.read(1024 * 1024)
    except (OSError, ValueError):
        return None


async def checked_with_datasets(
    path: Path, check: Callable[[Path], CheckedPlan], told: Callable[[str], None]
) -> CheckedPlan:
    """What ``tui-eval validate`` says of a plan: its faults, its datasets' and this machine's. ``told`` hears how far it
    is. Raises TuiEvalError."""
    from tui_eval.tui.background import away
    from tui_eval.tui.launch_check import checked

    def faults_of(plan: Mapping[str, Any]) -> list[tuple[Fault, ...]]:
        return [tuple(Fault(**each) for each in plan[name]) for name in ("faults", "warnings")]

    stamp = await away(partial(stamp_of, path))
    faults, warnings = await checked({"plan": str(path)}, {}, told, faults_of)
    known = await away(partial(check, path))
    return replace(known, stamp=stamp, faults=faults, warnings=warnings, with_datasets=True)
