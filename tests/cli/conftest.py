"""A history with a finished run of every outcome, written by the real writer, and a way to call the command line."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tui_eval.cli.app import command_line
from tui_eval.cli.errors import run_to_exit_status
from tui_eval.domain import Outcome, Score
from tui_eval.store.reader import History
from tui_eval.store.records import (
    AttemptPayload,
    AttemptRecord,
    FinishedTask,
    NewTask,
    RequestRecord,
    RequestState,
    RunRecord,
    RunState,
)
from tui_eval.store.writer import HistoryWriter

MARKUP = Path(__file__).parents[1] / "cases" / "45-markup-output" / "outputs.jsonl"
RUN = "20270101-120000-abcd"
PLAN = {
    "version": 1,
    "name": "hostile \x1b[31mplan",
    "requests": [
        {"name": "agent", "evaluators": [{"id": "exact"}], "execution": {"n_repeat": 1}},
        {"name": "empty", "evaluators": [], "execution": {"n_repeat": 1}},
    ],
}


def hostile_outputs() -> list[str]:
    """Outputs that terminals, markup engines and spreadsheets would obey."""
    texts = [json.loads(line)["text"] for line in MARKUP.read_text(encoding="utf-8").splitlines()]
    return [*texts, "\x1b]0;owned\x07\x9b2J", "user\u202etxt.exe", "=HYPERLINK(1)", "a\nb\tc|d", "", "Reykjavík 🎈"]


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Call = Callable[..., Ended]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    """Run the command line in this process."""

    def run(*arguments: str | Path) -> Ended:
        capsys.readouterr()
        status = run_to_exit_status(command_line, [str(argument) for argument in arguments])
        told = capsys.readouterr()
        return Ended(status, told.out, told.err)

    return run


def finished(task: int, request: int, outcome: Outcome, output: str, position: int) -> FinishedTask:
    answered = outcome in (Outcome.PASSED, Outcome.FAILED, Outcome.UNSCORED)
    passed = {Outcome.PASSED: True, Outcome.FAILED: False}.get(outcome)
    message = "" if outcome is Outcome.PASSED else f"{outcome.value} at \x1b[1mplace {position}"
    answer = {"output": output, "raw": output, "status_code": 200} if answered else None
    return FinishedTask(
        task=task,
        request=request,
        outcome=outcome,
        started_at=1.8e9 + position,
        finished_at=1.8e9 + position + 0.5,
        attempts=[
            AttemptRecord(
                number=1,
                started_at=1.8e9 + position,
                seconds=0.5,
                error_kind="" if answered else "http_status",
                message="" if answered else "HTTP 500: broken",
                status_code=200 if answered else 500,
                payload=AttemptPayload({"method": "POST", "url": "http://127.0.0.1/\x1b"}, answer),
            )
        ],
        scores=[
            Score(
                "exact",
                None if passed is None else float(passed),
                passed,
                f"reason {output}",
                "" if passed is not None else "no verdict",
            )
        ]
        if answered
        else [],
        latency=0.5,
        error_kind="" if answered else "http_status",
        message=message,
        output=output if answered else "",
    )


async def write_run(path: Path, run_id: str = RUN, *, state: RunState = RunState.COMPLETED, end: bool = True) -> None:
    """A run with two requests: one task for each hostile output, in all outcomes in turn; and one without any task."""
    run = RunRecord(
        run_id=run_id,
        name=str(PLAN["name"]),
        state=RunState.PLANNING,
        plan=PLAN,
        folder="/",
        program="0",
        created_at=1.8e9,
        plan_path="/plans/\x1bx.yaml",
        warnings=["something \u202eto see"],
        tags=["nightly"],
    )
    outputs = hostile_outputs()
    outcomes = [Outcome.PASSED, Outcome.FAILED, Outcome.ERROR, Outcome.UNSCORED, Outcome.CANCELLED]
    async with await HistoryWriter.open(path) as writer:
        await writer.create_run(run)
        requests = [
            RequestRecord(run.id, position, name, RequestState.PENDING, "http", dataset="data.jsonl")
            for position, name in enumerate(("agent", "empty"))
        ]
        await writer.add_requests(requests)
        agent = requests[0]
        await writer.add_tasks(
            [NewTask(agent.id, number, f"case-{number}", {"text": text}) for number, text in enumerate(outputs)]
        )
        await writer.set_run_state(run.id, RunState.RUNNING, started_at=1.8e9)
        with History(path) as history:
            keys = [task.id for task in history.iter_tasks(run)]
        for number, (key, text) in enumerate(zip(keys, outputs, strict=True)):
            writer.finished(finished(key, agent.id, outcomes[number % len(outcomes)], text, number))
        if end:
            for request in requests:
                await writer.set_request_state(request.id, RequestState.COMPLETED)
            await writer.set_run_state(run.id, state, finished_at=1.8e9 + 65)


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """The path of a history with one finished run."""
    path = tmp_path / "history.db"
    asyncio.run(write_run(path))
    return path


def now() -> float:
    return time.time()
