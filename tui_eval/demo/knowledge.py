"""What the embedded agent knows, and where it is wrong or breaks, so that the result of a demo is known beforehand.

The same questions, with their right answers, are in ``sample_specs/data/quickstart.jsonl``. Sums are computed, so an
evaluation of any size can be made from them; whatever else is asked is echoed.
"""

from __future__ import annotations

import operator
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from tui_eval.domain import Outcome


@dataclass(frozen=True, slots=True)
class Quirk:
    """What goes wrong with one question in one flavour of the agent.

    ``says`` is a wrong answer. ``fault`` is the name of a fault (see ``faults``) that happens on the first ``times``
    calls, on every one when ``times`` is 0. ``delay_ms`` is how long the agent thinks, in milliseconds.
    """

    says: str | None = None
    fault: str = ""
    times: int = 0
    delay_ms: float = 0.0

    @property
    def outcome(self) -> Outcome:
        """What a plan that retries refused calls makes of it."""
        if self.fault and not self.times:
            return Outcome.ERROR
        return Outcome.PASSED if self.says is None else Outcome.FAILED


@dataclass(frozen=True, slots=True)
class Entry:
    """One question with its right answer, and the quirks by flavour."""

    id: str
    question: str
    answer: str
    quirks: Mapping[str, Quirk] = field(default_factory=dict)


_NO_QUIRK = Quirk()

ENTRIES = (
    Entry("capital-france", "What is the capital of France?", "Paris"),
    Entry("capital-japan", "What is the capital of Japan?", "Tokyo"),
    Entry("capital-kenya", "What is the capital of Kenya?", "Nairobi"),
    Entry("capital-peru", "What is the capital of Peru?", "Lima"),
    Entry(
        "capital-australia",
        "What is the capital of Australia?",
        "Canberra",
        {"json": Quirk(says="Sydney"), "sse": Quirk(says="Sydney"), "command": Quirk(says="Sydney")},
    ),
    Entry("capital-canada", "What is the capital of Canada?", "Ottawa", {"json": Quirk(says="Toronto")}),
    Entry("capital-iceland", "What is the capital of Iceland?", "Reykjavík"),
    Entry("capital-china", "中国的首都是哪里？", "北京"),
    Entry(
        "capital-brazil",
        "What is the capital of Brazil?",
        "Brasília",
        {"sse": Quirk(says="Rio de Janeiro"), "chat": Quirk(says="Rio de Janeiro")},
    ),
    Entry("capital-egypt", "What is the capital of Egypt?", "Cairo"),
    Entry("capital-india", "What is the capital of India?", "New Delhi", {"json": Quirk(fault="429", times=1)}),
    Entry("capital-norway", "What is the capital of Norway?", "Oslo"),
    Entry("sum-small", "What is 2 + 2?", "4"),
    Entry("sum-carry", "What is 17 + 25?", "42"),
    Entry("sum-large", "What is 99999 + 1?", "100000", {"command": Quirk(says="99999")}),
    Entry("difference", "What is 100 - 58?", "42"),
    Entry("difference-negative", "What is 3 - 8?", "-5"),
    Entry("product", "What is 6 * 7?", "42"),
    Entry("product-large", "What is 123 * 456?", "56088", {"json": Quirk(says="56081")}),
    Entry("product-zero", "What is 0 * 12345?", "0", {"sse": Quirk(fault="cut")}),
    Entry("boiling-point", "At how many degrees Celsius does water boil at sea level?", "100"),
    Entry(
        "largest-planet", "Which planet of the solar system is the largest?", "Jupiter", {"json": Quirk(fault="500")}
    ),
    Entry("chemical-gold", "What is the chemical symbol of gold?", "Au", {"command": Quirk(fault="exit 3")}),
    Entry("author-hamlet", "Who wrote Hamlet?", "William Shakespeare", {"json": Quirk(delay_ms=1500)}),
)

_BY_QUESTION = {entry.question: entry for entry in ENTRIES}
_SUM = re.compile(r"What is (-?\d{1,18}) ([+*-]) (-?\d{1,18})\?")
_OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul}


def entry_for(question: object) -> Entry | None:
    """The entry of a question, exactly as it is written in the dataset."""
    return _BY_QUESTION.get(question) if isinstance(question, str) else None


def reply_to(question: str) -> str:
    """The right answer when it is known, the value of a sum, else the question itself."""
    entry = _BY_QUESTION.get(question)
    if entry is not None:
        return entry.answer
    found = _SUM.fullmatch(question)
    return str(_OPERATORS[found[2]](int(found[1]), int(found[3]))) if found else question


def quirk_of(question: object, flavour: str) -> Quirk:
    """What goes wrong with a question in a flavour (nothing, for most)."""
    entry = entry_for(question)
    return entry.quirks.get(flavour, _NO_QUIRK) if entry else _NO_QUIRK


def expected_outcomes(flavour: str) -> dict[str, Outcome]:
    """The outcome of every case of the quickstart dataset in a flavour, by case id."""
    return {entry.id: entry.quirks.get(flavour, _NO_QUIRK).outcome for entry in ENTRIES}


def expected_counts(flavour: str) -> Counter[Outcome]:
    """How many cases of the quickstart dataset end in each outcome, in a flavour."""
    return Counter(expected_outcomes(flavour).values())
