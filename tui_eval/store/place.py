"""Where the history lies, and who may read it: file 0600, in a folder 0700 when we make it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from tui_eval.errors import HistoryError

VARIABLE = "TUI_EVAL_HISTORY"
FILE_NAME = "history.db"


def history_path(option: str | Path | None, environment: Mapping[str, str]) -> Path:
    """The history file: ``option`` (``--history``), else ``TUI_EVAL_HISTORY``, else the user's data folder.

    Absolute, ``~`` expanded; an empty option or variable counts as not given. Nothing is opened or made.
    """
    given = str(option or "") or environment.get(VARIABLE, "")
    if given:
        try:
            return Path(given).expanduser().absolute()
        except RuntimeError as error:
            raise HistoryError(f"{given}: this place of the history cannot be found: {error}") from error
    from platformdirs import user_data_path

    return user_data_path("tui_eval") / FILE_NAME


def log_path(history: Path, run_id: str) -> Path:
    """Where the runner of a run in a session of its own writes what it has to say. Raises nothing; makes nothing."""
    return history.parent / "logs" / f"{run_id}.log"


def make_folder(folder: Path) -> None:
    """Make a folder and those above it that are missing, each 0700 (``mkdir(parents=True)`` would leave the upper ones
    open to others); existing ones stay as they are. Raises OSError."""
    for missing in reversed([place for place in (folder, *folder.parents) if not place.exists()]):
        missing.mkdir(mode=0o700, exist_ok=True)


def prepare(path: Path) -> None:
    """Make the folder (0700, parents too, existing ones untouched) and an empty file (0600) where there is none.

    The -wal and -shm files get the mode of the file from SQLite. Raises HistoryError when that is not allowed.
    """
    try:
        make_folder(path.parent)
        # Never opened when it is there: closing it again would drop the locks of our own connections to it.
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise HistoryError(
            f"{path}: the history cannot be made or written here: {error.strerror}. "
            f"Use another place with --history or {VARIABLE}."
        ) from error
