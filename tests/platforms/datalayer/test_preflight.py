"""What is known of an evalset's run before its first call, and the report that is written at its end."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.platforms.datalayer.fake import fake_server
from tui_eval.api import async_launch
from tui_eval.engine.preflight import Preflight, check_plan
from tui_eval.platforms.datalayer.conversion import Choices, plan_of
from tui_eval.spec.evalset import load_evalset
from tui_eval.spec.loading import load_plan
from tui_eval.store.reader import History

BATCH = Path(__file__).parent / "evalsets" / "examples-evals_batch.evalset.json"


def preflight(section: Mapping[str, Any], environment: Mapping[str, str], target: str = "local") -> Preflight:
    choices = Choices(["a", "b"], execution_target=target, section=section)
    plan = load_plan(plan_of(load_evalset(BATCH), choices), folder=BATCH.parent, environment=environment)
    return check_plan(plan, environment)


def test_the_server_and_what_may_be_started_are_named() -> None:
    section = {"server": {"base_url": "http://127.0.0.1:8700", "command": ["sh", "-c", "serve {port}"]}}
    found = preflight(section, {"PATH": "/usr/bin:/bin"})
    assert not found.faults
    assert {request.callees.hosts for request in found.requests} == {("127.0.0.1:8700",)}
    assert {request.callees.commands for request in found.requests} == {("sh -c serve {port}",)}


def test_nothing_is_started_for_a_server_elsewhere_or_when_that_is_not_wanted() -> None:
    for server in ({"base_url": "http://agents.example.com"}, {"start": "never"}):
        found = preflight({"server": server}, {"PATH": "/nowhere"})
        assert [request.callees.commands for request in found.requests] == [(), ()]
        assert not found.faults
        assert not found.warnings


def test_a_program_that_is_not_there_is_a_fault_only_where_it_must_be_started() -> None:
    for start, faults in (("always", 1), ("when_needed", 0)):
        found = preflight({"server": {"command": ["no-such-server"], "start": start}}, {"PATH": "/nowhere"})
        assert len(found.faults) == faults
        (told,) = [*found.faults, *found.warnings]
        assert "no-such-server: no such program on PATH" in told.message


def test_the_cloud_needs_a_key_and_reporting_without_one_is_warned_about() -> None:
    cloud = preflight({}, {}, "cloud")
    assert [fault.path for fault in cloud.faults] == ["datalayer.execution_target"]
    assert "DATALAYER_API_KEY" in cloud.faults[0].message
    assert {request.callees.hosts for request in cloud.requests} == {("r1.datalayer.run",)}
    assert not preflight({}, {"DATALAYER_API_KEY": "a-key-of-theirs"}, "cloud").faults
    reporting = preflight({"report": True, "server": {"start": "never"}}, {})
    assert not reporting.faults
    assert [fault.path for fault in reporting.warnings] == ["datalayer.report"]


async def test_the_report_is_written_where_the_plan_says_when_the_run_has_ended(tmp_path: Path) -> None:
    history = tmp_path / "h.db"
    async with fake_server() as server:
        where = {"server": {"base_url": server.base_url, "start": "never"}, "report_folder": "out/deep"}
        made = plan_of(load_evalset(BATCH), Choices(["oracle"], section=where))
        result = await async_launch(made, folder=tmp_path, history=history)
    names = sorted(path.name for path in (tmp_path / "out" / "deep").iterdir())
    assert names == [f"report-{result.run_id}.csv", f"report-{result.run_id}.md"]


async def test_a_report_that_cannot_be_written_costs_the_run_nothing_and_is_told(tmp_path: Path) -> None:
    history = tmp_path / "h.db"
    (tmp_path / "out").write_text("a file")
    async with fake_server() as server:
        where = {"server": {"base_url": server.base_url, "start": "never"}, "report_folder": "out"}
        made = plan_of(load_evalset(BATCH), Choices(["oracle"], section=where))
        result = await async_launch(made, folder=tmp_path, history=history)
    assert (result.status, result.requests["oracle"].counters.passed) == ("completed", 5)
    with History(history) as stored:
        told = [entry.message for entry in stored.log(stored.run(result.run_id).id, 0, 100)]
    assert any("the report cannot be written" in message and "datalayer report" in message for message in told)
