"""What can be said about a solution's or an evaluator's options once they fit their model: expressions, addresses,
references, templates in the wrong place, credentials, and scalars that may not mean what they seem to."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

from tui_eval.spec.credentials import HIDDEN, is_secret_name, typed_credentials
from tui_eval.spec.expressions import (
    address_fault,
    expression_fault,
    header_fault,
    pattern_fault,
    schema_fault,
    variable_fault,
)
from tui_eval.spec.findings import Findings
from tui_eval.spec.marks import (
    HEADERS_OF_THE_CONNECTION,
    KNOWN_MODELS,
    AddressMark,
    ExpressionMark,
    HeaderMark,
    PatternMark,
    SchemaMark,
    TemplateMark,
    VariableMark,
    VerbatimMark,
    field_marks,
    inner_models,
    marked,
)
from tui_eval.spec.nearest import suggestion
from tui_eval.spec.nodes import Node, Path, Place
from tui_eval.spec.references import REFERENCE, find_references, is_missing, is_template, malformed, missing
from tui_eval.spec.scalars import surprise

_BARE_VARIABLE = re.compile(r"(?<!\$)\$([A-Z_][A-Z0-9_]+)\b")
_MAPPED = re.compile(r"experiment_input|experiment_output|dataset\..+", re.DOTALL)


def check_languages(model: type[BaseModel], node: Node, findings: Findings) -> None:
    """Expressions, patterns, schemas and addresses in a section, at any depth, whether or not the rest of it fits."""
    if not node.is_map:
        return
    inner_by_name, marks_by_name = inner_models(model), field_marks(model)
    for name, field in model.model_fields.items():
        key = field.alias or name
        child = node.get(key)
        if child is None or child.value is None:
            continue
        inner = inner_by_name[name]
        if inner is not None and child.is_map:
            check_languages(inner, child, findings)
        for mark in marks_by_name[name]:
            for place, fault in _language_faults(mark, child, node.keys.get(key, child.place)):
                findings.add(place, fault)
            if isinstance(mark, HeaderMark):
                _warn_of_unsent_headers(child, findings)


def _language_faults(mark: Any, node: Node, place: Place) -> Iterator[tuple[Place, str]]:
    """What is wrong with one marked value, and where. ``place`` is that of its key."""
    checked: list[tuple[Place, str | None]] = []
    check, entry_check = _CHECKS.get(type(mark)), _ENTRY_CHECKS.get(type(mark))
    if check is not None:
        needless = isinstance(mark, ExpressionMark) and mark.may_be_empty
        checked = [(where, check(text)) for where, text in _texts(node, place) if text.strip() or not needless]
    elif entry_check is not None and node.is_map:
        checked = [
            (node.keys.get(name, node.place), entry_check(name, str(child.value))) for name, child in node.value.items()
        ]
        checked += _given_twice(node) if isinstance(mark, HeaderMark) else []
    elif isinstance(mark, SchemaMark) and isinstance(node.value, dict | bool):
        checked = [(place, schema_fault(node.data()))]
    elif isinstance(mark, AddressMark) and isinstance(node.value, str):
        checked = [(place, address_fault(node.value, mark.schemes))]
    yield from ((where, fault) for where, fault in checked if fault)


def _warn_of_unsent_headers(headers: Node, findings: Findings) -> None:
    for name in headers.value if headers.is_map else ():
        if name.lower() in HEADERS_OF_THE_CONNECTION:
            place = headers.keys.get(name, headers.place)
            findings.warn(place, "it belongs to the connection and is not sent as it stands here", "remove it")


def _given_twice(headers: Node) -> list[tuple[Place, str | None]]:
    """Names of headers that one map has in two ways of writing. What a request writes otherwise than the defaults
    replaces theirs, as it should."""
    seen: dict[tuple[str, Path, str], str] = {}
    found: list[tuple[Place, str | None]] = []
    for name in headers.value:
        place = headers.keys.get(name, headers.place)
        first = seen.setdefault((place.file, place.path[:-1], name.lower()), name)
        if first != name:
            found.append((place, f"the header `{first}` is given twice: the case of its letters makes no difference"))
    return found


_CHECKS: dict[type, Callable[[str], str | None]] = {ExpressionMark: expression_fault, PatternMark: pattern_fault}


_ENTRY_CHECKS: dict[type, Callable[[str, str], str | None]] = {
    HeaderMark: header_fault,
    VariableMark: variable_fault,
}


def _texts(node: Node, place: Place) -> list[tuple[Place, str]]:
    """The expressions of a marked value: itself, the items of a list, the keys of a map."""
    if node.is_map:
        return [(node.keys.get(key, node.place), key) for key in node.value]
    if node.is_list:
        return [(item.place, item.value) for item in node.value if isinstance(item.value, str)]
    text = node.value if isinstance(node.value, str) else node.typed
    return [(place, text)] if text is not None else []


@dataclass(frozen=True, slots=True)
class TextRules:
    """Where references and templates may stand in the texts of one section, by its keys."""

    templates: frozenset[str]
    verbatim: frozenset[str]
    languages: frozenset[str]
    free: frozenset[str]
    solution: bool


@lru_cache(maxsize=KNOWN_MODELS)
def text_rules(model: type[BaseModel], *, solution: bool) -> TextRules:
    """The rules for the texts of a section that a ``model`` describes."""
    fields = model.model_fields

    def keys(*of: type) -> frozenset[str]:
        return frozenset(fields[name].alias or name for mark in of for name in marked(model, mark))

    return TextRules(
        templates=keys(TemplateMark),
        verbatim=keys(VerbatimMark),
        languages=keys(ExpressionMark, PatternMark, SchemaMark),
        free=frozenset(field.alias or name for name, field in fields.items() if "typing.Any" in str(field.annotation)),
        solution=solution,
    )


def check_texts(node: Node, rules: TextRules, environment: Mapping[str, str] | None, findings: Findings) -> set[str]:
    """Check every text of a section; the names of the variables it refers to. Without ``environment`` it does not
    matter whether they are set."""
    names: set[str] = set()
    for path, leaf, place in node.leaves():
        top = path[0] if path else ""
        if top in rules.free:
            _point_out_surprise(path, leaf, place, findings)
        if not isinstance(leaf.value, str):
            continue
        if environment is not None and HIDDEN in leaf.value:
            hint = "write it as ${NAME}, or run from the plan file again"
            findings.add(place, "the credential that stood here was hidden when the plan was stored", hint)
        if top in rules.verbatim:
            names |= find_references(leaf.value, template=False)
            continue
        names |= _check_references(leaf.value, place, top in rules.templates, environment, findings)
        if is_template(leaf.value) and top not in rules.templates:
            _template_in_the_wrong_place(str(top), place, rules, findings)
    if rules.solution:
        _check_keys(node, rules, findings)
    return names


def _point_out_surprise(path: Path, leaf: Node, place: Place, findings: Findings) -> None:
    """A scalar that is a text here, where a number or a truth value might have been meant."""
    advice = surprise(leaf.typed) if leaf.typed is not None and isinstance(leaf.value, str) else None
    if advice and not any(is_secret_name(str(step)) for step in path):
        findings.warn(place, f"`{leaf.typed}` is taken as a text", f"quote it if that is meant, or {advice}")


def _check_references(
    text: str, place: Place, template: bool, environment: Mapping[str, str] | None, findings: Findings
) -> set[str]:
    if "${" not in text:
        return set()
    wrong = malformed(text, template=template)
    if wrong:
        findings.add(place, f"`{wrong}` is no reference", "write ${NAME}, or $${ for the characters themselves")
    names = find_references(text, template=template)
    if environment is not None:
        for name in sorted(names):
            if is_missing(name, environment):
                fault = missing(name, environment)
                findings.add(place, fault.message, fault.hint)
    inside = {match[1] for match in REFERENCE.finditer(text) if match[1]} - names
    for name in sorted(inside):
        findings.warn(place, f"`${{{name}}}` inside a template expression is not replaced", "put it outside of {{ … }}")
    return names


def _template_in_the_wrong_place(top: str, place: Place, rules: TextRules, findings: Findings) -> None:
    if top in rules.languages:
        return  # braces mean something of their own there
    if rules.solution:
        findings.add(place, f"`{top}` is not a template: it is the same for all cases", "remove the {{ … }}")
    else:
        findings.warn(
            place,
            f"`{top}` of an evaluator is not a template: it is taken as it stands",
            "read a column by variable_mapping: {expected_output: dataset.<column>}",
        )


def _check_keys(node: Node, rules: TextRules, findings: Findings) -> None:
    """Templates and references work in values; in a key they would be sent as they stand."""
    pending = [child for name, child in node.value.items() if name in rules.templates]
    while pending:
        current = pending.pop()
        if current.is_map:
            for key, child in current.value.items():
                if is_template(key) or "${" in key:
                    place = current.keys.get(key, current.place)
                    findings.add(
                        place, f"the key `{key}` is not rendered", "templates and references work in values only"
                    )
                pending.append(child)
        elif current.is_list:
            pending.extend(current.value)


def check_credentials(options: BaseModel, node: Node, findings: Findings) -> set[str]:
    """Warn about credentials that are typed in; the texts that must not be written anywhere."""
    values: set[str] = set()
    for typed in typed_credentials(options.model_dump(mode="json", by_alias=True, exclude_unset=True)):
        values.update(typed.values)
        bare = next((match[1] for text in typed.values if (match := _BARE_VARIABLE.search(text))), None)
        findings.warn(
            node.find(typed.path)[1],
            "a credential is typed into the plan: it is used but never stored, so a re-run needs this file",
            f"`${bare}` without braces is sent as it stands; write ${{{bare}}}"
            if bare
            else "put it into an environment variable and write ${NAME}",
        )
    return values


def check_mapping(node: Node, model: type[BaseModel], findings: Findings) -> None:
    """The variables of ``variable_mapping`` and what they read: ``variable_mapping``: ``experiment_input``, ``experiment_output`` or ``dataset.<column>``
    (AgentLoop contract, section 5.1). Whether the columns exist is known only with the dataset."""
    mapping = node.get("variable_mapping")
    if mapping is None or not mapping.is_map:
        return
    known: frozenset[str] | None = getattr(model, "variables", None)
    for key, child in mapping.value.items():
        if known is not None and key not in known:
            place = mapping.keys.get(key, child.place)
            findings.add(place, f"the evaluator has no variable `{key}`", suggestion(key, known, label="variables"))
        text = child.typed if child.typed is not None else child.value
        if isinstance(text, str) and not _MAPPED.fullmatch(text):
            hint = f"did you mean `dataset.{text}`?" if re.fullmatch(r"\w+", text) else ""
            findings.add(
                mapping.keys.get(key, child.place),
                f"`{text}` must be experiment_input, experiment_output or dataset.<column>",
                hint,
            )
