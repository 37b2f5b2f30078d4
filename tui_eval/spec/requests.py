"""One request of a plan: from its node, with the defaults, to what can be run, or to every reason why not."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

from tui_eval.errors import SpecError
from tui_eval.spec import kinds
from tui_eval.spec.credentials import hide_credentials
from tui_eval.spec.findings import Findings
from tui_eval.spec.foreign import COMPASS_SECTIONS
from tui_eval.spec.marks import KNOWN_MODELS, AddressMark, ResolvedMark, TemplateMark, VerbatimMark, marked
from tui_eval.spec.model import Dataset, Execution, Request, RequestHead
from tui_eval.spec.nearest import suggestion
from tui_eval.spec.nodes import Node, Path, Place
from tui_eval.spec.option_checks import check_credentials, check_languages, check_mapping, check_texts, text_rules
from tui_eval.spec.references import resolve_value
from tui_eval.spec.templates import RequestTemplate, compile_request, template_faults
from tui_eval.spec.validation import check_keys, known_keys, validated

_TYPE_BY_KEY = {"url": "http", "base_url": "chat", "argv": "command", "command": "command", "function": "python"}
ADVICE = {
    "task_concurrency": "only the plan has task_concurrency: it holds for all requests together",
    **dict.fromkeys(sorted(COMPASS_SECTIONS), "a request names dataset, solution and evaluators"),
}


@dataclass(frozen=True, slots=True)
class LoadedEvaluator:
    """One evaluator of a request. ``name`` is the name of its score. ``options`` is the kind's model: ``${NAME}`` is
    resolved in the fields marked ``Resolved`` and stands as typed in the others. ``stored`` is fit for the history."""

    id: str
    name: str
    options: Any
    stored: Mapping[str, Any]

    def __repr__(self) -> str:  # the options may hold values of the environment
        return f"LoadedEvaluator(id={self.id!r}, name={self.name!r})"


@dataclass(frozen=True, slots=True)
class LoadedRequest:
    """One request, checked and with the defaults merged in. ``position`` counts from 0. ``solution`` is the kind's
    options model; ``${NAME}`` stands as typed in templates and in ``proxy``. ``template`` renders it. ``dataset.path``
    has its references as typed."""

    name: str
    position: int
    dataset: Dataset
    solution_type: str
    solution: Any
    evaluators: tuple[LoadedEvaluator, ...]
    execution: Execution
    tags: tuple[str, ...]
    template: RequestTemplate
    locate: Callable[[Path], Place]
    """Where a path of the request (``("solution", "argv", 0)``), or the nearest part of it, was typed."""

    def __repr__(self) -> str:  # the options may hold typed credentials
        return f"LoadedRequest(name={self.name!r}, position={self.position}, solution_type={self.solution_type!r})"


class RequestReader:
    """Reads requests into ``findings``, and collects what must be kept secret on the way.

    ``environment`` has the values of ``${NAME}``; with ``check`` a missing one is a fault. ``platforms`` are the names of
    the plan's platform sections.
    """

    def __init__(self, findings: Findings, environment: Mapping[str, str], *, check: bool) -> None:
        self.findings = findings
        self.environment = environment
        self.names: set[str] = set()
        self.typed: set[str] = set()
        self.platforms: Collection[str] = ()
        self._checked = environment if check else None

    def read(self, node: Node, position: int) -> tuple[LoadedRequest, Request] | None:
        """The request in a merged ``node``, None when it has a fault."""
        before = self.findings.count
        check_keys(node, known_keys(Request), self.findings, "a request", ADVICE)
        head = self._head(node)
        dataset = self._dataset(node)
        solution = self._solution(node)
        evaluators = self._evaluators(node, judged=dataset is not None and dataset.platform is not None)
        execution = self._execution(node.get("execution"))
        if self.findings.count > before or head is None or dataset is None or solution is None or execution is None:
            return None
        kind, options, template, written = solution
        name, tags = head

        def locate(path: Path) -> Place:
            place = node.find(path)[1]
            return replace(place, path=(*self.findings.name_path(node.place.path), *path))

        loaded = LoadedRequest(
            name, position, dataset, kind, options, tuple(evaluators), execution, tuple(tags), template, locate
        )
        given = {
            "name": name,
            "dataset": dataset,
            "solution": {"type": kind, **written},
            "evaluators": [
                {"id": one.id, **_as_written(original)} for one, original in zip(evaluators, self._written, strict=True)
            ],
            "tags": tags,
        }
        if node.get("execution") is not None:
            given["execution"] = execution
        return loaded, Request(**given)

    def _head(self, node: Node) -> tuple[str, list[str]] | None:
        part = Node({key: node.value[key] for key in ("name", "tags") if key in node.value}, node.place, keys=node.keys)
        head = validated(RequestHead, part, self.findings, what="a request")
        if head is None:
            return None
        if not head.name.strip() or not head.name.isprintable():
            self.findings.add(node.keys["name"], "a name needs visible characters and no control characters")
            return None
        return head.name, head.tags

    def _section(self, node: Node, name: str) -> Node | None:
        section = node.get(name)
        if section is None or section.value is None:
            place = node.keys.get(name) or Place(
                node.place.file, node.place.line, node.place.column, (*node.place.path, name)
            )
            self.findings.add(place, f"neither the request nor defaults has a {name}", f"add `{name}:`")
            return None
        return section

    def _dataset(self, node: Node) -> Dataset | None:
        section = self._section(node, "dataset")
        if section is None:
            return None
        if section.is_map and section.get("use") is not None:
            return None  # its saved file cannot be used: a fault already
        dataset = validated(Dataset, section, self.findings, what="dataset")
        check_languages(Dataset, section, self.findings)
        if section.get("path") is not None:
            only_path = Node({"path": section.value["path"]}, section.place, keys=section.keys)
            self.names |= check_texts(only_path, text_rules(Dataset, solution=True), self._checked, self.findings)
        if dataset is not None and dataset.platform is not None and dataset.platform not in self.platforms:
            name = dataset.platform
            self.findings.add(section.keys["platform"], f"the plan has no section `{name}`", f"add `{name}:`")
            return None
        return dataset

    def section(self, node: Node, model: type[BaseModel], what: str) -> BaseModel | None:
        """A section that is the same for all cases, references resolved; None when it has a fault."""
        before = self.findings.count
        options = validated(model, node, self.findings, what=what)
        self.names |= check_texts(node, text_rules(model, solution=False), self._checked, self.findings)
        if options is None or self.findings.count > before:
            return None
        with contextlib.suppress(SpecError):  # a fault already where it matters
            given = options.model_dump(mode="json", by_alias=True, exclude_unset=True)
            return model.model_validate(resolve_value(given, self.environment))
        return options

    def _solution(self, node: Node) -> tuple[str, Any, RequestTemplate, dict[str, Any]] | None:
        """The kind, the options, the template, and the options as written."""
        section = self._section(node, "solution")
        if section is None:
            return None
        kind = self.kind_of(section, "type", kinds.solution_kinds(), "solution")
        if kind is None:
            return None
        name, model = kind
        options = validated(model, section, self.findings, what=f"a solution of type {name}")
        check_languages(model, section, self.findings)
        self.names |= check_texts(section, text_rules(model, solution=True), self._checked, self.findings)

        def locate(path: Path) -> Place:
            leaf, place, _ = section.find(path)
            first_line = leaf.place.line + 1 if leaf.block else place.line
            named = self.findings.name_path(place.path)
            return Place(place.file, first_line, place.column, named)

        if options is None:
            self.findings.extend(template_faults(model, section.data(), locate))
            return None
        self.typed |= check_credentials(options, section, self.findings)

        try:
            template = compile_request(options, environment=self.environment, locate=locate, solution_type=name)
        except SpecError as error:
            self.findings.extend(error.faults)
            return None
        return name, self._resolved(options, resolved_at_load(model)), template, _as_written(options)

    def kind_of(
        self, section: Node, key: str, known: Mapping[str, kinds.Kind], what: str
    ) -> tuple[str, type[BaseModel]] | None:
        """The kind that a section names under ``key``, and its options model."""
        if not section.is_map:
            validated(BaseModel, section, self.findings, what=what)
            return None
        if section.get("use") is not None:
            return None  # its saved file cannot be used: a fault already
        named = section.get(key)
        if named is None:
            self.findings.add(
                Place(section.place.file, section.place.line, section.place.column, (*section.place.path, key)),
                f"`{key}` is missing in {what}: it says which kind it is",
                _missing_kind_hint(section, key, known),
            )
            return None
        if not isinstance(named.value, str) or named.value not in known:
            shown = named.typed if named.typed is not None else str(named.value)
            hint = suggestion(shown, known, label="kinds") or f"kinds: {', '.join(known)}"
            self.findings.add(section.keys[key], f"there is no {what} kind `{shown[:60]}`", hint)
            return None
        try:
            return named.value, known[named.value].options_model()
        except SpecError as error:
            for fault in error.faults:
                self.findings.add(section.keys[key], fault.message, fault.hint)
            return None

    def _evaluators(self, node: Node, *, judged: bool) -> list[LoadedEvaluator]:
        """``judged``: by the platform whose rows these are; that it has no evaluator either is its own to say."""
        self._written: list[BaseModel] = []
        section = node.get("evaluators")
        if section is None or section.value is None or section.value == []:
            if judged:
                return []
            place = node.keys.get("name", node.place)
            self.findings.warn(
                Place(place.file, place.line, place.column, (*node.place.path, "evaluators")),
                "there are no evaluators: answers will be unscored",
                "add `evaluators:`",
            )
            return []
        if not section.is_list:
            self.findings.add(node.keys["evaluators"], "evaluators must be a list", "start each with `- id: …`")
            return []
        self._check_score_names(section)
        loaded = [self.evaluator(item) for item in section.value]
        return [evaluator for evaluator in loaded if evaluator is not None]

    def _check_score_names(self, section: Node) -> None:
        first: dict[str, Place] = {}
        for item in section.value:
            name = item.get("name") or item.get("id")
            called = "" if name is None else name.typed or name.value
            if not isinstance(called, str) or not called:
                continue
            if called in first:
                line = first[called].line
                message = (
                    f"two evaluators of a request are called `{called}`{f', the first on line {line}' if line else ''}"
                )
                place = item.keys.get("name", item.place)
                self.findings.add(place, message, "give one of them a `name` of its own")
            first.setdefault(called, item.place)

    def evaluator(self, node: Node, *, used: bool = True) -> LoadedEvaluator | None:
        """One evaluator, None when it has a fault. One that is not ``used`` by a request needs no environment."""
        before = self.findings.count
        kind = self.kind_of(node, "id", kinds.evaluator_kinds(), "evaluator")
        if kind is None:
            return None
        name, model = kind
        options = validated(model, node, self.findings, what=f"the evaluator {name}")
        check_mapping(node, model, self.findings)
        check_languages(model, node, self.findings)
        names = check_texts(node, text_rules(model, solution=False), self._checked if used else None, self.findings)
        if options is None or not used:
            return None
        self.names |= names
        self.typed |= check_credentials(options, node, self.findings)
        if self.findings.count > before:
            return None
        self._written.append(options)
        called = getattr(options, "name", None) or name
        stored = hide_credentials({"id": name, **_as_written(options)})
        return LoadedEvaluator(name, called, self._resolved(options, marked(model, ResolvedMark)), stored)

    def _resolved(self, options: BaseModel, names: Iterable[str]) -> BaseModel:
        """A copy with the references in these fields resolved; those that cannot be stand as they are (they are
        faults already where that matters)."""
        changed: dict[str, Any] = {}
        for name in names:
            value = getattr(options, name)
            if "${" not in str(value):
                continue
            with contextlib.suppress(SpecError):
                if isinstance(value, BaseModel):
                    given = resolve_value(value.model_dump(by_alias=True, exclude_unset=True), self.environment)
                    changed[name] = value.model_copy(update=given)
                else:
                    changed[name] = resolve_value(value, self.environment)
        return options.model_copy(update=changed) if changed else options

    def _execution(self, section: Node | None) -> Execution | None:
        if section is None or section.value is None:
            return Execution()
        if section.is_map and "task_concurrency" in section.value:
            self.findings.add(
                section.keys["task_concurrency"],
                "unknown key `task_concurrency` in execution",
                ADVICE["task_concurrency"],
            )
            section = Node(
                {key: child for key, child in section.value.items() if key != "task_concurrency"},
                section.place,
                keys=section.keys,
            )
        execution = validated(Execution, section, self.findings, what="execution")
        check_languages(Execution, section, self.findings)
        return execution


@lru_cache(maxsize=KNOWN_MODELS)
def resolved_at_load(model: type[BaseModel]) -> tuple[str, ...]:
    """The fields of a solution in which references are resolved when the plan is loaded: all but templates (rendered
    for each case), proxies (resolved by whoever connects) and shell texts (the shell's own)."""
    later = {name for mark in (TemplateMark, AddressMark, VerbatimMark) for name in marked(model, mark)}
    return tuple(name for name in model.model_fields if name not in later)


def _as_written(options: BaseModel) -> dict[str, Any]:
    """What was given, in the words of the file."""
    return options.model_dump(mode="json", by_alias=True, exclude_unset=True)


def _missing_kind_hint(section: Node, key: str, known: Mapping[str, kinds.Kind]) -> str:
    other = section.get("id" if key == "type" else "type")
    if other is not None and isinstance(other.value, str) and other.value in known:
        return f"write `{key}: {other.value}`"
    likely = [kind for name, kind in _TYPE_BY_KEY.items() if name in section.value] if key == "type" else []
    return f"write `type: {likely[0]}`?" if likely else f"one of {', '.join(known)}"
