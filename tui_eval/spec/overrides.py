"""``--set path=value``: a change of a plan from the command line.

A path is what faults show: ``task_concurrency``, ``defaults.execution.max_retries``, ``requests.NAME.solution.url``
(``*`` for every request; a request's number from 0 works too), an evaluator by its name. A step that holds dots stands
in double quotes. The value is read like a plain scalar of a plan file, or as a list, map or quoted text when it starts
like one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tui_eval.spec import yaml_source
from tui_eval.spec.findings import Findings
from tui_eval.spec.model import Defaults, PlanHead, Request, Runtime
from tui_eval.spec.nearest import suggestion
from tui_eval.spec.nodes import Key, Node, Place, with_value
from tui_eval.spec.scalars import plain_value
from tui_eval.spec.validation import known_keys, unknown_key_hint

_STEP = re.compile(r'"([^"]*)"|([^."]+)')
_BY_HOST = ("provider_limits", "qps")


@dataclass(frozen=True, slots=True)
class Override:
    """One ``--set``. ``steps`` is the path below the plan, or below one request when ``request`` says which ones."""

    steps: tuple[Key, ...]
    value: Node
    request: str | None = None

    @property
    def place(self) -> Place:
        return self.value.place


def parse_overrides(texts: Sequence[str], request_names: Sequence[str], findings: Findings) -> list[Override]:
    """The overrides in ``texts``, without those that cannot be meant (they are in ``findings``)."""
    parsed = (_parse(text, request_names, findings) for text in texts)
    return [override for override in parsed if override is not None]


def _parse(text: str, request_names: Sequence[str], findings: Findings) -> Override | None:
    path, separator, value = text.partition("=")
    path = path.strip()
    place = Place(f"--set {path}")  # never the value: it may be a credential
    if not separator or not path:
        findings.add(place, "is not path=value", "for example --set requests.NAME.solution.url=http://127.0.0.1:8000/")
        return None
    node = _value(value, place, findings)
    request: str | None = None
    if path.startswith("requests."):
        request, path = _request_of(path.removeprefix("requests."), request_names)
        if request is None:
            name = path.partition(".")[0]
            findings.add(place, f"there is no request `{name}`", suggestion(name, request_names, label="requests"))
            return None
    steps = _steps(path)
    if steps is None:
        findings.add(place, "the path cannot be read", 'separate steps by dots, put a step with dots into "…"')
        return None
    if node is None or not _exists(steps, request is not None, place, findings):
        return None
    return Override(steps, node, request)


def _value(text: str, place: Place, findings: Findings) -> Node | None:
    if text.startswith(("[", "{", '"', "'")) and not text.startswith(("{{", "{%", "{#")):
        node, faults = yaml_source.compose(text, place.file)
        for fault in faults:
            findings.add(place, f"the value: {fault.message}", fault.hint)
        return _at(node, place) if node is not None and not faults else None
    if "\0" in text:
        findings.add(place, "the value holds a NUL character")
        return None
    return Node(plain_value(text), place, typed=text)


def _at(node: Node, place: Place) -> Node:
    """The same tree with every part at the one place there is."""
    if node.is_map:
        value = {key: _at(child, place) for key, child in node.value.items()}
        return Node(value, place, keys=dict.fromkeys(value, place))
    if node.is_list:
        return Node([_at(child, place) for child in node.value], place)
    return Node(node.value, place, node.typed)


def _request_of(path: str, names: Sequence[str]) -> tuple[str | None, str]:
    """The request a path goes to, and the rest of it. A name may hold dots itself: the longest that fits is meant."""
    for name in sorted(("*", *names), key=len, reverse=True):
        for written in (name, f'"{name}"'):
            if path.startswith(written + "."):
                return name, path[len(written) + 1 :]
    number, _, rest = path.partition(".")
    if number.isdecimal() and int(number) < len(names) and rest:
        return names[int(number)], rest
    return None, path


def _steps(path: str) -> tuple[Key, ...] | None:
    steps: list[Key] = []
    at = 0
    while True:
        match = _STEP.match(path, at)
        if match is None:
            return None
        steps.append(match[1] if match[1] is not None else match[2])
        at = match.end()
        if at == len(path):
            break
        if path[at] != ".":
            return None
        at += 1
    if len(steps) > 3 and steps[0] == "runtime" and steps[1] in _BY_HOST:
        return (*steps[:2], ".".join(str(step) for step in steps[2:]))  # a host name has dots
    return tuple(steps)


def _exists(steps: tuple[Key, ...], in_request: bool, place: Place, findings: Findings) -> bool:
    """Whether the sections on the way exist; what is below them is checked with the rest of the plan."""
    top = known_keys(Request) if in_request else [*known_keys(PlanHead), "defaults", "requests"]
    levels = [(steps[0], top, "a request" if in_request else "a plan")]
    if len(steps) > 1 and not in_request and steps[0] in ("defaults", "runtime"):
        levels.append((steps[1], known_keys(Defaults if steps[0] == "defaults" else Runtime), f"`{steps[0]}`"))
    for step, known, where in levels:
        if step not in known:
            findings.add(place, f"`{step}` does not exist in {where}", unknown_key_hint(str(step), known))
            return False
    if steps == ("requests",):
        findings.add(place, "requests cannot be replaced as a whole", "name one: requests.NAME.…")
        return False
    return True


def apply_overrides(node: Node, overrides: Sequence[Override], findings: Findings) -> Node:
    """A copy of ``node`` with the overrides applied in their order."""
    for override in overrides:
        try:
            node = with_value(node, override.steps, override.value)
        except LookupError as error:
            findings.add(override.place, str(error))
    return node
