"""One template text, compiled: from a text with ``{{ … }}`` to a function of a case's names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from jinja2 import nodes
from jinja2.meta import find_undeclared_variables
from jinja2.runtime import Context

from tui_eval.spec.sandbox import ENVIRONMENT, LARGEST_TEXT, Refused, parse, plain, text_of

RESERVED = frozenset(("input", "id", "repeat", "input_json"))
"""Names that are not columns: the case's columns, the case's id, the repeat (from 0), JSON of the columns with the id."""


@dataclass(frozen=True, slots=True)
class TemplateText:
    """One compiled text.

    ``render`` takes the names a template may use and gives the value. ``names`` are the names it uses beside the
    globals; ``columns`` the columns among them and among ``input.<column>``; ``guarded`` the columns it can do
    without (``default``, ``is defined``).
    """

    render: Callable[[Mapping[str, Any]], Any]
    names: frozenset[str]
    columns: frozenset[str]
    guarded: frozenset[str]


def compile_text(text: str, literal: Callable[[str], str], *, as_text: bool) -> TemplateText:
    """Compile ``text``; what is no expression in it has gone through ``literal`` first.

    With ``as_text`` the value is always text, else a text that is one lone ``{{ … }}`` keeps the value's type.
    Raises ``jinja2.TemplateSyntaxError``.
    """
    tree = parse(text, literal)
    names = frozenset(find_undeclared_variables(tree)) - ENVIRONMENT.globals.keys()
    columns, guarded = _columns(tree, names)
    lone = _lone_expression(tree)
    if lone is None:
        return TemplateText(_mixed(tree), names, columns, guarded)
    render = _lone(lone, plain_already=isinstance(lone, nodes.Name | nodes.Getattr | nodes.Getitem))
    if as_text:
        value = render
        render = lambda given: text_of(value(given))  # noqa: E731
    return TemplateText(render, names, columns, guarded)


def _lone_expression(tree: nodes.Template) -> nodes.Expr | None:
    if len(tree.body) == 1 and isinstance(tree.body[0], nodes.Output) and len(tree.body[0].nodes) == 1:
        expression = tree.body[0].nodes[0]
        if not isinstance(expression, nodes.TemplateData):
            return expression
    return None


def _mixed(tree: nodes.Template) -> Callable[[Mapping[str, Any]], str]:
    root = ENVIRONMENT.from_string(tree).root_render_func
    looping = next(tree.find_all((nodes.For,)), None) is not None

    def render(given: Mapping[str, Any]) -> str:
        parts = root(Context(ENVIRONMENT, given, None, {}))  # type: ignore[arg-type]
        text = "".join(_up_to_the_limit(parts) if looping else parts)
        if len(text) > LARGEST_TEXT:
            raise Refused(f"the text would be longer than {LARGEST_TEXT:,} characters")
        return text

    return render


def _up_to_the_limit(parts: Any) -> Any:
    size = 0
    for part in parts:
        size += len(part)
        if size > LARGEST_TEXT:
            raise Refused(f"the text would be longer than {LARGEST_TEXT:,} characters")
        yield part


def _lone(expression: nodes.Expr, *, plain_already: bool) -> Callable[[Mapping[str, Any]], Any]:
    line = expression.lineno
    assignment = nodes.Assign(nodes.Name("value_of_the_template_", "store", lineno=line), expression, lineno=line)
    tree = nodes.Template([assignment], lineno=1)
    tree.set_environment(ENVIRONMENT)
    root = ENVIRONMENT.from_string(tree).root_render_func

    def render(given: Mapping[str, Any]) -> Any:
        context = Context(ENVIRONMENT, given, None, {})  # type: ignore[arg-type]
        for _ in root(context):
            pass
        value = context.vars["value_of_the_template_"]
        # What a case holds is JSON already; most values are, so the common types are let through at once.
        if type(value) is str or (plain_already and isinstance(value, dict | list)):
            return value
        return plain(value)

    return render


def _columns(tree: nodes.Template, names: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
    columns = {name for name in names if name not in RESERVED}
    guarded: set[str] = set()
    for node in tree.find_all((nodes.Getattr, nodes.Getitem)):
        column = _column(node)
        if column is not None:
            columns.add(column)
    for test in tree.find_all(nodes.Test):
        if test.name in ("defined", "undefined"):
            guarded.add(_column(test.node) or "")
    for used in tree.find_all(nodes.Filter):
        if used.name in ("default", "d") and used.node is not None:
            guarded.add(_column(used.node) or "")
    guarded.discard("")
    return frozenset(columns), frozenset(guarded)


def _column(node: nodes.Node) -> str | None:
    """The column that an expression reads: ``question``, ``input.question`` or ``input["question"]``."""
    if isinstance(node, nodes.Name):
        return node.name if node.name not in RESERVED else None
    if (
        isinstance(node, nodes.Getattr | nodes.Getitem)
        and isinstance(node.node, nodes.Name)
        and node.node.name == "input"
    ):
        if isinstance(node, nodes.Getattr):
            return node.attr
        if isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, str):
            return node.arg.value
    return None
