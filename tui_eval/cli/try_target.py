"""What ``tui-eval try`` is about: a request of a plan, a saved or a given solution, an evaluator; and which case."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui_eval.domain import Case, JsonValue
from tui_eval.errors import Fault, SpecError, UsageError

if TYPE_CHECKING:
    from tui_eval.spec.loading import LoadedPlan, LoadedRequest

NAME = "try"
"""The name of the plan and the request that are made around a solution or an evaluator alone."""
STDIN = "-"
_GIVEN = ("solution", "evaluator", "input", "output", "expected")
_NO_CALL = {"type": "command", "argv": ["true"]}


@dataclass(slots=True)
class Given:
    """What was asked for, wherever it came from. ``output`` is in a box, so that null can be one."""

    target: Path | None = None
    solution: Mapping[str, JsonValue] | None = None
    evaluator: Mapping[str, JsonValue] | None = None
    input: Mapping[str, JsonValue] | None = None
    output: tuple[JsonValue] | None = None
    expected: tuple[JsonValue] | None = None
    folder: Path = field(default_factory=Path.cwd)


@dataclass(frozen=True, slots=True)
class Target:
    """One request and one case of it, ready to be tried."""

    loaded: LoadedPlan = field(repr=False)
    request: LoadedRequest
    case: Case
    warnings: tuple[Fault, ...] = ()


def read_stdin() -> dict[str, JsonValue]:
    """The JSON object on standard input. Raises UsageError when there is none."""
    text = sys.stdin.read() if sys.stdin is not None else ""
    value = read_json(text, "standard input")
    if not isinstance(value, dict):
        raise UsageError("standard input must hold a JSON object: a solution, or {“solution”: …, “input”: …}")
    return value


def read_json(text: str, what: str) -> JsonValue:
    """A JSON value. Raises UsageError saying where it stops being one."""
    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{what} is no JSON: {error}") from None


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def text_or_file(text: str, what: str) -> str:
    """``text`` itself, or what stands in the file that ``@FILE`` names (``@@…`` is a text that begins with ``@``)."""
    if not text.startswith("@"):
        return text
    if text.startswith("@@"):
        return text[1:]
    try:
        return Path(text[1:]).read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"{what}: {text[1:]} cannot be read: {reason}") from None


def from_stdin(data: Mapping[str, JsonValue], kind: str) -> dict[str, JsonValue]:
    """Standard input as parts of :class:`Given`: a solution (or evaluator) alone, or a map of the parts."""
    key = "type" if kind == "solution" else "id"
    if key in data or not data.keys() & set(_GIVEN):
        return {kind: data}
    unknown = [name for name in data if name not in _GIVEN]
    if unknown:
        raise UsageError(f"standard input: unknown key `{unknown[0]}`; the keys are {', '.join(_GIVEN)}")
    if kind not in data:
        raise UsageError(f"standard input: `{kind}` is missing")
    for name in ("solution", "evaluator", "input"):
        if name in data and not isinstance(data[name], dict):
            raise UsageError(f"standard input: `{name}` must be an object")
    return {name: (value,) if name in ("output", "expected") else value for name, value in data.items()}


def find_target(given: Given, request_name: str | None, case_id: str | None, overrides: Iterable[str]) -> Target:
    """Load what was asked for and find the case. Raises SpecError, DatasetError or UsageError."""
    from tui_eval.spec.loading import load_plan

    overrides = tuple(overrides)
    if given.input is not None and case_id is not None:
        raise UsageError("give --case (one of the dataset) or --input (typed columns), not both")
    if given.evaluator is not None or given.solution is not None:
        loaded = _load_made(given, overrides)
    else:
        assert given.target is not None
        path = given.target
        if _is_saved_part(path, "type"):
            given = _with_use(given, path, "solution")
            loaded = _load_made(given, overrides)
        else:
            loaded = load_plan(path, overrides=overrides)
    if case_id is not None and (given.solution is not None or given.evaluator is not None):
        raise UsageError("--case needs a plan, whose dataset has cases; give the columns with --input instead")
    request = _request(loaded, request_name)
    return Target(loaded, request, _case(loaded, request, given, case_id), loaded.warnings)


def saved_evaluator(given: Given, path: Path) -> Given:
    """The same with a saved evaluator in it."""
    return _with_use(given, path, "evaluator")


def whole_evaluator(given: Given) -> Mapping[str, JsonValue]:
    """The evaluator with what stands in the saved file that it uses. Raises SpecError when that cannot be read."""
    from tui_eval.spec.source import read_document

    evaluator = given.evaluator or {}
    used = evaluator.get("use")
    if not isinstance(used, str):
        return evaluator
    saved = read_document(given.folder / used).data
    return {**saved, **evaluator} if isinstance(saved, dict) else evaluator


def _with_use(given: Given, path: Path, kind: str) -> Given:
    """A saved file is used by name, so that its faults name file and line. Its paths start where those of a plan that
    uses it would: above a folder called ``solutions`` or ``evaluators``, else in its own folder."""
    path = path.absolute()
    folder = path.parent.parent if path.parent.name == f"{kind}s" else path.parent
    used = {"use": path.relative_to(folder).as_posix()}
    return (
        replace(given, folder=folder, solution=used)
        if kind == "solution"
        else replace(given, folder=folder, evaluator=used)
    )


def _is_saved_part(path: Path, key: str) -> bool:
    from tui_eval.spec.source import read_document

    data = read_document(path).data
    return isinstance(data, dict) and key in data and "requests" not in data


def _load_made(given: Given, overrides: tuple[str, ...]) -> LoadedPlan:
    from tui_eval.spec.loading import load_plan

    evaluator = dict(given.evaluator) if given.evaluator is not None else None
    request: dict[str, Any] = {
        "name": NAME,
        "dataset": {"cases": [given.input or {}]},
        "solution": dict(given.solution) if given.solution is not None else _NO_CALL,
        "evaluators": [evaluator] if evaluator is not None else [],
    }
    plan = {"version": 1, "name": NAME, "requests": [request]}
    try:
        loaded = load_plan(plan, overrides=overrides, folder=given.folder)
    except SpecError as error:
        raise SpecError([_own_path(fault) for fault in error.faults]) from None
    warnings = tuple(_own_path(fault) for fault in loaded.warnings if not fault.path.endswith(".evaluators"))
    return replace(loaded, warnings=warnings)


def _own_path(fault: Fault) -> Fault:
    """Without the steps of the plan that was made around the part."""
    path = fault.path
    for head in (f"requests.{NAME}.solution", f"requests.{NAME}.evaluators.0", f"requests.{NAME}"):
        if path == head or path.startswith(f"{head}."):
            return replace(fault, path=path[len(head) + 1 :])
    return fault


def _request(loaded: LoadedPlan, name: str | None) -> LoadedRequest:
    from tui_eval.spec.nearest import nearest

    known = [request.name for request in loaded.requests]
    if name is None:
        return loaded.requests[0]
    if name not in known:
        near = nearest(name, known)
        hint = f"; did you mean `{near}`?" if near else f"; there are {', '.join(known)}"
        raise UsageError(f"the plan has no request `{name}`{hint}")
    return loaded.requests[known.index(name)]


def _case(loaded: LoadedPlan, request: LoadedRequest, given: Given, case_id: str | None) -> Case:
    """The typed case, the one that was named (whether or not the sample has it), else the first one."""
    from tui_eval.datasets import open_dataset
    from tui_eval.spec.model import Dataset, Sample

    if given.input is not None or given.solution is not None or given.evaluator is not None:
        column = request.dataset.id if given.input and request.dataset.id in given.input else None
        typed = Dataset(cases=[dict(given.input or {})], id=column)
        made = open_dataset(typed, loaded.folder)
        made.check()
        return next(iter(made.sampled()))
    dataset = request.dataset
    if case_id is not None:
        dataset = dataset.model_copy(update={"sample": Sample(ids=[case_id])})
    source = open_dataset(dataset, loaded.folder)
    case = next(iter(source.sampled()), None)
    if case is None:
        source.check()  # says why, when the file has faults
        raise UsageError(f"the dataset of the request `{request.name}` has no case to try; give one with --input")
    return case
