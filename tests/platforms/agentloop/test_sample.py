"""The sample plan is the guide's complete example: against the fake platform it comes to what the guide's script does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.platforms.agentloop.conftest import KEYS
from tests.platforms.agentloop.fake import FakePlatform
from tui_eval.demo.samples import samples_folder
from tui_eval.engine.execution import execute_job
from tui_eval.jobs import Job
from tui_eval.platforms.agentloop.companion import reported_by_caller
from tui_eval.platforms.agentloop.following import Rules, report_run

SAMPLE = samples_folder() / "agentloop.yaml"


@pytest.mark.parametrize(
    "way", [("AGENTLOOP_AK", "AGENTLOOP_SK"), ("ALIBABA_CLOUD_ACCESS_KEY_ID", "ALIBABA_CLOUD_ACCESS_KEY_SECRET")]
)
async def test_the_sample_runs_with_either_way_of_giving_the_key(
    fake: FakePlatform, tmp_path: Path, way: tuple[str, str]
) -> None:
    environment = {**dict(zip(way, KEYS.values(), strict=True)), "AGENT_KEY": "an-agent-key"}
    overrides = (
        f"agentloop.custom_agentloop_endpoint={fake.url}",
        f"agentloop.custom_sls_endpoint={fake.url}",
        f'requests."local agent".solution.url={fake.url}/agent/sse',
    )
    history = tmp_path / "history.db"
    job = Job("launch", str(history), "20261129-120000-aaaa", plan=str(SAMPLE), overrides=overrides)
    with reported_by_caller():
        ended = await execute_job(job, environment=environment)
    assert ended.requests[0].counters.passed == 4
    (reported,) = await report_run(history, job.run_id, environment, Rules(patience=5.0, scores=0.0))
    assert reported.complete
    assert sorted(log["experiment_output"] for log in fake.details()) == ["0", "2", "4", "6"]
    assert {asked.headers["key"] for asked in fake.ops("agent")} == {"an-agent-key"}
    assert {asked.body["stream"] for asked in fake.ops("agent")} == {True}


def test_the_sample_says_what_it_is_for_and_holds_no_key() -> None:
    text = SAMPLE.read_text(encoding="utf-8")
    assert text.startswith("# ")
    assert "AGENTLOOP_AK" in text
    assert "ALIBABA_CLOUD_ACCESS_KEY_ID" in text
