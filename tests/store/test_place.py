"""Where the history lies, and who may read it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.store.records import planned
from tui_eval.errors import HistoryError
from tui_eval.store.place import history_path, prepare
from tui_eval.store.writer import HistoryWriter


def test_the_option_wins_over_the_environment_and_that_over_the_default(tmp_path: Path) -> None:
    environment = {"TUI_EVAL_HISTORY": str(tmp_path / "env.db")}
    assert history_path(tmp_path / "option.db", environment) == tmp_path / "option.db"
    assert history_path(None, environment) == tmp_path / "env.db"
    assert history_path(None, {}).name == "history.db"
    assert history_path(None, {}).parent.name == "tui_eval"


def test_an_empty_variable_counts_as_not_given(tmp_path: Path) -> None:
    assert history_path("", {"TUI_EVAL_HISTORY": ""}) == history_path(None, {})


def test_the_place_is_absolute_and_the_home_is_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/somebody")
    assert history_path("h.db", {}) == tmp_path / "h.db"
    assert history_path("~/h.db", {}) == Path("/home/somebody/h.db")


def test_an_unknown_home_is_told(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match="no-such-user-here"):
        history_path("~no-such-user-here/h.db", {})


async def test_nobody_else_can_read_the_history_or_what_lies_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "history.db"
    async with await HistoryWriter.open(path) as writer:
        await planned(writer, 3)
        files = sorted(path.parent.iterdir())
        assert [file.name for file in files] == ["history.db", "history.db-shm", "history.db-wal"]
        assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert path.parent.parent.stat().st_mode & 0o777 == 0o700


def test_a_folder_that_was_there_keeps_its_mode(tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    folder.mkdir(mode=0o755)
    prepare(folder / "history.db")
    assert folder.stat().st_mode & 0o777 == 0o755


def test_a_place_where_nothing_can_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file" / "history.db", Path("/proc/nowhere/history.db")):
        with pytest.raises(HistoryError, match=str(place)):
            prepare(place)
