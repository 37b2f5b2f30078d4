"""The pictures of the README, made from the demo: ``python -m tests.packaging.pictures`` writes them anew.

They lie in ``tests/pictures``. A test makes them again and compares what they say (times and ids left out).
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html import unescape
from pathlib import Path

from textual.pilot import Pilot

from tui_eval.demo.live import AGENT_VARIABLE, embedded_agent
from tui_eval.demo.samples import samples_folder
from tui_eval.runner import Job, carry_out
from tui_eval.tui.application import TuiEvalApp
from tui_eval.tui.settings import Settings
from tui_eval.tui.terminal import Terminal

FOLDER = Path(__file__).parent.parent / "pictures"
RUN = "20270101-120000-demo"
AGAIN = "20270101-121500-demo"
OTHERS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("http-sse", ("nightly",)),
    ("judge", ("judge",)),
    ("chat", ("nightly", "model-b")),
    ("repeats-and-retries", ()),
    ("structured-output", ("nightly",)),
)
"""The plans of the other runs, oldest first, with their tags."""
SIZE = (120, 30)


def make_history(folder: Path) -> Path:
    """A history with the demo's run and some others, from plans below a home folder: no picture says where it was."""
    history = folder / "history.db"
    shutil.copytree(samples_folder(), folder / "evals")
    os.environ["HOME"] = str(folder)
    with embedded_agent() as address:
        os.environ[AGENT_VARIABLE] = address
        for number, (plan, tags) in enumerate(OTHERS):
            job = Job(
                "launch", str(history), f"20270101-11{number:02}00-{plan[:4]}", str(_plan(folder, plan)), tags=tags
            )
            carry_out(job)
        carry_out(Job("launch", str(history), RUN, str(_plan(folder, "quickstart")), tags=("demo",)))
        carry_out(Job("rerun", str(history), AGAIN, parent=RUN, selection={"failed": True}, tags=("demo",)))
    return history


def _plan(folder: Path, name: str) -> Path:
    return folder / "evals" / f"{name}.yaml"


def draw(folder: Path) -> dict[str, str]:
    """Every picture by name, as SVG."""
    history = make_history(folder)
    return asyncio.run(_draw(history, folder))


async def _draw(history: Path, folder: Path) -> dict[str, str]:
    pictures: dict[str, str] = {}
    async with _application(history, folder, None) as (app, pilot):
        pictures["home"] = app.export_screenshot(title="tui-eval")
    async with _application(history, folder, RUN) as (app, pilot):
        pictures["run"] = app.export_screenshot(title="tui-eval")
        await pilot.press("j", "j", "j", "j", "enter")
        await _settle(pilot)
        pictures["task"] = app.export_screenshot(title="tui-eval")
    return pictures


@asynccontextmanager
async def _application(
    history: Path, folder: Path, run_id: str | None
) -> AsyncIterator[tuple[TuiEvalApp, Pilot[object]]]:
    app = TuiEvalApp(
        history,
        folder / "evals",
        terminal=Terminal(refresh_hz=10.0),
        settings=Settings(),
        config=folder / "config.yaml",
        run_id=run_id,
    )
    async with app.run_test(size=SIZE) as pilot:
        await _settle(pilot)
        yield app, pilot  # type: ignore[misc]


async def _settle(pilot: Pilot[object]) -> None:
    """Until the history was read and everything is drawn."""
    for _ in range(8):
        await pilot.pause(0.2)


def words(svg: str) -> set[str]:
    """What a picture says, without what differs from run to run: numbers, ids, units of time."""
    text = unescape(re.sub(r"<style.*?</style>|<[^>]+>", " ", svg, flags=re.DOTALL)).replace("\xa0", " ")
    return {word for word in re.findall(r"[A-Za-z][a-z-]+", text) if word not in ("ms", "min")}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        for name, svg in draw(Path(temporary)).items():
            (FOLDER / f"{name}.svg").write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main()
