"""Two large runs are compared with a sign of life, and the comparison can be given up."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.histories import many_tasks
from tui_eval.reports.comparison import compare_stored
from tui_eval.store.reader import History


class GivenUp(Exception):
    pass


async def test_a_comparison_tells_how_far_it_is_and_can_be_given_up(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    run = await many_tasks(path, 2_500)
    heard: list[tuple[int, int]] = []

    def give_up(done: int, total: int) -> None:
        raise GivenUp

    with History(path) as history:
        found = compare_stored(history, run.run_id, "last", lambda done, total: heard.append((done, total)))
        assert found.unchanged == 2_500
        assert heard == [(done, 5_000) for done in range(1_000, 5_001, 1_000)]
        with pytest.raises(GivenUp):
            compare_stored(history, run.run_id, "last", give_up)
        assert compare_stored(history, run.run_id, "last").unchanged == 2_500, "the history is as usable as before"
