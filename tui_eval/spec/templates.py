"""From a solution's options and a case to what is sent, what may be shown, and the fingerprint of it.

The rules (once, the same for preview and run):

* A template is a Jinja2 expression in a *string of the structure* (the fields marked ``Template``, at any depth, values
  only). It is rendered once; data is never a template, and text is put into the structure, never into serialised JSON.
* Names: ``input`` (the case's columns), ``id`` (the case's id), ``repeat`` (from 0), ``input_json`` (JSON text of the
  columns with the id), and each column by its own name unless it is one of these words.
* A text that is one lone ``{{ … }}`` keeps the value's type, except in fields that are text (headers, argv, url …).
  In any other text a value that is not text is put in as JSON (``true``, ``null``, ``{"a": 1}``).
* A name that does not exist is an error. ``default(…)`` is for what is absent: a column that is there and null stays
  null.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, get_args, get_origin

from jinja2 import TemplateSyntaxError
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from tui_eval.domain import Case, canonical_json
from tui_eval.errors import Fault, SpecError, TemplateError
from tui_eval.spec.credentials import hide_credentials
from tui_eval.spec.marks import TemplateMark, marked
from tui_eval.spec.nearest import suggestion
from tui_eval.spec.nodes import Path, Place, dotted
from tui_eval.spec.references import find_references, is_template, replace_references
from tui_eval.spec.rendered import Rendered
from tui_eval.spec.sandbox import ENVIRONMENT, STEPS
from tui_eval.spec.template_text import RESERVED, TemplateText, compile_text

Names = Mapping[str, Any]
Locate = Callable[[Path], Place]


@dataclass(frozen=True, slots=True)
class _Leaf:
    """One compiled text of the structure: its path in the options and its two forms (the same object when equal)."""

    path: Path
    sent: TemplateText
    shown: TemplateText


@dataclass(frozen=True, slots=True)
class _Field:
    """One template field. ``sent`` and ``shown`` build its value; ``shared`` when both are the same, ``constant``
    when no case changes it. ``shown_json`` is the canonical JSON of a constant field."""

    name: str
    sent: Callable[[Names], Any]
    shown: Callable[[Names], Any]
    shared: bool
    constant: bool
    shown_json: str = ""


class RequestTemplate:
    """A solution's options, ready to be rendered for any number of cases. Made by :func:`compile_request`."""

    def __init__(
        self, fields: list[_Field], leaves: list[_Leaf], static: str, locate: Locate, *, whole_case: bool = False
    ) -> None:
        self._whole_case = whole_case
        self._leaves = leaves
        self._locate = locate
        self._constants_sent = {field.name: field.sent({}) for field in fields if field.constant}
        self._constants_shown = {field.name: field.shown({}) for field in fields if field.constant}
        self._dynamic = [field for field in fields if not field.constant]
        self._hash = hashlib.sha256(static.encode("utf-8", "surrogatepass"))
        self._pieces = [(field.name, field.shown_json if field.constant else None) for field in fields]
        self._needs_json = any("input_json" in leaf.sent.names for leaf in leaves)
        self.columns: frozenset[str] = frozenset().union(*(leaf.sent.columns for leaf in leaves))

    @property
    def same_for_all_cases(self) -> bool:
        """True when nothing of a case is sent, neither by a template nor by the kind of solution itself."""
        return not self._dynamic and not self._whole_case

    def render(self, case: Case, repeat: int = 0) -> Rendered:
        """The request for one case. Raises :class:`TemplateError` naming the field, the case and what is missing."""
        names = {
            **ENVIRONMENT.globals,
            **case.input,
            "input": case.input,
            "id": case.id,
            "repeat": repeat,
            STEPS: [0],
        }
        if self._needs_json:
            names["input_json"] = json.dumps({"id": case.id, **case.input}, ensure_ascii=False)
        sent = dict(self._constants_sent)
        shown = dict(self._constants_shown)
        try:
            for field in self._dynamic:
                value = sent[field.name] = field.sent(names)
                shown[field.name] = value if field.shared else field.shown(names)
        except _LeafError as error:
            raise self._explained(error, case) from error.__cause__
        return Rendered(sent, shown, case.id, case.input, repeat)

    def fingerprint(self, case: Case, repeat: int = 0) -> str:
        """32 hex digits: equal means the same call. A hash of what may be shown of the request, of the solution's other
        options and, where the agent gets the whole case, of the case; it depends neither on the values of ``${NAME}``
        nor, unless it is sent, on the repeat. Raises :class:`TemplateError`."""
        digest = self._hash.copy()
        shown = self.render(case, repeat).shown
        text = "\n".join(
            f"{name}:{canonical_json(shown[name]) if constant is None else constant}" for name, constant in self._pieces
        )
        if self._whole_case:
            text += f"\ncase:{canonical_json([case.id, dict(case.input)])}"
        digest.update(text.encode("utf-8", "surrogatepass"))
        return digest.hexdigest()[:32]

    def _explained(self, error: _LeafError, case: Case) -> TemplateError:
        field = dotted(error.leaf.path)
        cause = error.__cause__
        absent = [name for name in sorted(error.leaf.sent.columns) if name not in case.input]
        unguarded = [name for name in absent if name not in error.leaf.sent.guarded]
        if unguarded and type(cause).__name__ == "UndefinedError":
            name = unguarded[0]
            hint = suggestion(name, case.input, label="its columns")
            message = f"`{name}` is not a column of case `{case.id}`{f'; {hint}' if hint else ''}"
        else:
            message = f"case `{case.id}`: {_reason(cause)}"
        return TemplateError(f"template {field}: {message}", field, case.id)

    def check(self, columns: Collection[str], sometimes: Collection[str] = ()) -> list[Fault]:
        """Faults of the templates with cases that have ``columns`` (``sometimes``: those that only some cases have).

        A name that no case has is a fault. One that only some have is none: it is an error of the cases without it.
        """
        known = set(columns) | set(sometimes)
        faults: list[Fault] = []
        for leaf in self._leaves:
            for name in sorted(leaf.sent.columns - leaf.sent.guarded - known):
                hint = suggestion(name, known | RESERVED, label="columns and names")
                faults.append(self._locate(leaf.path).fault(f"`{name}` is not a column of the dataset", hint))
        return faults


class _LeafError(Exception):
    """A text could not be rendered; ``__cause__`` says why."""

    def __init__(self, leaf: _Leaf) -> None:
        super().__init__()
        self.leaf = leaf


def _reason(cause: BaseException | None) -> str:
    if isinstance(cause, RecursionError):
        return "the template goes too deep"
    if isinstance(cause, MemoryError):
        return "the template needs too much memory"
    return str(cause) or type(cause).__name__


def compile_request(
    options: BaseModel,
    *,
    environment: Mapping[str, str],
    locate: Locate | None = None,
    solution_type: str | None = None,
) -> RequestTemplate:
    """Compile the template fields of ``options``.

    ``environment`` gives the values of ``${NAME}``; a name that is not in it stays as it is. ``locate`` tells where a
    path of the options was typed. Raises :class:`SpecError` with every template that cannot be read.
    """
    compiler = _Compiler(environment, locate or (lambda path: Place(path=path)))
    names = marked(type(options), TemplateMark)
    kind = solution_type or getattr(options, "type", type(options).__name__)
    given = options.model_dump(mode="json")
    hidden = hide_credentials(given)
    fields = [
        compiler.field(name, type(options).model_fields[name], given[name], hidden[name]) for name in sorted(names)
    ]
    if compiler.faults:
        raise SpecError(compiler.faults)
    static = {
        "type": kind,
        "options": {name: value for name, value in hidden.items() if name not in names and name != "type"},
        "references": sorted(find_references({name: given[name] for name in names})),
    }
    whole_case = bool(getattr(options, "sends_whole_case", True))
    return RequestTemplate(fields, compiler.leaves, canonical_json(static), compiler.locate, whole_case=whole_case)


def template_faults(model: type[BaseModel], section: Mapping[str, Any], locate: Locate) -> list[Fault]:
    """The templates of a section that cannot be read, for a section that does not fit its model for another reason."""
    compiler = _Compiler({}, locate)
    for name in marked(model, TemplateMark):
        if name in section:
            compiler.field(name, model.model_fields[name], section[name], section[name])
    return compiler.faults


class _Compiler:
    def __init__(self, environment: Mapping[str, str], locate: Locate) -> None:
        self.environment = environment
        self.locate = locate
        self.leaves: list[_Leaf] = []
        self.faults: list[Fault] = []

    def field(self, name: str, info: FieldInfo, given: Any, hidden: Any) -> _Field:
        before = len(self.leaves)
        sent, shown, shared = self._build(given, hidden, (name,), as_text=_holds_text_only(info))
        constant = len(self.leaves) == before
        if constant:
            sent_value, shown_value = sent({}), shown({})
            return _Field(name, lambda _: sent_value, lambda _: shown_value, shared, True, canonical_json(shown_value))
        return _Field(name, sent, shown, shared, False)

    def _build(
        self, given: Any, hidden: Any, path: Path, *, as_text: bool
    ) -> tuple[Callable[[Names], Any], Callable[[Names], Any], bool]:
        """Functions that build the value to send and the value to show, and whether they are the same."""
        if isinstance(given, str):
            return self._text(given, hidden if isinstance(hidden, str) else given, path, as_text=as_text)
        before = len(self.leaves)
        if isinstance(given, dict):
            parts = [
                (key, *self._build(item, hidden[key], (*path, key), as_text=as_text)) for key, item in given.items()
            ]
            shared = all(part[3] for part in parts)
            sent = _map_builder([(part[0], part[1]) for part in parts])
            shown = sent if shared else _map_builder([(part[0], part[2]) for part in parts])
        elif isinstance(given, list):
            items = [
                self._build(item, hidden[index], (*path, index), as_text=as_text) for index, item in enumerate(given)
            ]
            shared = all(part[2] for part in items)
            sent = _list_builder([part[0] for part in items])
            shown = sent if shared else _list_builder([part[1] for part in items])
        else:
            return (constant := lambda _: given), constant, True
        if len(self.leaves) == before:
            sent, shown = _constant(sent), _constant(shown)
        return sent, shown, shared

    def _text(
        self, given: str, hidden: str, path: Path, *, as_text: bool
    ) -> tuple[Callable[[Names], Any], Callable[[Names], Any], bool]:
        same = given == hidden and "${" not in given
        if not is_template(given):
            sent_text, shown_text = self._sent(given), _shown(hidden)
            return (lambda _: sent_text), (lambda _: shown_text), same
        try:
            if same:
                sent = shown = _compiled(given, as_text)
            else:
                sent = compile_text(given, self._sent, as_text=as_text)
                shown = compile_text(hidden, _shown, as_text=as_text)
        except TemplateSyntaxError as error:
            self.faults.append(self._syntax_fault(error, path))
            return (nothing := lambda _: ""), nothing, True
        leaf = _Leaf(path, sent, shown)
        self.leaves.append(leaf)
        guarded = _guarded(leaf, sent)
        return guarded, guarded if same else _guarded(leaf, shown), same

    def _sent(self, text: str) -> str:
        return replace_references(text, lambda name: self.environment.get(name) or f"${{{name}}}")

    def _syntax_fault(self, error: TemplateSyntaxError, path: Path) -> Fault:
        message = f"not a valid template: {error.message}"
        if error.lineno > 1:
            message += f" (line {error.lineno} of the text)"
        hint = ""
        unknown = str(error.message).partition("'")[2].partition("'")[0]
        if "No filter" in str(error.message):
            hint = suggestion(unknown, (name for name in ENVIRONMENT.filters if " " not in name))
        elif "No test" in str(error.message):
            hint = suggestion(unknown, ENVIRONMENT.tests)
        return self.locate(path).fault(
            message, hint or "for the characters themselves write {% raw %}…{% endraw %} around them"
        )


def _shown(text: str) -> str:
    return replace_references(text, lambda name: f"${{{name}}}")


@lru_cache(maxsize=1024)
def _compiled(text: str, as_text: bool) -> TemplateText:
    """Texts without references are compiled once, however many requests share them."""
    return compile_text(text, lambda part: part, as_text=as_text)


def _guarded(leaf: _Leaf, text: TemplateText) -> Callable[[Names], Any]:
    render = text.render

    def rendered(names: Names) -> Any:
        try:
            return render(names)
        except Exception as error:  # an expression can raise anything; it costs this case only
            raise _LeafError(leaf) from error

    return rendered


def _constant(build: Callable[[Names], Any]) -> Callable[[Names], Any]:
    value = build({})
    return lambda _: value


def _map_builder(parts: list[tuple[str, Callable[[Names], Any]]]) -> Callable[[Names], Any]:
    return lambda names: {key: build(names) for key, build in parts}


def _list_builder(parts: list[Callable[[Names], Any]]) -> Callable[[Names], Any]:
    return lambda names: [build(names) for build in parts]


def _holds_text_only(info: FieldInfo) -> bool:
    """True for fields whose every value is text: ``str``, ``dict[str, str]``, ``list[str]``, or None."""
    pending, found = [info.annotation], set()
    while pending:
        annotation = pending.pop()
        if get_origin(annotation) is Annotated:
            pending.append(get_args(annotation)[0])
        elif get_args(annotation):
            pending.extend(get_args(annotation))
        else:
            found.add(annotation)
    return found <= {str, dict, list, type(None)} and str in found
