"""Solutions and evaluators of a workspace: saved in files of their own, and those that stand in its plans.

For threads. Files are parsed; nothing in them is executed, no agent is called, no ``${NAME}`` is looked up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tui_eval.domain import JsonValue
from tui_eval.errors import Fault, SpecError

if TYPE_CHECKING:
    from tui_eval.spec.workspace import Found, Workspace

PartOf = Literal["solution", "evaluator"]
KEYS: dict[PartOf, str] = {"solution": "type", "evaluator": "id"}
"""The key that says of which kind a part is."""
MOST_PLANS = 200
"""Plans that are looked into."""
_SAID_ELSEWHERE = frozenset(("id", "type", "name", "variable_mapping"))
_CALLED = ("url", "base_url", "argv", "command", "function")


@dataclass(frozen=True, slots=True)
class Part:
    """A solution or an evaluator. ``section`` are its keys as typed (may hold credentials: memory only).

    ``path`` is the saved file or the plan; ``request`` the request of the plan, "" for a saved one. Relative paths in
    it start at ``folder``.
    """

    of: PartOf
    name: str
    kind: str
    section: Mapping[str, JsonValue] = field(repr=False)
    path: Path
    folder: Path
    request: str = ""
    place: int = 0
    faults: tuple[Fault, ...] = ()

    @property
    def key(self) -> tuple[str, str, int]:
        """What stays with it: file, request, place among the request's evaluators."""
        return str(self.path), self.request, self.place

    @property
    def saved(self) -> bool:
        return not self.request

    @property
    def calls(self) -> str:
        """What it calls or does, in a few words; credentials hidden."""
        from tui_eval.domain import as_text

        shown = hidden(self.section)
        value = next((shown[key] for key in _CALLED if shown.get(key)), "")
        if isinstance(value, list):
            return " ".join(as_text(each) for each in value)
        if value:
            return as_text(value)
        mapping = shown.get("variable_mapping")
        rest = [f"{key}: {as_text(each)}" for key, each in shown.items() if key not in _SAID_ELSEWHERE]
        for key, each in mapping.items() if isinstance(mapping, dict) else ():
            if (key, each) != ("output", "experiment_output"):
                rest.append(f"{key} ← {as_text(each)}")
        return ", ".join(rest)


@dataclass(frozen=True, slots=True)
class Parts:
    """What was found. ``broken`` counts plans that have faults and were not looked into."""

    workspace: Workspace
    parts: tuple[Part, ...]
    broken: int = 0


def hidden(section: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """The keys of a part with typed credentials hidden."""
    from tui_eval.spec.credentials import hide_credentials

    return hide_credentials(section)


def find_parts(folder: Path, of: PartOf) -> Parts:
    """Every saved and inline solution (or evaluator) below ``folder``, saved ones first."""
    from tui_eval.spec.workspace import scan

    workspace = scan(folder)
    saved = [_saved(of, found) for found in workspace.of_kind(of)]
    inline: list[Part] = []
    broken = 0
    for found in workspace.of_kind("plan")[:MOST_PLANS]:
        try:
            inline += _of_plan(of, found)
        except SpecError:
            broken += 1
    return Parts(workspace, (*saved, *inline), broken)


def part_folder(path: Path, of: PartOf) -> Path:
    """Where relative paths of a saved file start: where those of a plan that uses it do."""
    return path.parent.parent if path.parent.name == f"{of}s" else path.parent


def _saved(of: PartOf, found: Found) -> Part:
    from tui_eval.spec.source import read_document

    folder = part_folder(found.path, of)
    name = found.path.stem
    try:
        data = read_document(found.path).data
    except SpecError as error:
        return Part(of, name, "", {}, found.path, folder, faults=error.faults)
    if not isinstance(data, dict):
        return Part(of, name, "", {}, found.path, folder, faults=(Fault("this must be a map of keys"),))
    kind = data.get(KEYS[of])
    used = {"use": found.path.relative_to(folder).as_posix()}
    faults = tuple(faults_of(of, used, folder))
    return Part(of, name, kind if isinstance(kind, str) else "", data, found.path, folder, faults=faults)


def _of_plan(of: PartOf, found: Found) -> Iterator[Part]:
    from tui_eval.spec.loading import load_plan
    from tui_eval.spec.source import read_document

    loaded = load_plan(found.path, check_environment=False)
    typed = read_document(found.path).data
    for position, request in enumerate(loaded.resolved["requests"]):
        sections = [request["solution"]] if of == "solution" else request.get("evaluators", [])
        for place, section in enumerate(sections):
            if not _only_used(typed, position, of, place):
                kind = str(section.get(KEYS[of], ""))
                name = str(section.get("name") or kind) if of == "evaluator" else str(request["name"])
                yield Part(of, name, kind, section, found.path, loaded.folder, str(request["name"]), place)


def _only_used(plan: Any, position: int, of: PartOf, place: int) -> bool:
    """Whether the part is a saved one and nothing more: that one is listed itself."""
    request = plan["requests"][position]
    defaults = plan.get("defaults") or {}
    if of == "solution":
        section = request.get("solution") or defaults.get("solution") or {}
    else:
        listed = request.get("evaluators") or defaults.get("evaluators") or []
        section = listed[place] if place < len(listed) else {}
    return isinstance(section, dict) and set(section) == {"use"}


def faults_of(of: PartOf, section: Mapping[str, JsonValue], folder: Path) -> list[Fault]:
    """Everything wrong with a part, its path inside the part; whether variables are set does not matter."""
    from tui_eval.spec.loading import load_plan

    request: dict[str, Any] = {
        "name": "part",
        "dataset": {"cases": [{}]},
        "solution": {"type": "command", "argv": ["true"]},
        "evaluators": [],
    }
    request["solution" if of == "solution" else "evaluators"] = section if of == "solution" else [section]
    try:
        load_plan({"version": 1, "name": "part", "requests": [request]}, folder=folder, check_environment=False)
    except SpecError as error:
        return [_inside(fault, of) for fault in error.faults if not fault.warning]
    return []


def _inside(fault: Fault, of: PartOf) -> Fault:
    from dataclasses import replace

    for head in (f"requests.part.{'solution' if of == 'solution' else 'evaluators.0'}", "requests.part"):
        if fault.path == head or fault.path.startswith(f"{head}."):
            return replace(fault, path=fault.path[len(head) + 1 :])
    return fault


def section_text(section: Mapping[str, JsonValue]) -> str:
    """The part as YAML, typed credentials hidden."""
    from tui_eval.spec.compose import data_text

    return data_text(hidden(section))


def kind_options(of: PartOf) -> list[tuple[str, str]]:
    """Every kind with the first sentence of its description. A package's kind that cannot be loaded says so."""
    from tui_eval.spec import kinds

    known = kinds.solution_kinds() if of == "solution" else kinds.evaluator_kinds()
    found: list[tuple[str, str]] = []
    for name in known:
        try:
            note = _first_sentence(known[name].options_model().__doc__ or "")
        except SpecError as error:
            note = f"! {error}"
        found.append((name, note))
    return found


def _first_sentence(docstring: str) -> str:
    """For people: on one line, code in plain quotes."""
    paragraph = " ".join(docstring.strip().partition("\n\n")[0].split())
    return (paragraph.partition(". ")[0].rstrip(".") + ".").replace("``", "`") if paragraph else ""


def options_model(of: PartOf, kind: str) -> Any:
    """The options model of a kind. Raises SpecError when a package's kind cannot be loaded, KeyError when there is no
    such kind."""
    from tui_eval.spec import kinds

    return (kinds.solution_kinds() if of == "solution" else kinds.evaluator_kinds())[kind].options_model()
