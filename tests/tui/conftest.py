"""What the tests of the screens share: nothing of the user's own settings, and no wish for colour from outside."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tui_eval.tui.application import TuiEvalApp
from tui_eval.tui.settings import Settings
from tui_eval.tui.terminal import Terminal


@pytest.fixture(autouse=True)
def _own_folders(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path_factory.mktemp(name.lower())))
    for name in ("NO_COLOR", "SSH_CONNECTION", "SSH_TTY", "TUI_EVAL_HISTORY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def make_app(tmp_path: Path) -> Callable[..., TuiEvalApp]:
    """An application over ``tmp_path/history.db``; it looks at the history ten times a second."""

    def make(run_id: str | None = None, **settings: object) -> TuiEvalApp:
        return TuiEvalApp(
            tmp_path / "history.db",
            tmp_path,
            terminal=Terminal(refresh_hz=10.0),
            settings=Settings(**settings),  # type: ignore[arg-type]
            config=tmp_path / "config.yaml",
            run_id=run_id,
        )

    return make
