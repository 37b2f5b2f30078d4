"""To the clipboard, or to a file whose path is told: what a terminal does not take can always be fetched."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tui_eval.errors import UsageError
from tui_eval.tui import clipboard
from tui_eval.tui.screens.dialogs import Prompt
from tui_eval.tui.text import plural

if TYPE_CHECKING:
    from tui_eval.tui.application import TuiEvalApp

WRITE_KEY = "Y"


def copy_text(app: TuiEvalApp, what: str, text: str) -> None:
    """Put a text onto the terminal's clipboard. Terminals do not answer, so the way to a file is told as well."""
    driver = app._driver
    if driver is not None:
        driver.write(clipboard.sequence(text))
        driver.flush()
    size = plural(len(text), "character")
    app.notify(
        f"{what}: {size} sent to the terminal's clipboard. Nothing arrived? {WRITE_KEY} writes it to a file.", timeout=6
    )


async def write_text(app: TuiEvalApp, name: str, text: str, *, too_large: bool = False) -> Path | None:
    """Ask for a file, write the text to it exactly as it is, and say where it is."""
    folder = app.history.path.parent / "copies"
    title = "Write to file"
    if too_large:
        title = f"{plural(len(text), 'character')} are too many for a terminal's clipboard. Write them to a file"
    place = await app.push_screen_wait(Prompt(title, str(free(folder / name)), check=_check))
    if place is None:
        return None
    path = Path(place).expanduser().absolute()
    try:
        await app.history.call(partial(clipboard.write_file, path, text))
    except UsageError as error:
        app.notify(str(error), title="Not written", severity="error", timeout=10)
        return None
    app.notify(str(path), title="Written", timeout=10)
    return path


def free(path: Path) -> Path:
    """``path``, or with a number before its suffix when there is such a file already."""
    number = 2
    candidate = path
    while candidate.exists():
        candidate = path.with_stem(f"{path.stem}-{number}")
        number += 1
    return candidate


def _check(text: str) -> str:
    if not text.strip():
        return "a path is needed"
    path = Path(text).expanduser()
    if path.is_dir():
        return "that is a folder; name a file in it"
    return "there is such a file already; name a new one" if path.exists() else ""
