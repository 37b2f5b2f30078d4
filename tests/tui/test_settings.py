"""The settings file: strict, written whole, private."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from tui_eval.errors import UsageError
from tui_eval.tui import settings
from tui_eval.tui.settings import Settings


def test_what_is_written_is_read_back_and_only_the_owner_can_read_it(tmp_path: Path) -> None:
    path = tmp_path / "new" / "config.yaml"
    wanted = Settings("paper", False, "/work", "/h.db", {"table.down": "n,down"})
    settings.write(path, wanted)
    assert settings.read(path) == (wanted, [])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [each.name for each in path.parent.iterdir()] == ["config.yaml"]


def test_no_file_is_no_fault(tmp_path: Path) -> None:
    assert settings.read(tmp_path / "config.yaml") == (Settings(), [])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("theem: paper", "theem"),
        ("mouse: sometimes", "mouse"),
        ("keymap: [a]", "keymap"),
        ("theme: 3", "theme"),
        ("- a", "not a mapping"),
        ("theme: [", "no YAML"),
        ("theme: \x07", "no YAML"),
        ("1: 2", "not a mapping"),
    ],
)
def test_what_is_wrong_is_told_and_the_rest_is_used(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(text)
    found, problems = settings.read(path)
    assert found == Settings()
    assert len(problems) == 1
    assert said in problems[0]


def test_bytes_that_are_no_text_are_one_problem(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_bytes(b"theme: \xff\xfe")
    assert len(settings.read(path)[1]) == 1
    path.unlink()
    path.mkdir()
    assert len(settings.read(path)[1]) == 1


def test_a_broken_file_is_not_overwritten_and_unknown_keys_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("theme: [")
    with pytest.raises(UsageError):
        settings.write(path, Settings(theme="paper"))
    assert path.read_text() == "theme: ["
    path.write_text("future: 1\ntheme: dusk\n")
    settings.write(path, Settings(mouse=True))
    assert "future: 1" in path.read_text()
    assert settings.read(path)[0] == Settings(mouse=True)
