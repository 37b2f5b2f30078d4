"""Where a table's rows come from: a list in memory, or pages that are read when they are looked at."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Generic, Protocol, TypeVar

from tui_eval.tui.widgets.cells import Row

T = TypeVar("T")

PAGE = 200
_PAGES_KEPT = 32


class RowSource(Protocol):
    """What a table asks. Every call returns at once."""

    def count(self) -> int:
        """How many rows there are."""
        ...

    def row(self, index: int) -> Row | None:
        """The row at a place, None while it is still being read."""
        ...

    def key(self, index: int) -> Hashable:
        """The key of the row at a place."""
        ...

    def index(self, key: Hashable) -> int | None:
        """The place of a key, None when it is not among the rows."""
        ...


def known_rows(source: RowSource, first: int, last: int) -> Iterator[Row]:
    """The rows from one place to another that have been read."""
    for index in range(first, min(last + 1, source.count())):
        row = source.row(index)
        if row is not None:
            yield row


class ListSource:
    """Rows that are all in memory."""

    def __init__(self, rows: Sequence[Row] = ()) -> None:
        self._rows = rows
        self._places: dict[Hashable, int] | None = None

    def count(self) -> int:
        return len(self._rows)

    def row(self, index: int) -> Row | None:
        return self._rows[index]

    def key(self, index: int) -> Hashable:
        return self._rows[index].key

    def index(self, key: Hashable) -> int | None:
        if self._places is None:
            self._places = {row.key: place for place, row in enumerate(self._rows)}
        return self._places.get(key)


class BuiltSource(Generic[T]):
    """Things that are all in memory, made into rows when they are looked at: 10,000 cost nothing until then."""

    def __init__(self, items: Sequence[T], key_of: Callable[[T], Hashable], build: Callable[[T], Row]) -> None:
        self.items = items
        self._key_of = key_of
        self._build = build
        self._places: dict[Hashable, int] | None = None
        self._rows: dict[int, Row] = {}

    def count(self) -> int:
        return len(self.items)

    def row(self, index: int) -> Row | None:
        row = self._rows.get(index)
        if row is None:
            row = self._rows[index] = self._build(self.items[index])
        return row

    def key(self, index: int) -> Hashable:
        return self._key_of(self.items[index])

    def index(self, key: Hashable) -> int | None:
        if self._places is None:
            self._places = {self._key_of(item): place for place, item in enumerate(self.items)}
        return self._places.get(key)

    def forget_rows(self) -> None:
        """Build the rows anew: something else than the things has changed (the time)."""
        self._rows.clear()


class PagedSource:
    """Any number of rows of which only the keys are known: pages are asked for with ``want`` as they come into view.

    ``want`` gets the keys of a page; its answer comes later through :meth:`arrived`. Least recently seen pages are
    forgotten.
    """

    def __init__(self, keys: Sequence[int], want: Callable[[Sequence[int]], None]) -> None:
        self.keys = keys
        self._want = want
        self._rows: OrderedDict[int, dict[int, Row]] = OrderedDict()
        self._asked: set[int] = set()
        self._places: dict[int, int] | None = None

    def count(self) -> int:
        return len(self.keys)

    def row(self, index: int) -> Row | None:
        page = index // PAGE
        rows = self._rows.get(page)
        if rows is not None:
            self._rows.move_to_end(page)
            return rows.get(self.keys[index])
        if page not in self._asked:
            self._asked.add(page)
            self._want(self.keys[page * PAGE : (page + 1) * PAGE])
        return None

    def key(self, index: int) -> Hashable:
        return self.keys[index]

    def index(self, key: Hashable) -> int | None:
        if self._places is None:
            self._places = {each: place for place, each in enumerate(self.keys)}
        return self._places.get(key) if isinstance(key, int) else None

    def arrived(self, keys: Sequence[int], rows: Mapping[int, Row]) -> None:
        """Take in a page that was asked for (its keys as they were given), or a fresh reading of one."""
        place = self.index(keys[0]) if len(keys) else None
        if place is None:
            return
        page = place // PAGE
        self._asked.discard(page)
        self._rows[page] = dict(rows)
        self._rows.move_to_end(page)
        while len(self._rows) > _PAGES_KEPT:
            self._rows.popitem(last=False)

    def replace_keys(self, keys: Sequence[int]) -> None:
        """Other keys, or another order. Rows that are known already stay shown until they are read again."""
        known = {key: row for rows in self._rows.values() for key, row in rows.items()}
        self.keys = keys
        self._places = None
        self._asked.clear()
        self._rows.clear()
        for page in range(min(_PAGES_KEPT, -(-len(keys) // PAGE))):
            part = keys[page * PAGE : (page + 1) * PAGE]
            if all(key in known for key in part):
                self._rows[page] = {key: known[key] for key in part}

    def shown_pages(self, first: int, last: int) -> list[Sequence[int]]:
        """The keys of the pages that hold the places ``first`` to ``last``, to read them anew."""
        if not len(self.keys):
            return []
        pages = range(max(0, first) // PAGE, min(last, len(self.keys) - 1) // PAGE + 1)
        return [self.keys[page * PAGE : (page + 1) * PAGE] for page in pages]
