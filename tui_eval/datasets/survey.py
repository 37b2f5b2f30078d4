"""One whole look at a dataset: how many cases, which columns, everything that is wrong with it."""

from __future__ import annotations

import hashlib
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from json.encoder import encode_basestring as quoted

from tui_eval.datasets.identity import CaseBlock, SeenHashes
from tui_eval.datasets.rows import excerpt
from tui_eval.domain import Case, JsonValue, canonical_json
from tui_eval.errors import Fault

MOST_FAULTS = 100
MOST_COLUMNS = 10_000
MOST_REPEATED = 1_000
_SHOWN_PLACES = 10
_SHOWN_SKIPS = 20


@dataclass(frozen=True, slots=True)
class Survey:
    """What a dataset holds.

    ``count`` is the number of well-formed cases, ``selected`` how many of them the sample takes. ``columns`` are those
    of the selected cases (of all, when none is selected) in the order they were first seen; ``partial_columns`` are
    missing in some. ``faults`` holds the first :data:`MOST_FAULTS` and, when there are more, one that counts the rest.
    ``skipped_lines`` are the lines left out because of ``skip_bad_lines``. ``content_hash`` (64 hex digits) is over ids
    and columns of the selected cases in order. ``generated_ids``: the dataset has no ids of its own.
    """

    count: int
    selected: int
    columns: tuple[str, ...]
    partial_columns: tuple[str, ...]
    faults: tuple[Fault, ...]
    notes: tuple[str, ...]
    skipped_lines: tuple[int, ...]
    content_hash: str
    generated_ids: bool


class FaultList:
    """Keeps the first faults and counts the others, so that a file that is wrong everywhere takes no memory."""

    def __init__(self) -> None:
        self._kept: list[Fault] = []
        self.count = 0

    def add(self, fault: Fault) -> None:
        self.count += 1
        if len(self._kept) < MOST_FAULTS:
            self._kept.append(fault)

    def extend(self, other: FaultList) -> None:
        self._kept.extend(other._kept)
        self.count += other.count

    def all(self, file: str) -> tuple[Fault, ...]:
        """In the order of the file; those about the whole file come first."""
        faults = sorted(self._kept, key=lambda fault: fault.line)[:MOST_FAULTS]
        if self.count > len(faults):
            faults.append(Fault(f"and {self.count - len(faults)} more faults", file=file))
        return tuple(faults)


class Columns:
    """Names in the order first seen, and in how many cases each is."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._cases = 0
        # Most cases have the columns of the one before: those are counted together.
        self._alike: tuple[str, ...] = ()
        self._alike_cases = 0
        self.overflow = False

    def add(self, case: Case) -> None:
        names = tuple(case.input)
        if names != self._alike:
            self._settle()
            self._alike = names
        self._alike_cases += 1

    def add_all(self, rows: Iterable[Mapping[str, JsonValue]]) -> None:
        """The same for the columns of many cases."""
        for names, cases in Counter(map(tuple, rows)).items():
            if names != self._alike:
                self._settle()
                self._alike = names
            self._alike_cases += cases

    def _settle(self) -> None:
        counts, cases = self._counts, self._alike_cases
        for name in self._alike if cases else ():
            if name in counts:
                counts[name] += cases
            elif len(counts) < MOST_COLUMNS:
                counts[name] = cases
            else:
                self.overflow = True
        self._cases += cases
        self._alike_cases = 0

    def names(self) -> tuple[str, ...]:
        self._settle()
        return tuple(self._counts)

    def partial(self) -> tuple[str, ...]:
        self._settle()
        return tuple(name for name, count in self._counts.items() if count < self._cases)


class ContentHash:
    """SHA-256 over the ids and columns of cases, in order."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def add(self, case: Case) -> None:
        self._hash.update(canonical_json([case.id, case.input]).encode("utf-8") + b"\n")

    def add_all(self, block: CaseBlock, count: int) -> None:
        """The same for the first ``count`` cases of a block."""
        texts = block.texts[:count] or map(canonical_json, block.rows[:count])
        parts = [f"[{quoted(case_id)},{text}]\n" for case_id, text in zip(block.ids, texts, strict=False)]
        self._hash.update("".join(parts).encode("utf-8"))

    def hex(self) -> str:
        return self._hash.hexdigest()


class Repeats:
    """Finds ids that occur twice: a first pass over hashes names suspects, a second one over the ids proves them."""

    def __init__(self) -> None:
        self._seen = SeenHashes()
        self._suspects: set[int] = set()
        self.unlisted = 0

    def add(self, case_id: str) -> None:
        number = hash(case_id)
        if self._seen.add(number):
            self._suspect(number)

    def add_all(self, case_ids: Iterable[str]) -> None:
        for number in self._seen.repeated(map(hash, case_ids)):
            self._suspect(number)

    def _suspect(self, number: int) -> None:
        if number in self._suspects:
            return
        if len(self._suspects) < MOST_REPEATED:
            self._suspects.add(number)
        else:
            self.unlisted += 1

    def __bool__(self) -> bool:
        return bool(self._suspects)

    def faults(self, cases: Iterable[tuple[int, Case]], file: str) -> list[Fault]:
        """The proven ones, by a second pass over all cases, each with its number from 1."""
        places: dict[str, array[int]] = {}
        lines = True
        for number, case in cases:
            if hash(case.id) in self._suspects:
                lines = lines and case.line > 0
                places.setdefault(case.id, array("Q")).append(case.line or number)
        word = "lines" if lines else "records"
        hint = "ids must differ: results are kept and compared by them; rename one, or name another `id` column"
        return [
            Fault(
                f"id `{excerpt(case_id, 80)}` on {word} {_enumerated(where)}",
                file=file,
                line=where[1] if lines else 0,
                hint=hint,
            )
            for case_id, where in places.items()
            if len(where) > 1
        ]


class Skipped:
    """Broken lines that were left out on purpose."""

    def __init__(self) -> None:
        self.lines = array("Q")
        self._reasons: list[str] = []

    def add(self, fault: Fault) -> None:
        self.lines.append(fault.line)
        if len(self._reasons) < _SHOWN_SKIPS:
            place = f"line {fault.line}" if fault.line else fault.path or "one record"
            self._reasons.append(f"{place} skipped: {fault.message}")

    def notes(self) -> list[str]:
        more = len(self.lines) - len(self._reasons)
        return [*self._reasons, f"{more} more skipped"] if more else list(self._reasons)


def _enumerated(numbers: Sequence[int]) -> str:
    shown = [str(number) for number in numbers[:_SHOWN_PLACES]]
    if len(numbers) > _SHOWN_PLACES:
        return f"{', '.join(shown)} and {len(numbers) - _SHOWN_PLACES} more"
    return f"{', '.join(shown[:-1])} and {shown[-1]}"
