"""What is read of AgentLoop's OpenAPI: pages, plans, refusals, calls that are tried again."""

from __future__ import annotations

import pytest

from tests.platforms.agentloop.conftest import client_of
from tests.platforms.agentloop.fake import Answer, Asked, FakePlatform
from tui_eval.errors import PlatformError, Resend, UsageError
from tui_eval.platforms.agentloop.client import AgentLoop
from tui_eval.platforms.agentloop.endpoints import Endpoints
from tui_eval.platforms.agentloop.nouns import fraction_of, seconds_of


async def test_every_way_of_paging_reaches_the_end(fake: FakePlatform, client: AgentLoop) -> None:
    assert len(await client.spaces()) == 6
    assert [plan.plan_id for plan in await client.plans()] == ["plan-demo", "plan-live"]
    fake.records = {f"rec-{number:04d}": [{"status": "completed"}] for number in range(230)}
    assert len(await client.runs(limit=1000)) == 230
    fake.stores["experiment_detail"] = [{"task_id": str(number)} for number in range(230)]
    logs = [log async for log in client.get_logs("agentloop-demo-project", "experiment_detail", "*", 0, 1)]
    assert len(logs) == 230
    assert {asked.verdict for asked in fake.asked} == {"ok"}


async def test_a_plan_that_can_be_run_here_is_offline_and_has_a_dataset(client: AgentLoop) -> None:
    assert [(plan.plan_id, plan.runnable) for plan in await client.plans()] == [
        ("plan-demo", True),
        ("plan-live", False),
    ]
    plan = await client.plan("plan-demo")
    assert plan.evaluators[0]["evaluatorRef"] == "Builtin.agent_correctness"
    assert plan.created_at == 1780000000.0


async def test_what_can_be_picked(client: AgentLoop) -> None:
    assert [(one.name, one.created_at) for one in await client.datasets()] == [("arith_ds", 1780272000.0)]
    assert list((await client.dataset("arith_ds")).columns) == ["id", "input", "expected_output", "category"]
    assert [(one.name, one.created_at) for one in await client.evaluators()] == [("Builtin.agent_correctness", 1.78e9)]
    assert (await client.evaluator("Builtin.agent_correctness")).variables == ("input", "output", "expected_output")
    assert (await client.get_space()).project == "agentloop-demo-project"


async def test_a_security_token_is_sent_and_signed(fake: FakePlatform) -> None:
    fake.token = "sts-token"
    client = client_of(fake, security_token="sts-token")
    await client.get_space()
    await client.put_logs("agentloop-demo-project", "experiment_detail", [b"\x08\x01"])
    await client.aclose()
    assert [asked.verdict for asked in fake.asked] == ["ok", "ok"]


async def test_a_refusal_has_the_code_the_message_and_the_request_id(client: AgentLoop) -> None:
    with pytest.raises(PlatformError) as caught:
        await client.plan("missing")
    error = caught.value
    assert str(error) == "GetExperimentPlan: HTTP 404 PlanNotFound: no such plan (request id R-1)"
    assert (error.status, error.code, error.request_id, error.resend) == (404, "PlanNotFound", "R-1", Resend.NEVER)


async def test_a_wrong_secret_is_told_as_such(fake: FakePlatform) -> None:
    client = client_of(fake, access_key_secret="wrong")
    with pytest.raises(PlatformError, match="check the access key and its secret") as caught:
        await client.get_space()
    await client.aclose()
    assert "wrong" not in str(caught.value)


@pytest.mark.parametrize(
    ("status", "code"), [(500, "InternalError"), (503, "Busy"), (429, "Throttling.User"), (400, "Throttling")]
)
async def test_trouble_that_passes_is_waited_out(fake: FakePlatform, client: AgentLoop, status: int, code: str) -> None:
    left = [3]

    def trouble(asked: Asked) -> Answer | None:
        left[0] -= 1
        return (status, {"code": code, "message": "later"}) if left[0] >= 0 else None

    fake.intercept = trouble
    assert (await client.get_space()).project
    assert len(fake.asked) == 4
    assert len({asked.headers["x-acs-signature-nonce"] for asked in fake.asked}) == 4


async def test_a_record_that_may_have_been_made_is_not_made_again_unasked(
    fake: FakePlatform, client: AgentLoop
) -> None:
    fake.after = lambda asked: (0, None)
    with pytest.raises(PlatformError) as caught:
        await client.create_run("plan-demo", "x")
    assert caught.value.resend is Resend.MAYBE_RECEIVED
    assert len(fake.records) == 1


async def test_a_part_of_the_rows_is_an_error(fake: FakePlatform, client: AgentLoop) -> None:
    for meta in ({"progress": "Incomplete"}, {"truncation": {"truncated": True}}):
        fake.intercept = lambda asked, meta=meta: (200, {"columns": [], "rows": [], "meta": meta})  # type: ignore[misc]
        with pytest.raises(PlatformError, match="only a part"):
            await client.query("arith_ds", "* | select 1")


async def test_nobody_there_is_told_with_the_address(fake: FakePlatform) -> None:
    client = client_of(fake)
    client.caller.endpoints = Endpoints.of("cn-hangzhou", openapi="http://127.0.0.1:1", sls="http://127.0.0.1:1")
    with pytest.raises(PlatformError, match=r"connection refused by 127\.0\.0\.1:1") as caught:
        await client.get_space()
    assert caught.value.resend is Resend.UNSENT
    await client.aclose()


def test_endpoints_come_from_the_region_its_vpc_form_or_from_the_user() -> None:
    plain = Endpoints.of("cn-hangzhou")
    assert (plain.openapi, plain.sls) == (
        "https://agentloop.cn-hangzhou.aliyuncs.com",
        "https://cn-hangzhou.log.aliyuncs.com",
    )
    assert plain.sls_address("prj").base == "https://prj.cn-hangzhou.log.aliyuncs.com"
    inside = Endpoints.of("ap-southeast-1", vpc=True)
    assert inside.openapi == "https://agentloop-vpc.ap-southeast-1.aliyuncs.com"
    assert inside.sls == "https://ap-southeast-1-intranet.log.aliyuncs.com"
    own = Endpoints.of("cn-hangzhou", openapi="gw.example.com:8443", sls="http://10.0.0.1:99/")
    assert (own.openapi, own.sls_address("prj").host) == ("https://gw.example.com:8443", "prj.10.0.0.1")
    for wrong in ("cn hangzhou", "", "evil.com/x", "cn-hangzhou.evil.com"):
        with pytest.raises(UsageError, match="cannot be a region"):
            Endpoints.of(wrong)
    for wrong in ("http://user:pw@host", "ftp://x", "a/b", "host:notaport"):
        with pytest.raises(UsageError, match="cannot be used"):
            Endpoints.of("cn-hangzhou", openapi=wrong)


def test_every_unit_of_time_becomes_seconds() -> None:
    assert seconds_of(1780000000000) == 1.78e9
    assert seconds_of(1780000000) == 1.78e9
    assert seconds_of("1780000000000") == 1.78e9
    assert seconds_of("2026-06-01T00:00:00Z") == seconds_of("2026-06-01T08:00:00+08:00") == 1780272000
    for nothing in (None, "", 0, True, "soon", float("nan"), {}, []):
        assert seconds_of(nothing) is None
    assert [fraction_of(one) for one in (0.5, 50, "100", None, -1, "x")] == [0.5, 0.5, 1.0, None, None, None]
