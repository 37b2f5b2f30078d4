"""The Python of AgentCompass's SDK page, with only the import line changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.platforms.agentcompass.conftest import Compass
from tui_eval.errors import SpecError, UsageError
from tui_eval.platforms.agentcompass import (
    OrchestrationDefaults,
    OrchestrationSpec,
    ProgressEvent,
    RequestOutcome,
    RunRequestSpec,
    async_launch,
    async_run_evaluation,
    launch,
    run_evaluation,
)
from tui_eval.store.reader import History


@pytest.fixture
def here(compass: Compass, monkeypatch: pytest.MonkeyPatch) -> Compass:
    """The program's own folder and environment."""
    monkeypatch.chdir(compass.folder)
    for name in ("TUI_EVAL_AGENTCOMPASS_PYTHON", "TUI_EVAL_HISTORY", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, compass.environment()[name])
    return compass


def spec(**tasks: str) -> OrchestrationSpec:
    return OrchestrationSpec(
        name="from-python",
        task_concurrency=2,
        defaults=OrchestrationDefaults(
            harness={"id": "openai_chat"},
            environment={"id": "host_process"},
            model={"id": "m", "base_url": "http://127.0.0.1:9/v1", "api_key": "k"},
        ),
        requests=[
            RunRequestSpec(name=name, benchmark={"id": "special_pattern_check", "version": text})
            for name, text in tasks.items()
        ],
    )


def test_launch_gives_the_result_and_keeps_the_run(here: Compass) -> None:
    events: list[ProgressEvent] = []
    ended: list[RequestOutcome] = []
    result = launch(
        spec(good="ok ok", mixed="ok fatal"),
        results_dir="out",
        on_progress=events.append,
        on_request_finished=ended.append,
        history_run_id="mine",
    )
    assert result.status == "partial_failure"
    assert list(result.requests) == ["good", "mixed"]
    assert result.requests["good"].result is not None
    assert result.requests["good"].result["metrics"]["series"][0]["value"] == 1.0
    assert [(one.name, one.status) for one in ended] == [("good", "completed"), ("mixed", "failed")]
    assert {"run_started", "task_finished", "run_finished"} <= {event.event for event in events}
    assert (here.folder / "out" / "mixed" / "mine").is_dir()
    with History(here.history) as history:
        assert history.run("mine").name == "from-python"


def test_run_evaluation_gives_the_result_of_one_combination(here: Compass) -> None:
    combination = {"benchmark": "special_pattern_check", "harness": "openai_chat", "model": "m/1"}
    result = run_evaluation(
        **combination, benchmark_params={"version": "ok"}, model_api_key="k", results_dir="out", run_id="r"
    )
    assert result["metrics"]["series"][0]["value"] == 1.0
    assert (here.folder / "out" / "m_1_special_pattern_check_openai_chat" / "r").is_dir()
    with pytest.raises(RuntimeError, match="Final FATAL issues"):
        run_evaluation(**combination, benchmark_params={"version": "fatal"}, results_dir="out2")


async def test_inside_an_event_loop_the_async_forms_are_asked_for(here: Compass) -> None:
    with pytest.raises(UsageError, match="await async_launch instead"):
        launch(spec(good="ok"))
    result = await async_launch(spec(good="ok"))
    assert result.status == "completed"
    done = await async_run_evaluation(
        benchmark="special_pattern_check", harness="openai_chat", model="m", benchmark_params={"version": "ok"}
    )
    assert done["evaluation_failed"] is False


def test_every_fault_of_a_spec_is_raised_before_anything_runs(here: Compass) -> None:
    with pytest.raises(SpecError) as caught:
        launch(spec(good="ok"), timeout_seconds=-1, log_level="LOUD")
    assert len(caught.value.faults) == 2
    assert not Path(here.history).exists()
