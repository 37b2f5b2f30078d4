"""What a run makes of servers that say "not now": how often it asks, how long it waits, what it tells."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.support.player import answer, play
from tests.support.product import Product

CASES = "17-http-429-retry-after"


async def outcome_of(product: Product, url: str, **execution: Any) -> tuple[str, str, list[Any]]:
    """Outcome, message and attempts of one task against ``url``."""
    settings = {"max_retries": 2, "retry_min_delay_seconds": 0.1, "retry_max_delay_seconds": 2} | execution
    plan = product.write_plan(
        f"""
version: 1
name: limits
requests:
  - name: one
    dataset: {{cases: [{{id: a, q: x}}]}}
    solution: {{type: http, url: "{url}", body: {{q: "{{{{ q }}}}"}}, output_extractor: text}}
    evaluators: [{{id: exact, expected: late but fine}}]
    execution: {settings}
"""
    )
    await asyncio.to_thread(product.run, "run", str(plan))
    (task,) = product.query("SELECT outcome, message FROM tasks")
    attempts = product.query("SELECT started_at, seconds, status_code, error_kind FROM attempts ORDER BY number")
    return task[0], task[1], attempts


@pytest.mark.parametrize("path", ["/garbage", "/negative", "/fraction", "/date-past"])
async def test_a_retry_after_that_says_nothing_useful_means_the_usual_wait(product: Product, path: str) -> None:
    async with play(CASES) as server:
        outcome, message, attempts = await outcome_of(product, server.url(path))
        assert (outcome, message) == ("passed", "")
        assert server.count(path) == 2
    waited = attempts[1][0] - attempts[0][0]
    assert 0.04 <= waited < 1


async def test_a_retry_after_in_seconds_is_waited_for_and_the_first_attempt_is_kept(product: Product) -> None:
    async with play(CASES) as server:
        outcome, _, attempts = await outcome_of(product, server.url("/seconds"))
        assert outcome == "passed"
        assert server.count("/seconds") == 2
    assert [attempt[2] for attempt in attempts] == [429, 200]
    assert attempts[0][3] == "rate_limited"
    assert attempts[1][0] - attempts[0][0] >= 1.0


@pytest.mark.parametrize("path", ["/day", "/date-future"])
async def test_a_wait_above_the_cap_is_not_slept_through(product: Product, path: str) -> None:
    async with play(CASES) as server:
        outcome, message, _ = await outcome_of(product, server.url(path))
        assert server.count(path) == 1
    assert outcome == "error"
    assert "rate limited, server asks for" in message


@pytest.mark.parametrize(
    ("path", "asked", "words"), [("/quota", 1, "quota"), ("/bad-request", 1, "HTTP 400"), ("/always", 3, "429")]
)
async def test_what_is_not_mended_by_waiting_ends_after_the_right_number_of_tries(
    product: Product, path: str, asked: int, words: str
) -> None:
    async with play(CASES) as server:
        outcome, message, _ = await outcome_of(product, server.url(path))
        assert server.count(path) == asked
    assert outcome == "error"
    assert words in message


async def test_without_retries_there_is_one_try(product: Product) -> None:
    async with play(CASES) as server:
        outcome, _, _ = await outcome_of(product, server.url("/always"), max_retries=0)
        assert outcome == "error"
        assert server.count("/always") == 1


async def test_the_task_limit_counts_the_waits(product: Product) -> None:
    async with play(CASES) as server:
        outcome, message, _ = await outcome_of(product, server.url("/seconds"), task_timeout_seconds=0.5)
        assert server.count("/seconds") == 1
    assert outcome == "error"
    assert "task_timeout_seconds: 0.5" in message


SLOW = """
version: 1
name: slow
task_concurrency: {concurrency}
requests:
  - name: one
    dataset: {{cases: [{{id: a}}, {{id: b}}, {{id: c}}]}}
    solution: {{type: http, url: "{url}", body: {{q: "{{{{ id }}}}"}}, output_extractor: text}}
    evaluators: [{{id: exact, expected: ok}}]
    execution: {execution}
"""
BUSY = answer("{}", status="429 Too Many Requests", headers="retry-after: 1\r\n")
BUSY_FOR_LONG = answer("{}", status="429 Too Many Requests", headers="retry-after: 3\r\n")
DOWN = answer("{}", status="503 Service Unavailable")
OK = answer('{"text": "ok"}')


async def test_a_host_that_named_a_time_is_left_alone_also_when_the_task_that_was_told_ends(product: Product) -> None:
    async with play({"paths": {"/": [{"nth": [BUSY, OK]}]}}) as server:
        plan = product.write_plan(SLOW.format(url=server.url("/"), concurrency=1, execution={"max_retries": 0}))
        await asyncio.to_thread(product.run, "run", str(plan))
    outcomes = product.query("SELECT outcome, started_at FROM tasks ORDER BY position")
    assert [outcome for outcome, _ in outcomes] == ["error", "passed", "passed"]
    assert outcomes[1][1] - outcomes[0][1] >= 1.0


async def test_the_task_limit_ends_a_wait_that_another_task_brought_about(product: Product) -> None:
    """The second answer closes the host for three seconds; the first task waits for it and has only half of that."""
    async with play({"paths": {"/": [{"nth": [DOWN, BUSY_FOR_LONG, OK]}]}}) as server:
        execution = {"max_retries": 3, "retry_min_delay_seconds": 0.4, "task_timeout_seconds": 1.5}
        plan = product.write_plan(SLOW.format(url=server.url("/"), concurrency=2, execution=execution))
        await asyncio.to_thread(product.run, "run", str(plan))
    first = product.query("SELECT message, finished_at - started_at FROM tasks WHERE case_id = 'a'")[0]
    assert "no time left to try again (task_timeout_seconds: 1.5)" in first[0]
    assert 1.4 < first[1] < 2.4


async def test_a_queue_at_the_judges_host_does_not_use_up_the_judges_time(product: Product) -> None:
    reply = {"choices": [{"message": {"content": '{"score": 1}'}, "finish_reason": "stop"}]}
    slow = [{"sleep": 0.15}, *answer(json.dumps(reply))]
    async with play({"paths": {"/v1/chat/completions": slow}}) as server:
        host = server.base_url.removeprefix("http://")
        plan = product.write_plan(
            f"""
version: 1
name: judged
runtime: {{provider_limits: {{"{host}": 1}}}}
requests:
  - name: one
    dataset: {{cases: [{", ".join(f"{{id: c{n}}}" for n in range(6))}]}}
    solution: {{type: command, argv: [echo, hi]}}
    evaluators: [{{id: judge, base_url: "{server.url("/v1")}", model: m, rubric: Is it good?}}]
    execution: {{evaluation_timeout_seconds: 0.5}}
"""
        )
        await asyncio.to_thread(product.run, "run", str(plan))
    assert product.query("SELECT outcome, count(*) FROM tasks GROUP BY outcome") == [("passed", 6)]
