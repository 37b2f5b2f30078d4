"""Failures of the same kind, counted together: ``37 × HTTP 502``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from tui_eval.domain import Outcome
from tui_eval.store.records import TaskRecord

EXAMPLES = 5
_GROUPED = (Outcome.FAILED, Outcome.ERROR, Outcome.UNSCORED)

# What differs between two messages of one kind, longest forms first. A status or an exit code is the kind itself.
_VARIABLE = re.compile(
    r"(?P<kept>\b(?:HTTP|status|status code|exit code|exit status|signal)[ :=]+\d+\b)"
    r"|(?P<url>\b[a-zA-Z][a-zA-Z0-9+.\-]*://[^\s\"'<>]+)"
    r"|(?P<text>…?\"(?:[^\"\\]|\\.)*+\"…?|`[^`]*`|(?<!\w)'[^']*'(?!\w)|“[^”]*”|«[^»]*»)"
    r"|(?P<id>\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"
    r"|\b(?=[a-zA-Z]*\d)[0-9a-fA-F]{12,}\b"
    r"|\b(?=[A-Za-z_-]{0,40}\d)[A-Za-z]+[_-](?=[A-Za-z0-9]{6})[A-Za-z0-9]*\d[A-Za-z0-9]*\b)"
    r"|(?P<number>(?<![\w.])[+\-]?\d+(?:\.\d+)?[eE][+\-]?\d+\b|(?<![\w.])[+\-]?\d[\d.,:]*\d(?!\w)|(?<![\w.])[+\-]?\d+(?=[a-zA-Zµ%]*\b|\b))"
)
_PLACEHOLDERS = {"url": "<url>", "text": "<text>", "id": "<id>", "number": "<n>"}

# What the embedded evaluators say of two values, without the values. Different patterns stay different sentences.
_SENTENCES = (
    (r"<text> \(and <n> more\) is not in <text>", "several expected texts are not in the output"),
    (r"<text> is not in <text>", "the expected text is not in the output"),
    (r"none of <text>(?:, <text>)*(?: …)? is in <text>", "none of the expected texts is in the output"),
    (r"<text> does not match (anywhere in|the whole of) <text>", r"the pattern does not match \1 the output"),
    (r"<text>, expected <text> \(first difference at character <n>([^()]*)\)", r"not the expected text\1"),
    (r"<text>, expected <text>", "not the expected value"),
    (r"<n>, expected <n> \(difference <n>, allowed <n>\)", "not the expected number"),
    (r"<n>, expected <n>", "another number than expected"),
)
_READ = {"<text>": '"…"', "<url>": "URL", "<id>": "ID", "<n>": "N"}


@dataclass(slots=True)
class FailureGroup:
    """Tasks with the same outcome, the same kind of error and messages that differ only in their particulars.

    ``label`` is what to show: the message itself while all are the same, else what :func:`said` makes of ``pattern``. ``example`` is the first
    task; ``case_ids`` are the first few cases, each once.
    """

    outcome: Outcome
    error_kind: str
    pattern: str
    example: TaskRecord
    count: int = 0
    case_ids: list[str] = field(default_factory=list)
    same: bool = True

    @property
    def label(self) -> str:
        return (self.example.message if self.same else said(self.pattern)) or self.error_kind or self.outcome.value

    @property
    def title(self) -> str:
        return f"{self.count} × {self.label}"

    def add(self, task: TaskRecord) -> None:
        self.count += 1
        self.same = self.same and task.message == self.example.message
        if len(self.case_ids) < EXAMPLES and task.case_id not in self.case_ids:
            self.case_ids.append(task.case_id)


def group_failures(tasks: Iterable[TaskRecord]) -> list[FailureGroup]:
    """The failed, unanswered and unscored tasks in groups; the largest group first, equal ones in the order of their
    first task. Passed, cancelled and unfinished tasks are in none."""
    groups: dict[tuple[Outcome, str, str], FailureGroup] = {}
    for task in tasks:
        add_failure(groups, task)
    return sorted_groups(groups)


def add_failure(groups: dict[tuple[Outcome, str, str], FailureGroup], task: TaskRecord) -> None:
    """Put one task into its group; nothing happens for a task that is no failure."""
    if task.outcome not in _GROUPED:
        return
    pattern = normalised(task.message)
    key = (task.outcome, task.error_kind, pattern)
    group = groups.get(key)
    if group is None:
        group = groups[key] = FailureGroup(task.outcome, task.error_kind, pattern, task)
    group.add(task)


def sorted_groups(groups: dict[tuple[Outcome, str, str], FailureGroup]) -> list[FailureGroup]:
    """The groups as :func:`group_failures` orders them (the dictionary keeps the order of the first tasks)."""
    return sorted(groups.values(), key=lambda group: -group.count)


def normalised(message: str) -> str:
    """``message`` with addresses, quoted texts, identifiers and numbers replaced by ``<url>``, ``<text>``, ``<id>``
    and ``<n>``, and white space made single. HTTP statuses, exit codes and signals stay."""
    return _VARIABLE.sub(_placeholder, " ".join(message.split()))


def said(pattern: str) -> str:
    """A pattern of :func:`normalised` as a person would say it: ``the expected text is not in the output``."""
    for form, sentence in _SENTENCES:
        pattern = re.sub(form, sentence, pattern, count=1)
    return re.sub("|".join(_READ), lambda match: _READ[match[0]], pattern)


def _placeholder(match: re.Match[str]) -> str:
    kind = match.lastgroup or ""
    return _PLACEHOLDERS.get(kind, match[0])
