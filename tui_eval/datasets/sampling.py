"""Which cases of a dataset take part: ``ids``, then ``where``, then ``limit``, in the order of the file."""

from __future__ import annotations

import hashlib
import heapq
from array import array
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from tui_eval.datasets.expressions import compiled, search, truthy
from tui_eval.domain import Case
from tui_eval.spec.model import Sample

WHERE = "dataset.sample.where"


def matcher(sample: Sample, name: str) -> Callable[[Case], bool]:
    """Whether a case passes ``ids`` and ``where``. The expression sees the columns, and ``id`` where no column has
    that name. Raises DatasetError for an expression that is wrong or cannot be applied to a case."""
    wanted = None if sample.ids is None else frozenset(sample.ids)
    where = None if sample.where is None else compiled(sample.where, WHERE)

    def matches(case: Case) -> bool:
        if wanted is not None and case.id not in wanted:
            return False
        if where is None:
            return True
        columns = {"id": case.id, **case.input}
        return truthy(search(where, columns, WHERE, name, case.line))

    return matches


def priority(seed: int, case_id: str) -> int:
    """A random number (64 bits) of a case under a seed: a function of both alone, on every machine."""
    digest = hashlib.blake2b(f"{seed}\0{case_id}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big")


class Lottery:
    """Draws ``limit`` of any number of cases without replacement, in memory for ``limit`` numbers.

    The cases with the lowest priorities win, so each is equally likely, and a case that is added to a dataset changes
    a draw by one case at most.
    """

    def __init__(self, limit: int, seed: int) -> None:
        self._limit = limit
        self._seed = seed
        self._lowest: list[tuple[int, int]] = []  # (-priority, -position): the highest priority on top

    def enter(self, position: int, case_id: str) -> None:
        entry = (-priority(self._seed, case_id), -position)
        if len(self._lowest) < self._limit:
            heapq.heappush(self._lowest, entry)
        elif self._limit and entry > self._lowest[0]:
            heapq.heapreplace(self._lowest, entry)

    def winners(self) -> array[int]:
        """The positions drawn, ascending."""
        return array("Q", sorted(-position for _, position in self._lowest))


def take(cases: Iterable[Case], positions: Iterable[int]) -> Iterator[Case]:
    """The cases at ascending positions (from 0); stops behind the last one."""
    source = iter(cases)
    at = 0
    for position in positions:
        yield from islice(source, position - at, position - at + 1)
        at = position + 1
