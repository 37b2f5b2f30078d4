"""The template language: Jinja2 in its sandbox, cut down to what putting data into a request needs.

Beyond Jinja's own sandbox:

* values that are not text are put into text as JSON, never as Python's repr (also by ``~``, ``join``, ``upper`` …);
* nothing is looked up on disk, nothing is random, nothing makes HTML;
* memory and time are bounded: texts by :data:`LARGEST_TEXT`, loops by :data:`MOST_STEPS`;
* a key of a map comes before a method of the same name (``input.items`` is the column ``items``).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import FunctionType
from typing import Any

from jinja2 import StrictUndefined, TemplateSyntaxError, Undefined, nodes, pass_context
from jinja2.filters import FILTERS as DEFAULT_FILTERS
from jinja2.lexer import Lexer
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import missing as _missing
from jinja2.visitor import NodeTransformer

LARGEST_TEXT = 16 * 1024 * 1024
"""Characters of one rendered text, and of every text on the way to it."""

MOST_STEPS = 100_000
"""Turns of all loops in one rendering."""

LARGEST_INTEGER_BITS = 4096
STEPS = " steps"  # the counter of loop turns; no template can name it


class Refused(Exception):
    """A template asks for something that is bounded or not allowed. The message says what."""


def text_of(value: Any) -> str:
    """The text that is put into a text for ``value``: itself, or its JSON. Raises for what is not there."""
    if isinstance(value, str):
        return value
    return json.dumps(plain(value), ensure_ascii=False, allow_nan=False)


def plain(value: Any) -> Any:
    """``value`` as JSON data. Raises :class:`Refused` for what is none, Jinja's error for what is not there."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, Undefined):
        str(value)
    if isinstance(value, str):
        return value if type(value) is str else str(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise Refused(f"the value is {value}, not a finite number")
        return value
    if isinstance(value, Mapping):
        return {_key(key): plain(item) for key, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, bytes | bytearray):
        return [plain(item) for item in _bounded(value)]
    raise Refused(f"the value is a {type(value).__name__}, not text, number, list or map")


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise Refused(f"a map has the key {key!r}: keys must be text")
    return key


def _bounded(values: Iterable[Any]) -> Iterator[Any]:
    # A list that is there already is as large as it is; only what is made on the way needs a bound.
    if isinstance(values, list | tuple):
        return iter(values)
    return _counted_up_to(values, LARGEST_TEXT)


def _counted_up_to(values: Iterable[Any], most: int) -> Iterator[Any]:
    for count, value in enumerate(values):
        if count >= most:
            raise Refused(f"more than {most:,} values")
        yield value


def _kind_of(value: Any) -> str:
    """What a user calls a value's type."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else "a truth value"
    if isinstance(value, Mapping):
        return "the map"
    if isinstance(value, list | tuple):
        return "the list"
    return "a text" if isinstance(value, str) else "a number" if isinstance(value, int | float) else "the value"


class Missing(StrictUndefined):
    """A name that does not exist, with a message in our words."""

    __slots__ = ()

    @property
    def _undefined_message(self) -> str:
        if self._undefined_hint:
            return str(self._undefined_hint)
        if self._undefined_obj is _missing:
            return f"`{self._undefined_name}` is not there"
        return f"`{self._undefined_name}` is not there in {_kind_of(self._undefined_obj)}"


def _check_size(size: float) -> None:
    if size > LARGEST_TEXT:
        raise Refused(f"the text would be longer than {LARGEST_TEXT:,} characters")


def _small(value: Any, most: int, what: str) -> int:
    if not isinstance(value, int) or abs(value) > most:
        raise Refused(f"{what} must be a whole number of at most {most}")
    return value


def _join(values: Iterable[Any], separator: Any = "", attribute: Any = None) -> str:
    if attribute is not None:
        raise Refused('join takes no attribute: write `map(attribute="x") | join`')
    between = text_of(separator)
    texts = [text_of(value) for value in _bounded(values)]
    _check_size(sum(map(len, texts)) + len(between) * len(texts))
    return between.join(texts)


def _concat(values: Iterable[Any]) -> str:
    return _join(values)


def _replace(text: Any, old: Any, new: Any, count: int | None = None) -> str:
    within, removed, put = text_of(text), text_of(old), text_of(new)
    _check_size(len(within) + within.count(removed) * len(put))
    return within.replace(removed, put, -1 if count is None else count)


def _to_json(value: Any, indent: int | None = None) -> str:
    indent = None if indent is None else _small(indent, 16, "indent")
    return json.dumps(plain(value), ensure_ascii=False, allow_nan=False, indent=indent)


def _round(value: Any, precision: int = 0, method: str = "common") -> Any:
    return DEFAULT_FILTERS["round"](value, _small(precision, 30, "precision"), method)


def _indent(text: Any, width: int | str = 4, first: bool = False, blank: bool = False) -> str:
    text = text_of(text)
    size = len(width) if isinstance(width, str) else _small(width, 1000, "width")
    _check_size(len(text) + (text.count("\n") + 1) * size)
    return str(DEFAULT_FILTERS["indent"](text, width, first, blank))


def _on_text(name: str) -> Callable[..., Any]:
    """One of Jinja's text filters, given our text form of what is not a text."""
    original: Any = DEFAULT_FILTERS[name]

    def text_filter(*args: Any, **options: Any) -> Any:
        at = 1 if _takes_environment(original) else 0
        converted = list(args)
        if not isinstance(converted[at], str):
            converted[at] = text_of(converted[at])
        return original(*converted, **options)

    text_filter.__name__ = name
    if isinstance(original, FunctionType):
        text_filter.__dict__.update(original.__dict__)  # Jinja's marks: pass the environment first
    return text_filter


def _takes_environment(function: Any) -> bool:
    return getattr(function, "jinja_pass_arg", None) is not None


@pass_context
def _counted(context: Context, values: Any) -> Iterator[Any]:
    """The values of a loop; all turns of all loops of a rendering are counted together."""
    steps: list[int] = context.parent[STEPS]
    if isinstance(values, Undefined):
        str(values)
    for value in values:
        steps[0] += 1
        if steps[0] > MOST_STEPS:
            raise Refused(f"loops take more than {MOST_STEPS:,} turns")
        yield value


_SAME_AS_JINJA = (  # noqa: SIM905
    "abs count default d dictsort first float groupby int items last length list map max min reject rejectattr "
    "reverse select selectattr sort sum unique"
).split()
_TEXT_FILTERS = "capitalize lower title trim truncate upper urlencode wordcount".split()  # noqa: SIM905
FILTERS: dict[str, Any] = {
    **{name: DEFAULT_FILTERS[name] for name in _SAME_AS_JINJA},
    **{name: _on_text(name) for name in _TEXT_FILTERS},
    "concat texts": _concat,
    "counted turns": _counted,
    "indent": _indent,
    "join": _join,
    "replace": _replace,
    "round": _round,
    "string": text_of,
    "tojson": _to_json,
}

_METHODS: dict[type, frozenset[str]] = {
    str: frozenset(
        "capitalize casefold count endswith find index isalnum isalpha isascii isdecimal isdigit islower isnumeric "  # noqa: SIM905
        "isspace isupper join lower lstrip partition removeprefix removesuffix replace rfind rindex rpartition rsplit "
        "rstrip split splitlines startswith strip swapcase title upper".split()
    ),
    dict: frozenset(("get", "items", "keys", "values")),
    list: frozenset(("count", "index")),
    tuple: frozenset(("count", "index")),
}


class _ExactLexer(Lexer):
    """Keeps line ends as they are."""

    def _normalize_newlines(self, value: str) -> str:
        return value


class TemplateEnvironment(ImmutableSandboxedEnvironment):
    """See the module's docstring."""

    intercepted_binops = frozenset(("*", "**", "%", "+"))

    def __init__(self) -> None:
        super().__init__(
            undefined=Missing, autoescape=False, keep_trailing_newline=True, finalize=text_of, cache_size=0
        )
        self.filters = FILTERS.copy()
        self.globals = {"range": self.globals["range"], "dict": dict, "namespace": self.globals["namespace"]}
        self._exact_lexer = _ExactLexer(self)

    @property
    def lexer(self) -> Lexer:
        return self._exact_lexer

    def getattr(self, obj: Any, attribute: str) -> Any:
        if isinstance(obj, dict):
            if attribute in obj:
                return obj[attribute]
            if attribute not in _METHODS[dict]:
                return self.undefined(obj=obj, name=attribute)
        return super().getattr(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        if isinstance(obj, dict | list | tuple | str):
            try:
                return obj[argument]
            except (LookupError, TypeError):
                return self.undefined(obj=obj, name=argument)
        return super().getitem(obj, argument)

    def wrap_str_format(self, value: Any) -> None:
        """``str.format`` is not available: its widths are a way to texts of any size. Join texts with ``~``."""

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        for kind, methods in _METHODS.items():
            if isinstance(obj, kind):
                return attr in methods
        return not isinstance(obj, int | float | bytes) and super().is_safe_attribute(obj, attr, value)

    def call(self, context: Context, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        owner = getattr(obj, "__self__", None)
        if isinstance(owner, str):
            name = getattr(obj, "__name__", "")
            if name == "replace" and len(args) >= 2:
                return _replace(owner, *args)
            if name == "join" and args:
                return _join(args[0], owner)
        return super().call(context, obj, *args, **kwargs)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        if operator == "%" and isinstance(left, str):
            raise Refused("% does not format texts here: join them with ~")
        if operator == "+" and isinstance(left, str | list | tuple) and isinstance(right, str | list | tuple):
            _check_size(len(left) + len(right))
        elif operator == "*":
            _check_product(left, right)
        elif operator == "**":
            _check_power(left, right)
        return super().call_binop(context, operator, left, right)


def _check_product(left: Any, right: Any) -> None:
    for sequence, times in ((left, right), (right, left)):
        if isinstance(sequence, str | list | tuple) and isinstance(times, int):
            _check_size(len(sequence) * times)
    if (
        isinstance(left, int)
        and isinstance(right, int)
        and left.bit_length() + right.bit_length() > LARGEST_INTEGER_BITS
    ):
        raise Refused(f"the number has more than {LARGEST_INTEGER_BITS} bits")


def _check_power(left: Any, right: Any) -> None:
    if isinstance(left, int) and isinstance(right, int) and left.bit_length() * abs(right) > LARGEST_INTEGER_BITS:
        raise Refused(f"the number has more than {LARGEST_INTEGER_BITS} bits")


ENVIRONMENT = TemplateEnvironment()

_NOT_ALLOWED: dict[type[nodes.Node], str] = {
    nodes.Include: "include",
    nodes.Import: "import",
    nodes.FromImport: "import",
    nodes.Extends: "extends",
    nodes.Block: "block",
    nodes.Macro: "macro",
    nodes.CallBlock: "call",
    nodes.ScopedEvalContextModifier: "autoescape",
}


class _Rewrite(NodeTransformer):
    """Makes a parsed template ours: refuses what is not allowed, puts our functions where Jinja has its own, and
    passes literal text through ``literal``."""

    def __init__(self, literal: Callable[[str], str], text: Callable[[str], str]) -> None:
        self.literal = literal
        self.text = text

    def generic_visit(self, node: nodes.Node, *args: Any, **kwargs: Any) -> nodes.Node:
        word = _NOT_ALLOWED.get(type(node))
        if word is not None:
            raise TemplateSyntaxError(f"{{% {word} %}} is not available in a plan", node.lineno)
        return super().generic_visit(node, *args, **kwargs)

    def visit_TemplateData(self, node: nodes.TemplateData) -> nodes.Node:  # noqa: N802
        return nodes.TemplateData(self.literal(node.data), lineno=node.lineno)

    def visit_Const(self, node: nodes.Const) -> nodes.Node:  # noqa: N802
        return nodes.Const(self.text(node.value), lineno=node.lineno) if isinstance(node.value, str) else node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802
        self.generic_visit(node)
        return _filter("concat texts", nodes.List(node.nodes, lineno=node.lineno), node.lineno)

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802
        if node.recursive:
            raise TemplateSyntaxError("{% for … recursive %} is not available in a plan", node.lineno)
        self.generic_visit(node)
        node.iter = _filter("counted turns", node.iter, node.lineno)
        return node


def _filter(name: str, argument: Any, line: int) -> nodes.Filter:
    return nodes.Filter(argument, name, [], [], None, None, lineno=line)


def parse(text: str, literal: Callable[[str], str]) -> nodes.Template:
    """The template in ``text``; what is no template in it has gone through ``literal``.

    Raises ``jinja2.TemplateSyntaxError``, also for what is not available in a plan.
    """
    # Jinja turns CR and CR LF into LF before anything else; a character that is not in the text carries them through.
    carrier = next(chr(code) for code in range(0xE000, 0xF900) if chr(code) not in text) if "\r" in text else ""

    def restored(part: str) -> str:
        return part.replace(carrier, "\r") if carrier else part

    try:
        tree = ENVIRONMENT.parse(text.replace("\r", carrier) if carrier else text)
    except RecursionError:
        raise TemplateSyntaxError("too deeply nested", 1) from None
    rewritten: nodes.Template = _Rewrite(lambda part: literal(restored(part)), restored).visit(tree)
    rewritten.set_environment(ENVIRONMENT)
    return rewritten
