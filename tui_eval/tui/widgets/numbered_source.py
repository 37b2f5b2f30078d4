"""Rows that are known by their number alone: any count, nothing kept but the pages that were looked at."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from tui_eval.tui.widgets.row_source import PagedSource


class NumberedSource(PagedSource):
    """The rows 0 to ``count``; a row's key is its number. The count may grow, or turn out smaller, at any time."""

    def __init__(self, count: int, want: Callable[[Sequence[int]], None]) -> None:
        super().__init__(range(count), want)

    def index(self, key: Hashable) -> int | None:
        return key if isinstance(key, int) and 0 <= key < len(self.keys) else None

    def set_count(self, count: int) -> None:
        """Another number of rows; those that were read stay, but for a last page that was cut short."""
        if count != len(self.keys):
            self.replace_keys(range(count))
