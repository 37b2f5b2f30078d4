"""Evaluators of the user's own: functions and programs, and how their verdicts are read."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tui_eval.domain import Score
from tui_eval.errors import EvaluatorError
from tui_eval.evaluators.base import EvaluatorSetup, Subject
from tui_eval.evaluators.external import Program, PythonFunction, score_from
from tui_eval.processes.workers import WorkerPool
from tui_eval.spec.evaluator_options import CommandEvaluatorOptions, PythonEvaluatorOptions

MODULE = """
import os, time
def same(output, expected_output): return output == expected_output
async def close(output, expected_output, tolerance=0): return {"score": 1.0 - tolerance, "reason": "near"}
def length(output, **others): return len(output)
def nothing(**variables): return None
def nan(**variables): return float("nan")
def boom(**variables): raise RuntimeError("no judge")
def hang(**variables): time.sleep(300)
def die(**variables): os._exit(1)
"""

SUBJECT = Subject("c1", {"output": "blue", "expected_output": "blue"})


@pytest.fixture
async def setup(tmp_path: Path) -> AsyncIterator[EvaluatorSetup]:
    (tmp_path / "graders.py").write_text(MODULE)
    pool = WorkerPool(size=1, folder=tmp_path, environment=dict(os.environ))
    yield EvaluatorSetup(
        folder=tmp_path,
        environment=dict(os.environ),
        workers=pool,
        timeout_seconds=10,
        resolve=lambda text: text.replace("${KEY}", "value"),
    )
    await pool.aclose()


@pytest.mark.parametrize(
    ("value", "threshold", "expected"),
    [
        (True, None, (1.0, True, "")),
        (False, 0.1, (0.0, False, "")),
        (0.7, None, (0.7, None, "")),
        (0.7, 0.7, (0.7, True, "")),
        (0, 0.5, (0.0, False, "")),
        (7, 5, (7.0, True, "")),
        ({"score": 0.2}, None, (0.2, None, "")),
        ({"score": 0.2, "reason": "meh"}, 0.5, (0.2, False, "meh")),
        ({"score": 0.2, "passed": True}, 0.5, (0.2, True, "")),
        ({"passed": False, "reason": "no"}, None, (0.0, False, "no")),
        ({"passed": True, "score": None, "reason": None}, None, (1.0, True, "")),
        ({"passed": True, "reason": ["a", "é"]}, None, (1.0, True, '["a", "é"]')),
    ],
)
def test_verdicts_are_read_as_written(value: Any, threshold: float | None, expected: tuple[Any, ...]) -> None:
    score = score_from(value, "mine", threshold, "f")
    assert (score.value, score.passed, score.reason) == expected


def test_other_keys_of_a_verdict_are_kept() -> None:
    assert score_from({"passed": True, "tokens": 7}, "mine", None, "f").detail == {"tokens": 7}


@pytest.mark.parametrize(
    "value",
    [
        *(None, "yes", "true", [], [1], float("inf"), float("nan"), 10**400, {}, {"reason": "x"}),
        *({"score": "0.5"}, {"score": True}, {"score": None}, {"passed": 1}, {"passed": "yes"}),
        {"passed": True, "score": "high"},
    ],
)
def test_what_is_no_verdict_is_never_guessed(value: Any) -> None:
    with pytest.raises(EvaluatorError):
        score_from(value, "mine", 0.5, "f")


class TestFunctions:
    async def judge(self, setup: EvaluatorSetup, function: str, **options: Any) -> Score:
        checked = PythonEvaluatorOptions(function=f"graders:{function}", **options)
        return await PythonFunction(checked, setup).evaluate(SUBJECT)

    async def test_a_function_gets_the_variables_by_name_and_its_arguments(self, setup: EvaluatorSetup) -> None:
        assert (await self.judge(setup, "same", name="equal")) == Score("equal", 1.0, True)
        score = await self.judge(setup, "close", arguments={"tolerance": 0.25}, threshold=0.7)
        assert (score.value, score.passed, score.reason) == (0.75, True, "near")
        assert (await self.judge(setup, "length")).passed is None

    async def test_a_function_that_gives_no_verdict_leaves_the_answer_unscored(self, setup: EvaluatorSetup) -> None:
        for name, words in (("nothing", "null"), ("nan", "NaN"), ("boom", "RuntimeError: no judge"), ("die", "exit 1")):
            with pytest.raises(EvaluatorError, match=words):
                await self.judge(setup, name)
        with pytest.raises(EvaluatorError, match="there is no `absent`"):
            await self.judge(setup, "absent")
        with pytest.raises(EvaluatorError, match="unexpected keyword"):
            await self.judge(setup, "same", arguments={"other": 1})

    async def test_a_function_that_hangs_is_stopped(self, setup: EvaluatorSetup, tmp_path: Path) -> None:
        short = EvaluatorSetup(tmp_path, os.environ, workers=setup.workers, timeout_seconds=0.3)
        begun = time.monotonic()
        with pytest.raises(EvaluatorError, match=r"evaluator timed out \(0\.3 s\)"):
            await self.judge(short, "hang")
        assert time.monotonic() - begun < 2
        assert (await self.judge(setup, "same")).passed


class TestPrograms:
    async def judge(self, setup: EvaluatorSetup, code: str, **options: Any) -> Score:
        checked = CommandEvaluatorOptions(argv=["sh", "-c", code], **options)
        return await Program(checked, setup).evaluate(SUBJECT)

    async def test_the_variables_come_on_stdin_and_the_verdict_from_stdout(self, setup: EvaluatorSetup) -> None:
        read = 'test "$(cat)" = \'{"output": "blue", "expected_output": "blue"}\' && echo true'
        assert (await self.judge(setup, read)).passed is True
        score = await self.judge(setup, """echo '{"score": 0.4, "reason": "so so"}'""", threshold=0.5, name="mine")
        assert score == Score("mine", 0.4, False, "so so")

    async def test_exit_code_0_is_passed_1_is_failed_and_any_other_decides_nothing(self, setup: EvaluatorSetup) -> None:
        assert (await self.judge(setup, "echo fine", verdict="exit_code")) == Score("command", 1.0, True, "fine")
        assert (await self.judge(setup, "echo wrong; exit 1", verdict="exit_code")).passed is False
        for code, words in (("echo oops >&2; exit 2", "exit 2 .*: oops"), ("kill -9 $$", "SIGKILL")):
            with pytest.raises(EvaluatorError, match=words):
                await self.judge(setup, code, verdict="exit_code")

    @pytest.mark.parametrize(
        ("code", "words"),
        [
            ("echo true; exit 1", "exit 1"),
            ("true", "not one JSON verdict"),
            ("echo passed", "not one JSON verdict"),
            ("echo NaN", "NaN is not"),
            ("echo 1e999", "finite"),
            ("printf '\\377'", "not one JSON verdict"),
            ("echo null", "null"),
            ("yes", "more than"),
        ],
    )
    async def test_a_program_that_gives_no_verdict_leaves_the_answer_unscored(
        self, setup: EvaluatorSetup, code: str, words: str
    ) -> None:
        with pytest.raises(EvaluatorError, match=words):
            await self.judge(setup, code)

    async def test_a_program_that_hangs_or_is_missing_is_told(self, setup: EvaluatorSetup, tmp_path: Path) -> None:
        short = EvaluatorSetup(tmp_path, os.environ, timeout_seconds=0.3)
        with pytest.raises(EvaluatorError, match=r"evaluator timed out \(0\.3 s\)"):
            await self.judge(short, "sleep 60")
        with pytest.raises(EvaluatorError, match=r"could not start.*no-such-program"):
            await Program(CommandEvaluatorOptions(argv=["no-such-program"]), setup).evaluate(SUBJECT)

    async def test_references_are_filled_in_for_env_and_arguments(self, setup: EvaluatorSetup) -> None:
        code = 'test "$TOKEN" = value'
        assert (await self.judge(setup, code, env={"TOKEN": "${KEY}"}, verdict="exit_code")).passed is True
        assert (await self.judge(setup, "test ${KEY} = value", verdict="exit_code")).passed is True
