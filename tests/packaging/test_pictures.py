"""The pictures in the README show what the application looks like today."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.packaging.pictures import FOLDER, draw, words

README = Path(__file__).parents[2] / "README.md"


@pytest.mark.long
def test_the_pictures_say_what_the_application_says_today(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name in ("DEMO_AGENT_URL", "HOME"):
        monkeypatch.setenv(name, "")  # drawing sets them: as before again afterwards
    for name, svg in draw(tmp_path).items():
        kept = (FOLDER / f"{name}.svg").read_text(encoding="utf-8")
        assert words(kept) == words(svg), f"{name}.svg is old: run `python -m tests.packaging.pictures`"


def test_the_readme_shows_the_pictures_that_are_there() -> None:
    shown = set(re.findall(r"\]\(tests/pictures/(\w+)\.svg\)", README.read_text(encoding="utf-8")))
    assert shown == {path.stem for path in FOLDER.glob("*.svg")}
