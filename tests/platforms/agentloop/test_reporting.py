"""What is reported of a run: field by field, once, whatever breaks on the way."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path

import pytest

from tests.platforms.agentloop.conftest import KEYS
from tests.platforms.agentloop.fake import Answer, Asked, FakePlatform, platform, rows
from tests.platforms.agentloop.plans import plan_data
from tests.platforms.agentloop.runs import RUN, run_plan, shape
from tui_eval.engine.execution import execute_job
from tui_eval.jobs import Job
from tui_eval.platforms.agentloop.companion import reported_by_caller
from tui_eval.platforms.agentloop.details import LARGEST_VALUE
from tui_eval.platforms.agentloop.following import Reported, Rules, report_run
from tui_eval.store.command_box import give
from tui_eval.store.opening import check_integrity
from tui_eval.store.reader import History

RECORDED = json.loads((Path(__file__).parent / "recorded_exp010.json").read_text(encoding="utf-8"))
QUICK = Rules(patience=5.0, scores=0.0, settle=0.0)


async def report(history: Path, rules: Rules = QUICK, run_id: str = RUN) -> Reported:
    (reported,) = await report_run(history, run_id, KEYS, rules)
    return reported


@pytest.fixture
def history(tmp_path: Path) -> Path:
    return tmp_path / "history.db"


async def test_what_is_sent_agrees_field_by_field_with_the_recorded_traffic(history: Path, fake: FakePlatform) -> None:
    await run_plan(history, plan_data(fake, experiment_name="Offline-Experiment-LocalAgent"))
    reported = await report(history)
    assert reported.complete
    recorded = {}
    for one in RECORDED:
        kind = (one["op"].removeprefix("SLS."), (one["request_body"] or {}).get("status", ""))
        recorded.setdefault(kind, one)
    sent: dict[tuple[str, str], Asked] = {}
    for asked in fake.asked:
        body = asked.body if isinstance(asked.body, dict) else {}
        sent.setdefault((asked.op, body.get("status", "")), asked)
    for kind, one in recorded.items():
        asked = sent[kind]
        assert asked.method == one["method"]
        if kind[0] != "PutLogs":
            assert shape(asked.body) == shape(one["request_body"])
            continue
        assert asked.path == one["path"]
        ours = [name for name, _ in asked.body["logs"][0]["contents"]]
        theirs = [name for name, _ in one["request_body"]["logs"][0]["contents"]]
        assert ours == theirs
    assert sent["ExecuteQuery", ""].body == recorded["ExecuteQuery", ""]["request_body"]
    assert sent["CreateExperimentRun", ""].body == recorded["CreateExperimentRun", ""]["request_body"]
    wanted = {log["dataset.id"]: log for log in _recorded_logs()}
    for log in fake.details():
        theirs_log = wanted[log["dataset.id"]]
        for name in ("experiment_type", "experiment_config", "repeat_id", "data_config", "experiment_input", "status"):
            assert log[name] == theirs_log[name]
        assert json.loads(log["experiment_output"])["output"] == json.loads(theirs_log["experiment_output"])["output"]
        assert json.loads(log["experiment_metadata"]).keys() == json.loads(theirs_log["experiment_metadata"]).keys()


def _recorded_logs() -> list[dict[str, str]]:
    bodies = [one["request_body"] for one in RECORDED if one["op"] == "SLS.PutLogs"]
    return [dict(log["contents"]) for body in bodies for log in body["logs"]]


async def test_the_calls_carry_the_record_and_the_row(history: Path, fake: FakePlatform) -> None:
    await run_plan(history, plan_data(fake))
    (record,) = fake.records
    carried = {asked.headers["baggage"] for asked in fake.ops("agent")}
    assert carried == {
        f"traffic.agentloop.experiment.id={record},traffic.agentloop.dataset.data_item_id={row['id']}"
        for row in fake.rows
    }
    traces = {asked.headers["traceparent"].split("-")[1] for asked in fake.ops("agent")}
    await report(history)
    assert {log["traceId"] for log in fake.details()} == traces


async def test_statuses_and_milestones_are_told(history: Path) -> None:
    with platform(10) as fake:
        plan = plan_data(fake)
        plan["requests"][0]["solution"]["url"] = f"{fake.url}/agent/broken"
        await run_plan(history, plan)
        reported = await report(history)
    (record,) = fake.records
    assert reported.record.record_id == record
    assert fake.records[record][1]["totalTasks"] == 10
    assert fake.records[record][-1]["status"] == "completed"
    assert (fake.records[record][-1]["completedTasks"], fake.records[record][-1]["failedTasks"]) == (0, 10)
    assert {log["status"] for log in fake.details()} == {"failed"}
    assert all(log["experiment_output"].startswith("ERROR: http_status - HTTP 500") for log in fake.details())


async def test_reporting_twice_reports_once(history: Path, fake: FakePlatform) -> None:
    await run_plan(history, plan_data(fake))
    await report(history)
    count = len(fake.asked)
    await report(history)
    assert len(fake.asked) == count
    assert len(fake.details()) == 4


async def test_an_answer_that_is_lost_is_looked_up_not_sent_again(history: Path, fake: FakePlatform) -> None:
    await run_plan(history, plan_data(fake))
    lost = [2]

    def lose(asked: Asked) -> Answer | None:
        if asked.op == "PutLogs" and lost[0]:
            lost[0] -= 1
            return (0, None) if lost[0] else (500, {"errorCode": "InternalServerError", "errorMessage": "x"})
        return None

    fake.after = lose
    reported = await report(history)
    assert reported.complete
    assert len(fake.details()) == 4
    assert fake.twice() == []
    assert len(fake.ops("GetLogs")) >= 1


@pytest.mark.parametrize(
    "answer", [(500, {"errorCode": "InternalServerError"}), (503, {"errorCode": "ServerBusy"}), (0, None)]
)
async def test_a_platform_that_is_broken_for_a_while_gets_everything_once(
    history: Path, fake: FakePlatform, answer: Answer
) -> None:
    await run_plan(history, plan_data(fake))
    until = time.monotonic() + 1.0
    fake.intercept = lambda asked: answer if time.monotonic() < until and asked.op != "agent" else None
    reported = await report(history, Rules(patience=20.0, scores=0.0, settle=0.0))
    assert reported.complete
    assert reported.error == ""
    assert sorted(log["dataset.id"] for log in fake.details()) == [row["id"] for row in fake.rows]
    assert fake.twice() == []


async def test_a_platform_that_answers_errors_and_tells_nothing_gets_them_again(
    history: Path, fake: FakePlatform
) -> None:
    await run_plan(history, plan_data(fake))
    left = [3]

    def broken(asked: Asked) -> Answer | None:
        if asked.op == "GetLogs":
            return 404, {"errorCode": "NotFound"}
        if asked.op == "PutLogs" and left[0]:
            left[0] -= 1
            return 500, {"errorCode": "InternalServerError"}
        return None

    fake.intercept = broken
    assert (await report(history)).complete
    assert len(fake.details()) == 4


async def test_without_the_right_everything_stays_queued_and_the_reason_is_kept(
    history: Path, fake: FakePlatform
) -> None:
    await run_plan(history, plan_data(fake))
    fake.intercept = lambda asked: (
        (403, {"errorCode": "Unauthorized", "errorMessage": "no"}) if asked.op == "PutLogs" else None
    )
    reported = await report(history)
    assert not reported.complete
    assert "PutLogs: HTTP 403 Unauthorized: no" in reported.error
    assert reported.counts.waiting == 4
    assert len(fake.ops("PutLogs")) == 1
    fake.intercept = None
    again = await report(history)
    assert again.complete
    assert again.record.error == ""
    assert len(fake.details()) == 4


async def test_a_run_goes_on_without_the_platform_and_is_reported_later(history: Path, fake: FakePlatform) -> None:
    fake.intercept = lambda asked: (
        (500, {"code": "Down"}) if "xperimentRun" in asked.op or asked.op == "PutLogs" else None
    )
    await run_plan(history, plan_data(fake))
    assert len(fake.ops("agent")) == 4
    assert all("data_item_id" in asked.headers["baggage"] for asked in fake.ops("agent"))
    fake.intercept = None
    reported = await report(history)
    assert reported.complete
    assert fake.status_of(reported.record.record_id) == "completed"
    with History(history) as stored:
        assert any("record is made later" in line.message for line in stored.log(stored.run(RUN)))


async def test_a_clock_that_is_wrong_refuses_no_result(history: Path, fake: FakePlatform) -> None:
    await run_plan(history, plan_data(fake))
    fake.intercept = lambda asked: (400, {"errorCode": "RequestTimeExpired"}) if asked.op == "PutLogs" else None
    reported = await report(history)
    assert "is the clock of this machine right?" in reported.error
    assert (reported.counts.waiting, reported.counts.refused) == (4, 0)
    fake.intercept = None
    again = await report(history)
    assert (again.complete, again.record.error) == (True, "")


async def test_a_cancelled_run_is_a_cancelled_record(history: Path) -> None:
    with platform(12) as fake:
        fake.agent_seconds = 0.1
        running = asyncio.create_task(run_plan(history, {**plan_data(fake), "task_concurrency": 1}))
        while len(fake.ops("agent")) < 3:
            await asyncio.sleep(0.02)
        await asyncio.to_thread(give, history, RUN, "cancel_run", {}, "a test")
        await running
        reported = await report(history)
    assert reported.complete
    assert fake.status_of("rec-0000") == "cancelled"
    assert 0 < len(fake.details()) < 12


async def test_long_values_are_cut_with_a_mark(history: Path, fake: FakePlatform) -> None:
    fake.rows = [{"id": "long", "input": "ü" * 1_500_000, "expected_output": "x", "category": "y"}, *rows(1)]
    await run_plan(history, plan_data(fake))
    assert (await report(history)).complete
    log = next(log for log in fake.details() if log["dataset.id"] == "long")
    assert len(log["dataset.input"].encode()) <= LARGEST_VALUE
    assert log["dataset.input"].endswith("…[cut by tui_eval: 3000000 bytes]")


async def test_a_result_that_the_platform_never_takes_does_not_hold_the_others(
    history: Path, fake: FakePlatform
) -> None:
    await run_plan(history, plan_data(fake))

    def picky(asked: Asked) -> Answer | None:
        bad = asked.op == "PutLogs" and any(
            ["dataset.id", "item-0001"] in log["contents"] for log in asked.body["logs"]
        )
        return (400, {"errorCode": "PostBodyInvalid", "errorMessage": "bad"}) if bad else None

    fake.intercept = picky
    reported = await report(history)
    assert (reported.counts.sent, reported.counts.refused) == (3, 1)
    assert "left out" in reported.error
    assert fake.twice() == []
    assert fake.status_of(reported.record.record_id) == "completed"


async def test_the_platforms_scores_become_scores_of_the_tasks(history: Path, fake: FakePlatform) -> None:
    fake.judges = True
    await run_plan(history, plan_data(fake))
    reported = await report(history, Rules(patience=5.0, scores=10.0, settle=0.0))
    assert reported.record.evaluation["done"] is True
    assert reported.record.evaluation["scored"] == 4
    with History(history) as stored:
        run = stored.run(RUN)
        for task in stored.iter_tasks(run):
            (score,) = stored.scores(task.id)
            assert (score.evaluator, score.value, score.passed) == ("correctness", 1.0, None)
            assert task.score == 1.0
    assert check_integrity(history) == []


async def test_a_verdict_of_the_platform_decides_and_the_counters_follow(history: Path, fake: FakePlatform) -> None:
    fake.judges = True
    fake.evaluators[0]["resultType"] = "binary"
    await run_plan(history, plan_data(fake))
    await report(history, Rules(patience=5.0, scores=10.0, settle=0.0))
    with History(history) as stored:
        (request,) = stored.requests(stored.run(RUN))
        assert (request.counters.passed, request.counters.unscored) == (4, 0)
    assert check_integrity(history) == []


async def test_scores_that_are_late_are_picked_up_later(history: Path, fake: FakePlatform) -> None:
    await run_plan(history, plan_data(fake))
    reported = await report(history, Rules(patience=5.0, scores=0.2, settle=0.0))
    assert reported.complete
    assert reported.scores_wanted
    fake.judges = True
    fake._judge(reported.record.record_id)
    assert (await report(history, Rules(patience=5.0, scores=5.0, settle=0.0))).record.evaluation["done"] is True


async def test_an_interrupted_run_keeps_its_record_and_resume_goes_on_with_it(history: Path) -> None:
    with platform(12) as fake:
        fake.agent_seconds = 0.05
        plan = {**plan_data(fake), "task_concurrency": 1}
        running = asyncio.create_task(run_plan(history, plan))
        while len(fake.ops("agent")) < 4:
            await asyncio.sleep(0.02)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        reported = await report(history)
        assert reported.open
        assert fake.status_of("rec-0000") == "running"
        closed = await report(history, Rules(patience=5.0, scores=0.0, close="cancelled", settle=0.0))
        assert not closed.open
        assert fake.status_of("rec-0000") == "cancelled"
        with reported_by_caller():
            await execute_job(Job("resume", str(history), RUN), environment=KEYS)
        assert (await report(history)).complete
        assert list(fake.records) == ["rec-0000"]
        assert fake.status_of("rec-0000") == "completed"
        assert len(fake.details()) == 12
        assert fake.twice() == []


async def test_a_re_run_is_a_record_of_its_own_with_what_was_run_again(history: Path, fake: FakePlatform) -> None:
    await run_plan(history, plan_data(fake))
    await report(history)
    selection = {"cases": ["item-0002"]}
    job = Job("rerun", str(history), "20261129-130000-bbbb", parent=RUN, selection=selection, stored_cases=True)
    with reported_by_caller():
        await execute_job(job, environment=KEYS)
    reported = await report(history, run_id=job.run_id)
    assert reported.complete
    assert reported.record.record_id == "rec-0001"
    assert [log["dataset.id"] for log in fake.details("rec-0001")] == ["item-0002"]


async def test_two_requests_are_two_records(history: Path, fake: FakePlatform) -> None:
    plan = plan_data(fake, experiment_name="nightly")
    plan["requests"].append({**plan["requests"][0], "name": "candidate"})
    await run_plan(history, plan)
    reported = await report_run(history, RUN, KEYS, QUICK)
    assert [one.request for one in reported] == ["agent", "candidate"]
    groups = [asked.body["offlineExperiments"][0]["name"] for asked in fake.ops("CreateExperimentRun")]
    assert groups == ["nightly-agent", "nightly-candidate"]
    assert [len(fake.details(record)) for record in fake.records] == [4, 4]


async def test_the_key_is_nowhere_in_the_history(history: Path, fake: FakePlatform) -> None:
    plan = plan_data(fake)
    plan["requests"][0]["solution"]["body"] = {"input": "${AGENTLOOP_SK}"}
    await run_plan(history, plan)
    await report(history)
    assert b"test-secret" not in b"".join(file.read_bytes() for file in history.parent.iterdir() if file.is_file())
    assert all("test-secret" not in json.dumps(log) for log in fake.details())
