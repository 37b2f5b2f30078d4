"""A plan file -> a plan that can be run, or every reason why not, each with file, line, column and key path.

Loading reads the plan and the saved files it uses, nothing else: no dataset is opened, no program is looked for, no
agent is called, and no package is imported but that of a kind the plan names.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from tui_eval.errors import Fault, SpecError
from tui_eval.spec import kinds
from tui_eval.spec.credentials import hide_plan
from tui_eval.spec.findings import Findings
from tui_eval.spec.model import Dataset, Defaults, Execution, Plan, PlanHead, Request
from tui_eval.spec.names import safe_name
from tui_eval.spec.nodes import Node, Place, items_of, merge, node_of, with_value
from tui_eval.spec.nodes import Path as KeyPath
from tui_eval.spec.option_checks import check_languages, check_texts, text_rules
from tui_eval.spec.overrides import Override, apply_overrides, parse_overrides
from tui_eval.spec.plan_head import is_a_plan, plan_head
from tui_eval.spec.requests import ADVICE, LoadedEvaluator, LoadedRequest, RequestReader
from tui_eval.spec.secrets import SHORTEST, Secrets
from tui_eval.spec.sections import SavedFiles, merge_dataset, merge_solution
from tui_eval.spec.source import compose, read_text
from tui_eval.spec.validation import check_keys, known_keys, validated

__all__ = ["LoadedEvaluator", "LoadedPlan", "LoadedRequest", "load_plan", "safe_name"]

_TOP = [*known_keys(PlanHead), "defaults", "requests"]


@dataclass(frozen=True, slots=True)
class LoadedPlatform:
    """A platform section of a plan. ``options`` is the platform's model, references resolved; ``locate`` tells where a
    path inside the section, or the nearest part of it, was typed."""

    options: Any
    locate: Callable[[KeyPath], Place]


@dataclass(frozen=True, slots=True)
class LoadedPlan:
    """A plan that can be run.

    ``folder`` (absolute) is where relative paths start. ``stored`` is the resolved plan as JSON data fit for the
    history: defaults and saved files merged in, ``${NAME}`` in place, typed credentials hidden; it loads again as a
    plan. ``resolved`` is the same with typed credentials (memory only). ``platforms`` has the platform sections by
    name. ``secrets`` knows every value to keep out of what is written. ``references`` are the names of all environment
    variables that the plan needs.
    """

    plan: Plan = field(repr=False)
    path: Path | None
    folder: Path
    requests: tuple[LoadedRequest, ...]
    warnings: tuple[Fault, ...]
    secrets: Secrets
    stored: dict[str, Any] = field(repr=False)
    resolved: dict[str, Any] = field(repr=False)
    references: frozenset[str] = frozenset()
    platforms: Mapping[str, LoadedPlatform] = field(repr=False, default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Source:
    root: Node | None
    file: str
    path: Path | None
    folder: Path
    faults: list[Fault]


def load_plan(
    source: Path | str | Mapping[str, Any] | BaseModel,
    *,
    overrides: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    check_environment: bool = True,
) -> LoadedPlan:
    """Load a plan from a file (a path) or from data.

    ``overrides`` are ``path=value`` texts (see ``overrides``). ``environment`` has the values of ``${NAME}``, by
    default ours; with ``check_environment=False`` unset variables and hidden credentials are no faults (to look at a
    plan, not to run it). ``folder`` is where relative paths start: the plan file's folder, or the current one for data.

    Raises :class:`SpecError` with every fault at once.
    """
    opened = _open(source, folder)
    findings = Findings()
    findings.extend(opened.faults)
    loaded = None
    if opened.root is not None:
        loader = _Loader(opened, findings, os.environ if environment is None else environment, check=check_environment)
        loaded = loader.load(overrides)
    if loaded is None or findings.has_faults:
        raise SpecError(findings.faults(opened.file))
    return loaded


def load_sound_requests(
    source: Path | str | Mapping[str, Any], overrides: Sequence[str], environment: Mapping[str, str], folder: Path
) -> LoadedPlan | None:
    """What of a plan with faults can be checked further: it with the requests that have none (values missing from the
    environment aside). None when there is no such request, or the plan itself cannot be read."""
    try:
        opened = _open(source, folder)
    except SpecError:
        return None
    if opened.root is None:
        return None
    return _Loader(opened, Findings(), environment, check=False).load(overrides)


_OF_DATASETS = (".jsonl", ".ndjson", ".csv", ".tsv", ".parquet")


def _open(source: Path | str | Mapping[str, Any] | BaseModel, folder: Path | None) -> _Source:
    if isinstance(source, BaseModel):
        source = source.model_dump(mode="json", by_alias=True, exclude_unset=True)
    if isinstance(source, Mapping):
        base = Path(os.path.abspath(folder if folder is not None else Path.cwd()))
        try:
            return _Source(node_of(source, Place()), "", None, base, [])
        except ValueError as error:
            raise SpecError([Fault(str(error), hint="a plan is made of JSON values")]) from None
    path, name = Path(source), str(source)
    if path.suffix.lower() in _OF_DATASETS and path.is_file():
        hint = f"name it in a plan: `dataset: {{path: {path.name}}}`"
        raise SpecError([Fault("this is a dataset, not a plan", name, hint=hint)])
    root, faults = compose(read_text(path, name), name)
    base = Path(os.path.abspath(folder if folder is not None else path.parent))
    return _Source(root, name, path, base, faults)


class _Loader:
    def __init__(self, source: _Source, findings: Findings, environment: Mapping[str, str], *, check: bool) -> None:
        self.source = source
        self.findings = findings
        self.environment = environment
        self.saved = SavedFiles(source.folder, findings)
        self.reader = RequestReader(findings, environment, check=check)
        self.platforms: dict[str, LoadedPlatform] = {}
        self.hidden: set[str] = set()

    def load(self, overrides: Sequence[str]) -> LoadedPlan | None:
        """The plan with the requests that have no fault; the faults of the others are in the findings. None when there
        is no such request, or what the plan says beside them has a fault."""
        root = self.source.root
        if root is None or not is_a_plan(root, self.findings):
            return None
        names = [name for name in _request_names(root) if name is not None]
        self.findings.name_path = _path_by_name(_request_names(root))
        changes = parse_overrides(overrides, names, self.findings)
        root = apply_overrides(root, [change for change in changes if change.request is None], self.findings)
        check_keys(root, _TOP, self.findings, "a plan", ADVICE)
        head = plan_head(root, self.findings)
        self.platforms = self.reader.platforms = self._platforms(root)
        defaults = self._defaults(root.get("defaults"))
        read = [
            self.reader.read(node, position)
            for position, node in enumerate(self._merged_requests(root, defaults, changes))
        ]
        self._check_names(root)
        sound = [pair for pair in read if pair is not None]
        return self._loaded(head, sound) if head is not None and sound else None

    def _loaded(self, head: PlanHead, pairs: list[tuple[LoadedRequest, Request]]) -> LoadedPlan:
        given = {name: getattr(head, name) for name in head.model_fields_set}
        plan = Plan(**given, requests=[request for _, request in pairs])
        names = self.reader.names | self.hidden
        values = {name: self.environment[name] for name in names if self.environment.get(name)}
        secrets = Secrets(values, self.reader.typed)
        for name in secrets.too_short:
            self.findings.warn(
                Place(self.source.file),
                f"the value of `{name}` is shorter than {SHORTEST} characters: it is not searched for in outputs",
                "it would blank ordinary text",
            )
        resolved = plan.model_dump(mode="json", by_alias=True, exclude_unset=True)
        return LoadedPlan(
            plan=plan,
            path=self.source.path,
            folder=self.source.folder,
            requests=tuple(loaded for loaded, _ in pairs),
            warnings=tuple(self.findings.warnings(self.source.file)),
            secrets=secrets,
            stored=hide_plan(resolved),
            resolved=resolved,
            references=frozenset(self.reader.names),
            platforms=self.platforms,
        )

    def _platforms(self, root: Node) -> dict[str, LoadedPlatform]:
        """The platform sections that are there."""
        found: dict[str, LoadedPlatform] = {}
        for name, kind in kinds.PLATFORMS.items():
            section = root.get(name)
            if section is None or section.value is None:
                continue
            options = self.reader.section(section, kind.options_model(), f"`{name}`")

            def locate(path: KeyPath, section: Node = section) -> Place:
                return section.find(path)[1]

            found[name] = LoadedPlatform(options, locate)
            self.hidden.update(name for name in kind.secrets if self.environment.get(name))
        return found

    def _defaults(self, node: Node | None) -> dict[str, Node]:
        """The sections of the defaults, saved files put in, each checked as far as it goes."""
        if node is None or node.value is None:
            return {}
        if not node.is_map:
            self.findings.add(node.place, "defaults must be a map of sections")
            return {}
        check_keys(node, known_keys(Defaults), self.findings, "defaults", ADVICE)
        sections = {name: child for name, child in node.value.items() if child.value is not None}
        for name in ("dataset", "solution"):
            if name in sections and sections[name].is_map:
                sections[name] = self.saved.with_use(sections[name])
        if "evaluators" in sections:
            sections["evaluators"] = self._with_saved_evaluators(sections["evaluators"])
        self._check_defaults(sections)
        return sections

    def _check_defaults(self, sections: dict[str, Node]) -> None:
        """What no request takes over is checked all the same: a misspelt key must not hide there."""
        solution = sections.get("solution")
        if solution is not None and solution.get("use") is None:  # else its saved file cannot be used, and that is told
            named = solution.get("type")
            known = kinds.solution_kinds()
            if named is not None and isinstance(named.value, str) and named.value in known:
                model = known[named.value].options_model()
                validated(model, solution, self.findings, partial=True, what=f"a solution of type {named.value}")
                check_languages(model, solution, self.findings)
                check_texts(solution, text_rules(model, solution=True), None, self.findings)
            elif named is not None or not solution.is_map:
                self.reader.kind_of(solution, "type", known, "solution")
        if "dataset" in sections and sections["dataset"].get("use") is None:
            validated(Dataset, sections["dataset"], self.findings, partial=True, what="dataset")
        for evaluator in items_of(sections.get("evaluators")):
            self.reader.evaluator(evaluator, used=False)
        if "execution" in sections and not sections["execution"].get("task_concurrency"):
            validated(Execution, sections["execution"], self.findings, partial=True, what="execution")

    def _with_saved_evaluators(self, node: Node) -> Node:
        if not node.is_list:
            return node
        return replace(node, value=[self.saved.with_use(item) if item.is_map else item for item in node.value])

    def _merged_requests(self, root: Node, defaults: dict[str, Node], changes: Sequence[Override]) -> Iterator[Node]:
        requests = root.get("requests")
        if requests is None or not requests.is_list or not requests.value:
            place = root.keys.get("requests", root.place)
            self.findings.add(
                replace(place, path=("requests",)), "a plan needs a list of requests", "start each with `- name: …`"
            )
            return
        names = _request_names(root)
        for node, name in zip(requests.value, names, strict=True):
            if not node.is_map:
                self.findings.add(node.place, "a request must be a map of keys", "start it with `- name: …`")
                continue
            own = [change for change in changes if change.request in ("*", name) and change.request is not None]
            yield self._merged(node, defaults, own)

    def _merged(self, node: Node, defaults: dict[str, Node], changes: Sequence[Override]) -> Node:
        merged = dict(node.value)
        keys = dict(node.keys)
        for name in ("dataset", "solution"):
            own = node.get(name)
            if own is not None and own.is_map:
                own = self.saved.with_use(own)
            join = merge_solution if name == "solution" else merge_dataset
            _put(merged, name, join(defaults.get(name), own))
        _put(merged, "dataset", self._of_the_platform(merged.get("dataset")))
        if node.get("evaluators") is not None:
            merged["evaluators"] = self._with_saved_evaluators(node.value["evaluators"])
        for name in ("evaluators", "tags"):
            if name not in merged:
                _put(merged, name, defaults.get(name))
        _put(merged, "execution", merge(defaults.get("execution"), node.get("execution")))
        for name, child in merged.items():
            keys.setdefault(name, child.place)
        return apply_overrides(replace(node, value=merged, keys=keys), changes, self.findings)

    def _of_the_platform(self, dataset: Node | None) -> Node | None:
        """The dataset of a request; one that names no source takes the rows of the platform that the plan names."""
        for name in self.platforms:
            if not kinds.PLATFORMS[name].rows:
                continue
            place = self.source.root.keys[name] if self.source.root is not None else Place()
            if dataset is None or dataset.value is None:
                return Node({"platform": Node(name, place)}, place, keys={"platform": place})
            if dataset.is_map and not {"path", "cases", "platform"} & dataset.value.keys():
                return with_value(dataset, ("platform",), Node(name, dataset.place))
        return dataset

    def _check_names(self, root: Node) -> None:
        """Names must differ, also as names of files on a disk that does not tell upper from lower case."""
        seen: dict[str, tuple[str, Place]] = {}
        for item, name in zip(items_of(root.get("requests")), _request_names(root), strict=True):
            if name is None:
                continue
            place = item.keys["name"]
            other, first = seen.setdefault(safe_name(name).lower(), (name, place))
            if first is place:
                continue
            where = f" on line {first.line}" if first.line else ""
            if other == name:
                message = f"two requests are called `{name}`{f', the first one{where}' if where else ''}"
            else:
                message = f"the names `{other}`{where} and `{name}` differ in upper and lower case only"
            self.findings.add(place, message, "give each request a name of its own")


def _put(sections: dict[str, Node], name: str, node: Node | None) -> None:
    if node is not None:
        sections[name] = node


def _request_names(root: Node) -> list[str | None]:
    """The names of the requests, None for one that has none (or is no map)."""
    names: list[str | None] = []
    for item in items_of(root.get("requests")):
        name = item.get("name")
        text = None if name is None or name.value is None or name.is_map or name.is_list else name.typed or name.value
        names.append(text if isinstance(text, str) and text else None)
    return names


def _path_by_name(names: Sequence[str | None]) -> Any:
    """A function that puts the name of a request where a path has its number."""

    count = Counter(names)

    def by_name(path: KeyPath) -> KeyPath:
        if len(path) > 1 and path[0] == "requests" and isinstance(path[1], int) and path[1] < len(names):
            name = names[path[1]]
            if name is not None and count[name] == 1:
                return ("requests", name, *path[2:])
        return path

    return by_name
