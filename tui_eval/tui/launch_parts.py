"""What a plan can be composed of: datasets, solutions and evaluators that the workspace has, and those added here.

Read in a thread. Files are parsed, nothing in them is executed or resolved.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tui_eval.display import one_line, relative_path

if TYPE_CHECKING:
    from tui_eval.spec.compose import Part
    from tui_eval.spec.workspace import Found, Workspace

PartKind = Literal["dataset", "solution", "evaluator"]
KINDS: tuple[PartKind, ...] = ("dataset", "solution", "evaluator")

_PLANS_READ = 60
_CALLED = ("url", "base_url", "argv", "command", "function")
"""The options that say what a solution calls, as a remark beside its name."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One thing to choose. ``section`` is what stands for it in a plan; ``kind`` the type of a solution, the id of an
    evaluator, the format of a dataset. ``score`` is what an evaluator's score is called. ``own`` was added here."""

    of: PartKind
    name: str
    section: Mapping[str, Any] = field(repr=False)
    kind: str = ""
    note: str = ""
    score: str = ""
    own: bool = False

    @property
    def key(self) -> tuple[str, str]:
        """What stays with it: equal sections are the same choice."""
        return self.of, json.dumps(self.section, sort_keys=True, default=str)

    def part(self) -> Part:
        """The choice as the composer takes it."""
        from tui_eval.spec.compose import Part

        return Part(self.name, self.section)


def read_choices(folder: Path) -> tuple[list[Choice], list[str]]:
    """Everything to choose below ``folder``, saved files first, and remarks on what was not looked at."""
    from tui_eval.spec.workspace import scan

    workspace = scan(folder)
    found = [
        *(_dataset(each, folder) for each in workspace.of_kind("dataset")),
        *(_saved("solution", each, folder) for each in workspace.of_kind("solution")),
        *(_saved("evaluator", each, folder) for each in workspace.of_kind("evaluator")),
        *_of_plans(workspace),
    ]
    return list({choice.key: choice for choice in reversed(found)}.values())[::-1], workspace.cut


def dataset_at(path: Path, folder: Path) -> Choice:
    """A dataset file anywhere, for a plan in ``folder``."""
    from tui_eval.spec.compose import dataset_path

    shown = relative_path(path, folder)
    return Choice("dataset", path.stem, {"path": dataset_path(shown)}, path.suffix.lstrip("."), shown)


def own_choice(of: PartKind, kind: str, name: str, options: Mapping[str, Any]) -> Choice:
    """A solution or evaluator that was filled in here."""
    section = {"type" if of == "solution" else "id": kind, **options}
    score = str(options.get("name") or kind) if of == "evaluator" else ""
    return Choice(of, name, section, kind, f"{_remark(section)} (added here)".strip(), score, own=True)


def sampled(choice: Choice, sample: Mapping[str, Any] | None) -> Choice:
    """A dataset with another sample."""
    section = {key: value for key, value in choice.section.items() if key != "sample"}
    return replace(choice, section={**section, "sample": dict(sample)} if sample else section)


def sample_text(section: Mapping[str, Any]) -> str:
    """``limit 20, seed 7``: the sample of a dataset's section, empty for all of it."""
    sample = section.get("sample") or {}
    return ", ".join(
        f"{len(value)} marked" if key == "ids" else f"{key} {value}"
        for key, value in sample.items()
        if value is not None
    )


def composed(name: str, chosen: Sequence[Choice]) -> dict[str, Any]:
    """The plan of what was chosen. Evaluators whose scores would be called alike get names of their own."""
    from tui_eval.spec.compose import compose_plan

    evaluators = list(_with_names([each for each in chosen if each.of == "evaluator"]))
    datasets = [each.part() for each in chosen if each.of == "dataset"]
    solutions = [each.part() for each in chosen if each.of == "solution"]
    return compose_plan(name, datasets, solutions, [each.part() for each in evaluators])


def _with_names(evaluators: Iterable[Choice]) -> Iterator[Choice]:
    taken: set[str] = set()
    for choice in evaluators:
        score, number = choice.score, 2
        while score in taken:
            score = choice.name if number == 2 and choice.name not in taken else f"{choice.score}-{number}"
            number += 1
        taken.add(score)
        yield choice if score == choice.score else replace(choice, section={**choice.section, "name": score})


def _dataset(found: Found, folder: Path) -> Choice:
    return dataset_at(found.path, folder)


def _saved(of: PartKind, found: Found, folder: Path) -> Choice:
    """A saved solution or evaluator, named by ``use``; one that cannot be read says so, and the check says why."""
    from tui_eval.errors import SpecError
    from tui_eval.spec.source import read_document

    section = {"use": str(found.path.relative_to(folder))}
    try:
        data = read_document(found.path).data
    except (SpecError, OSError):
        return Choice(of, found.path.stem, section, note=f"{section['use']}: cannot be read")
    options = data if isinstance(data, dict) else {}
    kind = str(options.get("type" if of == "solution" else "id", ""))
    score = str(options.get("name") or kind) if of == "evaluator" else ""
    return Choice(of, found.path.stem, section, kind, f"{kind}  {section['use']}", score)


def _of_plans(workspace: Workspace) -> Iterator[Choice]:
    """What the plans of the workspace hold themselves, moved so that the same files are meant from its folder."""
    from tui_eval.errors import SpecError
    from tui_eval.spec.loading import load_plan

    for found in workspace.of_kind("plan")[:_PLANS_READ]:
        try:
            plan = load_plan(found.path, check_environment=False).resolved
        except (SpecError, OSError):
            continue  # its faults are shown where plans are
        folder = os.path.relpath(found.path.parent, workspace.folder)
        for request in plan["requests"]:
            yield from _of_request(request, folder, str(found.path.relative_to(workspace.folder)))


def _of_request(request: Mapping[str, Any], folder: str, plan: str) -> Iterator[Choice]:
    from tui_eval.spec.compose import rebased, rebased_dataset

    dataset = rebased_dataset(request["dataset"], folder)
    # A dataset of a platform has no rows to choose here: neither a file nor cases.
    if set(dataset) - {"path", "sample"} and ("path" in dataset or "cases" in dataset):
        called = Path(dataset["path"]).stem if "path" in dataset else str(request["name"])
        what = f"{len(dataset['cases'])} cases" if "cases" in dataset else str(dataset["path"])
        yield Choice("dataset", called, dataset, str(dataset.get("format", "")), f"{plan}: {what}")
    solution = rebased(request["solution"], request["solution"]["type"], folder)
    yield Choice("solution", str(request["name"]), solution, solution["type"], f"{plan}: {_remark(solution)}")
    for evaluator in request.get("evaluators", ()):
        section = rebased(evaluator, evaluator["id"], folder)
        score = str(section.get("name") or section["id"])
        yield Choice("evaluator", score, section, section["id"], f"{plan}: {section['id']}", score)


def _remark(section: Mapping[str, Any]) -> str:
    called = next((section[key] for key in _CALLED if section.get(key)), "")
    text = " ".join(str(each) for each in called) if isinstance(called, list) else str(called)
    return one_line(f"{section.get('type', section.get('id', ''))} {text}".strip(), 60)
