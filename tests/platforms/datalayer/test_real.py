"""Against the real agent-runtimes server and its test model: not run unless asked for, see CONTRIBUTING.md."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tui_eval.api import async_launch
from tui_eval.platforms.datalayer.conversion import Choices, plan_of
from tui_eval.spec.evalset import load_evalset
from tui_eval.store.reader import History

EVALSETS = Path(__file__).parent / "evalsets"
PROGRAM = os.environ.get("TUI_EVAL_AGENT_RUNTIMES") or shutil.which("agent-runtimes")


@pytest.mark.real_agent_runtimes
async def test_the_real_server_is_started_asked_and_ended(tmp_path: Path) -> None:
    """The test model calls every tool once and then answers: nothing it says is right, but all of it must be read."""
    assert PROGRAM, "install agent_runtimes[ui] and name its program in TUI_EVAL_AGENT_RUNTIMES"
    command = [
        PROGRAM,
        "serve",
        "--host",
        "{host}",
        "--port",
        "{port}",
        "--protocol",
        "vercel-ai",
        "--log-level",
        "info",
    ]
    section = {
        "server": {
            "start": "always",
            "command": [*command, "--disable-tool-approvals"],
            "env": {"AGENT_RUNTIMES_MODEL": "test"},
            "ready_timeout_seconds": 240,
        },
        "agent": {"agent_spec_id": None, "model": "test", "enable_skills": False, "system_prompt": "Answer."},
    }
    evalset = load_evalset(EVALSETS / "examples-evals_batch.evalset.json")
    plan = plan_of(evalset, Choices(["test-model"], section=section))
    history = tmp_path / "history" / "h.db"
    result = await async_launch(plan, folder=tmp_path, history=history)
    with History(history) as stored:
        run = stored.run(result.run_id)
        found = [(task.case_id, task.outcome.value, task.message, task.output) for task in stored.iter_tasks(run)]
        log = [line.message for line in stored.log(run)]
    print(*found, *log, sep="\n")
    assert result.requests["test-model"].counters.error == 0, found
    assert result.requests["test-model"].counters.decided == 5, found
