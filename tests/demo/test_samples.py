"""The plans people start from: every one is valid, runs against the embedded agent, and comes to what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tui_eval.api import async_launch
from tui_eval.cli.checking import check
from tui_eval.demo.agent import DemoAgent
from tui_eval.demo.knowledge import ENTRIES, expected_counts
from tui_eval.demo.samples import samples_folder
from tui_eval.domain import Outcome
from tui_eval.store.records import Counters

SAMPLES = samples_folder()
OF_PLATFORMS = {"agentloop.yaml"}
"""Samples that need a platform; they are run against a fake one in tests/platforms."""
PLANS = sorted(path.name for path in SAMPLES.glob("*.yaml") if path.name not in OF_PLATFORMS)

# passed, failed, error of each request; None where it depends on which calls happened to be refused.
RESULTS: dict[str, dict[str, tuple[int, int, int] | None]] = {
    "chat.yaml": {"plain": (23, 1, 0), "with a system prompt": (23, 1, 0)},
    "command.yaml": {"argument": (21, 2, 1), "standard input": (21, 2, 1)},
    "csv-dataset.yaml": {"tickets": (3, 1, 0)},
    "evalset.yaml": {"ui message stream": (4, 0, 0), "json": (3, 1, 0)},
    "http-json.yaml": {"agent": (10, 2, 0)},
    "http-sse.yaml": {"stream": (21, 2, 1)},
    "judge.yaml": {"judged": (2, 1, 0)},
    "minimal.yaml": {"agent": (19, 3, 2)},
    "own-checks.yaml": {"checked": (6, 2, 0)},
    "python.yaml": {"function": (4, 0, 0)},
    "quickstart.yaml": {"json": (20, 3, 1), "sse": (21, 2, 1), "command": (21, 2, 1)},
    "repeats-and-retries.yaml": {"flaky agent": None},
    "saved-solution.yaml": {"as saved": (6, 2, 0), "with another header": (6, 2, 0)},
    "structured-output.yaml": {"object": (1, 1, 0), "number": (5, 1, 0)},
}


@pytest.fixture
async def agent(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[DemoAgent]:
    async with DemoAgent() as running:
        monkeypatch.setenv("DEMO_AGENT_URL", running.base_url)
        yield running


def test_every_sample_has_a_known_result() -> None:
    assert set(PLANS) == set(RESULTS)


@pytest.mark.parametrize("name", PLANS)
def test_a_sample_is_valid(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEMO_AGENT_URL", "http://127.0.0.1:1")
    checked = check(SAMPLES / name)
    assert checked.valid, [str(fault) for fault in checked.faults]
    assert not checked.warnings, [str(fault) for fault in checked.warnings]


@pytest.mark.parametrize("name", PLANS)
def test_a_sample_says_what_it_is_for(name: str) -> None:
    text = (SAMPLES / name).read_text(encoding="utf-8")
    assert text.startswith("# ")
    assert text.count("#") > 3
    assert not re.search(r"(?i)secret|sk-[a-z0-9]{8}", text.replace("A secret belongs", ""))


@pytest.mark.parametrize("name", PLANS)
async def test_a_sample_runs_and_comes_to_what_it_should(name: str, agent: DemoAgent, tmp_path: Path) -> None:
    result = await async_launch(SAMPLES / name, history=tmp_path / "history.db")
    assert result.status == "completed"
    found = {request.name: outcomes(request.counters) for request in result.requests.values()}
    for request, expected in RESULTS[name].items():
        if expected is not None:
            assert found[request] == expected
    assert set(found) == set(RESULTS[name])
    if name == "repeats-and-retries.yaml":
        assert sum(found["flaky agent"]) == 18
        assert agent.calls.failed > 0


def outcomes(counters: Counters) -> tuple[int, int, int]:
    assert counters.unscored == counters.cancelled == 0
    return counters.passed, counters.failed, counters.error


def test_the_result_of_the_quickstart_follows_from_what_the_agent_is_made_to_do() -> None:
    for flavour, expected in RESULTS["quickstart.yaml"].items():
        counts = expected_counts(flavour)
        assert expected == (counts[Outcome.PASSED], counts[Outcome.FAILED], counts[Outcome.ERROR])


def test_the_program_answers_as_the_table_says() -> None:
    program = SAMPLES / "agents" / "command_agent.py"
    for entry in ENTRIES:
        quirk = entry.quirks.get("command")
        done = subprocess.run(
            [sys.executable, str(program), "--input", entry.question],
            capture_output=True,
            encoding="utf-8",
            timeout=30,
            check=False,
        )
        if quirk is not None and quirk.fault:
            assert done.returncode == 3
        else:
            expected = entry.answer if quirk is None or quirk.says is None else quirk.says
            assert done.stdout == f"{expected}\n"
