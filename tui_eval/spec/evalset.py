"""Datalayer evalsets (``*.evalset.json``, or the same in YAML): read strictly, every fault at once, the raw data kept.

Source: Datalayer contract, section 1. A case's prompt is the first non-blank text among ``prompt``, ``text``, ``query``
and ``message`` of its inputs, else the inputs as JSON (in ASCII, as the reference sends them); with a ``prompt_preamble`` in the evalset's metadata it is
``PREAMBLE\\n\\nInput:\\nPROMPT``. A case's own evaluators replace the default ones.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from tui_eval.domain import JsonValue
from tui_eval.errors import Fault, SpecError
from tui_eval.spec.findings import Findings
from tui_eval.spec.nodes import Node, Place, node_of
from tui_eval.spec.source import compose, read_text
from tui_eval.spec.validation import check_keys, known_keys, validated

PROMPT_KEYS = ("prompt", "text", "query", "message")
CASE_EVALUATORS = frozenset(("equals_expected", "equals", "contains", "llm_judge"))
REPORT_EVALUATOR = "pass_rate_threshold"
DEFAULT_THRESHOLD = 0.8
"""``min_pass_rate`` of a ``pass_rate_threshold`` that names none."""


class _Part(BaseModel):
    """Keys that are not known are no faults (the reference takes them); they are warned about."""

    model_config = ConfigDict(strict=True, frozen=True, extra="allow", allow_inf_nan=False)


class EvaluatorRef(_Part):
    """One evaluator by name, with its arguments. ``config`` is read by nobody."""

    name: str = Field(min_length=1)
    arguments: dict[str, Any] = Field(default_factory=dict)
    config: dict[str, Any] = Field(default_factory=dict)


class EvalsetCase(_Part):
    """One case as it stands in the file."""

    name: str = Field(min_length=1)
    id: str | None = None
    inputs: dict[str, Any] | str = Field(default_factory=dict)
    expected_output: Any = None
    expected: Any = None
    evaluators: list[EvaluatorRef] = Field(default_factory=list)
    metadata: dict[str, Any] = Field(default_factory=dict)

    @property
    def expectation(self) -> JsonValue:
        """``expected_output``, or ``expected`` where that is not given."""
        return self.expected_output if "expected_output" in self.model_fields_set else self.expected


class EvalsetSpec(_Part):
    """An evalset as it stands in the file."""

    name: str = Field(min_length=1)
    description: str = ""
    run_environment: Literal["ui", "sdk"] = "sdk"
    kind: Literal["batch", "interactive"] = "batch"
    category: Literal["data", "coding", "tool-use", "model", "visual", "performance"] | None = None
    tags: list[str] = Field(default_factory=list)
    metadata: dict[str, Any] = Field(default_factory=dict)
    schemas: dict[str, Any] = Field(default_factory=dict, alias="schema")
    evalset_evaluators: list[EvaluatorRef] = Field(default_factory=list)
    report_evaluators: list[EvaluatorRef] = Field(default_factory=list)
    cases: list[EvalsetCase] = Field(default_factory=list)
    is_public: bool = False


@dataclass(frozen=True, slots=True)
class EvalCase:
    """One case, ready to be a row: ``id`` is unique in the evalset, ``evaluators`` are those that apply, ``line`` is
    where it begins (0: unknown)."""

    id: str
    spec: EvalsetCase
    prompt: str
    evaluators: tuple[EvaluatorRef, ...]
    line: int = 0

    def row(self) -> dict[str, JsonValue]:
        """The columns of the case."""
        metadata = self.spec.metadata
        return {
            "id": self.id,
            "name": self.spec.name,
            "prompt": self.prompt,
            "inputs": self.spec.inputs,
            "expected_output": self.spec.expectation,
            "evaluators": [{"name": one.name, "arguments": one.arguments} for one in self.evaluators],
            "category": metadata.get("category"),
            "difficulty": metadata.get("difficulty", metadata.get("priority")),
            "metadata": metadata,
        }


@dataclass(frozen=True, slots=True)
class Evalset:
    """A whole evalset. ``raw`` is the data as typed, for handing it on unchanged; ``path`` is None for data."""

    spec: EvalsetSpec
    cases: tuple[EvalCase, ...]
    raw: dict[str, Any] = field(repr=False)
    path: Path | None = None
    warnings: tuple[Fault, ...] = ()

    @property
    def agentspec_ids(self) -> tuple[str, ...]:
        """The agentspecs that the evalset suggests; nothing runs because of them."""
        found = self.spec.metadata.get("agentspec_ids")
        return tuple(one for one in found if isinstance(one, str)) if isinstance(found, list) else ()

    @property
    def gates(self) -> tuple[float, ...]:
        """The pass rates (0 to 1) that its report evaluators ask for, wherever they stand and whatever they are called
        (``min_pass_rate`` or ``threshold``)."""
        refs = [*self.spec.report_evaluators, *self.spec.evalset_evaluators]
        return tuple(threshold_of(ref) for ref in refs if normal_name(ref.name) == REPORT_EVALUATOR)

    @property
    def compat_gates(self) -> tuple[float, ...]:
        """The same as the reference has them: only ``min_pass_rate``, only among the report evaluators."""
        refs = [ref for ref in self.spec.report_evaluators if normal_name(ref.name) == REPORT_EVALUATOR]
        rates = (_rate(ref.arguments.get("min_pass_rate")) for ref in refs)
        return tuple(DEFAULT_THRESHOLD if rate is None else rate for rate in rates)


def normal_name(name: str) -> str:
    """An evaluator's name as the reference compares it: lower case, ``-`` as ``_``."""
    return name.strip().lower().replace("-", "_")


def threshold_of(ref: EvaluatorRef) -> float:
    """The pass rate a ``pass_rate_threshold`` asks for; both names of its argument count."""
    for name in ("min_pass_rate", "threshold"):
        rate = _rate(ref.arguments.get(name))
        if rate is not None:
            return rate
    return DEFAULT_THRESHOLD


def load_evalset(source: Path | str | Mapping[str, Any], *, require_cases: bool = False) -> Evalset:
    """The evalset in a file (``.json``; ``.yaml`` too), or in data. Raises SpecError with every fault at once.

    A file that has not changed is read once; what is returned is not to be changed.
    """
    if isinstance(source, Mapping):
        evalset = _of_data(source)
    else:
        try:
            found = os.stat(source)
        except (OSError, ValueError):  # told when it is read
            found = None
        stamp = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns) if found is not None else None
        evalset = _of_file(str(source), os.getcwd(), stamp)
    if require_cases and not evalset.cases:
        name = str(evalset.path) if evalset.path is not None else ""
        raise SpecError([Fault("the evalset has no cases: there is nothing to run", name, path="cases")])
    return evalset


@lru_cache(maxsize=2)
def _of_file(name: str, folder: str, stamp: tuple[int, ...] | None) -> Evalset:
    root, faults = compose(read_text(Path(name), name), name)
    findings = Findings()
    findings.extend(faults)
    return _read(root, findings, Path(name))


def _of_data(data: Mapping[str, Any]) -> Evalset:
    try:
        root = node_of(data, Place())
    except ValueError as error:
        raise SpecError([Fault(str(error), hint="an evalset is made of JSON values")]) from None
    return _read(root, Findings(), None)


def _read(root: Node | None, findings: Findings, path: Path | None) -> Evalset:
    name = str(path) if path is not None else ""
    spec = validated(EvalsetSpec, root, findings, what="an evalset") if root is not None else None
    if root is not None and spec is not None:
        _look_closer(root, spec, findings)
    if findings.has_faults or root is None or spec is None:
        raise SpecError(findings.faults(name))
    data = root.data()
    assert isinstance(data, dict)
    return Evalset(spec, tuple(_cases(spec, root)), data, path, tuple(findings.warnings(name)))


def prompt_of(inputs: Mapping[str, Any] | str, preamble: JsonValue = None) -> str:
    """What is sent for a case's inputs."""
    if isinstance(inputs, str):
        prompt = inputs
    else:
        texts = (inputs.get(key) for key in PROMPT_KEYS)
        found = next((text for text in texts if isinstance(text, str) and text.strip()), None)
        prompt = found if found is not None else json.dumps(inputs)
    if isinstance(preamble, str) and preamble.strip():
        return f"{preamble.strip()}\n\nInput:\n{prompt}"
    return prompt


def _cases(spec: EvalsetSpec, root: Node) -> Iterator[EvalCase]:
    preamble = spec.metadata.get("prompt_preamble")
    ids = _ids(spec.cases)
    nodes = root.get("cases")
    for position, (case, case_id) in enumerate(zip(spec.cases, ids, strict=True)):
        evaluators = case.evaluators or spec.evalset_evaluators
        applied = tuple(ref for ref in evaluators if normal_name(ref.name) != REPORT_EVALUATOR)
        line = nodes.value[position].place.line if nodes is not None else 0
        yield EvalCase(case_id, case, prompt_of(case.inputs, preamble), applied, line)


def _ids(cases: list[EvalsetCase]) -> list[str]:
    """A name for each case that no other has: its name, with its id or a number where that is shared."""
    count = Counter(case.name for case in cases)
    ids: list[str] = []
    taken: set[str] = {name for name, times in count.items() if times == 1}
    for case in cases:
        if count[case.name] == 1:
            ids.append(case.name)
            continue
        wanted = f"{case.name} ({case.id})" if case.id else case.name
        found, number = wanted, 2
        while found in taken:
            found, number = f"{wanted} ({number})", number + 1
        taken.add(found)
        ids.append(found)
    return ids


# -- what is no fault in the reference but surely not meant --


def _look_closer(root: Node, spec: EvalsetSpec, findings: Findings) -> None:
    own = Findings()
    check_keys(root, known_keys(EvalsetSpec), own, "an evalset")
    for name, what in (("evalset_evaluators", True), ("report_evaluators", False)):
        for ref in _items(root.get(name)):
            check_keys(ref, known_keys(EvaluatorRef), own, "an evaluator")
            _look_at_ref(ref, findings, case_scope=what)
    names: dict[str, int] = {}
    for node, case in zip(_items(root.get("cases")), spec.cases, strict=True):
        check_keys(node, known_keys(EvalsetCase), own, "a case")
        for ref in _items(node.get("evaluators")):
            check_keys(ref, known_keys(EvaluatorRef), own, "an evaluator")
            _look_at_ref(ref, findings, case_scope=True)
        if case.name in names:
            line = names[case.name]
            where = f", the first one on line {line}" if line else ""
            findings.warn(node.keys["name"], f"two cases are called `{case.name}`{where}", "results tell them apart")
        names.setdefault(case.name, node.place.line)
        if not case.inputs or (isinstance(case.inputs, str) and not case.inputs.strip()):
            findings.warn(node.keys.get("inputs", node.place), "the case has no inputs: its prompt says nothing")
    findings.extend(_as_warnings(own))
    _check_schemas(root, spec, findings)


def _as_warnings(findings: Findings) -> Iterator[Fault]:
    for fault in findings.faults(""):
        yield Fault(fault.message, fault.file, fault.line, fault.column, fault.path, fault.hint, warning=True)


def _look_at_ref(node: Node, findings: Findings, *, case_scope: bool) -> None:
    """Evaluators where they do nothing, and arguments that nobody reads."""
    name = node.get("name")
    if name is None or not isinstance(name.value, str):
        return
    known, place = normal_name(name.value), node.keys["name"]
    arguments = node.get("arguments")
    if known == REPORT_EVALUATOR:
        if case_scope:
            message = f"`{REPORT_EVALUATOR}` judges a whole run: among the evaluators of cases the reference skips it"
            findings.warn(
                place, message, "move it to `report_evaluators`; in strict grading it counts as if it stood there"
            )
        if arguments is not None and arguments.get("threshold") is not None:
            findings.warn(
                arguments.keys["threshold"],
                f"the reference reads `min_pass_rate`, not `threshold`: it takes {DEFAULT_THRESHOLD:g} here",
                "strict grading takes both names; write `min_pass_rate`",
            )
        given = next(
            (
                arguments.get(key)
                for key in ("min_pass_rate", "threshold")
                if arguments is not None and arguments.get(key)
            ),
            None,
        )
        if given is not None and _rate(given.value) is None:
            findings.add(given.place, "a pass rate is a number from 0 to 1")
    elif not case_scope:
        findings.warn(place, f"`{name.value}` is no evaluator of reports: nothing comes of it here")
    elif known not in CASE_EVALUATORS:
        findings.warn(
            place,
            f"`{name.value}` is no evaluator that can be carried out: strict grading leaves its cases unscored, "
            "the reference passes them",
            f"known are {', '.join(sorted(CASE_EVALUATORS))}",
        )
    config = node.get("config")
    if config is not None and config.value:
        findings.warn(node.keys["config"], "`config` is read by nobody", "write `arguments`")


def _check_schemas(root: Node, spec: EvalsetSpec, findings: Findings) -> None:
    """The inputs of the cases against the evalset's own ``input_schema``, which the reference never looks at."""
    schema = spec.schemas.get("input_schema")
    if not isinstance(schema, dict) or not spec.cases:
        return
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError
    from jsonschema.validators import validator_for

    from tui_eval.spec.expressions import schema_fault

    if fault := schema_fault(schema):
        findings.warn(root.find(("schema", "input_schema"))[1], f"the input_schema is not used: {fault}")
        return
    validator: Any = validator_for(schema, default=Draft202012Validator)(schema)
    for node, case in zip(_items(root.get("cases")), spec.cases, strict=True):
        error: ValidationError | None = next(iter(validator.iter_errors(case.inputs)), None)
        if error is not None:
            path = "".join(f".{step}" for step in error.path)
            message = error.message if len(error.message) <= 200 else error.message[:200] + "…"
            words = f"inputs{path} do not fit the evalset's own input_schema: {message}"
            findings.warn(node.keys.get("inputs", node.place), words)


def _items(node: Node | None) -> list[Node]:
    return [item for item in node.value if item.is_map] if node is not None and node.is_list else []


def _rate(value: JsonValue) -> float | None:
    """``value`` as a pass rate, None when it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= 1 else None
