"""The ``python`` solution: the forms of function it takes, and what their results mean."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tui_eval.domain import Answer
from tui_eval.errors import Resend, SolutionError
from tui_eval.net.trace import TraceContext
from tui_eval.solutions.base import CallContext, Limits, SolutionSetup
from tui_eval.solutions.python import PythonSolution
from tui_eval.spec.rendered import Rendered
from tui_eval.spec.solution_options import PythonOptions

TRACE = TraceContext("1" * 32, "2" * 16)

MODULE = """
import os, time
from dataclasses import dataclass

@dataclass
class SolutionOutput:
    success: bool
    output: object
    trajectory: list
    meta: dict

def plain(case): return case["q"].upper()
async def later(case): return {"answer": case["q"], "id": case["id"]}
def tuned(case, temperature=0.5): return temperature
def required(case, temperature): return [case["q"], temperature]
def many(*cases): return len(cases)
def nothing(case): return None
def same(case): return case
def trace(case):
    print("thinking about", case["id"])
    return [os.environ["TRACEPARENT"], os.environ.get("ADDED")]
async def agentloop(task, pre_hook):
    assert pre_hook("anything", key=1) is None
    seen = [task.id, task.input["q"], task.ground_truth, task.metrics, task.tags, task.metadata]
    return SolutionOutput(True, seen, [{"step": 1}], {"traceId": "x"})
def hook_optional(task, pre_hook=None): return [task.id, pre_hook is not None]
def gives_up(task, pre_hook): return SolutionOutput(False, "partly", [], {"error_message": "no more tokens"})
def gives_up_mapping(case): return {"success": False, "output": None, "meta": {"error_type": "Refused"}}
def looks_alike(case): return {"success": False, "output": 1, "score": 2}
def odd_trajectory(case): return SolutionOutput(True, 1, [object()], {})
def raises(case): raise KeyError("missing column")
def a_set(case): return {1}
def hang(case): time.sleep(300)
def die(case): os._exit(7)
class Agent:
    def __call__(self, case): return "called " + case["q"]
agent = Agent()
"""


class Caller:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.made: list[PythonSolution] = []

    def prepare(self, function: str, **options: Any) -> tuple[PythonSolution, Rendered]:
        setup = SolutionSetup(folder=self.folder, environment=dict(os.environ), concurrency=2)
        solution = PythonSolution(PythonOptions(function=function, **options), setup)
        self.made.append(solution)
        fields = {name: options[name] for name in ("arguments", "env") if name in options}
        return solution, Rendered(fields, fields, "c1", {"q": "hi", "ground_truth": "HI"})

    async def __call__(self, name: str, total: float = 20.0, **options: Any) -> Answer:
        solution, request = self.prepare(f"agents:{name}", **options)
        return await solution.call(request, CallContext(Limits(total=total), TRACE))

    async def refused(self, name: str, **options: Any) -> SolutionError:
        with pytest.raises(SolutionError) as caught:
            await self(name, **options)
        return caught.value


@pytest.fixture
async def call(tmp_path: Path) -> AsyncIterator[Caller]:
    (tmp_path / "agents.py").write_text(MODULE)
    caller = Caller(tmp_path)
    yield caller
    for solution in caller.made:
        await solution.aclose()


async def test_a_function_of_the_case_gives_the_output(call: Caller) -> None:
    assert (await call("plain")).output == "HI"
    assert (await call("later")).output == {"answer": "hi", "id": "c1"}
    assert (await call("agent")).output == "called hi"
    assert (await call("many")).output == 1
    assert (await call("same")).output == {"id": "c1", "q": "hi", "ground_truth": "HI"}


async def test_arguments_of_the_plan_are_keywords(call: Caller) -> None:
    assert (await call("tuned")).output == 0.5
    assert (await call("tuned", arguments={"temperature": 0})).output == 0
    assert (await call("required", arguments={"temperature": 1})).output == ["hi", 1]


async def test_a_function_of_task_and_hook_is_called_the_agentloop_way(call: Caller) -> None:
    answer = await call("agentloop")
    assert answer.output == ["c1", "hi", "HI", [], {}, {}]
    assert answer.detail == {"trajectory": [{"step": 1}], "meta": {"traceId": "x"}}
    assert (await call("hook_optional")).output == ["c1", True]


async def test_a_function_that_says_it_failed_is_an_error_with_its_message(call: Caller) -> None:
    error = await call.refused("gives_up")
    assert error.kind == "agent_error"
    assert error.message.endswith("no more tokens")
    assert error.partial is not None
    assert error.partial.output == "partly"
    assert (await call.refused("gives_up_mapping")).message.endswith("Refused")


async def test_a_mapping_that_only_looks_like_it_is_an_output(call: Caller) -> None:
    assert (await call("looks_alike")).output == {"success": False, "output": 1, "score": 2}


async def test_a_trajectory_that_is_not_json_is_left_out_with_a_note(call: Caller) -> None:
    answer = await call("odd_trajectory")
    assert answer.output == 1
    assert "`trajectory` was left out" in answer.notes[0]


async def test_the_function_sees_its_trace_and_environment_and_its_prints_are_kept(call: Caller) -> None:
    answer = await call("trace", env={"ADDED": "added"})
    assert answer.output == [TRACE.traceparent, "added"]
    assert answer.trace_id == TRACE.trace_id
    assert answer.stderr == "thinking about c1\n"


async def test_none_is_an_output_only_when_the_plan_says_so(call: Caller) -> None:
    assert (await call.refused("nothing")).kind == "bad_answer"
    assert (await call("nothing", allow_null=True)).output is None


async def test_failures_are_told_apart(call: Caller) -> None:
    raised = await call.refused("raises")
    assert (raised.kind, raised.resend) == ("agent_error", Resend.MAYBE_RECEIVED)
    assert "KeyError: 'missing column'" in raised.message
    assert raised.partial is not None
    assert "in raises" in raised.partial.detail["traceback"]
    absent = await call.refused("absent")
    assert (absent.kind, absent.resend) == ("start", Resend.NEVER)
    assert (await call.refused("a_set")).kind == "bad_answer"
    died = await call.refused("die")
    assert died.kind == "exit_code"
    assert "exit 7" in died.message


async def test_a_function_that_hangs_is_killed_at_the_limit(call: Caller) -> None:
    begun = time.monotonic()
    error = await call.refused("hang", total=0.3)
    assert error.kind == "timed_out"
    assert "0.3 s" in error.message
    assert time.monotonic() - begun < 2


async def test_the_preview_shows_the_call_and_starts_nothing(call: Caller) -> None:
    solution, request = call.prepare("agents:plain", arguments={"k": 1}, env={"KEY": "${KEY}"})
    assert solution.preview(request) == {
        "function": "agents:plain",
        "path": str(call.folder),
        "case": {"id": "c1", "q": "hi", "ground_truth": "HI"},
        "arguments": {"k": 1},
        "env": {"KEY": "${KEY}", "TRACEPARENT": "(made for each attempt)"},
    }
    assert solution.host(request) is None
