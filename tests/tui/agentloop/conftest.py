"""A platform of our own for the screens, and nobody's access keys."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.platforms.agentloop.fake import KEY, SECRET, FakePlatform, platform
from tests.tui.agentloop.steps import place_of
from tui_eval.tui.agentloop_reading import Where, keep_where

_CREDENTIALS = (
    "AGENTLOOP_AK",
    "AGENTLOOP_SK",
    "ALIBABA_CLOUD_ACCESS_KEY_ID",
    "ALIBABA_CLOUD_ACCESS_KEY_SECRET",
    "TUI_EVAL_AGENTLOOP_REGION",
    "TUI_EVAL_AGENTLOOP_SPACE",
    "TUI_EVAL_AGENTLOOP_ENDPOINT",
)


@pytest.fixture(autouse=True)
def _no_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    for name in _CREDENTIALS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))


@pytest.fixture
def credentials(monkeypatch: pytest.MonkeyPatch, _no_credentials: None) -> None:
    """An access key in the environment."""
    monkeypatch.setenv("AGENTLOOP_AK", KEY)
    monkeypatch.setenv("AGENTLOOP_SK", SECRET)


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakePlatform]:
    """The platform, on the loopback."""
    monkeypatch.setenv("TUI_EVAL_HISTORY", str(tmp_path / "history.db"))  # tells the processes of this test
    with platform() as running:
        running.judges = True
        yield running
        _kill_reporters(tmp_path / "history.db")


@pytest.fixture
def space(tmp_path: Path, fake: FakePlatform) -> Where:
    """The agent space of the platform, chosen on an earlier day."""
    where = Where(place_of(fake), "demo-space")
    keep_where(tmp_path / "history.db", where)
    return where


def _kill_reporters(history: Path) -> None:
    """Kill the process that reports from this test's history, and no other."""
    for entry in os.listdir("/proc"):
        with suppress(OSError):
            command = Path(f"/proc/{entry}/cmdline").read_bytes()
            environ = Path(f"/proc/{entry}/environ").read_bytes()
            if b"agentloop.reporter" in command and str(history).encode() in environ:
                os.kill(int(entry), signal.SIGKILL)
