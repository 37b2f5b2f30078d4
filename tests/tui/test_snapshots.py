"""How the screens look at 80x24 and 120x40: their text, and their colours in a dark, a light and a 16-colour theme."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import snapshots
from tests.support.histories import run_record, write_run
from tests.support.screen_text import see
from tui_eval.demo.samples import samples_folder
from tui_eval.tui.application import TuiEvalApp

Make = Callable[..., TuiEvalApp]
NOON = 1709294400.0  # 2024-03-01 12:00 UTC: of another year, so that no clock changes how it is written
THEMES = ("dusk", "paper", "terminal")
SCREENS: dict[str, tuple[tuple[str, ...], str]] = {
    "home": ((), "support-bot"),
    "run": (("g", "enter"), "capital-006"),
    "failures": (("g", "enter", "3"), "HTTP 502"),
    "task": (("g", "enter", "j", "j", "j", "enter"), "the output has not the text"),
    "compare": (("space", "j", "space", "c"), "unchanged"),
    "plans": (("P",), "✓ valid"),
}
"""The keys that lead from home to each screen, and what stands there when it is drawn."""


async def histories(folder: Path) -> None:
    for place, (name, outcomes) in enumerate((("support-bot", 7), ("baseline", 5))):
        run = run_record(name, NOON - 3600 * place, run_id=f"20240301-1{2 - place}0000-ab{place}0")
        run.tags, run.note = (["nightly"], "before the new prompt") if place else ([], "")
        run.host = "host"
        from tests.support.histories import OUTCOMES

        await write_run(folder / "history.db", run, outcomes=OUTCOMES[:outcomes])
    (folder / "data").mkdir()
    (folder / "data" / "quickstart.jsonl").write_bytes((samples_folder() / "data/quickstart.jsonl").read_bytes())
    (folder / "http-json.yaml").write_text((samples_folder() / "http-json.yaml").read_text())


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["80x24", "120x40"])
async def test_the_screens_look_as_they_did(
    make_app: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]
) -> None:
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setenv("DEMO_AGENT_URL", "http://127.0.0.1:9")
    time.tzset()
    await histories(tmp_path)
    app = make_app()
    async with app.run_test(size=size) as pilot:
        for name, (pressed, awaited) in SCREENS.items():
            await see(pilot, "baseline")
            for key in pressed:
                await pilot.press(key)
                await asyncio.sleep(0.1)
            await see(pilot, awaited)
            await pilot.pause(0.3)
            text, looks = "", {}
            for theme in THEMES:
                app.theme = theme
                await pilot.pause(0.1)
                await pilot.pause()
                shown = snapshots.text_of(app)
                assert text in ("", shown), f"another text with the theme {theme}"
                text, looks[theme] = shown, snapshots.looks_of(app)
            snapshots.check(f"{name}-{size[0]}x{size[1]}", text, looks)
            await pilot.press("H")
