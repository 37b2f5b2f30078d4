"""Counts in a table stand below each other, and none of them is cut."""

from __future__ import annotations

import pytest

from tui_eval.store.records import Counters
from tui_eval.tui.projections import requests, runs
from tui_eval.tui.widgets.cells import layout
from tui_eval.tui.widgets.counts import aligned, brief, cells_of, widths_of

ROWS = (
    Counters(total=20_000, passed=18_000, failed=1_800, error=200),
    Counters(total=9, passed=7, failed=0, unscored=2),
    Counters(total=40, passed=10, failed=12, error=3, unscored=1, cancelled=14),
)


def _text(row: Counters) -> str:
    return "".join(cell.text for cell in aligned(row, widths_of(ROWS)))


def test_each_outcome_has_its_place_in_every_row() -> None:
    assert [_text(row) for row in ROWS] == [
        "✓18k ✗1.8k !200       ",
        "✓  7 ✗   0      ?2    ",
        "✓ 10 ✗  12 !  3 ?1 -14",
    ]


def test_an_outcome_that_no_row_has_takes_no_room() -> None:
    row = Counters(total=9, passed=7, failed=2)
    assert "".join(cell.text for cell in aligned(row, widths_of([row]))) == "✓7 ✗2"


@pytest.mark.parametrize("columns", [runs.columns, requests.columns], ids=["runs", "requests"])
@pytest.mark.parametrize("width", [58, 78, 118])
def test_the_column_of_counts_is_there_and_wide_enough(columns: object, width: int) -> None:
    assert callable(columns)
    shown = columns(widths_of(ROWS))
    place = next(place for place, each in enumerate(shown) if each.name == "counts")
    assert dict(layout(shown, width))[place] >= cells_of(widths_of(ROWS))


@pytest.mark.parametrize(
    ("amount", "text"),
    [(0, "0"), (999, "999"), (1_000, "1.0k"), (9_949, "9.9k"), (9_950, "10k"), (999_499, "999k"), (1_000_000, "1.0M"), (12_000_000, "12M")],
)  # fmt: skip
def test_a_large_count_takes_four_cells(amount: int, text: str) -> None:
    assert brief(amount) == text
