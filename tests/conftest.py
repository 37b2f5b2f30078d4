"""What all tests share: where the recorded cases lie, and a clean environment."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

# Started in the background of a script, or with nohup, the programs under test would ignore these as well; and tests
# press Ctrl-C and take terminals away.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

CASES = Path(__file__).parent / "cases"


@pytest.fixture(scope="session")
def cases() -> Path:
    """The folder of recorded inputs on which tools like this fail in public, one folder a kind."""
    return CASES


@pytest.fixture(autouse=True)
def _no_demo_agent_from_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever starts a demo in this process sets the address of its agent; the next test must not find it."""
    monkeypatch.delenv("DEMO_AGENT_URL", raising=False)
